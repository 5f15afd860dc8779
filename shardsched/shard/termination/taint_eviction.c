/*
 * NoExecute taints: a pod that does not tolerate a taint of its node leaves it, at once
 * or when its tolerationSeconds are over. Each taint has a time of its own, which runs
 * from when the taint was added (timeAdded, or when the shard first saw it) or from when
 * the pod came, whichever was later. So a taint that is tolerated for ever, however old,
 * does not shorten the time of another one.
 *
 * These times were written by other clocks, and the own clock may be set, or run fast.
 * All is counted by struct steady_clock, which advances as the wall clock does and never
 * more than the monotonic clock: no pod leaves early because a clock was set. A time
 * ahead of it counts as the present, so a pod stays at most as long again.
 *
 * Tainted nodes are few, and a second is precise enough: they are walked once a second,
 * and nothing is kept but which pods were found (POD_TAINTED). The node's owner does
 * that, whichever shard owns the pods: it reads the states of remote pods for it, and the
 * compares of the txn show when they are outdated.
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

/* When the shard first saw the taint, if it was there before and its timeAdded is the
 * same; 0: it is new. */
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

/* Without memory all taints count as new. */
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

/* A pod that the old taints drove away may stay under the new ones. */
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

/* A jump of the wall clock is left out for good: times written after it lie ahead. */
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

/* Clocks are right only while the core runs, so times are set here and not when the Node
 * arrives. Without memory no time is over yet. */
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

/* The pod tolerates all taints of the node for ever. */
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

/* The state of a remote pod is as old as its read. A pod that was about to leave then is
 * its owner's business; its state is read again. */
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
