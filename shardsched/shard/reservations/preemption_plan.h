/* Making and ending preemption plans: preemption.c decides, preemption_plan_make.c makes
 * a plan, preemption_plan.c ends it. Used inside this folder only. */
#ifndef SHARDSCHED_SHARD_RESERVATIONS_PREEMPTION_PLAN_H
#define SHARDSCHED_SHARD_RESERVATIONS_PREEMPTION_PLAN_H

#include "shardsched/shard/reservations/preemption.h"

struct preempt_outcome;

/* The key in sched.plans. */
static inline struct pl_span plan_key(const struct sched_pod *pod)
{
	return pl_span(&pod->number, sizeof pod->number);
}

static inline bool plan_is_sent(const struct preemption_plan *plan)
{
	return plan != NULL && plan->state == PREEMPTION_PLAN_SENT;
}

/* Whether the victim has to leave the node has changed: its entry there is marked
 * anew. */
void plan_mark_victim(struct sched *sched, struct sched_node *node,
                      const struct sched_pod *victim);
/* Marks all victims anew, since exemptions have changed. Plans may end. */
void plans_mark_all(struct sched *sched);
/* Makes the plan as far as that can be begun now; if not, the pod is tried again soon. */
void plan_try(struct sched *sched, struct sched_pod *pod,
              const struct preempt_outcome *found);

#endif
