/* A plan comes and goes. */
#include "shardsched/shard/room/plans.h"

#include <stdlib.h>

#include "shardsched/preempt/preempt.h"
#include "shardsched/shard/tables/tables.h"
#include "shardsched/shard/tell.h"

struct sched_plan *pod_plan(const struct sched *sched, const struct sched_pod *pod)
{
	struct pl_map_node *at;

	if (sched->plans.count == 0)
		return NULL;
	at = pl_map_get(&sched->plans, plan_key(pod));
	return at == NULL ? NULL : PL_CONTAINER_OF(at, struct sched_plan, by_pod);
}

void plan_mark(struct sched *sched, struct sched_node *node,
               const struct sched_pod *victim)
{
	uint32_t i = listed_find(node, victim);

	if (i != UINT32_MAX)
		listed_mark(sched, node, i);
}

/* A node whose pods can not be shown as they are is lost, with what is planned there. */
void plans_mark_all(struct sched *sched)
{
	PL_MAP_EACH (at, &sched->nodes) {
		struct sched_node *node = PL_CONTAINER_OF(at, struct sched_node, by_name);

		for (uint32_t i = 0; i < node->count; i++)
			listed_mark(sched, node, i);
	}
}

void preempts_unspare(struct sched *sched)
{
	bool any = false;

	PODS_EACH(pod, sched)
	{
		any = any || pod->spared;
		pod->spared = false;
	}
	if (!any)
		return;
	plans_mark_all(sched);
	tell_event(sched, QUEUE_EV_ANY, 0); /* whoever found nobody may now */
}

static void plan_free(struct sched *sched, struct sched_plan *plan)
{
	shields_unplan(sched, plan);
	pl_map_del(&sched->plans, &plan->by_pod);
	plan->node->plan = NULL;
	for (uint32_t i = 0; i < plan->victims; i++) {
		plan->victim[i]->doomed_by = NULL;
		plan_mark(sched, plan->node, plan->victim[i]);
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

void preempts_cancel_of(struct sched *sched, const struct sched_pod *pod)
{
	preempts_cancel(sched, pod_plan(sched, pod));
	preempts_cancel(sched, pod->doomed_by);
}

void preempts_stand(struct sched *sched, struct sched_node *node)
{
	struct sched_plan *plan = node->plan;
	struct sched_pod *pod;

	if (plan == NULL || !plan->sent)
		return;
	plan->sent = false;
	pod = plan->pod;
	sched->figures.preempted++;
	if (!plan->whole) /* the hold comes with the rest */
		return;
	hold_planned(sched, node, pod);
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

void preempts_check(struct sched *sched, struct sched_node *node)
{
	struct sched_plan *plan = node->plan;

	if (plan != NULL && !plan->sent && plan->fits && !holds_fit(sched, plan))
		preempts_cancel(sched, plan);
}

/* The one that the pod had may have been in the way of others, as long as not all have
 * gone that have to. */
void preempts_keep(struct sched *sched, struct sched_node *node)
{
	struct sched_plan *plan = node->plan;
	struct sched_pod *pod;
	struct pl_err err = {0};

	if (plan == NULL || plan->sent)
		return;
	pod = plan->pod;
	if (!node->reset && pod->place == POD_QUEUED) { /* else: decided, or gone */
		if (hold_of_pod(node, pod) != NULL ||
		    hold_plan(sched, node, pod, sched->wall_ms + HOLD_MS, &err) == PL_OK)
			return;
		tell_trouble(sched, &err);
	}
	preempts_cancel(sched, plan);
	pod_tidy(sched, pod);
}
