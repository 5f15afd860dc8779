/*
 * Departures: the order in which pods of several shards leave one node.
 *
 * The victims of a preemption leave together. Each owner ends its own pod with a put of
 * the node's one alloc; if all did so at once, all but one txn would fail, with
 * everything else in them. So the shards take turns, in the order in which the alloc
 * lists the leaving pods, which all of them see alike. A shard waits a moment for each
 * shard before it, or until those pods are seen to have gone; and as long for a pod whose
 * state says that it left by an alloc that has not arrived. Correctness does not depend
 * on the order: every txn compares the alloc.
 */
#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/inner.h"
#include "shardsched/shard/termination/termination.h"

enum {
	DEPARTURE_MS =
		/* For each shard before; as a rule its pods are gone long before that */
	500,
	DEPARTURES_MAX = 3,
};

static bool is_to_end(const struct sched_node *node, const struct sched_pod *pod)
{
	return pod->linked == LINKED_TERMINATING && pod->node == node;
}

/* The pod's state was written with an alloc that has not arrived. */
static bool is_ahead(const struct alloc_entry *listed)
{
	return listed->pod->phase == STATE_TERMINATING && !listed->leaving;
}

/* How many shards' pods leave the node before the first pod that this shard ends. */
static uint32_t count_before(const struct sched *sched, const struct sched_node *node)
{
	uint32_t count = 0, last = UINT32_MAX;

	for (uint32_t i = 0; i < node->count && count < DEPARTURES_MAX; i++) {
		const struct sched_pod *pod = node->listed[i].pod;

		if (is_to_end(node, pod) &&
		    termination_of(sched, pod) == STATE_TRANSITION_TERMINATE)
			/* The pod is asked to leave, and keeps its place until it has */
			return 0;
		if (is_to_end(node, pod))
			return count + is_ahead(&node->listed[i]);
		if (!node->listed[i].leaving || pod_is_owned(sched, pod) ||
		    pod->key[0] == last)
			continue;
		last = pod->key[0];
		count++;
	}
	return count;
}

/* A shard waits once for each time that a pod is to end there, not for ever behind a pod
 * that stays. */
static bool has_waited(const struct sched *sched, const struct sched_node *node)
{
	return node->departure_ms != 0 && node->departure_ms <= sched->now_ms;
}

void departure_enqueue(struct sched *sched, struct sched_node *node)
{
	if (pl_list_empty(&node->ending) || has_waited(sched, node))
		return;
	if (pl_list_empty(&node->departure)) {
		if (count_before(sched, node) == 0)
			return;
		pl_list_add_tail(&sched->departures, &node->departure);
	}
	node->departure_rev = 0; /* this shard may be the first by now */
	sched->departures_ms = 0;
}

/* The time is known only in a turn of the loop, so departure_enqueue does not compute
 * it. */
static void update_departure(struct sched *sched, struct sched_node *node)
{
	uint32_t others = 0;

	if (node->departure_ms == 0 || node->departure_rev != node->rev[FACT_ALLOC]) {
		others = count_before(sched, node);
		if (node->departure_ms == 0)
			node->departure_ms =
				sched->now_ms + (uint64_t)others * DEPARTURE_MS;
		else if (others == 0)
			node->departure_ms = sched->now_ms;
		node->departure_rev = node->rev[FACT_ALLOC];
	}
	if (!pl_list_empty(&node->ending) && node->departure_ms > sched->now_ms) {
		if (node->departure_ms < sched->departures_ms)
			sched->departures_ms = node->departure_ms;
		return;
	}
	pl_list_del(&node->departure);
	node_set_ready(sched, node);
}

void departures_run(struct sched *sched)
{
	if (pl_list_empty(&sched->departures))
		return;
	sched->departures_ms = UINT64_MAX;
	PL_LIST_EACH (link, &sched->departures)
		update_departure(sched, PL_LIST_ITEM(link, struct sched_node, departure));
}

uint64_t departures_deadline_ms(const struct sched *sched)
{
	return pl_list_empty(&sched->departures) ? UINT64_MAX : sched->departures_ms;
}
