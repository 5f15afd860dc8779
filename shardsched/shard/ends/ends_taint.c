/*
 * NoExecute: who does not tolerate a taint of its node leaves it, at once, or when the
 * time is over for which it does. The time runs from when the node was tainted
 * (timeAdded, or when we first looked at it so), or from when the pod came, if that was
 * later; as in Kubernetes it is the least of those that the tolerations say.
 *
 * Others have written these times, by clocks of theirs. What lies ahead of our wall clock
 * counts as the present, so a pod stays at most as long again; and the time has to be
 * over on the clock that nobody sets, too, so none leaves early because ours was set
 * forward.
 *
 * Tainted nodes are few, and a second is soon enough: so they are gone through, and
 * nothing is kept but which pods have been found. Who owns the node does that, whoever
 * owns the pods: states of others' are read for it, and the compare tells when they are
 * old.
 */
#include "shardsched/shard/ends/ends.h"
#include "shardsched/shard/inner.h"
#include "shardsched/shard/room/preempts.h"
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

/* Who has been found by the old ones may stay by the new. */
void taints_anew(struct sched *sched, struct sched_node *node)
{
	if (pl_list_empty(&node->tainted))
		return;
	forgive(sched, node);
	sched->taints_ms = 0;
}

void taints_settle(struct sched *sched, struct sched_node *node)
{
	bool is = node->node.name != 0 && node_is_home(sched, node) &&
	          (node->node.taints->effects & TAINT_BIT(TAINT_NO_EXECUTE)) != 0;

	if (!is) {
		if (!pl_list_empty(&node->tainted))
			forgive(sched, node);
		pl_list_del(&node->tainted);
		node->tainted_ms = node->tainted_said = 0;
		return;
	}
	if (pl_list_empty(&node->tainted)) {
		pl_list_add_tail(&sched->tainted, &node->tainted);
		sched->taints_ms = 0;
	}
}

/* The clocks are right only while something is run. */
static void since(const struct sched *sched, struct sched_node *node)
{
	int64_t said = node->node.tainted_ms, was = node->tainted_ms;

	if (was == 0 || said != node->tainted_said) {
		if (said != 0 || was == 0)
			node->tainted_ms = said != 0 ? said : sched->wall_ms;
		if (node->tainted_ms > sched->wall_ms)
			node->tainted_ms = sched->wall_ms;
		node->tainted_said = said;
		node->tainted_from =
			(int64_t)sched->now_ms - (sched->wall_ms - node->tainted_ms);
	}
	if (node->tainted_ms > sched->wall_ms)
		node->tainted_ms = sched->wall_ms;
}

static bool is_over(const struct sched *sched, const struct sched_node *node,
                    struct sched_pod *pod, int32_t bears_s)
{
	int64_t bears_ms = (int64_t)bears_s * 1000, from_ms;

	if (pod->since_ms > sched->wall_ms)
		pod->since_ms = sched->wall_ms;
	from_ms = pod->since_ms > node->tainted_ms ? pod->since_ms : node->tainted_ms;
	return sched->wall_ms - from_ms >= bears_ms &&
	       (int64_t)sched->now_ms - node->tainted_from >= bears_ms;
}

static bool is_settled_here(const struct sched_node *node, const struct sched_pod *pod)
{
	return pod->rev[FACT_STATE] != 0 && pod->phase == STATE_BOUND &&
	       pod->ask == STATE_ASK_NONE && pod->ended == STATE_ENDED_NOT &&
	       pod->at[0] == node->key[0] && pod->at[1] == node->key[1];
}

/* What is known of a pod of others is as old as when it was read. One that was about to
 * go then is its owner's business, and is looked at again. */
static bool is_read(struct sched *sched, const struct sched_node *node,
                    struct sched_pod *pod)
{
	if (is_settled_here(node, pod))
		return true;
	if (pod->call != 0 || pod->linked != LINKED_NOT || pod_is_doomed(pod) ||
	    pod_plan(sched, pod) != NULL)
		return false;
	pod->phase = PHASE_NONE;
	pod->rev[FACT_STATE] = 0;
	pod->asks_state = true;
	specs_want(sched, pod, node->rev[FACT_ALLOC]);
	return false;
}

static bool is_due(struct sched *sched, const struct sched_node *node,
                   const struct listed *listed)
{
	struct sched_pod *pod = listed->pod;
	int32_t bears_s;

	if (!listed_is_known(listed) || listed->leaving)
		return false;
	bears_s = taints_bear_s(node->node.taints, pod->spec->form->tolerations);
	if (bears_s == TOLERATION_EVER)
		return false;
	if (!pod_is_owned(sched, pod) && !is_read(sched, node, pod))
		return false;
	return pod->phase == STATE_BOUND &&
	       (bears_s == 0 || is_over(sched, node, pod, bears_s));
}

static void look_at(struct sched *sched, struct sched_node *node)
{
	since(sched, node);
	for (uint32_t i = 0; i < node->count; i++) {
		struct sched_pod *pod = node->listed[i].pod;

		if (is_due(sched, node, &node->listed[i]) ==
		    ((pod->flags & POD_TAINTED) != 0))
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
