/* Plans of preemption, for those who make them: preempts.c decides, plans_make.c makes
 * one, plans.c brings it to its end. */
#ifndef SHARDSCHED_SHARD_RESERVATIONS_PREEMPTION_PLAN_H
#define SHARDSCHED_SHARD_RESERVATIONS_PREEMPTION_PLAN_H

#include "shardsched/shard/reservations/preemption.h"

struct preempt_outcome;

/* In the table of plans. */
static inline struct pl_span plan_key(const struct sched_pod *pod)
{
	return pl_span(&pod->number, sizeof pod->number);
}

static inline bool plan_is_sent(const struct preemption_plan *plan)
{
	return plan != NULL && plan->sent;
}

/* Whether the victim has to go from there has changed. */
void plan_mark_victim(struct sched *sched, struct sched_node *node,
                      const struct sched_pod *victim);
/* Likewise of all: some are spared now, or not any more. Plans may come to nothing. */
void plans_mark_all(struct sched *sched);
/* As far as it can be begun now; if not, the pod is tried again soon. */
void plan_try(struct sched *sched, struct sched_pod *pod,
              const struct preempt_outcome *found);

#endif
