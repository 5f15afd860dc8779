/* Pods that make room for themselves: what preempts.c knows, for the others. */
#ifndef SHARDSCHED_SHARD_RESERVATIONS_PREEMPTION_H
#define SHARDSCHED_SHARD_RESERVATIONS_PREEMPTION_H

#include "shardsched/shard/reservations/reservation.h"

/* Who has to go from a node so that a pod finds room: decided, on its way into the store.
 * One a node, one a pod. In the snapshot it is so already. */
struct preemption_plan {
	struct pl_map_node by_pod;
	struct sched_pod *pod; /* for whom; he himself has to go from nowhere */
	struct sched_node *node;
	struct sched_pod **victim;
	uint32_t victims; /* that are to be told */
	uint32_t leavers; /* all that have to go, by whatever */
	uint32_t limit;   /* of them in a transaction */
	bool fleet_view;  /* nobody is left to be told after the call: it has the hold */
	bool putting;     /* into a call that is being made */
	bool sent;        /* in a call */
	bool reported;    /* the pod's state says that it is made */
	bool fits;        /* when it was made there was to be room for the hold */
	struct plan_disruption disruption;
};

PL_NODISCARD enum pl_code preemption_new(struct sched *sched, struct pl_err *err);
void preemption_free(struct sched *sched);

enum preemption_result {
	PREEMPTION_DONE,  /* it was seen to: there is a node, after all; or it waits */
	PREEMPTION_WAITS, /* room is being made, or is to be soon */
	/* There can not be; refused_by gets who would refuse it still, and outcome is
	 * what the last cycle said. */
	PREEMPTION_NONE,
};
/* No node that is known will have it: who has to go? asked: the last cycle was about
 * that, and all nodes that are known. */
enum preemption_result preemption_try(struct sched *sched, struct sched_pod *pod,
                                      uint64_t draw, bool asked,
                                      struct cycle_outcome *outcome,
                                      uint64_t *refused_by);
/* What was done to make room for it helps it nothing. */
void preemption_give_up(struct sched *sched, struct sched_pod *pod);

/* It has to go, and that is not in the store yet. */
static inline bool pod_is_victim(const struct sched_pod *pod)
{
	return pod->victim_of != NULL;
}

static inline bool pod_is_victim_at(const struct sched_pod *pod,
                                    const struct sched_node *node)
{
	return pod_is_victim(pod) && pod->victim_of->node == node;
}

/* Its state, as far as it is known, says that it has its place there. */
static inline bool pod_is_at(const struct sched_pod *pod, const struct sched_node *node)
{
	return (pod->phase == STATE_BOUND || pod->phase == STATE_TERMINATING) &&
	       pod->at[0] == node->key[0] && pod->at[1] == node->key[1];
}

/* That is made for it; NULL: there is none. Few have one at any time, so that pods have
 * no field for it. */
struct preemption_plan *pod_plan(const struct sched *sched, const struct sched_pod *pod);

/* What is known of somebody who has to go has changed. */
void preemption_reconcile(struct sched *sched, struct sched_pod *victim);

/* What it was made for is no more: if it is not in a call, nothing comes of it. */
void preemption_cancel(struct sched *sched, struct preemption_plan *plan);
/* Likewise, whether it was made for that pod or makes it go. */
void preemption_cancel_of(struct sched *sched, const struct sched_pod *pod);
/* Whoever was spared can be made to go again. */
void preemption_clear_exempt(struct sched *sched);

/* -- preempts_commit.c ----------------------------------------------- */

bool preemption_goes(const struct sched *sched, const struct sched_node *node);
/* Before the node's alloc is written. What is put is in the call's items. */
PL_NODISCARD enum pl_code preemption_put(struct sched *sched, struct shard_txn *txn,
                                         struct sched_node *node, struct pl_err *err);
/* After reservations_send: the pod's state, as far as it changes. */
PL_NODISCARD enum pl_code preemption_report(struct sched *sched, struct shard_txn *txn,
                                            struct sched_node *node, struct pl_err *err);
/* Somebody more important has come since, so that its hold would not stand: nothing comes
 * of it, and the pod is tried again. */
void preemption_check(struct sched *sched, struct sched_node *node);
/* After reservations_sent: what is left of the node's plan has a hold, or is none. */
void preemption_keep(struct sched *sched, struct sched_node *node);
/* It does not fit into a transaction with nothing else: less of it, or of other pods. */
void preemption_shrink(struct sched *sched, struct sched_node *node,
                       const struct pl_err *err);
/* In a call; not, after all; it stands. */
void preemption_seal(struct sched_node *node);
void preemption_undo(struct sched *sched, struct sched_node *node);
void preemption_fail(struct sched *sched, struct sched_node *node);
void preemption_applied(struct sched *sched, struct sched_node *node);

#endif
