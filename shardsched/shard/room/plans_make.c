/* From what preemption has found to a plan. */
#include <stdlib.h>

#include "shardsched/preempt/preempt.h"
#include "shardsched/shard/room/plans.h"
#include "shardsched/shard/tables/tables.h"
#include "shardsched/shard/tell.h"
#include "store/base/alloc.h"

enum { VICTIMS_AT_ONCE = 48 };

static struct sched_pod *pod_placed(const struct sched_node *node, uint32_t placed)
{
	for (uint32_t i = 0; i < node->count; i++)
		if (node->listed[i].placed == placed)
			return node->listed[i].pod;
	PL_LIST_EACH (link, &node->waiting) {
		struct sched_pod *pod = PL_LIST_ITEM(link, struct sched_pod, link);

		if (pod->placed == placed)
			return pod;
	}
	PL_UNREACHABLE("a pod on a node");
}

static struct sched_plan *plan_new(uint32_t victims)
{
	struct sched_plan *plan = pl_calloc(1, sizeof *plan);

	if (plan == NULL)
		return NULL;
	plan->victim = pl_calloc(victims + 1, sizeof(void *));
	plan->limit = VICTIMS_AT_ONCE;
	if (plan->victim != NULL)
		return plan;
	free(plan);
	return NULL;
}

static bool leaves(const struct sched_node *node, const struct sched_pod *pod)
{
	uint32_t i = listed_find(node, pod);

	return i != UINT32_MAX && node->listed[i].leaving;
}

/* It can be told to go from there. What came of another plan has to be heard of first;
 * and as long as a pod's state is not what its node's alloc says, one of them is old. */
static bool may_go(const struct sched *sched, const struct sched_node *node,
                   const struct sched_pod *victim)
{
	if (plan_is_sent(pod_plan(sched, victim)) || plan_is_sent(victim->doomed_by))
		return false;
	return victim->place != POD_IDLE || leaves(node, victim) ||
	       !pod_is_owned(sched, victim) || pod_is_at(victim, node);
}

/* Whoever put that alloc put its state, which somebody has deleted since, or written
 * over: by what is known it can not be told, now or later. */
static bool is_mute(const struct sched *sched, const struct sched_node *node,
                    const struct sched_pod *victim)
{
	const struct sched_partition *part = &sched->partition[victim->key[0]];

	return part->owned && part->open && victim->place == POD_IDLE &&
	       victim->call == 0 && !leaves(node, victim) && !pod_is_at(victim, node) &&
	       part->upto[SCHED_SCHEDULES] >= node->rev[FACT_ALLOC];
}

/* Until its state is heard of it is not chosen again: another node may do. */
static void spare_mute(struct sched *sched, struct sched_node *node,
                       struct sched_pod *const *victim, uint32_t victims)
{
	for (uint32_t i = 0; i < victims; i++) {
		if (!is_mute(sched, node, victim[i]))
			continue;
		victim[i]->flags |= POD_MUTE;
		plan_mark(sched, node, victim[i]);
	}
}

/* What is known of it may be of another time, when it was elsewhere, or left. */
static void want_state(struct sched *sched, struct sched_node *node,
                       struct sched_pod *victim)
{
	if (victim->phase != STATE_BOUND || !pod_is_at(victim, node)) {
		victim->phase = PHASE_NONE;
		victim->rev[FACT_STATE] = 0;
	}
	if (victim->rev[FACT_STATE] != 0)
		return;
	victim->asks_state = true;
	specs_want(sched, victim, node->rev[FACT_ALLOC]);
}

/* Whoever only waits there is decided again, and need not be told. */
static void doom(struct sched *sched, struct sched_plan *plan, struct sched_pod *victim)
{
	struct sched_node *node = plan->node;

	if (victim->place == POD_WAITS) {
		pod_redo(sched, victim);
		return;
	}
	if (leaves(node, victim))
		return;
	preempts_cancel_of(sched, victim);
	victim->doomed_by = plan;
	plan->victim[plan->victims++] = victim;
	plan_mark(sched, node, victim);
	if (!pod_is_owned(sched, victim))
		want_state(sched, node, victim);
}

static bool plan_make(struct sched *sched, struct sched_pod *pod, struct sched_node *node,
                      struct sched_pod *const *victim, uint32_t victims)
{
	struct sched_plan *plan = plan_new(victims);
	const struct pl_map_node *twin;
	struct pl_err err = {0};

	if (plan == NULL ||
	    hold_plan(sched, node, pod, sched->wall_ms + HOLD_MS, &err) != PL_OK) {
		if (plan == NULL)
			pl_err_set(&err, PL_NOMEM, "make room for a pod");
		else
			free(plan->victim);
		free(plan);
		tell_trouble(sched, &err);
		return false;
	}
	plan->pod = pod;
	plan->node = node;
	plan->leavers = victims;
	PL_ASSERT(!pod_is_doomed(pod));
	node->plan = plan;
	twin = pl_map_add(&sched->plans, &plan->by_pod, plan_key(pod));
	PL_ASSERT(twin == NULL);
	for (uint32_t i = 0; i < victims && node->plan == plan; i++)
		doom(sched, plan, victim[i]);
	if (node->plan != plan) /* without memory for a hold the node was lost */
		return false;
	if (!shields_plan(sched, plan)) {
		preempts_cancel(sched, plan);
		return false;
	}
	if (shields_spare(sched, plan)) { /* others go; or nobody, until they may */
		preempts_cancel(sched, plan);
		plans_mark_all(sched);
		return false;
	}
	plan->fits = holds_fit(sched, plan);
	node_ready(sched, node);
	return true;
}

/* Somebody else's plan is in the way: it gives way to who is more important. */
static bool is_free(struct sched *sched, struct sched_node *node,
                    const struct sched_pod *pod)
{
	const struct sched_plan *plan = node->plan;

	if (plan != NULL && !plan->sent &&
	    plan->pod->spec->priority < pod->spec->priority)
		preempts_cancel(sched, node->plan);
	return node->plan == NULL && node->bundled == 0;
}

/* As far as it can be begun now; if not, the pod is tried again soon. */
void plan_try(struct sched *sched, struct sched_pod *pod,
              const struct preempt_outcome *found)
{
	struct sched_node *node = sched->by_slot[found->node];
	struct sched_pod **victim = pl_calloc(found->victims + 1, sizeof(void *));
	bool may = victim != NULL;
	struct pl_err err;

	if (victim == NULL) {
		pl_err_set(&err, PL_NOMEM, "make room for a pod");
		tell_trouble(sched, &err);
		return;
	}
	/* Before anything is called off: it may be placed anew by that. */
	for (uint32_t i = 0; i < found->victims; i++) {
		victim[i] = pod_placed(node, found->victim[i]);
		may = may && may_go(sched, node, victim[i]);
	}
	if (!may)
		spare_mute(sched, node, victim, found->victims);
	may = may && is_free(sched, node, pod);
	if (may) /* it is not where it was to leave for somebody else */
		preempts_cancel(sched, pod->doomed_by);
	if (may && node->plan == NULL)
		(void)plan_make(sched, pod, node, victim, found->victims);
	free(victim);
}

void preempts_settle(struct sched *sched, struct sched_pod *victim)
{
	struct sched_plan *plan = victim->doomed_by;
	struct sched_node *node = plan->node;

	if (plan->sent || leaves(node, victim))
		return;
	if (victim->rev[FACT_STATE] == 0 && !pod_is_owned(sched, victim)) {
		if (victim->linked == LINKED_WANTED || victim->call != 0)
			return;
		if ((victim->flags & POD_MUTE) == 0) {
			want_state(sched, node, victim);
			return;
		}
	}
	if (victim->place == POD_IDLE && !pod_is_at(victim, node)) {
		bool pinned = victim->pinned;

		sched->partition[node->partition].visit.stale = true;
		victim->pinned = true; /* whoever settles it is not through yet */
		preempts_cancel(sched, plan);
		victim->pinned = pinned;
		return;
	}
	node_ready(sched, node);
}

void preempts_give_up(struct sched *sched, struct sched_pod *pod)
{
	preempts_cancel(sched, pod_plan(sched, pod));
	if (pod->nominated != NULL && pod_plan(sched, pod) == NULL)
		hold_give_up(sched, pod->nominated, pod);
}
