/*
 * Checks of random histories of one core, by the store alone: after every step,
 * and in the end.
 */
#ifndef TESTS_SUPPORT_SHARDSCHED_SHARD_SCHED_RANDOM_CHECKS_H
#define TESTS_SUPPORT_SHARDSCHED_SHARD_SCHED_RANDOM_CHECKS_H

#include "tests/support/shardsched/shard/sched_random_world.h"

static unsigned bound_ever;

static inline void check_node(uint32_t i, uint32_t *listed_on)
{
	struct alloc alloc;
	int64_t cpu = 0, held = 0, firm = 0, pods_cpu;

	if (!has(node_key(i)))
		return;
	alloc = alloc_of(i);
	for (uint32_t n = 0; n < alloc.pods; n++) {
		uint32_t pod = number_of(alloc.pod[n].name);

		T_TRUE(has(spec_key(pod)));
		T_EQ(alloc.pod[n].partition, partition_of_pod_number(pod));
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
		if (alloc.hold[n].kind == ALLOC_RESERVATION_GANG)
			pods_cpu += alloc.hold[n].used.cpu_milli;
	}
	T_EQ(alloc.used.cpu_milli, cpu);
	T_EQ(alloc.used.pods, alloc.pods + held);
	T_TRUE(pods_cpu <= cpu_of_node(i)); /* a leaving pod keeps its room */
	/* reservations fit beside the pods that stay */
	T_TRUE(firm <= cpu_of_node(i));
}

static inline void check_store(void)
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

/* -- in the end -------------------------------------------------------------------- */

/* A pod without a node may not have a reservation on a node that it fits on. */
static inline void check_reserved(uint32_t pod, uint32_t node)
{
	struct alloc alloc = {0};

	if (has(alloc_key(node)))
		alloc = alloc_of(node);
	for (uint32_t i = 0; i < alloc.holds; i++) {
		T_EQ(alloc.hold[i].kind, ALLOC_RESERVATION_NOMINATED);
		T_TRUE(number_of(alloc.hold[i].name) != pod || is_cordoned(node));
		T_TRUE(phase_of(number_of(alloc.hold[i].name)) != STATE_BOUND);
	}
}

static inline enum state_transition end_of(uint32_t i)
{
	int phase;
	struct pod_state state =
		rig_state(&rig, partition_of_pod_number(i), name_of('p', i), &phase);

	return phase < 0 ? STATE_TRANSITION_NONE : state_transition(&state);
}

static inline int64_t priority_of_pod(uint32_t i)
{
	return number_in(rig_value(&rig, spec_key(i)), "\"priority\":");
}

/* The pod fits there if pods of lower priority go. */
static inline bool fits_before(uint32_t pod, uint32_t node)
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

/* Every pod that can be bound is bound, and every pod that was to leave has left. */
static inline void check_all_ended(void)
{
	for (uint32_t i = 0; i < PODS; i++) {
		int phase = phase_of(i);

		if (end_of(i) != STATE_TRANSITION_NONE)
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
			check_reserved(i, n);
		for (uint32_t n = 0; n < NODES && !awaits_finalizers(i); n++)
			if (fits(i, n) || fits_before(i, n))
				t_fail(__FILE__, __LINE__, "p-%u fits on n-%u", i, n);
	}
}

#endif
