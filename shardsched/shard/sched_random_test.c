/*
 * Random histories against a store: rivals, unknown outcomes, late ones, lost partitions,
 * changes under the decisions. After each step what the core knows is consistent, and
 * what stands in the store is right; in the end everything is bound that can be.
 */
#include "shardsched/shard/inner.h"
#include "shardsched/shard/sched_rig.h"
#include "store/keys/partition.h"

enum { NODES = 6, PODS = 48, LATE_MAX = 64, NAME_SIZE = 16 };

/* Of a pod that asks for none, as scores count it. */
#define MEMORY (INT64_C(200) << 20)

struct late {
	struct kv_req req;
	int64_t epoch[RIG_PARTITIONS];
};

static struct rig rig;
static struct pl_rng rng;
static int64_t epoch_of[RIG_PARTITIONS]; /* 0: not owned */
static int64_t out_epoch[RIG_OUT_MAX][RIG_PARTITIONS];
static bool out_known[RIG_OUT_MAX];
static struct late late[LATE_MAX];
static unsigned lates;
static uint32_t churn; /* one step of so many, a partition comes or goes */
static bool quieted[RIG_PARTITIONS];
static unsigned rival_holds, rival_binds, unknowns, fences, bound_ever, deletes,
	configures, configured_on_the_way;
static uint64_t preempted, bundles, bundles_failed, redone;
static unsigned asked, ended, nodes_lost;

static uint32_t below(uint32_t n)
{
	return (uint32_t)pl_rng_below(&rng, n);
}

static const char *name_of(char kind, uint32_t i)
{
	static char text[4][NAME_SIZE];
	static unsigned at;
	char *out = text[at++ % 4];

	(void)snprintf(out, NAME_SIZE, "%c-%u", kind, i);
	return out;
}

static uint32_t home_of_node(uint32_t i)
{
	uint32_t home = 0;

	T_OK(partition_of_node(PL_SPAN_LIT("east"), pl_span_str(name_of('n', i)),
	                       RIG_PARTITIONS, &home, &rig.err),
	     &rig.err);
	return home;
}

static uint32_t home_of_pod(uint32_t i)
{
	return i * 7 % RIG_PARTITIONS;
}

static const char *key_of(const char *kind, uint32_t p, const char *of, const char *name,
                          const char *tail)
{
	static char text[4][128];
	static unsigned at;
	char *out = text[at++ % 4];

	(void)snprintf(out, 128, "/%s/%04u/%s/%s%s", kind, p, of, name, tail);
	return out;
}

static const char *spec_key(uint32_t i)
{
	return key_of("schedules", home_of_pod(i), "web", name_of('p', i), "/spec");
}

static const char *state_key(uint32_t i)
{
	return key_of("schedules", home_of_pod(i), "web", name_of('p', i), "/state");
}

static const char *alloc_key(uint32_t i)
{
	return key_of("alloc", home_of_node(i), "east", name_of('n', i), "");
}

static const char *node_key(uint32_t i)
{
	return key_of("nodes", home_of_node(i), "east", name_of('n', i), "");
}

/* -- what is in the store -------------------------------------------------- */

static int64_t number_in(const char *json, const char *member)
{
	const char *at = strstr(json, member);

	T_TRUE(at != NULL);
	return strtol(at + strlen(member), NULL, 10);
}

static int64_t cpu_of_pod(uint32_t i)
{
	return number_in(rig_value(&rig, spec_key(i)), "\"cpu\":\"") * 1000;
}

static int64_t cpu_of_node(uint32_t i)
{
	return number_in(rig_value(&rig, node_key(i)), "\"cpu\":\"") * 1000;
}

static bool is_cordoned(uint32_t i)
{
	return strstr(rig_value(&rig, node_key(i)), "unschedulable") != NULL;
}

static bool has(const char *key)
{
	return rig_value(&rig, key)[0] != 0;
}

static struct alloc alloc_of(uint32_t i)
{
	return rig_alloc(&rig, home_of_node(i), name_of('n', i));
}

static int phase_of(uint32_t i)
{
	int phase;

	(void)rig_state(&rig, home_of_pod(i), name_of('p', i), &phase);
	return phase;
}

static uint32_t number_of(struct pl_span name)
{
	uint32_t number = 0;

	for (size_t i = 2; i < name.len; i++)
		number = number * 10 + name.at[i] - '0';
	return number;
}

static void put_state(uint32_t i, enum state_phase phase, uint32_t node)
{
	struct pl_buf buf = {.max = 4096};
	const struct pod_state state = {
		.phase = phase,
		.uid = PL_SPAN_LIT("u"),
		.cluster = phase == STATE_BOUND ? PL_SPAN_LIT("east") : PL_SPAN_LIT(""),
		.node = phase == STATE_BOUND ? pl_span_str(name_of('n', node))
	                                     : PL_SPAN_LIT(""),
		.shard = PL_SPAN_LIT("rival"),
		.epoch = 1,
		.since_ms = (int64_t)rig.now_ms};

	T_OK(state_print(&state, &buf, &rig.err), &rig.err);
	rig_set(&rig.store, pl_span_str(state_key(i)), pl_buf_span(&buf));
	pl_buf_done(&buf);
}

/* The alloc with a pod more or one less; PODS: neither. */
static void put_alloc_as(struct alloc alloc, uint32_t node, uint32_t add, uint32_t drop)
{
	struct alloc_pod pods[PODS + 1];
	struct pl_buf buf = {.max = 1 << 16};
	uint32_t count = 0;
	char name[NAME_SIZE];

	(void)snprintf(name, sizeof name, "p-%u", add);
	if (add < PODS)
		pods[count++] = (struct alloc_pod){.partition = home_of_pod(add),
		                                   .space = PL_SPAN_LIT("web"),
		                                   .name = pl_span_str(name)};
	for (uint32_t n = 0; n < alloc.pods; n++) {
		uint32_t at = count;

		if (number_of(alloc.pod[n].name) == drop)
			continue;
		while (at > 0 && alloc_pod_cmp(&pods[at - 1], &alloc.pod[n]) > 0) {
			pods[at] = pods[at - 1];
			at--;
		}
		pods[at] = alloc.pod[n];
		count++;
	}
	alloc.generation++;
	alloc.used = (struct alloc_amounts){.pods = count};
	for (uint32_t n = 0; n < count; n++)
		alloc.used.cpu_milli += cpu_of_pod(number_of(pods[n].name));
	for (uint32_t n = 0; n < alloc.holds; n++) {
		alloc.used.cpu_milli += alloc.hold[n].used.cpu_milli;
		alloc.used.pods += alloc.hold[n].used.pods;
	}
	alloc.used.nonzero_cpu_milli = alloc.used.cpu_milli;
	alloc.used.nonzero_memory = alloc.used.pods * MEMORY;
	alloc.pod = pods;
	alloc.pods = count;
	T_OK(alloc_print(&alloc, &buf, &rig.err), &rig.err);
	rig_set(&rig.store, pl_span_str(alloc_key(node)), pl_buf_span(&buf));
	pl_buf_done(&buf);
}

static void put_alloc(uint32_t node, uint32_t add, uint32_t drop)
{
	put_alloc_as(alloc_of(node), node, add, drop);
}

static bool fits(uint32_t pod, uint32_t node)
{
	return has(node_key(node)) && !is_cordoned(node) &&
	       alloc_of(node).used.cpu_milli + cpu_of_pod(pod) <= cpu_of_node(node);
}

/* -- what others do ---------------------------------------------------------- */

static uint32_t node_of_pod(uint32_t i)
{
	int phase;
	struct pod_state state = rig_state(&rig, home_of_pod(i), name_of('p', i), &phase);

	return phase == STATE_BOUND || phase == STATE_TERMINATING ? number_of(state.node)
	                                                          : NODES;
}

/* A new one of a name that pods are still bound to would seem to be theirs. */
static bool is_free(uint32_t node)
{
	for (uint32_t i = 0; i < PODS; i++)
		if (node_of_pod(i) == node)
			return false;
	return !has(node_key(node));
}

static void node_comes(uint32_t i)
{
	char cpu[8];

	if (!is_free(i))
		return;
	(void)snprintf(cpu, sizeof cpu, "%u", 4 + below(5));
	rig_node(&rig, home_of_node(i), name_of('n', i), cpu);
}

static void node_changes(uint32_t i)
{
	int64_t cpu;
	char text[8];

	if (!has(node_key(i)))
		return;
	cpu = cpu_of_node(i) / 1000 + (int64_t)below(3) - 1;
	if (cpu * 1000 < alloc_of(i).used.cpu_milli)
		cpu = cpu_of_node(i) / 1000;
	(void)snprintf(text, sizeof text, "%d", (int)cpu);
	rig.store.revision++;
	rig_set(&rig.store, pl_span_str(node_key(i)),
	        pl_span_str(
			rig_node_json(name_of('n', i), text,
	                              below(4) == 0 ? "\"unschedulable\":true" : "")));
	put_alloc(i, PODS, PODS);
}

/* Seldom with pods on it. */
static void node_goes(uint32_t i)
{
	if (!has(node_key(i)) ||
	    (alloc_of(i).pods + alloc_of(i).holds > 0 && below(5) > 0))
		return;
	nodes_lost += alloc_of(i).pods > 0;
	rig.store.revision++;
	rig_unset(&rig.store, pl_span_str(node_key(i)));
	rig_unset(&rig.store, pl_span_str(alloc_key(i)));
}

/* One that can not be broken, for every third: these are committed together. */
static const char *rule_of(uint32_t i)
{
	return i % 3 != 0 ? ""
	                  : ",\"topologySpreadConstraints\":[{\"maxSkew\":1000,"
	                    "\"topologyKey\":\"host\",\"whenUnsatisfiable\":"
	                    "\"DoNotSchedule\",\"labelSelector\":{}}]";
}

/* A replica, or none; some ask for a replica. */
static void put_spec(uint32_t i, const char *cpu)
{
	const char *rule = rule_of(i);
	char more[400];

	rig_priority = i % 2 == 0 ? 10 : i % 5 == 0 ? 20 : 0;
	if (below(2) == 0) {
		rig_pod(&rig, home_of_pod(i), name_of('p', i), cpu, rule);
		return;
	}
	(void)snprintf(more, sizeof more, "%s", rule);
	if (below(8) == 0)
		(void)snprintf(
			more, sizeof more,
			",\"affinity\":{\"podAntiAffinity\":{"
			"\"preferredDuringSchedulingIgnoredDuringExecution\":[{\"weight\":1,"
			"\"podAffinityTerm\":{\"topologyKey\":\"host\","
			"\"labelSelector\":{\"matchLabels\":{"
			"\"statefulset.kubernetes.io/pod-name\":\"%s\"}}}}]}}",
			name_of('p', below(PODS)));
	rig_replica(&rig, home_of_pod(i), name_of('p', i), cpu, more);
}

static void pod_comes(uint32_t i)
{
	char cpu[8];

	if (has(spec_key(i)))
		return;
	(void)snprintf(cpu, sizeof cpu, "%u", 1 + below(3));
	put_spec(i, cpu);
}

/* With its state, if it has one. */
static void pod_is_edited(uint32_t i)
{
	int phase = phase_of(i);
	char cpu[8];

	if (!has(spec_key(i)) || (phase >= 0 && phase != STATE_PENDING))
		return;
	(void)snprintf(cpu, sizeof cpu, "%u", 1 + below(3));
	put_spec(i, cpu);
	if (phase >= 0)
		put_state(i, STATE_PENDING, 0);
}

/* Somebody wants it gone, its member says that it has ended, or both. */
static void pod_is_said(uint32_t i, enum state_ask ask, enum state_ended how)
{
	struct pl_buf buf = {.max = 4096};
	int phase;
	struct pod_state state = rig_state(&rig, home_of_pod(i), name_of('p', i), &phase);

	if (phase < 0)
		return;
	if (ask != STATE_ASK_NONE)
		state.ask = ask;
	if (how != STATE_ENDED_NOT && state_has_place(&state))
		state.ended = how;
	asked += ask != STATE_ASK_NONE;
	ended += state.ended != STATE_ENDED_NOT;
	T_OK(state_print(&state, &buf, &rig.err), &rig.err);
	rig.store.revision++;
	rig_set(&rig.store, pl_span_str(state_key(i)), pl_buf_span(&buf));
	pl_buf_done(&buf);
}

static void pod_is_told_of(uint32_t i)
{
	static const enum state_ask asks[] = {STATE_ASK_NONE, STATE_ASK_NONE,
	                                      STATE_ASK_EVICT, STATE_ASK_DELETE};

	for (uint32_t n = 0; n < PODS && node_of_pod(i) == NODES; n++)
		i = (i + 1) % PODS;
	pod_is_said(i, asks[below(4)],
	            below(2) == 0 ? STATE_ENDED_NOT
	                          : (enum state_ended)below(STATE_ENDEDS));
}

static void pod_goes(uint32_t i)
{
	uint32_t node = node_of_pod(i);

	if (!has(spec_key(i)))
		return;
	deletes++;
	rig.store.revision++;
	if (node < NODES && has(node_key(node)))
		put_alloc(node, PODS, i);
	rig_unset(&rig.store, pl_span_str(state_key(i)));
	rig_unset(&rig.store, pl_span_str(spec_key(i)));
}

static void rival_binds_pod(uint32_t i, uint32_t node)
{
	int phase = phase_of(i);

	if (!has(spec_key(i)) || (phase >= 0 && phase != STATE_PENDING) || !fits(i, node))
		return;
	rival_binds++;
	rig.store.revision++;
	put_alloc(node, i, PODS);
	put_state(i, STATE_BOUND, node);
}

/* Room is held for that pod, or for a gang; or not any more. */
static void put_hold(uint32_t node, enum alloc_hold_kind kind, uint32_t pod)
{
	struct alloc alloc = alloc_of(node);
	char name[NAME_SIZE];
	struct alloc_hold holds[NODES + PODS],
		hold = {.kind = kind,
	                .space = PL_SPAN_LIT("web"),
	                .partition = home_of_pod(pod),
	                .used = {.cpu_milli = cpu_of_pod(pod),
	                         .pods = 1,
	                         .nonzero_cpu_milli = cpu_of_pod(pod),
	                         .nonzero_memory = MEMORY}};
	bool there = false;
	uint32_t count = 0;

	(void)snprintf(name, sizeof name, "p-%u", pod);
	hold.name = pl_span_str(name);
	if (kind == ALLOC_HOLD_GANG)
		hold.partition = 0;
	for (uint32_t i = 0; i < alloc.holds; i++) {
		if (alloc_hold_cmp(&alloc.hold[i], &hold) == 0)
			there = true;
		else
			holds[count++] = alloc.hold[i];
	}
	if (!there && !fits(pod, node))
		return;
	if (!there) {
		uint32_t at = count++;

		for (; at > 0 && alloc_hold_cmp(&holds[at - 1], &hold) > 0; at--)
			holds[at] = holds[at - 1];
		holds[at] = hold;
		rival_holds++;
	}
	alloc.hold = holds;
	alloc.holds = count;
	rig.store.revision++;
	put_alloc_as(alloc, node, PODS, PODS);
}

static void rival_holds_room(uint32_t node, uint32_t pod)
{
	int phase = phase_of(pod);

	if (!has(alloc_key(node)) || !has(spec_key(pod)))
		return;
	if (below(2) == 0)
		put_hold(node, ALLOC_HOLD_GANG, pod);
	else if (phase == -1 || phase == STATE_PENDING)
		put_hold(node, ALLOC_HOLD_NOMINATED, pod);
}

/* Nobody here is their owner. */
static void release_gangs(void)
{
	for (uint32_t i = 0; i < NODES; i++) {
		struct alloc alloc;

		if (!has(alloc_key(i)))
			continue;
		alloc = alloc_of(i);
		while (alloc.holds > 0 && alloc.hold[0].kind == ALLOC_HOLD_GANG) {
			alloc.hold++;
			alloc.holds--;
		}
		rig.store.revision++;
		put_alloc_as(alloc, i, PODS, PODS);
	}
}

static void rival_touches(uint32_t node)
{
	if (!has(alloc_key(node)))
		return;
	rig.store.revision++;
	put_alloc(node, PODS, PODS);
}

/* -- calls ------------------------------------------------------------------- */

static bool is_fenced(const struct kv_req *req, const int64_t *epoch)
{
	for (size_t i = 0; i < req->txn.then_count; i++) {
		const struct kv_req *op = &req->txn.then[i];
		struct keys_id id = {0};

		if (op->op == KV_PUT)
			T_EQ(keys_parse(op->put.key, &id, NULL), PL_OK);
		else if (op->op == KV_DELETE && op->del.keys.kind != KV_ONE)
			id.partition = (uint32_t)number_in(
				(const char *)op->del.keys.from.at, "/schedules/");
		else
			continue; /* a pointer */
		if (op->op == KV_PUT && id.kind != KEYS_ALLOC && id.kind != KEYS_STATE)
			continue; /* a lock: everybody's */
		if (epoch_of[id.partition] == 0 ||
		    epoch_of[id.partition] != epoch[id.partition])
			return true;
	}
	return false;
}

/* Those that are new get the epochs of now. */
static void note_epochs(void)
{
	for (unsigned i = 0; i < RIG_OUT_MAX; i++) {
		if (rig.out[i].used && !out_known[i])
			memcpy(out_epoch[i], epoch_of, sizeof epoch_of);
		out_known[i] = rig.out[i].used;
	}
}

static struct kv_req copy(const struct kv_req *req)
{
	struct pl_arena *arena = &rig.store.arena;
	struct kv_req out = *req;
	struct kv_compare *compare =
		pl_arena_zalloc(arena, req->txn.compare_count + 1, sizeof *compare);
	struct kv_req *then =
		pl_arena_zalloc(arena, req->txn.then_count + 1, sizeof *then);

	for (size_t i = 0; i < req->txn.compare_count; i++) {
		compare[i] = req->txn.compares[i];
		compare[i].keys.from = pl_arena_dup(arena, compare[i].keys.from);
	}
	for (size_t i = 0; i < req->txn.then_count; i++) {
		then[i] = req->txn.then[i];
		if (then[i].op == KV_DELETE)
			then[i].del.keys.from =
				pl_arena_dup(arena, then[i].del.keys.from);
		if (then[i].op != KV_PUT)
			continue;
		then[i].put.key = pl_arena_dup(arena, then[i].put.key);
		then[i].put.value = pl_arena_dup(arena, then[i].put.value);
	}
	out.txn.compares = compare;
	out.txn.then = then;
	out.txn.otherwise_count = 0;
	return out;
}

static void arrive_late(unsigned i)
{
	struct late it = late[i];

	late[i] = late[--lates];
	if (!is_fenced(&it.req, it.epoch))
		(void)rig_exec(&rig.store, &it.req.txn);
}

static void end_call(unsigned i, uint32_t how)
{
	const struct kv_req *req = &rig.out[i].req;

	if (how < 70) {
		if (is_fenced(req, out_epoch[i])) {
			fences++;
			rig_fail(&rig, i, PL_FENCED);
		} else {
			(void)rig_answer(&rig, i);
		}
	} else if (how < 78) {
		rig_fail(&rig, i, PL_BUSY);
	} else if (how < 80) {
		rig_fail(&rig, i, PL_LIMIT);
	} else if (how < 90) {
		unknowns++;
		if (!is_fenced(req, out_epoch[i]))
			(void)rig_exec(&rig.store, &req->txn);
		rig_fail(&rig, i, PL_UNKNOWN);
	} else {
		unknowns++;
		if (lates < LATE_MAX && below(2) == 0) {
			late[lates] = (struct late){.req = copy(req)};
			memcpy(late[lates++].epoch, out_epoch[i], sizeof epoch_of);
		}
		rig_fail(&rig, i, PL_UNKNOWN);
	}
	out_known[i] = false;
}

/* -- what must hold ----------------------------------------------------------- */

static void check_node(uint32_t i, uint32_t *listed_on)
{
	struct alloc alloc;
	int64_t cpu = 0, held = 0, firm = 0, pods_cpu;

	if (!has(node_key(i)))
		return;
	alloc = alloc_of(i);
	for (uint32_t n = 0; n < alloc.pods; n++) {
		uint32_t pod = number_of(alloc.pod[n].name);

		T_TRUE(has(spec_key(pod)));
		T_EQ(alloc.pod[n].partition, home_of_pod(pod));
		T_EQ(alloc.pod[n].leaving, phase_of(pod) == STATE_TERMINATING);
		T_EQ(listed_on[pod], NODES);
		listed_on[pod] = i;
		cpu += cpu_of_pod(pod);
		firm += alloc.pod[n].leaving ? 0 : cpu_of_pod(pod);
	}
	pods_cpu = cpu;
	for (uint32_t n = 0; n < alloc.holds; n++) {
		cpu += alloc.hold[n].used.cpu_milli;
		held += alloc.hold[n].used.pods;
		firm += alloc.hold[n].used.cpu_milli;
		if (alloc.hold[n].kind == ALLOC_HOLD_GANG)
			pods_cpu += alloc.hold[n].used.cpu_milli;
	}
	T_EQ(alloc.used.cpu_milli, cpu);
	T_EQ(alloc.used.pods, alloc.pods + held);
	T_TRUE(pods_cpu <= cpu_of_node(i)); /* whoever leaves keeps his place */
	T_TRUE(firm <= cpu_of_node(i));     /* and what is promised is there then */
}

static void check_store(void)
{
	uint32_t listed_on[PODS];

	for (uint32_t i = 0; i < PODS; i++)
		listed_on[i] = NODES;
	for (uint32_t i = 0; i < NODES; i++)
		check_node(i, listed_on);
	for (uint32_t i = 0; i < PODS; i++) {
		uint32_t node = node_of_pod(i);

		if (node == NODES || has(node_key(node)) || listed_on[i] < NODES)
			T_EQ(node, listed_on[i]);
	}
}

/* -- histories ----------------------------------------------------------------- */

static void own(uint32_t p)
{
	rig_own(&rig, p);
	epoch_of[p] = rig.epoch;
	quieted[p] = false;
}

static void lose(uint32_t p)
{
	epoch_of[p] = 0;
	if (below(2) == 0) { /* it hears of it later than the store */
		rig_run(&rig);
		note_epochs();
	}
	rig_lost(&rig, p);
}

static void others_step(void)
{
	uint32_t pod = below(PODS), node = below(NODES);

	switch (below(15)) {
	case 10:
	case 11:
	case 12:
	case 13:
		pod_is_told_of(pod);
		break;
	case 14:
		rival_holds_room(node, pod);
		break;
	case 0:
		node_comes(node);
		break;
	case 1:
		node_changes(node);
		break;
	case 2:
		node_goes(node);
		break;
	case 3:
	case 4:
	case 5:
		pod_comes(pod);
		break;
	case 6:
		pod_is_edited(pod);
		break;
	case 7:
		pod_goes(pod);
		break;
	case 8:
		rival_binds_pod(pod, node);
		break;
	default:
		rival_touches(node);
		break;
	}
}

static void own_step(void)
{
	uint32_t p = below(RIG_PARTITIONS);

	if (below(churn) == 0) {
		if (rig.owned[p])
			lose(p);
		else
			own(p);
	}
	if (below(60) == 0 && rig.owned[p])
		rig_list(&rig, p, (enum sched_part)below(SCHED_PARTS));
	if (below(200) == 0 && rig.owned[p]) {
		sched_quiesce(rig.sched, p);
		quieted[p] = true;
	}
}

/* Whatever goes on: other scores, another order, other bounds. */
static void configure(void)
{
	static const char most[] =
		"{\"profiles\":[{\"pluginConfig\":[{\"name\":\"NodeResourcesFit\","
		"\"args\":{\"scoringStrategy\":{\"type\":\"MostAllocated\"}}}]}]}";
	struct sched_settings settings = {.sort = below(2) == 0 ? QUEUE_BY_SLA
	                                                        : QUEUE_BY_PRIORITY,
	                                  .fair = below(2) == 0,
	                                  .batch = below(3),
	                                  .inflight = below(3)};

	if (below(2) == 0)
		settings.profiles = pl_span_str(most);
	configured_on_the_way += is_moving(rig.sched);
	rig.sched->moves = below(2) == 0 ? 1024 : 1 + below(12);
	T_OK(sched_configure(rig.sched, &settings, &rig.err), &rig.err);
	configures++;
	sched_check(rig.sched);
}

static void step(void)
{
	unsigned i = below(RIG_OUT_MAX);

	if (below(3) == 0)
		others_step();
	own_step();
	if (below(40) == 0)
		configure();
	if (below(2) == 0)
		(void)rig_deliver(&rig, below(RIG_PARTITIONS),
		                  (enum sched_part)below(SCHED_PARTS), 1 + below(4));
	if (below(4) == 0)
		rig_views(&rig);
	if (below(2) == 0)
		(void)rig_view_deliver(&rig, SCHED_WHOLE, 1 + below(8));
	if (below(2) == 0) {
		rig.now_ms += below(200);
		rig_run(&rig);
		note_epochs();
	}
	if (rig.out[i].used)
		end_call(i, below(100));
	for (i = 0; i < 4; i++)
		if (rig.out[i].used && below(4) == 0)
			end_call(i, below(100));
	if (lates > 0 && below(8) == 0)
		arrive_late(below(lates));
	sched_check(rig.sched);
}

static void calm_down(void)
{
	bool more = true;

	while (more) {
		more = false;
		rig_views(&rig);
		rig_run(&rig);
		note_epochs();
		for (unsigned i = 0; i < RIG_OUT_MAX; i++) {
			if (!rig.out[i].used)
				continue;
			end_call(i, 0);
			more = true;
		}
		rig_deliver_all(&rig);
	}
}

/* Whoever is asked to leave does. */
static void members_confirm(void)
{
	for (uint32_t i = 0; i < PODS; i++)
		if (phase_of(i) == STATE_TERMINATING && below(2) == 0)
			pod_is_said(i, STATE_ASK_NONE, STATE_ENDED_GONE);
}

static void calm_round(void)
{
	calm_down();
	members_confirm();
	rig.now_ms += 11000;
}

/* Whoever still has a hold may not go there. */
static void check_held(uint32_t pod, uint32_t node)
{
	struct alloc alloc = {0};

	if (has(alloc_key(node)))
		alloc = alloc_of(node);
	for (uint32_t i = 0; i < alloc.holds; i++) {
		T_EQ(alloc.hold[i].kind, ALLOC_HOLD_NOMINATED);
		T_TRUE(number_of(alloc.hold[i].name) != pod || is_cordoned(node));
		T_TRUE(phase_of(number_of(alloc.hold[i].name)) != STATE_BOUND);
	}
}

static enum state_end end_of(uint32_t i)
{
	int phase;
	struct pod_state state = rig_state(&rig, home_of_pod(i), name_of('p', i), &phase);

	return phase < 0 ? STATE_END_NONE : state_end(&state);
}

static int64_t priority_of_pod(uint32_t i)
{
	return number_in(rig_value(&rig, spec_key(i)), "\"priority\":");
}

/* Without those that are less important. */
static bool fits_before(uint32_t pod, uint32_t node)
{
	struct alloc alloc;
	int64_t cpu = cpu_of_pod(pod);

	if (!has(node_key(node)) || is_cordoned(node))
		return false;
	alloc = alloc_of(node);
	for (uint32_t i = 0; i < alloc.pods; i++) {
		uint32_t other = number_of(alloc.pod[i].name);

		if (priority_of_pod(other) >= priority_of_pod(pod))
			cpu += cpu_of_pod(other);
	}
	return cpu <= cpu_of_node(node);
}

/* Everything is bound that can be, and has left that was to. */
static void check_end(void)
{
	for (uint32_t i = 0; i < PODS; i++) {
		int phase = phase_of(i);

		if (end_of(i) != STATE_END_NONE)
			t_fail(__FILE__, __LINE__, "p-%u has not left: %.300s; %.200s", i,
			       rig_value(&rig, state_key(i)),
			       rig_value(&rig, spec_key(i)));
		if (node_of_pod(i) < NODES)
			T_TRUE(has(node_key(node_of_pod(i))));
		if (!has(spec_key(i)))
			continue;
		bound_ever += phase == STATE_BOUND;
		if (phase >= 0 && phase != STATE_PENDING)
			continue;
		for (uint32_t n = 0; n < NODES; n++)
			check_held(i, n);
		for (uint32_t n = 0; n < NODES; n++)
			if (fits(i, n) || fits_before(i, n))
				t_fail(__FILE__, __LINE__, "p-%u fits on n-%u", i, n);
	}
	calm_down();
	for (uint32_t p = 0; p < RIG_PARTITIONS; p++) {
		sched_quiesce(rig.sched, p);
		rig_run(&rig);
		T_TRUE(sched_is_quiet(rig.sched, p));
	}
}

/* Some go on with what they know. */
static void own_all(void)
{
	for (uint32_t p = 0; p < RIG_PARTITIONS; p++) {
		if (rig.owned[p] && (quieted[p] || below(4) == 0))
			lose(p);
		if (!rig.owned[p])
			own(p);
	}
}

static void count_bundles(void)
{
	struct sched_figures figures;

	sched_figures(rig.sched, &figures);
	bundles += figures.bundles;
	preempted += figures.preempted;
	bundles_failed += figures.bundles_failed;
	redone += figures.redone;
}

static void history(uint64_t seed, unsigned steps)
{
	pl_rng_init(&rng, seed);
	rig_open(&rig, &(struct sched_opts){.batch = 1 + below(20),
	                                    .seed = seed,
	                                    .ready_classes = (uint32_t)(seed % 4)});
	memset(epoch_of, 0, sizeof epoch_of);
	memset(out_known, 0, sizeof out_known);
	lates = 0;
	for (uint32_t i = 0; i < 3; i++)
		node_comes(i);
	own(below(RIG_PARTITIONS));
	churn = seed % 3 != 0 ? 60 : 180;
	for (uint32_t p = 0; churn > 60 && p < RIG_PARTITIONS; p++)
		if (!rig.owned[p])
			own(p);
	for (unsigned i = 0; i < steps; i++) {
		step();
		if (i % 8 == 0)
			check_store();
	}
	while (lates > 0)
		arrive_late(0);
	if (rig.garbled > 0)
		(void)printf("# garbled on the way: %s\n", rig.said);
	rig.garbled = 0; /* what is watched came very late */
	release_gangs();
	own_all();
	for (unsigned i = 0; i < 40; i++) {
		calm_round();
		check_store();
	}
	check_end();
	if (rig.garbled > 0)
		(void)printf("# garbled: %s\n", rig.said);
	T_EQ(rig.garbled, 0);
	count_bundles();
	rig_close(&rig);
}

T_CASE_SECONDS(random_histories_end_well, 120)
{
	uint64_t seed = t_seed();

	for (unsigned i = 0; i < 60; i++) {
		(void)printf("# history %u of seed %llu\n", i, (unsigned long long)seed);
		(void)fflush(stdout);
		history(seed * 1000 + i, 400);
	}
	(void)printf(
		"# rivals %u, holds %u, unknown %u, fenced %u, bound %u, deleted %u\n",
		rival_binds, rival_holds, unknowns, fences, bound_ever, deletes);
	(void)printf("# bundles %llu, failed %llu, decided again with them %llu\n",
	             (unsigned long long)bundles, (unsigned long long)bundles_failed,
	             (unsigned long long)redone);
	(void)printf("# made room %llu times\n", (unsigned long long)preempted);
	T_TRUE(preempted > 20);
	T_TRUE(bundles > 50 && bundles_failed > 10 && redone > 0);
	(void)printf("# asked %u, ended %u, nodes lost %u\n", asked, ended, nodes_lost);
	T_TRUE(asked > 100 && ended > 100 && nodes_lost > 10);
	T_TRUE(rival_holds > 10 && rival_binds > 10 && unknowns > 100 && fences > 10 &&
	       bound_ever > 100);
}
