/*
 * Random clusters that change, and pods that may preempt in each: the outcome is compared
 * with a model that really removes and adds pods and runs a fresh cycle each time, and
 * with preemption made to ask plugins where it would add up. All must give the same
 * victims, in the same order.
 */
#include <stdlib.h>

#include "tests/support/shardsched/preempt/preempt_rig.h"

enum { NODES = 7, PODS = 320, SPARSE_PODS = 60, BUDGETS = 4, STEPS = 60 };

/* Many small pods on each node, most of which only their names tell apart. */
static bool crowded;

static struct pl_rng rng;

static uint32_t below(uint32_t bound)
{
	return (uint32_t)pl_rng_below(&rng, bound);
}

static bool chance(uint32_t percent)
{
	return pl_rng_chance(&rng, percent, 100);
}

static const char *pick(const char *const *words, uint32_t count)
{
	return words[below(count)];
}

/* Spreading does not count terminating pods, but kube-scheduler, and so the plugin,
 * counts their removal. So there are no terminating pods where pods are spread. */
static bool spreads;

static const char *const apps[] = {"a", "b", "c"};
static const char *const keys[] = {"zone", "host"};

static void put_random_node(int number)
{
	struct rig_text text = {{0}, 0};

	rig_say(&text, "{'metadata':{'name':'n%d','labels':{'host':'n%d'", number,
	        number);
	if (chance(85))
		rig_say(&text, ",'zone':'z%u'", below(3));
	rig_say(&text, "}},'spec':{");
	if (chance(10))
		rig_say(&text, "'taints':[{'key':'t','effect':'NoSchedule'}]");
	rig_say(&text,
	        "},'status':{'allocatable':{'cpu':'%u','memory':'%uGi','pods':'%u'",
	        1 + below(6), 2 + below(7), 1 + below(9) + (crowded ? 60 : 0));
	if (chance(50))
		rig_say(&text, ",'example.com/gpu':'%u'", below(5));
	if (crowded)
		rig_say(&text, ",'ephemeral-storage':'%uMi'", 50 + below(100));
	rig_say(&text, "}}}");
	(void)put_node(text.at);
}

static void say_containers(struct rig_text *text, uint32_t most)
{
	rig_say(text,
	        "'containers':[{'name':'c','image':'i','resources':{'requests':{"
	        "'cpu':'%um'",
	        chance(10) ? 0 : (crowded ? 20 : 250) * (1 + below(most)));
	if (chance(40))
		rig_say(text, ",'memory':'%uMi'",
		        (crowded ? 32 : 512) * (1 + below(most)));
	if (chance(crowded ? 2 : 20))
		rig_say(text, ",'example.com/gpu':'%u'", 1 + below(2));
	if (chance(crowded ? 30 : 0))
		rig_say(text, ",'ephemeral-storage':'%uMi'", below(most));
	rig_say(text, "}}");
	if (!crowded && chance(15))
		rig_say(text, ",'ports':[{'containerPort':80,'hostPort':%u}]",
		        80 + below(2));
	rig_say(text, "}]");
}

static void say_term(struct rig_text *text, const char *kind)
{
	rig_say(text,
	        ",'affinity':{'%s':{'requiredDuringSchedulingIgnoredDuringExecution':[{"
	        "'topologyKey':'%s','labelSelector':{'matchLabels':{'app':'%s'}}}]}}",
	        kind, pick(keys, 2), pick(apps, 3));
}

static void say_rules(struct rig_text *text, uint32_t percent)
{
	uint32_t kind = below(spreads ? 4 : 3);

	if (!chance(percent))
		return;
	if (kind < 2)
		say_term(text, "podAntiAffinity");
	else if (kind == 2)
		say_term(text, "podAffinity");
	else
		rig_say(text,
		        ",'topologySpreadConstraints':[{'maxSkew':1,'topologyKey':'%s',"
		        "'whenUnsatisfiable':'DoNotSchedule','labelSelector':{"
		        "'matchLabels':{'app':'%s'}}}]",
		        pick(keys, 2), pick(apps, 3));
}

static struct pod random_pod(int number, int priority, uint32_t most, uint32_t rules)
{
	struct rig_text text = {{0}, 0};

	rig_say(&text, "{'metadata':{'name':'p%d','namespace':'%s'", number,
	        chance(70) ? "d" : "e");
	if (chance(90))
		rig_say(&text, ",'labels':{'app':'%s'}", pick(apps, 3));
	if (!spreads && chance(15))
		rig_say(&text, ",'deletionTimestamp':'2024-01-01T00:00:00Z'");
	rig_say(&text, "},'spec':{'priority':%d,", priority);
	say_containers(&text, most);
	say_rules(&text, rules);
	rig_say(&text, "},'status':{");
	if (chance(80))
		rig_say(&text, "'startTime':'2024-01-01T00:00:0%uZ'",
		        1 + below(crowded ? 2 : 4));
	rig_say(&text, "}}");
	return pod_from(text.at);
}

/* -- the cluster ------------------------------------------------------------------------- */

static struct {
	struct pod pod;
	uint32_t slot, placed; /* SNAPSHOT_NONE: not there */
} pods[PODS];

static void put_on(uint32_t i, uint32_t slot)
{
	struct pod_on_node there = on_node(&pods[i].pod);

	there.user = i;
	there.started_ms = pods[i].pod.started_ms;
	there.flags = pods[i].pod.deleted_ms != 0 ? PLACED_TERMINATING : 0;
	pods[i].slot = slot;
	T_OK(snapshot_pod_add(&snapshot, slot, &there, &pods[i].placed, &err), &err);
}

static void take_off(uint32_t i)
{
	snapshot_pod_remove(&snapshot, pods[i].placed);
	pods[i].placed = SNAPSHOT_NONE;
}

/* With two pods on one host port, removing the first one frees the port in a probe, as in
 * kube-scheduler, but not when the pod is really removed. */
static bool shares_port(const struct pod *pod, uint32_t slot)
{
	for (uint32_t i = 0; i < PODS && pod->spec->template->ports.count > 0; i++)
		if (pods[i].placed != SNAPSHOT_NONE && pods[i].slot == slot &&
		    pods[i].pod.spec->template->ports.count > 0 &&
		    spec_ports(pods[i].pod.spec)->port == spec_ports(pod->spec)->port)
			return true;
	return false;
}

static void replace(uint32_t i)
{
	static const int priorities[] = {-10, 0, 0, 5, 10, 100};
	uint32_t slot;

	if (pods[i].placed != SNAPSHOT_NONE)
		take_off(i);
	pod_drop(&model, &pods[i].pod);
	pods[i].pod = random_pod((int)i, priorities[below(crowded ? 3 : 6)], 6,
	                         crowded ? 0 : 25);
	slot = below(snapshot.slots);
	if (chance(80) && !shares_port(&pods[i].pod, slot))
		put_on(i, slot);
}

static void put_random_budget(void)
{
	struct rig_text text = {{0}, 0};

	rig_say(&text,
	        "{'metadata':{'name':'b%u','namespace':'%s'},'spec':{'selector':{"
	        "'matchLabels':{",
	        below(BUDGETS), chance(70) ? "d" : "e");
	if (chance(80))
		rig_say(&text, "'app':'%s'", pick(apps, 3));
	rig_say(&text, "}}},'status':{'disruptionsAllowed':%u,'disruptedPods':{",
	        below(crowded ? 20 : 3));
	if (chance(30))
		rig_say(&text, "'p%u':'2024-01-01T00:00:00Z'", below(PODS));
	rig_say(&text, "}}}");
	rig_budget(text.at);
}

static void nominate(int number)
{
	struct pod pod = random_pod(1000 + number, 50 + (int)below(100), 4, 10);
	struct pod_on_node there = on_node(&pod);
	uint32_t nomination;

	T_OK(snapshot_nominate(&snapshot, below(snapshot.slots), &there, &nomination,
	                       &err),
	     &err);
	pod_drop(&model, &pod);
}

/* -- the model --------------------------------------------------------------------------- */

struct naive_candidate {
	uint32_t slot;
	uint32_t violations;
	uint32_t count;
	uint32_t victim[PODS]; /* index in pods */
};

struct naive_candidates {
	uint32_t count;
	struct naive_candidate at[NODES];
	bool tied[NODES];
};

static const struct pod *preemptor;

static bool fits(uint32_t slot)
{
	struct pod_self self = rig_self(preemptor);
	struct cycle_outcome outcome;

	cycle_run(rig.cycle, rig_class(preemptor->spec), &self, 0, &outcome);
	return outcome.result == CYCLE_NODE &&
	       pl_bitset_has(cycle_feasible(rig.cycle), slot);
}

static int by_importance(const void *a_, const void *b_)
{
	uint32_t a = *(const uint32_t *)a_, b = *(const uint32_t *)b_;
	const struct pod *one = &pods[a].pod, *two = &pods[b].pod;
	uint64_t ones = (uint64_t)one->started_ms - 1,
		 twos = (uint64_t)two->started_ms - 1;
	struct pl_span namespace = model_text(&model, one->spec->namespace);
	int order;

	if (one->spec->priority != two->spec->priority)
		return one->spec->priority > two->spec->priority ? -1 : 1;
	if (ones != twos)
		return ones < twos ? -1 : 1;
	order = one->spec->namespace != two->spec->namespace
	                ? pl_span_cmp(namespace, model_text(&model, two->spec->namespace))
	                : pl_span_cmp(model_text(&model, one->name),
	                              model_text(&model, two->name));
	return ones == UINT64_MAX ? -order : order;
}

static uint32_t lower_on(uint32_t slot, uint32_t *out)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < PODS; i++)
		if (pods[i].placed != SNAPSHOT_NONE && pods[i].slot == slot &&
		    pods[i].pod.spec->priority < preemptor->spec->priority)
			out[count++] = i;
	qsort(out, count, sizeof *out, by_importance);
	return count;
}

/* Whether some budget is overdrawn when all victims up to this one go. */
static bool is_ward(const uint32_t *victim, uint32_t which)
{
	const struct pod *pod = &pods[victim[which]].pod;
	const struct budget *budget = NULL;
	bool is_protected = false;

	while ((budget = catalog_next_budget(&snapshot.catalog, budget)) != NULL) {
		int32_t gone = 0;

		if (budget->namespace != pod->spec->namespace ||
		    !budget_protects(&model.strings, budget, pod->name,
		                     pod->spec->labels))
			continue;
		for (uint32_t i = 0; i <= which; i++) {
			const struct pod *other = &pods[victim[i]].pod;

			gone += other->spec->namespace == budget->namespace &&
			        budget_protects(&model.strings, budget, other->name,
			                        other->spec->labels);
		}
		is_protected |= pod->spec->labels->count > 0 && gone > budget->allowed;
	}
	return is_protected;
}

static void try_node(uint32_t slot, struct naive_candidates *out)
{
	struct naive_candidate *found = &out->at[out->count];
	uint32_t lower[PODS], count = lower_on(slot, lower);
	bool is_protected[PODS];

	*found = (struct naive_candidate){.slot = slot};
	for (uint32_t i = 0; i < count; i++)
		is_protected[i] = is_ward(lower, i);
	for (uint32_t i = 0; i < count; i++)
		take_off(lower[i]);
	if (count == 0 || !fits(slot)) {
		for (uint32_t i = 0; i < count; i++)
			put_on(lower[i], slot);
		return;
	}
	for (int protected = 1; protected >= 0; protected --)
		for (uint32_t i = 0; i < count; i++) {
			if (is_protected[i] != (protected == 1))
				continue;
			put_on(lower[i], slot);
			if (fits(slot))
				continue;
			take_off(lower[i]);
			found->victim[found->count++] = lower[i];
			found->violations += (uint32_t) protected;
		}
	for (uint32_t i = 0; i < found->count; i++)
		put_on(found->victim[i], slot);
	out->count += found->count > 0;
}

/* kube-scheduler's criteria one after another: more is better. */
static int64_t merit(const struct naive_candidate *found, int criterion)
{
	int64_t sum = 0, oldest = INT64_MAX, most = INT32_MIN;

	for (uint32_t i = 0; i < found->count; i++) {
		const struct pod *pod = &pods[found->victim[i]].pod;
		int64_t started = pod->started_ms == 0 ? INT64_MAX : pod->started_ms;

		sum += (int64_t)pod->spec->priority + INT32_MAX + 1;
		if (pod->spec->priority > most ||
		    (pod->spec->priority == most && started < oldest))
			oldest = started;
		most = pod->spec->priority > most ? pod->spec->priority : most;
	}
	switch (criterion) {
	case 0:
		return -(int64_t)found->violations;
	case 1:
		return -(int64_t)pods[found->victim[0]].pod.spec->priority;
	case 2:
		return -sum;
	case 3:
		return -(int64_t)found->count;
	default:
		return oldest;
	}
}

static void find_tied(struct naive_candidates *out)
{
	for (uint32_t i = 0; i < out->count; i++)
		out->tied[i] = true;
	for (int criterion = 0; criterion < 5; criterion++) {
		int64_t best = INT64_MIN;

		for (uint32_t i = 0; i < out->count; i++)
			if (out->tied[i] && merit(&out->at[i], criterion) > best)
				best = merit(&out->at[i], criterion);
		for (uint32_t i = 0; i < out->count; i++)
			out->tied[i] &= merit(&out->at[i], criterion) == best;
	}
}

static void naive(struct naive_candidates *out)
{
	bool candidate[NODES];
	struct verdict verdict;

	out->count = 0;
	T_TRUE(!fits(0)); /* the run under test */
	for (uint32_t i = 0; i < snapshot.slots; i++) {
		verdict_clear(&verdict);
		cycle_why(rig.cycle, i, &verdict);
		candidate[i] = verdict.code == VERDICT_UNSCHEDULABLE;
	}
	for (uint32_t i = 0; i < snapshot.slots; i++)
		if (candidate[i])
			try_node(i, out);
	find_tied(out);
}

/* -- the real thing ---------------------------------------------------------------------- */

static const struct preempt_opts every = {.candidates_percent = 100, .keep_all = true};
static struct cycle_outcome last;
static uint32_t added_up, asked, most_victims;

static void real(bool never_sums, struct naive_candidates *out)
{
	struct pod_self self = rig_self(preemptor);
	struct preempt_outcome outcome;

	cycle_run(rig.cycle, rig_class(preemptor->spec), &self, 0, &last);
	rig.preempt->never_sums = never_sums;
	preempt_run(rig.preempt, rig.cycle, &last, &every, &outcome);
	T_EQ(outcome.code == VERDICT_SUCCESS, outcome.candidates > 0);
	out->count = outcome.candidates;
	memset(out->tied, 0, sizeof out->tied);
	for (uint32_t i = 0; i < outcome.tied_count; i++)
		out->tied[outcome.tied[i]] = true;
	for (uint32_t i = 0; i < outcome.candidates; i++) {
		const struct preempt_candidate *from = &outcome.candidate[i];

		out->at[i] = (struct naive_candidate){
			from->node, from->violations, from->count, {0}};
		for (uint32_t k = 0; k < from->count; k++)
			out->at[i].victim[k] =
				(uint32_t)snapshot
					.placed[outcome.all_victims[from->first + k]]
					.user;
	}
	if (outcome.candidates > 0)
		T_EQ(outcome.node, outcome.candidate[outcome.tied[0]].node);
	for (uint32_t i = 0; i < outcome.candidates; i++)
		most_victims = outcome.candidate[i].count > most_victims
		                       ? outcome.candidate[i].count
		                       : most_victims;
	if (rig.preempt->only_fit && outcome.candidates > 0)
		added_up++;
	else if (outcome.candidates > 0)
		asked++;
}

static void show(const char *label, const struct naive_candidates *all)
{
	for (uint32_t i = 0; i < all->count; i++) {
		printf("# %s: node %u, %u violations%s:", label, all->at[i].slot,
		       all->at[i].violations, all->tied[i] ? ", tied" : "");
		for (uint32_t k = 0; k < all->at[i].count; k++)
			printf(" p%u", all->at[i].victim[k]);
		printf("\n");
	}
}

static bool are_same(const struct naive_candidates *a, const struct naive_candidates *b)
{
	if (a->count != b->count)
		return false;
	for (uint32_t i = 0; i < a->count; i++)
		if (a->at[i].slot != b->at[i].slot || a->tied[i] != b->tied[i] ||
		    a->at[i].violations != b->at[i].violations ||
		    a->at[i].count != b->at[i].count ||
		    memcmp(a->at[i].victim, b->at[i].victim,
		           a->at[i].count * sizeof(uint32_t)) != 0)
			return false;
	return true;
}

static void same(const struct naive_candidates *got, const struct naive_candidates *want)
{
	if (are_same(got, want))
		return;
	show("got", got);
	show("want", want);
	t_fail(__FILE__, __LINE__, "they differ");
}

/* For runs that only keep the best candidate and skip nodes that can not be better. No
 * victims: there is no candidate. */
static void best(uint64_t draw, struct naive_candidate *out)
{
	struct preempt_opts opts = every;
	struct preempt_outcome outcome;

	opts.keep_all = false;
	opts.draw = draw;
	preempt_run(rig.preempt, rig.cycle, &last, &opts, &outcome);
	*out = (struct naive_candidate){
		outcome.node, outcome.violations, outcome.victims, {0}};
	for (uint32_t i = 0; i < outcome.victims; i++)
		out->victim[i] = (uint32_t)snapshot.placed[outcome.victim[i]].user;
}

static void is_best(const struct naive_candidate *got,
                    const struct naive_candidates *want)
{
	const struct naive_candidate *at = want->at;

	T_EQ(got->count > 0, want->count > 0);
	if (want->count == 0)
		return;
	while (at->slot != got->slot)
		T_TRUE(++at < want->at + want->count);
	T_TRUE(want->tied[at - want->at]);
	T_EQ(got->violations, at->violations);
	T_EQ(got->count, at->count);
	for (uint32_t i = 0; i < got->count; i++)
		T_EQ(got->victim[i], at->victim[i]);
}

static void same_bests(const struct naive_candidates *want)
{
	struct naive_candidate got;

	best(0, &got);
	is_best(&got, want);
	for (uint32_t i = 0; i < want->count && want->at[i].slot != got.slot; i++)
		T_TRUE(!want->tied[i]);
	for (int i = 0; i < 3; i++) {
		best(below(1000), &got);
		is_best(&got, want);
	}
}

/* A number that changes when any pod moves or any sum changes. */
static uint64_t whole(void)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < snapshot.slots; i++) {
		const struct node_amounts *used = &snapshot.row[i].used;
		uint64_t here = (uint64_t)used->cpu_milli * 3 +
		                (uint64_t)used->memory * 5 + (uint64_t)used->pods;

		for (uint32_t k = snapshot.row[i].first_pod; k != SNAPSHOT_NONE;
		     k = snapshot.placed[k].next_on_node)
			here += (snapshot.placed[k].user + 7) *
			        (snapshot.placed[k].flags + 11);
		sum = sum * 31 + here;
	}
	return sum;
}

/* Results cached in one run serve the next. The model changes all nodes, so it does not
 * run each time. */
static void compare(void)
{
	struct naive_candidates got = {0}, slow = {0}, want = {0};
	uint64_t before = whole();
	struct naive_candidate first;

	rig.preempt->never_sums = false;
	best(below(1000), &first);
	if (chance(50))
		best(below(1000), &first);
	real(true, &slow);
	is_best(&first, &slow);
	rig.preempt->never_sums = false;
	same_bests(&slow);
	real(false, &got);
	same_bests(&got);
	T_EQ(whole() == before, true);
	snapshot_check(&snapshot);
	same(&got, &slow);
	if (chance(50))
		return;
	naive(&want);
	same(&got, &want);
}

static void step(int number)
{
	static const int priorities[] = {0, 5, 10, 50, 150};
	struct pod pod = random_pod(2000 + number, priorities[below(5)],
	                            crowded ? 150 : 16, chance(50) ? 60 : 0);
	struct pod_self self = rig_self(&pod);

	preemptor = &pod;
	for (uint32_t again = 1 + below(3); again > 0; again--) {
		for (uint32_t n = chance(50) ? 0 : below(6); n > 0; n--)
			replace(below(crowded ? PODS : SPARSE_PODS));
		if (chance(30))
			put_random_budget();
		cycle_run(rig.cycle, rig_class(pod.spec), &self, 0, &last);
		if (last.result == CYCLE_NONE && last.pre.code == VERDICT_SUCCESS)
			compare();
	}
	rig_close_classes();
	pod_drop(&model, &pod);
}

static void history(uint64_t seed, bool cached)
{
	uint32_t nodes;

	pl_rng_init(&rng, seed);
	rig_begin("", cached);
	spreads = seed % 3 == 0;
	crowded = seed % 5 < 2;
	if (seed % 7 == 0)
		rig.preempt->rankings.most = 50;
	nodes = 2 + below(NODES - 1);
	for (uint32_t i = 0; i < nodes; i++)
		put_random_node((int)i);
	memset(pods, 0, sizeof pods);
	for (uint32_t i = 0; i < PODS; i++)
		pods[i].placed = SNAPSHOT_NONE;
	for (uint32_t i = 0; i < PODS && i < nodes * (crowded ? 50 : 8); i++)
		replace(i);
	for (uint32_t n = below(BUDGETS); n > 0; n--)
		put_random_budget();
	for (uint32_t n = chance(40) ? below(3) : 0; n > 0; n--)
		nominate((int)n);
	for (int i = 0; i < STEPS; i++)
		step(i);
	for (uint32_t i = 0; i < PODS; i++)
		pod_drop(&model, &pods[i].pod);
	rig_end();
}

T_CASE_SECONDS(random_histories_agree_with_a_model, 120)
{
	for (uint64_t seed = 1; seed <= 60; seed++)
		history(seed, seed % 2 == 0);
	T_TRUE(added_up > 100 && asked > 100 && most_victims > 10);
}
