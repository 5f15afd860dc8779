/*
 * NoExecute: who does not tolerate a taint of its node leaves it, at once, or when the
 * time is over for which it does. The time runs from when the node was tainted
 * (timeAdded, or when we first saw it so), or from when the pod came, if that was later;
 * as in Kubernetes it is the least of those that the tolerations say.
 *
 * Tainted nodes are few, and a second is soon enough: so they are gone through, and
 * nothing is kept but which pods have been found.
 */
#include "shardsched/shard/ends/ends.h"
#include "shardsched/shard/inner.h"
#include "shardsched/shard/tables/tables.h"

enum { TAINTS_EACH_MS = 1000 };

/* Taints may go before they were acted upon. */
static void forgive(struct sched *sched, struct sched_node *node)
{
	for (uint32_t i = 0; i < node->count; i++) {
		struct sched_pod *pod = node->listed[i].pod;

		if ((pod->flags & POD_TAINTED) == 0)
			continue;
		pod->flags &= (uint16_t)~POD_TAINTED;
		ends_settle(sched, pod);
	}
}

void taints_settle(struct sched *sched, struct sched_node *node)
{
	bool is = node->node.name != 0 && node_is_home(sched, node) &&
	          (node->node.taints->effects & TAINT_BIT(TAINT_NO_EXECUTE)) != 0;

	if (!is) {
		if (!pl_list_empty(&node->tainted))
			forgive(sched, node);
		pl_list_del(&node->tainted);
		node->tainted_ms = 0;
		return;
	}
	if (pl_list_empty(&node->tainted)) {
		pl_list_add_tail(&sched->tainted, &node->tainted);
		sched->taints_ms = 0;
	}
	if (node->node.tainted_ms != 0)
		node->tainted_ms = node->node.tainted_ms;
	else if (node->tainted_ms == 0)
		node->tainted_ms = sched->wall_ms;
}

static bool is_due(const struct sched *sched, const struct sched_node *node,
                   const struct sched_pod *pod)
{
	int64_t from_ms =
		pod->since_ms > node->tainted_ms ? pod->since_ms : node->tainted_ms;
	int32_t bears_s;

	if (!pod_is_owned(sched, pod) || pod->spec == NULL || pod->phase != STATE_BOUND)
		return false;
	bears_s = taints_bear_s(node->node.taints, pod->spec->tolerations);
	return bears_s == 0 || (bears_s != TOLERATION_EVER &&
	                        sched->wall_ms - from_ms >= (int64_t)bears_s * 1000);
}

static void look_at(struct sched *sched, struct sched_node *node)
{
	for (uint32_t i = 0; i < node->count; i++) {
		struct sched_pod *pod = node->listed[i].pod;

		if (is_due(sched, node, pod) == ((pod->flags & POD_TAINTED) != 0))
			continue;
		pod->flags ^= POD_TAINTED;
		ends_settle(sched, pod);
	}
}

void taints_run(struct sched *sched)
{
	if (pl_list_empty(&sched->tainted) || sched->now_ms < sched->taints_ms)
		return;
	sched->taints_ms = sched->now_ms + TAINTS_EACH_MS;
	PL_LIST_EACH (link, &sched->tainted)
		look_at(sched, PL_LIST_ITEM(link, struct sched_node, tainted));
}

uint64_t taints_deadline_ms(const struct sched *sched)
{
	return pl_list_empty(&sched->tainted) ? UINT64_MAX : sched->taints_ms;
}
