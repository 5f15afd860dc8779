/*
 * Large gangs with rules about pods on other nodes, of several shards over one store,
 * among single pods with rules, in random histories: lost answers, partitions that change
 * hands, shards that die and whose transactions are applied long after, nodes that are
 * relabelled, pods that end. A naive judge follows the store, revision by revision: when
 * a record says that a gang is bound, its members must be such that a single scheduler,
 * deciding pod after pod on the store as it is at that moment, could have put them there,
 * and so must every other pod when it is bound. From the record on the members count as
 * bound for the judge, wherever their states are.
 */
#include <stdarg.h>

#include "tests/support/shardsched/shard/gangs_rig.h"

enum {
	GANGS = 3,
	MEMBERS = 5,
	SINGLES = 14,
	ALL = GANGS * MEMBERS + SINGLES,
	ZONES = 3,
	NOWHERE = NODES,
	STEPS = 4000,
	HISTORIES = 16,
};

/* -- the store --------------------------------------------------------------- */

/* Rules are about pods of one app, in a zone; 0: no rule. */
struct gang_pod_kind {
	char app, apart, near, spread;
};

static const struct gang_pod_kind gang_kinds[GANGS] = {
	{.app = 's', .spread = 's'},
	{.app = 'x', .apart = 'n'},
	{.app = 'n', .near = 'y', .apart = 'z'},
};

static const struct gang_pod_kind single_kinds[] = {
	{.app = 's', .spread = 's'},
	{.app = 's', .spread = 's'},
	{.app = 's'},
	{.app = 'w', .apart = 'x'},
	{.app = 'z', .apart = 'n'},
	{.app = 'y', .near = 's'},
	{.app = 'y'},
};

enum { YARD = 6 }; /* one pod of that kind */

static const struct gang_pod_kind *kind_of(uint32_t pod)
{
	const uint32_t kinds = sizeof single_kinds / sizeof single_kinds[0];

	return pod < GANGS * MEMBERS ? &gang_kinds[pod / MEMBERS]
	                             : &single_kinds[(pod - GANGS * MEMBERS) % kinds];
}

static unsigned slow; /* a shard; SHARDS: none */
static uint32_t calm; /* the higher, the less happens besides */
static uint64_t relabels, ends, binds, flips, aborts, promised_gone;

__attribute__((format(printf, 1, 2))) static const char *text(const char *fmt, ...)
{
	static char room[16][1024];
	static unsigned at;
	char *out = room[at++ % 16];
	va_list args;

	va_start(args, fmt);
	/* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): it was begun above */
	(void)vsnprintf(out, 1024, fmt, args);
	va_end(args);
	return out;
}

static const char *term(const char *name, char app)
{
	return app == 0 ? ""
	                : text("\"%s\":{\"requiredDuringSchedulingIgnoredDuringExecution"
	                       "\":[{\"topologyKey\":\"zone\",\"labelSelector\":{"
	                       "\"matchLabels\":{\"app\":\"%c\"}}}]}",
	                       name, app);
}

/* Members of the spec object. */
static const char *rules_of(const struct gang_pod_kind *kind)
{
	const char *apart = term("podAntiAffinity", kind->apart);
	const char *near = term("podAffinity", kind->near);

	return text("\"affinity\":{%s%s%s},%s", apart,
	            kind->apart != 0 && kind->near != 0 ? "," : "", near,
	            kind->spread == 0
	                    ? ""
	                    : text("\"topologySpreadConstraints\":[{\"maxSkew\":1,"
	                           "\"topologyKey\":\"zone\",\"whenUnsatisfiable\":"
	                           "\"DoNotSchedule\",\"labelSelector\":{"
	                           "\"matchLabels\":{\"app\":\"%c\"}}}],",
	                           kind->spread));
}

static uint32_t partition_of_single(uint32_t i)
{
	uint32_t p = 0;

	T_OK(partition_of_pod(PL_SPAN_LIT("web"), pl_span_str(text("s-%u", i)),
	                      RIG_PARTITIONS, &p, &rig.err),
	     &rig.err);
	return p;
}

/* The key of its spec and state, without the last word. */
static const char *key_of(uint32_t pod)
{
	uint32_t i = pod - GANGS * MEMBERS;

	if (pod >= GANGS * MEMBERS)
		return text("/schedules/%04u/web/s-%u/", partition_of_single(i), i);
	return text("/schedules/%04u/web/p-%u-%u/", partition_of_gang(pod / MEMBERS),
	            pod / MEMBERS, pod % MEMBERS);
}

static uint32_t pod_of(struct pl_span name)
{
	char copy[32], *rest;
	unsigned long first;

	(void)snprintf(copy, sizeof copy, "%.*s", PL_SPAN_ARG(name));
	first = strtoul(copy + 2, &rest, 10);
	if (copy[0] == 's')
		return GANGS * MEMBERS + (uint32_t)first;
	return (uint32_t)(first * MEMBERS + strtoul(rest + 1, NULL, 10));
}

static uint32_t number_of(struct pl_span node)
{
	return (uint32_t)strtoul((const char *)node.at + 2, NULL, 10);
}

static void put_pod(uint32_t pod)
{
	const struct gang_pod_kind *kind = kind_of(pod);
	const char *labels = text("\"app\":\"%c\"", kind->app);

	if (rig_value(&rig, text("%sspec", key_of(pod)))[0] != 0)
		return;
	if (pod < GANGS * MEMBERS) {
		put_member_with(pod / MEMBERS, pod % MEMBERS, MEMBERS, labels,
		                rules_of(kind));
		return;
	}
	rig_put(&rig, text("%sspec", key_of(pod)),
	        text("{\"metadata\":{\"namespace\":\"web\",\"name\":\"s-%u\",\"labels\":"
	             "{%s}},\"spec\":{%s\"containers\":[{\"name\":\"c\",\"resources\":{"
	             "\"requests\":{\"cpu\":\"1\"}}}]}}",
	             pod - GANGS * MEMBERS, labels, rules_of(kind)));
}

/* -- the judge --------------------------------------------------------------- */

struct gang_judge_bind {
	uint32_t pod, node;
};

static struct {
	uint32_t cursor; /* index into the store's log */
	uint32_t zone[NODES];
	uint32_t at[ALL]; /* NOWHERE: not bound */
	bool promised[ALL];
	int64_t spec_rev[ALL];
	int phase[GANGS]; /* -1: no record */
	struct gang_judge_bind bind[2 * ALL];
	uint32_t binds;
} truth;

static uint32_t count_in(char app, uint32_t zone)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < ALL; i++)
		count += truth.at[i] != NOWHERE && kind_of(i)->app == app &&
		         (zone == ZONES || truth.zone[truth.at[i]] == zone);
	return count;
}

static bool skews(const struct gang_pod_kind *kind, uint32_t zone)
{
	uint32_t least = UINT32_MAX;
	uint32_t own = count_in(kind->spread, zone) + (kind->app == kind->spread);

	for (uint32_t n = 0; n < NODES; n++)
		if (count_in(kind->spread, truth.zone[n]) < least)
			least = count_in(kind->spread, truth.zone[n]);
	return own > least + 1;
}

/* NULL: a single scheduler could put it there now. */
static const char *complaint(const struct gang_judge_bind *bind)
{
	const struct gang_pod_kind *kind = kind_of(bind->pod);
	uint32_t zone = truth.zone[bind->node];

	for (uint32_t i = 0; i < ALL; i++)
		if (i != bind->pod && truth.at[i] != NOWHERE &&
		    truth.zone[truth.at[i]] == zone &&
		    (kind->apart == kind_of(i)->app || kind_of(i)->apart == kind->app))
			return "it is not to be with one that is there";
	if (kind->near != 0 && count_in(kind->near, zone) == 0 &&
	    (kind->near != kind->app || count_in(kind->near, ZONES) > 0))
		return "it is to be where one is";
	if (kind->spread != 0 && skews(kind, zone))
		return "zones are not even";
	return NULL;
}

/* In some order, one after the other. The first pod that can come is taken: no rule here
 * is broken by a pod that came where it was allowed. */
static void judge(int64_t revision)
{
	uint32_t left = truth.binds, before = 0;

	while (left != before) {
		before = left;
		for (uint32_t i = 0; i < truth.binds; i++) {
			const struct gang_judge_bind *bind = &truth.bind[i];

			if (truth.at[bind->pod] == bind->node || complaint(bind) != NULL)
				continue;
			truth.at[bind->pod] = bind->node;
			left--;
		}
	}
	for (uint32_t i = 0; left > 0 && i < truth.binds; i++) {
		const struct gang_judge_bind *bind = &truth.bind[i];

		if (truth.at[bind->pod] != bind->node)
			t_fail(__FILE__, __LINE__, "%s on n-%u at %lld: %s",
			       key_of(bind->pod), bind->node, (long long)revision,
			       complaint(bind));
	}
	truth.binds = 0;
}

static void see_state(const struct kv_event *event, const struct keys_id *id)
{
	uint32_t pod = pod_of(id->name), node;
	struct pod_state state;

	if (event->is_delete)
		return; /* the spec goes with the state */
	T_OK(state_parse(event->record.value, &rig.store.arena, &state, &rig.err),
	     &rig.err);
	if (state.phase != STATE_BOUND)
		return;
	node = number_of(state.node);
	binds++;
	remote_ever += owner[id->partition] != owner[partition_of_name(node_name(node))];
	if (truth.at[pod] != NOWHERE) {
		T_EQ(truth.at[pod], node);
		T_TRUE(truth.promised[pod]);
		truth.promised[pod] = false;
		return;
	}
	truth.bind[truth.binds++] = (struct gang_judge_bind){pod, node};
}

static void see_spec(const struct kv_event *event, const struct keys_id *id)
{
	uint32_t pod = pod_of(id->name);

	truth.spec_rev[pod] = event->is_delete ? 0 : event->record.mod_revision;
	if (!event->is_delete)
		return;
	promised_gone += truth.promised[pod];
	truth.at[pod] = NOWHERE;
	truth.promised[pod] = false;
}

/* No further member of a gang comes once its record is deleted. */
static void see_gone(uint32_t gang)
{
	for (uint32_t i = gang * MEMBERS; i < (gang + 1) * MEMBERS; i++) {
		if (truth.promised[i])
			truth.at[i] = NOWHERE;
		truth.promised[i] = false;
	}
	truth.phase[gang] = -1;
}

static void see_gang(const struct kv_event *event, const struct keys_id *id)
{
	uint32_t gang = number_of(id->name);
	struct gang_record record;
	int was = truth.phase[gang];

	if (event->is_delete) {
		see_gone(gang);
		return;
	}
	T_OK(gang_record_parse(event->record.value, &rig.store.arena, &record, &rig.err),
	     &rig.err);
	truth.phase[gang] = (int)record.phase;
	aborts += record.phase == GANG_PHASE_ABORTING && was != GANG_PHASE_ABORTING;
	if (record.phase != GANG_PHASE_BOUND || was == GANG_PHASE_BOUND)
		return;
	flips++;
	for (uint32_t n = 0; n < record.nodes; n++)
		for (uint32_t i = 0; i < record.node[n].pods; i++) {
			uint32_t pod = pod_of(record.node[n].pod[i].name);

			T_EQ(truth.at[pod], NOWHERE);
			truth.bind[truth.binds++] = (struct gang_judge_bind){
				pod, number_of(record.node[n].name)};
			truth.promised[pod] = true;
		}
}

/* A member that has gone, or was replaced, before the shard heard of it, went after it
 * was bound. */
static void drop_gone(const struct kv_event *event)
{
	struct gang_record record;

	T_OK(gang_record_parse(event->record.value, &rig.store.arena, &record, &rig.err),
	     &rig.err);
	for (uint32_t n = 0; n < record.nodes; n++)
		for (uint32_t i = 0; i < record.node[n].pods; i++) {
			uint32_t pod = pod_of(record.node[n].pod[i].name);

			if (!truth.promised[pod] ||
			    truth.spec_rev[pod] == record.node[n].pod[i].spec_rev)
				continue;
			promised_gone++;
			truth.at[pod] = NOWHERE;
			truth.promised[pod] = false;
		}
}

static void see(const struct kv_event *event)
{
	const char *zone = strstr((const char *)event->record.value.at, "\"zone\":\"z");
	struct keys_id id;

	T_EQ(keys_parse(event->record.key, &id, NULL), PL_OK);
	if (id.kind == KEYS_STATE)
		see_state(event, &id);
	else if (id.kind == KEYS_SPEC)
		see_spec(event, &id);
	else if (id.kind == KEYS_GANG)
		see_gang(event, &id);
	else if (id.kind == KEYS_NODE && zone != NULL)
		truth.zone[number_of(id.name)] = (uint32_t)(zone[9] - '0');
}

static void look(void)
{
	while (truth.cursor < rig.store.logged) {
		const struct kv_event *log = rig.store.log;
		uint32_t from = truth.cursor;
		int64_t revision = log[from].record.mod_revision;

		for (; truth.cursor < rig.store.logged &&
		       log[truth.cursor].record.mod_revision == revision;
		     truth.cursor++)
			see(&log[truth.cursor]);
		judge(revision);
		for (; from < truth.cursor; from++)
			if (!log[from].is_delete &&
			    pl_span_starts(log[from].record.key, PL_SPAN_LIT("/gangs/")))
				drop_gone(&log[from]);
	}
}

/* -- other pods -------------------------------------------------------------- */

/* The node's alloc without that pod, or unchanged: with its reservations. */
static void put_alloc(uint32_t n, uint32_t drop)
{
	char name[16];
	struct alloc_pod pods[ALL];
	struct alloc alloc;
	struct pl_buf buf = {.max = 1 << 16};
	uint32_t count = 0;
	int64_t all;

	(void)snprintf(name, sizeof name, "n-%u", n);
	alloc = rig_alloc(&rig, partition_of_name(name), name);
	for (uint32_t i = 0; i < alloc.pods; i++)
		if (pod_of(alloc.pod[i].name) != drop)
			pods[count++] = alloc.pod[i];
	all = alloc.used.pods - (int64_t)(alloc.pods - count);
	alloc.generation++;
	alloc.used = (struct alloc_amounts){.pods = all,
	                                    .cpu_milli = all * 1000,
	                                    .nonzero_cpu_milli = all * 1000,
	                                    .nonzero_memory = all * 200 * 1024 * 1024};
	alloc.pod = pods;
	alloc.pods = count;
	T_OK(alloc_print(&alloc, &buf, &rig.err), &rig.err);
	rig_set(&rig.store,
	        pl_span_str(text("/alloc/%04u/east/%s", partition_of_name(name), name)),
	        pl_buf_span(&buf));
	pl_buf_done(&buf);
}

static void put_zone(uint32_t n, uint32_t zone, int cpus)
{
	char name[16];

	(void)snprintf(name, sizeof name, "n-%u", n);
	rig.store.revision++;
	rig_set(&rig.store,
	        pl_span_str(text("/nodes/%04u/east/%s", partition_of_name(name), name)),
	        pl_span_str(text("{\"metadata\":{\"name\":\"%s\",\"labels\":{\"zone\":"
	                         "\"z%u\"}},\"status\":{\"allocatable\":{\"cpu\":\"%d\","
	                         "\"memory\":\"64Gi\",\"pods\":\"110\"}}}",
	                         name, zone, cpus)));
	put_alloc(n, ALL);
	rig_set(&rig.store, PL_SPAN_LIT("/groups/nodes"), PL_SPAN_LIT("{\"v\":1}"));
}

static uint32_t bound_at(uint32_t pod)
{
	const char *value = rig_value(&rig, text("%sstate", key_of(pod)));
	struct pod_state state;

	if (value[0] == 0)
		return NOWHERE;
	T_OK(state_parse(pl_span_str(value), &rig.store.arena, &state, &rig.err),
	     &rig.err);
	return state.phase == STATE_BOUND ? number_of(state.node) : (uint32_t)NOWHERE;
}

/* The end of a pod puts the locks of all terms that select it; here, all locks. */
static void pod_ends(uint32_t pod)
{
	uint32_t node = bound_at(pod);

	if (rig_value(&rig, text("%sspec", key_of(pod)))[0] == 0)
		return;
	ends++;
	rig.store.revision++;
	rig_unset_all(&rig.store, kv_prefix(pl_span_str(key_of(pod))));
	if (node == NOWHERE)
		return;
	put_alloc(node, pod);
	for (uint32_t i = 0; i < rig.store.keys; i++) {
		struct pl_span key = rig.store.key[i].key;
		struct keys_id id;

		T_EQ(keys_parse(key, &id, NULL), PL_OK);
		if (id.kind == KEYS_GROUP && rig.store.key[i].mod_revision != 0)
			rig_set(&rig.store, key, PL_SPAN_LIT("{\"v\":1}"));
	}
}

static void all_ends_of(uint32_t gang)
{
	for (uint32_t i = 0; i < MEMBERS; i++)
		pod_ends(gang * MEMBERS + i);
}

static void all_come_of(uint32_t gang)
{
	for (uint32_t i = 0; i < MEMBERS; i++)
		put_pod(gang * MEMBERS + i);
}

/* -- steps ------------------------------------------------------------------- */

static void others_step(void)
{
	uint32_t gang = below(GANGS), single = GANGS * MEMBERS + below(SINGLES);

	switch (below(16)) {
	case 0:
	case 1:
	case 2:
		all_come_of(gang);
		return;
	case 3:
	case 4:
		if (bound_at(gang * MEMBERS) != NOWHERE)
			all_ends_of(gang);
		return;
	case 5:
		if (below(4) == 0)
			pod_ends(gang * MEMBERS + below(MEMBERS));
		return;
	case 6:
		relabels++;
		put_zone(below(NODES), below(ZONES), CPUS);
		return;
	case 7:
		if (below(2) == 0)
			shard_dies();
		return;
	case 8:
		the_dead_speak();
		return;
	case 9:
	case 10:
		pod_ends(single);
		return;
	default:
		put_pod(single);
	}
}

static void answer_some(void)
{
	for (unsigned i = 0; i < RIG_OUT_MAX; i++) {
		uint32_t how = below(60);

		if (!rig.out[i].used || how < 30)
			continue;
		if (how == 30) { /* applied, and no shard heard of it */
			(void)rig_exec(&rig.store, &rig.out[i].req.txn);
			rig_fail(&rig, i, PL_UNKNOWN);
			lost_ever++;
		} else if (how == 31) {
			rig_fail(&rig, i, PL_BUSY);
		} else {
			(void)rig_answer(&rig, i);
		}
		look();
	}
}

static void hear_some(void)
{
	for (uint32_t p = 0; p < RIG_PARTITIONS; p++) {
		if (rig.remote_list[p] && below(2) == 0)
			rig_remote_list(&rig, p);
		for (unsigned i = 0; i < SCHED_PARTS; i++)
			if (below(2) == 0)
				(void)rig_deliver(&rig, p, (enum sched_part)i, below(8));
	}
	for (unsigned i = 0; i < SCHED_VIEWS; i++)
		if (below(2) == 0)
			(void)rig_view_deliver(&rig, (enum sched_view)i, below(8));
}

/* A bit of everything that a shard does. */
static void shard_goes_on(void)
{
	rig.now_ms += below(12);
	rig_views(&rig);
	rig_run(&rig);
	answer_some();
	hear_some();
}

/* One shard may be slow for a while, with whatever it is in the middle of. */
static unsigned a_shard(void)
{
	unsigned shard = below(SHARDS);

	if (below(40) == 0)
		slow = below(2 * SHARDS);
	return shard == slow && below(8) != 0 ? (shard + 1) % SHARDS : shard;
}

static void step(void)
{
	select_shard(a_shard());
	if (below(calm) == 0)
		others_step();
	else if (below(12) == 0)
		shards_step();
	else
		shard_goes_on();
	look();
}

static void answer(unsigned out)
{
	(void)rig_answer(&rig, out);
	look();
}

static bool is_done(uint32_t gang)
{
	for (uint32_t i = 0; i < MEMBERS; i++)
		if (bound_at(gang * MEMBERS + i) == NOWHERE)
			return false;
	return truth.phase[gang] == -1;
}

static void until_done(uint32_t gang)
{
	all_come_of(gang);
	for (unsigned i = 0; i < 4000 && !is_done(gang); i++) {
		for (unsigned n = 0; n < SHARDS; n++) {
			select_shard(n);
			rig_round(&rig, answer);
		}
		rig.now_ms += 50;
	}
	T_TRUE(is_done(gang));
}

/* Ends everything that could keep gangs from being bound. */
static void calm_down(void)
{
	for (uint32_t i = 0; i < ALL; i++)
		pod_ends(i);
	for (uint32_t n = 0; n < NODES; n++)
		put_zone(n, n % ZONES, GANGS * MEMBERS);
	put_pod(GANGS * MEMBERS + YARD);
	for (uint32_t gang = GANGS; gang > 0; gang--)
		until_done(gang - 1);
}

static void begin(uint64_t seed)
{
	truth.cursor = truth.binds = 0;
	for (uint32_t i = 0; i < ALL; i++) {
		truth.at[i] = NOWHERE;
		truth.promised[i] = false;
		truth.spec_rev[i] = 0;
	}
	for (uint32_t i = 0; i < GANGS; i++)
		truth.phase[i] = -1;
	open_all(seed);
	ops = 18;
	set_ops();
	for (uint32_t n = 0; n < NODES; n++)
		put_zone(n, n % ZONES, CPUS);
	look();
}

T_CASE_SECONDS(rules_hold_for_gangs_that_go_in_steps, 200)
{
	pl_rng_init(&rng, t_seed());
	for (unsigned i = 0; i < HISTORIES; i++) {
		printf("# history %u\n", i);
		(void)fflush(stdout);
		calm = 6u << i % 3;
		begin(t_seed() * 1000 + i);
		for (unsigned n = 0; n < STEPS; n++)
			step();
		calm_down();
		bury();
		close_all();
	}
	printf("# %" PRIu64 " gangs bound, %" PRIu64 " aborted, %" PRIu64
	       " binds, %" PRIu64 " ended, %" PRIu64
	       " went as their gang was bound, %" PRIu64 " nodes relabelled, %" PRIu64
	       " remote, %" PRIu64 " moves, %" PRIu64 " answers lost, %" PRIu64
	       " dead, %" PRIu64 " of theirs late\n",
	       flips, aborts, binds, ends, promised_gone, relabels, remote_ever,
	       moves_ever, lost_ever, dead_ever, late_txns);
	T_REACHED(flips > 100 && aborts > 16 && binds > 1000 && ends > 1000);
	T_REACHED(relabels > 100 && remote_ever > 100 && lost_ever > 50 &&
	          dead_ever > 50);
}
