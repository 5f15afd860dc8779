/*
 * NoExecute: who does not tolerate a taint of its node leaves it, at once, or when the
 * time is over for which it does. Each taint has a time of its own: it runs from when
 * that one was added (timeAdded, or when we first looked at it), or from when the pod
 * came, if that was later. So one that is borne without end, however old, makes none of
 * the others' times shorter.
 *
 * Others have written these times, by clocks of theirs, and ours may be set, or run fast.
 * All is counted by one that advances as the wall clock does and never more than the
 * monotonic one (steady_ms): so none leaves early because of that. What lies ahead of it
 * counts as the present, so a pod stays at most as long again.
 *
 * Tainted nodes are few, and a second is soon enough: so they are gone through, and
 * nothing is kept but which pods have been found. Who owns the node does that, whoever
 * owns the pods: states of others' are read for it, and the compare tells when they are
 * old.
 */
#include <stdlib.h>

#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/inner.h"
#include "shardsched/shard/reservations/preemption.h"
#include "shardsched/shard/termination/termination.h"
#include "store/base/alloc.h"

enum { TAINTS_EACH_MS = 1000 };

/* Taints may go before they were acted upon. */
static void clear_tainted(struct sched *sched, struct sched_node *node)
{
	for (uint32_t i = 0; i < node->count; i++) {
		struct sched_pod *pod = node->listed[i].pod;

		if ((pod->flags & POD_TAINTED) == 0)
			continue;
		pod->flags &= (uint16_t)~POD_TAINTED;
		termination_reconcile(sched, pod);
	}
}

static int64_t added_ms(const struct node *node, uint32_t i)
{
	return node->tainted == NULL ? 0 : node->tainted->added_ms[i];
}

static bool is_same_taint(const struct taint *a, const struct taint *b)
{
	return a->key == b->key && a->value == b->value && a->effect == b->effect;
}

/* When we first saw it, if it was there before and says nothing else now. */
static int64_t seen_ms(const struct sched_node *node, uint32_t i, const struct node *was)
{
	int64_t added = added_ms(&node->node, i);

	for (uint32_t k = 0; k < was->taints->count; k++)
		if (is_same_taint(&was->taints->row[k], &node->node.taints->row[i]))
			return added == 0 || added == added_ms(was, k)
			               ? node->tainted_ms[k]
			               : 0;
	return 0;
}

/* Without memory they are looked at as if all were new. */
static void carry_times(struct sched_node *node, const struct node *was)
{
	uint32_t count = node->node.name == 0 ? 0 : node->node.taints->count;
	int64_t *tainted_ms = NULL;

	if (node->tainted_ms != NULL && count > 0)
		tainted_ms = pl_calloc(count, sizeof *tainted_ms);
	for (uint32_t i = 0; tainted_ms != NULL && i < count; i++)
		tainted_ms[i] = seen_ms(node, i, was);
	free(node->tainted_ms);
	node->tainted_ms = tainted_ms;
}

/* Who has been found by the old ones may stay by the new. */
void taint_eviction_node_changed(struct sched *sched, struct sched_node *node,
                                 const struct node *was)
{
	if (pl_list_empty(&node->tainted))
		return;
	carry_times(node, was);
	clear_tainted(sched, node);
	sched->taints_ms = 0;
}

void taint_eviction_reconcile(struct sched *sched, struct sched_node *node)
{
	bool is = node->node.name != 0 && node_is_local(sched, node) &&
	          (node->node.taints->effects & TAINT_BIT(TAINT_NO_EXECUTE)) != 0;

	if (!is) {
		if (!pl_list_empty(&node->tainted))
			clear_tainted(sched, node);
		pl_list_del(&node->tainted);
		free(node->tainted_ms);
		node->tainted_ms = NULL;
		return;
	}
	if (pl_list_empty(&node->tainted)) {
		pl_list_add_tail(&sched->tainted, &node->tainted);
		sched->taints_ms = 0;
	}
}

/* What it was set forward is left out for good: what comes later lies ahead, then. */
static int64_t steady_ms(const struct sched *sched)
{
	return sched->steady_clock.ms;
}

static void steady_run(struct sched *sched)
{
	struct steady_clock *steady_clock = &sched->steady_clock;
	int64_t wall_ms = sched->wall_ms - steady_clock->wall_ms;
	int64_t now_ms = (int64_t)(sched->now_ms - steady_clock->now_ms);

	steady_clock->ms =
		steady_clock->ms == 0
			? sched->wall_ms
			: steady_clock->ms + (wall_ms < now_ms ? wall_ms : now_ms);
	steady_clock->wall_ms = sched->wall_ms;
	steady_clock->now_ms = sched->now_ms;
}

/* The clocks are right only while something is run. Without memory nothing is over yet.
 */
static void set_taint_times(const struct sched *sched, struct sched_node *node)
{
	const struct taints *taints = node->node.taints;
	int64_t steady_clock = steady_ms(sched);

	if (node->tainted_ms == NULL)
		node->tainted_ms = pl_calloc(taints->count, sizeof *node->tainted_ms);
	for (uint32_t i = 0; node->tainted_ms != NULL && i < taints->count; i++) {
		int64_t *at = &node->tainted_ms[i];

		if (*at == 0)
			*at = added_ms(&node->node, i);
		if (*at == 0 || *at > steady_clock)
			*at = steady_clock;
	}
}

/* All of them, without end. */
static bool tolerates_all(const struct sched_node *node, const struct sched_pod *pod)
{
	const struct taints *taints = node->node.taints;

	for (uint32_t i = 0; i < taints->count; i++)
		if (tolerations_bear_s(pod->spec->template->tolerations,
		                       &taints->row[i]) != TOLERATION_EVER)
			return false;
	return true;
}

static bool is_taint_over(const struct sched *sched, const struct sched_node *node,
                          uint32_t i, const struct sched_pod *pod)
{
	int32_t bears_s = tolerations_bear_s(pod->spec->template->tolerations,
	                                     &node->node.taints->row[i]);
	int64_t from_ms;

	if (bears_s == 0 || bears_s == TOLERATION_EVER || node->tainted_ms == NULL)
		return bears_s == 0;
	from_ms =
		node->tainted_ms[i] > pod->since_ms ? node->tainted_ms[i] : pod->since_ms;
	return steady_ms(sched) - from_ms >= (int64_t)bears_s * 1000;
}

static bool is_any_taint_over(const struct sched *sched, const struct sched_node *node,
                              struct sched_pod *pod)
{
	if (pod->since_ms > steady_ms(sched))
		pod->since_ms = steady_ms(sched);
	for (uint32_t i = 0; i < node->node.taints->count; i++)
		if (is_taint_over(sched, node, i, pod))
			return true;
	return false;
}

static bool is_bound_here(const struct sched_node *node, const struct sched_pod *pod)
{
	return pod->rev[FACT_STATE] != 0 && pod->phase == STATE_BOUND &&
	       pod->ask == STATE_ASK_NONE && pod->ended == STATE_ENDED_NOT &&
	       pod->at[0] == node->key[0] && pod->at[1] == node->key[1];
}

/* What is known of a pod of others is as old as when it was read. One that was about to
 * go then is its owner's business, and is looked at again. */
static bool is_state_read(struct sched *sched, const struct sched_node *node,
                          struct sched_pod *pod)
{
	if (is_bound_here(node, pod))
		return true;
	if (pod->txn != 0 || pod->linked != LINKED_NOT || pod_is_victim(pod) ||
	    pod_plan(sched, pod) != NULL)
		return false;
	pod->phase = PHASE_NONE;
	pod->rev[FACT_STATE] = 0;
	pod->asks_state = true;
	spec_reads_want(sched, pod, node->rev[FACT_ALLOC]);
	return false;
}

static bool is_eviction_due(struct sched *sched, const struct sched_node *node,
                            const struct alloc_entry *listed)
{
	struct sched_pod *pod = listed->pod;

	if (!alloc_entry_is_known(listed) || listed->leaving || tolerates_all(node, pod))
		return false;
	if (!pod_is_owned(sched, pod) && !is_state_read(sched, node, pod))
		return false;
	return pod->phase == STATE_BOUND && is_any_taint_over(sched, node, pod);
}

static void evict_from_node(struct sched *sched, struct sched_node *node)
{
	set_taint_times(sched, node);
	for (uint32_t i = 0; i < node->count; i++) {
		struct sched_pod *pod = node->listed[i].pod;

		if (is_eviction_due(sched, node, &node->listed[i]) ==
		    ((pod->flags & POD_TAINTED) != 0))
			continue;
		pod->flags ^= POD_TAINTED;
		termination_reconcile(sched, pod);
	}
}

void taint_eviction_run(struct sched *sched)
{
	if (pl_list_empty(&sched->tainted) || sched->now_ms < sched->taints_ms)
		return;
	sched->taints_ms = sched->now_ms + TAINTS_EACH_MS;
	steady_run(sched);
	PL_LIST_EACH (link, &sched->tainted)
		evict_from_node(sched, PL_LIST_ITEM(link, struct sched_node, tainted));
}

uint64_t taint_eviction_deadline_ms(const struct sched *sched)
{
	return pl_list_empty(&sched->tainted) ? UINT64_MAX : sched->taints_ms;
}
