/*
 * Preemption: after a cycle that found nothing, other pods may have to go.
 *
 *	decided --> the snapshot has it: victims terminate, the pod is nominated
 *	   |        and the plan waits at the node
 *	   v
 *	one transaction: states of the victims (Terminating, to be placed again), the
 *	|        pod's own, the alloc with who leaves and with a hold for the pod
 *	   |
 *	   v
 *	the victims go (ends.c), the pod is tried again, with its hold, and its bind is
 *	written without it (holds.c)
 *
 * A plan is as good as what it was made for: news of the node, or of the pod, end it, and
 * the pod is tried again. Once the transaction stands nothing is kept here: the hold is
 * the nomination, and whoever takes over finds it.
 */
#include "shardsched/shard/room/preempts.h"

#include <stdlib.h>

#include "shardsched/preempt/preempt.h"
#include "shardsched/shard/tables/tables.h"
#include "store/base/alloc.h"

enum { HOLD_MS = 60000, VICTIMS_AT_ONCE = 48 };

/* -- a plan comes and goes ------------------------------------------------ */

static void mark(struct sched *sched, struct sched_node *node,
                 const struct sched_pod *victim)
{
	uint32_t i = listed_find(node, victim);

	if (i != UINT32_MAX)
		listed_mark(sched, node, i);
}

static void plan_free(struct sched *sched, struct sched_plan *plan)
{
	plan->pod->plan = NULL;
	plan->node->plan = NULL;
	for (uint32_t i = 0; i < plan->victims; i++) {
		plan->victim[i]->plan = NULL;
		mark(sched, plan->node, plan->victim[i]);
		pod_tidy(sched, plan->victim[i]);
	}
	free(plan->victim);
	free(plan);
}

enum pl_code preempts_new(struct sched *sched, struct pl_err *err)
{
	if (strings_add(&sched->model.strings, PL_SPAN_LIT("preempted"),
	                &sched->preempted) != PL_OK)
		return pl_err_set(err, PL_NOMEM, "make a scheduler");
	return preempt_new(&sched->preempt, err);
}

void preempts_free(struct sched *sched)
{
	PL_MAP_EACH (at, &sched->nodes) {
		struct sched_node *node = PL_CONTAINER_OF(at, struct sched_node, by_name);

		if (node->plan != NULL)
			plan_free(sched, node->plan);
	}
	strings_unref(&sched->model.strings, sched->preempted);
	preempt_free(sched->preempt);
	sched->preempt = NULL;
}

void preempts_cancel(struct sched *sched, struct sched_plan *plan)
{
	struct sched_node *node;
	struct sched_pod *pod;

	if (plan == NULL || plan->sent)
		return;
	node = plan->node;
	pod = plan->pod;
	plan_free(sched, plan);
	hold_unplan(sched, node, pod);
	node_ready(sched, node);
}

void preempts_stand(struct sched *sched, struct sched_node *node)
{
	struct sched_plan *plan = node->plan;
	bool more = false;
	struct sched_pod *pod;

	if (plan == NULL || !plan->sent)
		return;
	plan->sent = false;
	pod = plan->pod;
	hold_planned(sched, node, pod);
	for (uint32_t i = 0; i < plan->victims; i++) {
		uint32_t at = listed_find(node, plan->victim[i]);

		more = more || (at != UINT32_MAX && !node->listed[at].leaving &&
		                plan->victim[i]->phase == STATE_BOUND);
	}
	sched->figures.preempted++;
	if (more)
		return;
	plan_free(sched, plan);
	pod_tidy(sched, pod);
}

void preempts_fail(struct sched *sched, struct sched_node *node)
{
	struct sched_plan *plan = node->plan;

	if (plan == NULL || !plan->sent)
		return;
	plan->sent = false;
	for (uint32_t i = 0; i < plan->victims; i++)
		if (!pod_is_owned(sched, plan->victim[i])) /* may be old: read again */
			plan->victim[i]->rev[FACT_STATE] = 0;
	preempts_cancel(sched, plan);
}

/* -- from the decision to a plan -------------------------------------------- */

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

static struct sched_plan *plan_new(const struct preempt_outcome *found)
{
	struct sched_plan *plan = pl_calloc(1, sizeof *plan);

	if (plan == NULL)
		return NULL;
	plan->victim = pl_calloc(found->victims + 1, sizeof(void *));
	plan->limit = VICTIMS_AT_ONCE;
	if (plan->victim != NULL)
		return plan;
	free(plan);
	return NULL;
}

/* Whoever only waits there is decided again, and need not be told. */
static void doom(struct sched *sched, struct sched_plan *plan, struct sched_pod *victim)
{
	struct sched_node *node = plan->node;

	if (victim->place == POD_WAITS) {
		pod_redo(sched, victim);
		return;
	}
	preempts_cancel(sched, victim->plan);
	victim->plan = plan;
	plan->victim[plan->victims++] = victim;
	mark(sched, node, victim);
	if (pod_is_owned(sched, victim))
		return;
	/* It may have left once, and be here again: then what was read of it is old. */
	if (victim->phase != STATE_BOUND) {
		victim->phase = PHASE_NONE;
		victim->rev[FACT_STATE] = 0;
	}
	if (victim->rev[FACT_STATE] != 0)
		return;
	victim->asks_state = true;
	specs_want(sched, victim, node->rev[FACT_ALLOC]);
}

static bool plan_make(struct sched *sched, struct sched_pod *pod,
                      const struct preempt_outcome *found)
{
	struct sched_node *node = sched->by_slot[found->node];
	struct sched_plan *plan = plan_new(found);
	struct pl_err err = {0};
	uint32_t victims = 0;
	struct sched_pod **all;

	all = plan == NULL ? NULL : pl_calloc(found->victims + 1, sizeof(void *));
	if (all == NULL ||
	    hold_plan(sched, node, pod, sched->wall_ms + HOLD_MS, &err) != PL_OK) {
		if (plan != NULL)
			free(plan->victim);
		free(plan);
		free(all);
		tell_trouble(sched, &err);
		return false;
	}
	for (; victims < found->victims; victims++)
		all[victims] = pod_placed(node, found->victim[victims]);
	plan->pod = pod;
	plan->node = node;
	pod->plan = node->plan = plan;
	for (uint32_t i = 0; i < victims; i++)
		doom(sched, plan, all[i]);
	free(all);
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

void preempts_give_up(struct sched *sched, struct sched_pod *pod)
{
	preempts_cancel(sched, pod_plan(pod));
	if (pod->nominated != NULL && pod->plan == NULL)
		hold_give_up(sched, pod->nominated, pod);
}

static bool run(struct sched *sched, const struct outcome *outcome, uint64_t draw,
                struct preempt_outcome *out)
{
	struct preempt_job job = {
		.preempt = sched->preempt, .last = outcome, .opts = {.draw = draw}};
	struct verdict say;

	cycle_lend(sched->cycle, &job);
	(void)cycle_post_filter(sched->cycle, &say);
	cycle_lend(sched->cycle, NULL);
	*out = job.out;
	return job.ran;
}

bool preempts_try(struct sched *sched, struct sched_pod *pod, uint64_t draw,
                  const struct outcome *outcome, uint64_t *refused_by)
{
	struct preempt_outcome found;

	if (pod_plan(pod) != NULL)
		return true;
	if (!run(sched, outcome, draw, &found))
		return false;
	if (found.waits)
		return true;
	*refused_by |= found.refused_by;
	if (found.code != VERDICT_SUCCESS)
		return false;
	if (pod->call != 0) /* its state is being told */
		return true;
	if (!is_free(sched, sched->by_slot[found.node], pod))
		return true; /* soon, when that one is through */
	(void)plan_make(sched, pod, &found);
	return true;
}
