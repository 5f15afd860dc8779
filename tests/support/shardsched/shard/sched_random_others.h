/*
 * Other writers in random histories of one core: other shards, operators and
 * members.
 */
#ifndef TESTS_SUPPORT_SHARDSCHED_SHARD_SCHED_RANDOM_OTHERS_H
#define TESTS_SUPPORT_SHARDSCHED_SHARD_SCHED_RANDOM_OTHERS_H

#include "tests/support/shardsched/shard/sched_random_world.h"

static unsigned rival_holds, rival_binds, deletes, asked, ended, nodes_lost, awaited;

/* No pod is bound to a node of that name: to a new one they would seem to belong. */
static inline bool is_free(uint32_t node)
{
	for (uint32_t i = 0; i < PODS; i++)
		if (node_of_pod(i) == node)
			return false;
	return !has(node_key(node));
}

static inline void node_comes(uint32_t i)
{
	char cpu[8];

	if (!is_free(i))
		return;
	(void)snprintf(cpu, sizeof cpu, "%u", 4 + below(5));
	rig_node(&rig, partition_of_name(i), name_of('n', i), cpu);
}

static inline void node_changes(uint32_t i)
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

/* Seldom while pods are on it. */
static inline void node_goes(uint32_t i)
{
	if (!has(node_key(i)) ||
	    (alloc_of(i).pods + alloc_of(i).holds > 0 && below(5) > 0))
		return;
	nodes_lost += alloc_of(i).pods > 0;
	rig.store.revision++;
	rig_unset(&rig.store, pl_span_str(node_key(i)));
	rig_unset(&rig.store, pl_span_str(alloc_key(i)));
}

/* Every third pod has a rule that can not be broken, so these are committed in a
 * batch. */
static inline const char *rule_of(uint32_t i)
{
	return i % 3 != 0 ? ""
	                  : ",\"topologySpreadConstraints\":[{\"maxSkew\":1000,"
	                    "\"topologyKey\":\"host\",\"whenUnsatisfiable\":"
	                    "\"DoNotSchedule\",\"labelSelector\":{}}]";
}

/* Some pods are replicas, some others select one. */
static inline void put_spec(uint32_t i, const char *cpu)
{
	const char *rule = rule_of(i);
	char more[400];

	rig_priority = i % 2 == 0 ? 10 : i % 5 == 0 ? 20 : 0;
	if (below(2) == 0) {
		rig_pod(&rig, partition_of_pod_number(i), name_of('p', i), cpu, rule);
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
	rig_replica(&rig, partition_of_pod_number(i), name_of('p', i), cpu, more);
}

static inline void pod_comes(uint32_t i)
{
	char cpu[8];

	if (has(spec_key(i)))
		return;
	(void)snprintf(cpu, sizeof cpu, "%u", 1 + below(3));
	put_spec(i, cpu);
}

/* The spec and, if there is one, the state are replaced. */
static inline void pod_is_edited(uint32_t i)
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

/* A user wants the pod gone, its member says that it has ended, or both. A pod without a
 * place is only asked while finalizers hold it: else its keys would be deleted. */
static inline void pod_is_reported(uint32_t i, enum state_ask ask, enum state_ended how)
{
	struct pl_buf buf = {.max = 4096};
	int phase;
	struct pod_state state =
		rig_state(&rig, partition_of_pod_number(i), name_of('p', i), &phase);

	if (phase < 0)
		return;
	if (ask == STATE_ASK_DELETE)
		state.awaits_finalizers = state.ask != ask && below(2) == 0;
	if (!state_has_place(&state) && !state.awaits_finalizers)
		return;
	if (ask != STATE_ASK_NONE && !(ask == STATE_ASK_EVICT && state.awaits_finalizers))
		state.ask = ask;
	if (state.awaits_finalizers)
		state.nominated_cluster = state.nominated_node = (struct pl_span){0};
	awaited += state.awaits_finalizers;
	if (how != STATE_ENDED_NOT && state_has_place(&state))
		state.ended = how;
	asked += ask != STATE_ASK_NONE;
	ended += state.ended != STATE_ENDED_NOT;
	T_OK(state_print(&state, &buf, &rig.err), &rig.err);
	rig.store.revision++;
	rig_set(&rig.store, pl_span_str(state_key(i)), pl_buf_span(&buf));
	pl_buf_done(&buf);
}

static inline void pod_is_told_of(uint32_t i)
{
	static const enum state_ask asks[] = {STATE_ASK_NONE, STATE_ASK_NONE,
	                                      STATE_ASK_EVICT, STATE_ASK_DELETE};

	for (uint32_t n = 0; n < PODS && below(8) > 0 && node_of_pod(i) == NODES; n++)
		i = (i + 1) % PODS;
	pod_is_reported(i, asks[below(4)],
	                below(2) == 0 ? STATE_ENDED_NOT
	                              : (enum state_ended)below(STATE_ENDEDS));
}

static inline void pod_goes(uint32_t i)
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

static inline void rival_binds_pod(uint32_t i, uint32_t node)
{
	int phase = phase_of(i);

	if (!has(spec_key(i)) || (phase >= 0 && phase != STATE_PENDING) ||
	    !fits(i, node) || awaits_finalizers(i))
		return;
	rival_binds++;
	rig.store.revision++;
	put_alloc(node, i, PODS);
	put_state(i, STATE_BOUND, node);
}

/* A reservation for the pod, or for a gang, comes or goes. */
static inline void put_hold(uint32_t node, enum alloc_reservation_kind kind, uint32_t pod)
{
	struct alloc alloc = alloc_of(node);
	char name[NAME_SIZE];
	struct alloc_reservation holds[NODES + PODS],
		hold = {.kind = kind,
	                .namespace = PL_SPAN_LIT("web"),
	                .partition = partition_of_pod_number(pod),
	                .used = {.cpu_milli = cpu_of_pod(pod),
	                         .pods = 1,
	                         .nonzero_cpu_milli = cpu_of_pod(pod),
	                         .nonzero_memory = MEMORY}};
	bool there = false;
	uint32_t count = 0;

	(void)snprintf(name, sizeof name, "p-%u", pod);
	hold.name = pl_span_str(name);
	if (kind == ALLOC_RESERVATION_GANG)
		hold.partition = 0;
	for (uint32_t i = 0; i < alloc.holds; i++) {
		if (alloc_reservation_cmp(&alloc.hold[i], &hold) == 0)
			there = true;
		else
			holds[count++] = alloc.hold[i];
	}
	if (!there && !fits(pod, node))
		return;
	if (!there) {
		uint32_t at = count++;

		for (; at > 0 && alloc_reservation_cmp(&holds[at - 1], &hold) > 0; at--)
			holds[at] = holds[at - 1];
		holds[at] = hold;
		rival_holds++;
	}
	alloc.hold = holds;
	alloc.holds = count;
	rig.store.revision++;
	put_alloc_as(alloc, node, PODS, PODS);
}

static inline void rival_holds_room(uint32_t node, uint32_t pod)
{
	int phase = phase_of(pod);

	if (!has(alloc_key(node)) || !has(spec_key(pod)))
		return;
	if (below(2) == 0)
		put_hold(node, ALLOC_RESERVATION_GANG, pod);
	else if (phase == -1 || phase == STATE_PENDING)
		put_hold(node, ALLOC_RESERVATION_NOMINATED, pod);
}

/* The gangs of these reservations have no owner here. */
static inline void release_gangs(void)
{
	for (uint32_t i = 0; i < NODES; i++) {
		struct alloc alloc;

		if (!has(alloc_key(i)))
			continue;
		alloc = alloc_of(i);
		while (alloc.holds > 0 && alloc.hold[0].kind == ALLOC_RESERVATION_GANG) {
			alloc.hold++;
			alloc.holds--;
		}
		rig.store.revision++;
		put_alloc_as(alloc, i, PODS, PODS);
	}
}

static inline void rival_touches(uint32_t node)
{
	if (!has(alloc_key(node)))
		return;
	rig.store.revision++;
	put_alloc(node, PODS, PODS);
}

static inline void others_step(void)
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

#endif
