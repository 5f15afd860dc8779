/*
 * InterPodAffinity and the snapshot's counts agree with a model that counts all pods for
 * each question, on random histories.
 */
#include <stdlib.h>

#include "store/base/buf.h"
#include "store/base/rng.h"
#include "tests/support/shardsched/plugins/inter_pod_rig.h"

/* -- the model --------------------------------------------------------------------------- */

/* For terms of the pod itself: an unknown namespace is selected only by an empty
 * selector. */
static bool own_term_finds(const struct pod_term *term, const struct spec *spec)
{
	const struct labels *namespace =
		catalog_namespace_labels(&snapshot.catalog, spec->namespace);
	bool sees = selector_is_everything(term->namespace_selector);

	for (uint32_t i = 0; i < term->count; i++)
		sees = sees || term->namespace[i] == spec->namespace;
	if (namespace != NULL)
		sees = sees || selector_matches(&model.strings, term->namespace_selector,
		                                namespace);
	return sees && selector_matches(&model.strings, term->selector, spec->labels);
}

static bool their_term_finds(const struct pod_term *term, const struct spec *spec)
{
	return pod_term_matches(
		&model.strings, term, spec->namespace,
		catalog_namespace_labels(&snapshot.catalog, spec->namespace),
		spec->labels);
}

/* Each node is a domain of the hostname key. */
static uint32_t domain_at(uint32_t slot, uint32_t key)
{
	uint32_t value = labels_get(snapshot.row[slot].node.labels, key);

	return value != 0 && key == id("kubernetes.io/hostname") ? UINT32_MAX - slot
	                                                         : value;
}

/* Iterates over the pods on nodes. */
static bool each_pod(uint32_t *slot, uint32_t *pod)
{
	if (*pod != SNAPSHOT_NONE)
		*pod = snapshot.placed[*pod].next_on_node;
	else
		*slot = UINT32_MAX;
	while (*pod == SNAPSHOT_NONE) {
		if (++*slot >= snapshot.slots)
			return false;
		if (snapshot.row[*slot].node.name != 0)
			*pod = snapshot.row[*slot].first_pod;
	}
	return true;
}

/* NOLINTBEGIN(bugprone-macro-parentheses): names that are declared here */
#define EACH_POD(slot, pod) \
	for (uint32_t slot = 0, pod = SNAPSHOT_NONE; each_pod(&slot, &pod);)
/* NOLINTEND(bugprone-macro-parentheses) */

static const struct spec *spec_of(uint32_t pod)
{
	return snapshot.placed[pod].view->spec;
}

static bool finds_all(const struct spec *asks, const struct spec *spec)
{
	for (uint32_t i = 0; i < asks->template->affinity.count; i++)
		if (!own_term_finds(spec_affinity(asks)[i].term, spec))
			return false;
	return true;
}

static bool model_satisfies_affinity(const struct spec *asks, uint32_t slot)
{
	bool near = true, any = false;

	for (uint32_t i = 0; i < asks->template->affinity.count; i++) {
		uint32_t key = spec_affinity(asks)[i].term->topology_key;
		bool here = false;

		if (domain_at(slot, key) == 0)
			return false;
		EACH_POD(at, pod)
		{
			if (!finds_all(asks, spec_of(pod)))
				continue;
			any = any || domain_at(at, key) != 0;
			here = here || domain_at(at, key) == domain_at(slot, key);
		}
		near = near && here;
	}
	return near || (!any && finds_all(asks, asks));
}

static bool model_satisfies_anti_affinity(const struct spec *asks, uint32_t slot)
{
	for (uint32_t i = 0; i < asks->template->anti_affinity.count; i++) {
		const struct pod_term *term = spec_anti_affinity(asks)[i].term;
		uint32_t value = domain_at(slot, term->topology_key);

		EACH_POD(at, pod)
		{
			if (value != 0 && domain_at(at, term->topology_key) == value &&
			    own_term_finds(term, spec_of(pod)))
				return false;
		}
	}
	return true;
}

static bool model_satisfies_existing(const struct spec *asks, uint32_t slot)
{
	EACH_POD(at, pod)
	{
		const struct spec *spec = spec_of(pod);

		for (uint32_t i = 0; i < spec->template->anti_affinity.count; i++) {
			const struct pod_term *term = spec_anti_affinity(spec)[i].term;
			uint32_t value = domain_at(slot, term->topology_key);

			if (value != 0 && domain_at(at, term->topology_key) == value &&
			    their_term_finds(term, asks))
				return false;
		}
	}
	return true;
}

static enum reason_code model_refuses(const struct spec *asks, uint32_t slot)
{
	if (!model_satisfies_affinity(asks, slot))
		return REASON_POD_AFFINITY;
	if (!model_satisfies_anti_affinity(asks, slot))
		return REASON_POD_ANTI_AFFINITY;
	return model_satisfies_existing(asks, slot) ? REASON_NONE
	                                            : REASON_POD_ANTI_AFFINITY_OTHERS;
}

/* *any: a pod was found in some domain, even if the weights add up to 0. */
static int64_t model_adds(const struct spec_term *term, uint32_t count, int64_t weight,
                          const uint32_t slot_at[2],
                          bool (*finds)(const struct pod_term *, const struct spec *),
                          const struct spec *spec, bool *any)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t key = term[i].term->topology_key;
		uint32_t there = domain_at(slot_at[1], key);

		if (there == 0 || !finds(term[i].term, spec))
			continue;
		*any = true;
		if (there == domain_at(slot_at[0], key))
			sum += weight * (term[i].weight == 0 ? 1 : term[i].weight);
	}
	return sum;
}

static int64_t model_score(const struct spec *asks, uint32_t slot, bool *any)
{
	int64_t sum = 0;

	EACH_POD(at, pod)
	{
		const struct spec *spec = spec_of(pod);
		const uint32_t pair[2] = {slot, at};

		sum += model_adds(spec_soft_affinity(asks),
		                  asks->template->soft_affinity.count, 1, pair,
		                  own_term_finds, spec, any);
		sum += model_adds(spec_soft_anti_affinity(asks),
		                  asks->template->soft_anti_affinity.count, -1, pair,
		                  own_term_finds, spec, any);
		if (args_now.hard_weight > 0)
			sum += model_adds(
				spec_affinity(spec), spec->template->affinity.count,
				args_now.hard_weight, pair, their_term_finds, asks, any);
		sum += model_adds(spec_soft_affinity(spec),
		                  spec->template->soft_affinity.count, 1, pair,
		                  their_term_finds, asks, any);
		sum += model_adds(spec_soft_anti_affinity(spec),
		                  spec->template->soft_anti_affinity.count, -1, pair,
		                  their_term_finds, asks, any);
	}
	return sum;
}

static bool model_skips(const struct spec *asks)
{
	if (asks->template->affinity.count + asks->template->anti_affinity.count > 0)
		return false;
	EACH_POD(at, pod)
	{
		const struct spec *spec = spec_of(pod);

		for (uint32_t i = 0; i < spec->template->anti_affinity.count; i++) {
			const struct pod_term *term = spec_anti_affinity(spec)[i].term;

			if (domain_at(at, term->topology_key) != 0 &&
			    their_term_finds(term, asks))
				return false;
		}
	}
	return true;
}

static struct pl_rng rng;

/* Counts of the cases that came up, so that the test can not compare nothing with
 * nothing. */
static unsigned seen_reason[REASON_CODES], seen_skip[2], seen_score[2];

/* -- comparing --------------------------------------------------------------------------- */

static enum reason_code why_of(const struct plugin_call *call, uint32_t slot)
{
	struct verdict verdict;

	verdict_clear(&verdict);
	row->why(call, slot, &verdict);
	T_TRUE(verdict.count <= 1);
	T_EQ(verdict.code, verdict.count == 0 ? VERDICT_SUCCESS
	                   : verdict.reason[0].code == REASON_POD_AFFINITY
	                           ? VERDICT_UNRESOLVABLE
	                           : VERDICT_UNSCHEDULABLE);
	return verdict.count == 0 ? REASON_NONE
	                          : (enum reason_code)verdict.reason[0].code;
}

static struct pl_bitset live_copy(void)
{
	struct pl_bitset set;

	T_OK(pl_bitset_make(&arena, snapshot.capacity, &set), NULL);
	for (size_t i = 0; i < pl_bitset_words(snapshot.live.bits); i++)
		set.word[i] = snapshot.live.word[i];
	return set;
}

static void compare_filter(const struct plugin_call *call)
{
	struct pl_bitset set = live_copy();

	row->filter(call, (struct node_span){0, snapshot.capacity / 64, set.word});
	PL_BITSET_EACH (slot, snapshot.live) {
		uint64_t single[1] = {UINT64_C(1) << slot % 64};
		enum reason_code want = model_refuses(call->spec, (uint32_t)slot);

		seen_reason[want]++;
		T_EQ(why_of(call, (uint32_t)slot), want);
		T_EQ(pl_bitset_has(set, slot), want == REASON_NONE);
		row->filter(call, (struct node_span){(uint32_t)slot / 64, 1, single});
		T_EQ(single[0] != 0, want == REASON_NONE);
	}
}

static void compare_scores(const struct plugin_call *call)
{
	struct pl_bitset set = live_copy();
	int64_t *score = pl_arena_zalloc(&arena, snapshot.capacity, sizeof *score);
	int64_t *raw = pl_arena_zalloc(&arena, snapshot.capacity, sizeof *raw);
	int64_t low = INT64_MAX, high = INT64_MIN;
	enum verdict_code code;
	struct verdict verdict;
	bool any = false;

	T_TRUE(score != NULL && raw != NULL);
	for (size_t i = 0; i < pl_bitset_words(set.bits) && pl_rng_chance(&rng, 1, 2);
	     i++)
		set.word[i] &= pl_rng_next(&rng);
	verdict_clear(&verdict);
	code = row->pre_score(call, set, &verdict);
	PL_BITSET_EACH (slot, snapshot.live)
		(void)model_score(call->spec, (uint32_t)slot, &any);
	if (pl_bitset_empty(set))
		return;
	if (args_now.ignore_others)
		any = any &&
		      call->spec->template->soft_affinity.count +
		                      call->spec->template->soft_anti_affinity.count >
		              0;
	T_EQ(code, any ? VERDICT_SUCCESS : VERDICT_SKIP);
	seen_score[any]++;
	if (!any)
		return;
	T_TRUE(row->score(call, (struct node_span){0, snapshot.capacity / 64, set.word},
	                  score));
	PL_BITSET_EACH (slot, set) {
		int64_t want = model_score(call->spec, (uint32_t)slot, &any);

		T_EQ(score[slot], want);
		low = want < low ? want : low;
		high = want > high ? want : high;
		raw[slot] = want;
	}
	row->normalize(call, set, score);
	PL_BITSET_EACH (slot, set)
		T_EQ(score[slot], high == low
		                          ? 0
		                          : (int64_t)(100.0 * ((double)(raw[slot] - low) /
		                                               (double)(high - low))));
}

static void compare(struct asked_class *asked)
{
	struct inter_pod_state state = {0};
	struct plugin_call call = call_of(asked, &state);
	struct plugin_narrow narrow = {0};
	enum verdict_code code;
	struct verdict verdict;

	verdict_clear(&verdict);
	code = row->pre_filter(&call, &narrow, &verdict);
	T_EQ(code, model_skips(call.spec) ? VERDICT_SKIP : VERDICT_SUCCESS);
	seen_skip[code == VERDICT_SKIP]++;
	compare_filter(&call);
	compare_scores(&call);
	pl_arena_reset(&arena);
}

/* -- histories --------------------------------------------------------------------------- */

enum { NODES = 24, PODS = 40, CLASSES = 6 };

static uint32_t nodes[NODES], pods[PODS];
static struct asked_class classes[CLASSES];
static struct pl_buf text;

static uint64_t below(uint64_t bound)
{
	return pl_rng_below(&rng, bound);
}

static void verdict(const char *what)
{
	T_OK(pl_buf_add_str(&text, what), NULL);
}

static const char *one_of(const char *const *word)
{
	uint64_t count = 0;

	while (word[count] != NULL)
		count++;
	return word[below(count)];
}

static const char *terminated_text(void)
{
	T_OK(pl_buf_add(&text, pl_span("", 1)), NULL);
	return (const char *)pl_buf_span(&text).at;
}

static void say_term(void)
{
	static const char *const selector[] = {
		"{'matchLabels':{'app':'x'}}",
		"{'matchLabels':{'app':'y'}}",
		"{'matchExpressions':[{'key':'app','operator':'In','values':['x','z']}]}",
		"{'matchExpressions':[{'key':'tier','operator':'DoesNotExist'}]}",
		"{}",
		"null",
		NULL};
	static const char *const spaces[] = {
		"",
		"",
		",'namespaces':['a','b']",
		",'namespaceSelector':{}",
		",'namespaceSelector':{'matchLabels':{'env':'dev'}}",
		(",'namespaceSelector':{'matchExpressions':[{'key':'env','operator':"
	         "'NotIn','values':['dev']}]},'namespaces':['c']"),
		NULL};
	static const char *const key[] = {"kubernetes.io/hostname", "zone", "rack", NULL};

	verdict("{'labelSelector':");
	verdict(one_of(selector));
	verdict(one_of(spaces));
	verdict(",'topologyKey':'");
	verdict(one_of(key));
	verdict("'}");
}

static void say_terms(const char *name, bool soft)
{
	uint64_t count = below(3);

	verdict("'");
	verdict(name);
	verdict("':[");
	for (uint64_t i = 0; i < count; i++) {
		verdict(i > 0 ? "," : "");
		if (soft)
			verdict(below(2) == 0 ? "{'weight':7,'podAffinityTerm':"
			                      : "{'weight':2,'podAffinityTerm':");
		say_term();
		verdict(soft ? "}" : "");
	}
	verdict("]");
}

static void say_affinity(const char *name)
{
	verdict("'");
	verdict(name);
	verdict("':{");
	say_terms("requiredDuringSchedulingIgnoredDuringExecution", false);
	if (below(2) == 0) {
		verdict(",");
		say_terms("preferredDuringSchedulingIgnoredDuringExecution", true);
	}
	verdict("}");
}

static struct pod random_pod(void)
{
	static const char *const namespace[] = {"a", "b", "c", NULL};
	static const char *const labels[] = {"'app':'x'", "'app':'y','tier':'1'",
	                                     "'app':'z'", "", NULL};
	bool near = below(3) == 0, away = below(3) == 0;

	pl_buf_clear(&text, 0);
	verdict("{'metadata':{'name':'p','namespace':'");
	verdict(one_of(namespace));
	verdict("','labels':{");
	verdict(one_of(labels));
	verdict("}},'spec':{'containers':[{'name':'c'}],'affinity':{");
	if (near)
		say_affinity("podAffinity");
	verdict(near && away ? "," : "");
	if (away)
		say_affinity("podAntiAffinity");
	verdict("}}}");
	return pod_from(terminated_text());
}

static void say_node(unsigned i)
{
	static const char *const zone[] = {"", ",'zone':'1'", ",'zone':'2'", NULL};
	char name[32], rack[32];

	pl_buf_clear(&text, 0);
	(void)snprintf(name, sizeof name, "n%u", i);
	verdict("{'metadata':{'name':'");
	verdict(name);
	verdict("','labels':{");
	if (below(5) > 0) {
		(void)snprintf(name, sizeof name, "h%u",
		               i / 2); /* two nodes share a name */
		verdict("'kubernetes.io/hostname':'");
		verdict(name);
		verdict("'");
		verdict(one_of(zone));
		(void)snprintf(rack, sizeof rack, ",'rack':'%u'", (unsigned)below(12));
		verdict(below(4) == 0 ? "" : rack);
	}
	verdict("}}}");
}

static void drop_pod(unsigned i)
{
	if (pods[i] == SNAPSHOT_NONE)
		return;
	snapshot_pod_remove(&snapshot, pods[i]);
	pods[i] = SNAPSHOT_NONE;
}

static void step_node(void)
{
	unsigned i = (unsigned)below(NODES);

	say_node(i);
	if (nodes[i] == SNAPSHOT_NONE) {
		nodes[i] = put_node(terminated_text());
	} else if (below(3) > 0) {
		change_node(nodes[i], terminated_text());
	} else {
		for (unsigned j = 0; j < PODS; j++)
			if (pods[j] != SNAPSHOT_NONE &&
			    snapshot.placed[pods[j]].node == nodes[i])
				drop_pod(j);
		snapshot_node_remove(&snapshot, nodes[i]);
		nodes[i] = SNAPSHOT_NONE;
	}
}

static void step_pod(void)
{
	unsigned i = (unsigned)below(PODS), node = (unsigned)below(NODES);
	struct pod_on_node there;
	struct pod pod;

	if (pods[i] != SNAPSHOT_NONE && below(4) == 0) {
		snapshot_pod_terminate(&snapshot, pods[i]);
		return;
	}
	drop_pod(i);
	if (nodes[node] == SNAPSHOT_NONE || below(3) == 0)
		return;
	pod = random_pod();
	there = on_node(&pod);
	T_OK(snapshot_pod_add(&snapshot, nodes[node], &there, &pods[i], &err), &err);
	pod_drop(&model, &pod);
}

static void step_class(void)
{
	struct asked_class *asked = &classes[below(CLASSES)];

	if (asked->pod.spec != NULL)
		asked_close(asked);
	asked->pod = random_pod();
	T_OK(asked_open(asked), &err);
}

static void step_space(void)
{
	static const char *const name[] = {"a", "b", "c", NULL};
	static const char *const labels[] = {"", "'env':'dev'", "'env':'prod'", NULL};
	const char *which = one_of(name);
	struct parse parse = {.model = &model, .arena = &arena};
	struct namespace namespace;
	char room[4096];

	if (below(3) == 0 && id(which) != 0) {
		T_OK(snapshot_namespace_drop(&snapshot, id(which), &err), &err);
		return;
	}
	pl_buf_clear(&text, 0);
	verdict("{'metadata':{'name':'");
	verdict(which);
	verdict("','labels':{");
	verdict(one_of(labels));
	verdict("}}}");
	T_OK(namespace_parse(&parse, json_of(room, terminated_text()), &namespace, &err),
	     &err);
	pl_arena_reset(&arena);
	T_OK(snapshot_namespace_put(&snapshot, &namespace, &err), &err);
}

/* A probe: some pods are removed, and single nodes and all nodes are judged. */
static void step_probe(void)
{
	snapshot_probe(&snapshot);
	for (unsigned i = 0; i < PODS; i += 2)
		if (pods[i] != SNAPSHOT_NONE)
			snapshot_pod_lift(&snapshot, pods[i]);
	for (unsigned i = 0; i < CLASSES; i++) {
		struct inter_pod_state state = {0};
		struct plugin_call call;

		if (classes[i].pod.spec == NULL)
			continue;
		call = call_of(&classes[i], &state);
		compare_filter(&call);
		pl_arena_reset(&arena);
	}
	for (unsigned i = 0; i < PODS; i += 2)
		if (pods[i] != SNAPSHOT_NONE)
			snapshot_pod_restore(&snapshot, pods[i]);
	snapshot_probe_end(&snapshot);
}

static void step(void)
{
	switch (below(12)) {
	case 0:
	case 1:
		step_node();
		break;
	case 2:
		step_class();
		break;
	case 3:
		step_space();
		break;
	case 4:
		step_probe();
		break;
	default:
		step_pod();
		break;
	}
}

/* Adds nodes without pods, for many host names. */
static void fill(unsigned count)
{
	char name[128];

	for (unsigned i = 0; i < count; i++) {
		(void)snprintf(name, sizeof name,
		               "{'metadata':{'name':'f%u','labels':{"
		               "'kubernetes.io/hostname':'f%u'}}}",
		               i, i);
		(void)put_node(name);
	}
}

static void clean_up(void)
{
	for (unsigned i = 0; i < CLASSES; i++)
		if (classes[i].pod.spec != NULL)
			asked_close(&classes[i]);
	for (unsigned i = 0; i < PODS; i++)
		drop_pod(i);
}

static void history(uint64_t seed, unsigned steps, unsigned more_nodes)
{
	pl_rng_init(&rng, seed);
	pl_buf_init(&text, 4096);
	begin();
	for (unsigned i = 0; i < NODES; i++)
		nodes[i] = SNAPSHOT_NONE;
	for (unsigned i = 0; i < PODS; i++)
		pods[i] = SNAPSHOT_NONE;
	for (unsigned i = 0; i < steps; i++) {
		step();
		if (i == steps / 2)
			fill(more_nodes);
		if (classes[i % CLASSES].pod.spec != NULL)
			compare(&classes[i % CLASSES]);
		if (i % 16 == 0)
			snapshot_check(&snapshot);
	}
	clean_up();
	end();
	pl_buf_done(&text);
}

T_CASE_SECONDS(random_histories_agree_with_recounting, 120)
{
	static const struct inter_pod_args args[] = {{1, false}, {0, false}, {50, true}};

	for (uint64_t i = 0; i < 12; i++) {
		args_now = args[i % 3];
		history(t_seed() + i, 600, 0);
	}
	T_REACHED(seen_reason[REASON_NONE] > 1000);
	T_REACHED(seen_reason[REASON_POD_AFFINITY] > 1000);
	T_REACHED(seen_reason[REASON_POD_ANTI_AFFINITY] > 1000);
	T_REACHED(seen_reason[REASON_POD_ANTI_AFFINITY_OTHERS] > 100);
	T_REACHED(seen_skip[0] > 100 && seen_skip[1] > 100);
	T_REACHED(seen_score[0] > 100 && seen_score[1] > 100);
}

T_CASE_SECONDS(random_histories_with_many_domains_agree, 120)
{
	for (uint64_t i = 0; i < 2; i++)
		history(t_seed() + i, 120, 700);
}
