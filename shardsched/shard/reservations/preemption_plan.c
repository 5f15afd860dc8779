/* Preemption plans: how they begin and end. */
#include "shardsched/shard/reservations/preemption_plan.h"

#include <stdlib.h>

#include "shardsched/preempt/preempt.h"
#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/report.h"

struct preemption_plan *pod_plan(const struct sched *sched, const struct sched_pod *pod)
{
	struct pl_map_node *at;

	if (sched->plans.count == 0)
		return NULL;
	at = pl_map_get(&sched->plans, plan_key(pod));
	return at == NULL ? NULL : PL_CONTAINER_OF(at, struct preemption_plan, by_pod);
}

void plan_mark_victim(struct sched *sched, struct sched_node *node,
                      const struct sched_pod *victim)
{
	uint32_t i = alloc_entry_find(node, victim);

	if (i != UINT32_MAX)
		alloc_entry_mark(sched, node, i);
}

/* A node whose pods cannot be marked leaves the snapshot, and its plan ends. */
void plans_mark_all(struct sched *sched)
{
	PL_MAP_EACH (at, &sched->nodes) {
		struct sched_node *node = PL_CONTAINER_OF(at, struct sched_node, by_name);

		for (uint32_t i = 0; i < node->count; i++)
			alloc_entry_mark(sched, node, i);
	}
}

void preemption_clear_exempt(struct sched *sched)
{
	bool any = false;

	PODS_EACH(pod, sched)
	{
		any = any || pod->exempt;
		pod->exempt = false;
	}
	if (!any)
		return;
	plans_mark_all(sched);
	/* pods that found no victims may find some now */
	emit_queue_event(sched, QUEUE_EV_ANY, 0);
}

static void plan_free(struct sched *sched, struct preemption_plan *plan)
{
	disruption_unplan(sched, plan);
	pl_map_del(&sched->plans, &plan->by_pod);
	plan->node->plan = NULL;
	for (uint32_t i = 0; i < plan->victims; i++) {
		plan->victim[i]->victim_of = NULL;
		plan_mark_victim(sched, plan->node, plan->victim[i]);
		pod_tidy(sched, plan->victim[i]);
	}
	free(plan->victim);
	free(plan);
}

enum pl_code preemption_new(struct sched *sched, struct pl_err *err)
{
	if (strings_add(&sched->model.strings, PL_SPAN_LIT("preempted"),
	                &sched->preempted) != PL_OK)
		return pl_err_set(err, PL_NOMEM, "make a scheduler");
	return preempt_new(&sched->preempt, err);
}

void preemption_free(struct sched *sched)
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

void preemption_cancel(struct sched *sched, struct preemption_plan *plan)
{
	struct sched_node *node;
	struct sched_pod *pod;

	if (plan == NULL || plan->state == PREEMPTION_PLAN_SENT)
		return;
	node = plan->node;
	pod = plan->pod;
	plan_free(sched, plan);
	reservation_unplan(sched, node, pod);
	node_set_ready(sched, node);
}

void preemption_cancel_of(struct sched *sched, const struct sched_pod *pod)
{
	preemption_cancel(sched, pod_plan(sched, pod));
	preemption_cancel(sched, pod->victim_of);
}

void preemption_applied(struct sched *sched, struct sched_node *node)
{
	struct preemption_plan *plan = node->plan;
	struct sched_pod *pod;

	if (plan == NULL || plan->state != PREEMPTION_PLAN_SENT)
		return;
	plan_set_state(plan, PREEMPTION_PLAN_WAITS);
	pod = plan->pod;
	sched->figures.preempted++;
	if (!plan->is_last) /* the nomination comes with the last victims */
		return;
	reservation_planned_applied(sched, node, pod);
	plan_free(sched, plan);
	pod_tidy(sched, pod);
}

void preemption_fail(struct sched *sched, struct sched_node *node)
{
	struct preemption_plan *plan = node->plan;

	if (plan == NULL || plan->state != PREEMPTION_PLAN_SENT)
		return;
	plan_set_state(plan, PREEMPTION_PLAN_WAITS);
	for (uint32_t i = 0; i < plan->victims; i++)
		/* the state may be old, so it is read again */
		if (!pod_is_owned(sched, plan->victim[i]))
			plan->victim[i]->rev[FACT_STATE] = 0;
	preemption_cancel(sched, plan);
}

void preemption_check(struct sched *sched, struct sched_node *node)
{
	struct preemption_plan *plan = node->plan;

	if (plan != NULL && plan->state != PREEMPTION_PLAN_SENT && plan->fits &&
	    !reservations_fit(sched, plan))
		preemption_cancel(sched, plan);
}

/* The nomination that the pod had may have been in the way of others while not all
 * victims have left. */
void preemption_keep(struct sched *sched, struct sched_node *node)
{
	struct preemption_plan *plan = node->plan;
	struct sched_pod *pod;
	struct pl_err err = {0};

	if (plan == NULL || plan->state == PREEMPTION_PLAN_SENT)
		return;
	pod = plan->pod;
	/* else the pod is decided, or gone */
	if (!node->reset && pod->stage == POD_QUEUED) {
		if (reservation_of_pod(node, pod) != NULL ||
		    reservation_plan(sched, node, pod, sched->wall_ms + RESERVATION_MS,
		                     &err) == PL_OK)
			return;
		report_trouble(sched, &err);
	}
	preemption_cancel(sched, plan);
	pod_tidy(sched, pod);
}
