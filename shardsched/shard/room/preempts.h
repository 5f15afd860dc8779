/* Pods that make room for themselves: what preempts.c knows, for the others. */
#ifndef SHARDSCHED_SHARD_ROOM_PREEMPTS_H
#define SHARDSCHED_SHARD_ROOM_PREEMPTS_H

#include "shardsched/shard/room/holds.h"

/* Who has to go from a node so that a pod finds room: decided, on its way into the store.
 * One a node, one a pod. In the snapshot it is so already. */
struct sched_plan {
	struct pl_map_node by_pod;
	struct sched_pod *pod; /* for whom; he himself has to go from nowhere */
	struct sched_node *node;
	struct sched_pod **victim;
	uint32_t victims; /* that are to be told */
	uint32_t leavers; /* all that have to go, by whatever */
	uint32_t limit;   /* of them in a transaction */
	bool whole;       /* nobody is left to be told after the call: it has the hold */
	bool putting;     /* into a call that is being made */
	bool sent;        /* in a call */
	bool told;        /* the pod's state says that it is made */
	bool fits;        /* when it was made there was to be room for the hold */
	struct plan_shields shields;
};

PL_NODISCARD enum pl_code preempts_new(struct sched *sched, struct pl_err *err);
void preempts_free(struct sched *sched);

enum preempts_said {
	PREEMPTS_DONE, /* it was seen to: there is a node, after all; or it waits */
	PREEMPTS_WAIT, /* room is being made, or is to be soon */
	/* There can not be; refused_by gets who would refuse it still, and outcome is
	 * what the last cycle said. */
	PREEMPTS_NONE,
};
/* No node that is known will have it: who has to go? asked: the last cycle was about
 * that, and all nodes that are known. */
enum preempts_said preempts_try(struct sched *sched, struct sched_pod *pod, uint64_t draw,
                                bool asked, struct outcome *outcome,
                                uint64_t *refused_by);
/* What was done to make room for it helps it nothing. */
void preempts_give_up(struct sched *sched, struct sched_pod *pod);

/* It has to go, and that is not in the store yet. */
static inline bool pod_is_doomed(const struct sched_pod *pod)
{
	return pod->doomed_by != NULL;
}

static inline bool pod_is_doomed_at(const struct sched_pod *pod,
                                    const struct sched_node *node)
{
	return pod_is_doomed(pod) && pod->doomed_by->node == node;
}

/* Its state, as far as it is known, says that it has its place there. */
static inline bool pod_is_at(const struct sched_pod *pod, const struct sched_node *node)
{
	return (pod->phase == STATE_BOUND || pod->phase == STATE_TERMINATING) &&
	       pod->at[0] == node->key[0] && pod->at[1] == node->key[1];
}

/* That is made for it; NULL: there is none. Few have one at any time, so that pods have
 * no field for it. */
struct sched_plan *pod_plan(const struct sched *sched, const struct sched_pod *pod);

/* What is known of somebody who has to go has changed. */
void preempts_settle(struct sched *sched, struct sched_pod *victim);

/* What it was made for is no more: if it is not in a call, nothing comes of it. */
void preempts_cancel(struct sched *sched, struct sched_plan *plan);
/* Likewise, whether it was made for that pod or makes it go. */
void preempts_cancel_of(struct sched *sched, const struct sched_pod *pod);
/* Whoever was spared can be made to go again. */
void preempts_unspare(struct sched *sched);

/* -- preempts_commit.c ----------------------------------------------- */

bool preempts_go(const struct sched *sched, const struct sched_node *node);
/* Before the node's alloc is written. What is put is in the call's items. */
PL_NODISCARD enum pl_code preempts_put(struct sched *sched, struct call *call,
                                       struct sched_node *node, struct pl_err *err);
/* After holds_send: the pod's state, as far as it changes. */
PL_NODISCARD enum pl_code preempts_say(struct sched *sched, struct call *call,
                                       struct sched_node *node, struct pl_err *err);
/* Somebody more important has come since, so that its hold would not stand: nothing comes
 * of it, and the pod is tried again. */
void preempts_check(struct sched *sched, struct sched_node *node);
/* After holds_sent: what is left of the node's plan has a hold, or is none. */
void preempts_keep(struct sched *sched, struct sched_node *node);
/* It does not fit into a transaction with nothing else: less of it, or of other pods. */
void preempts_shrink(struct sched *sched, struct sched_node *node,
                     const struct pl_err *err);
/* In a call; not, after all; it stands. */
void preempts_seal(struct sched_node *node);
void preempts_undo(struct sched *sched, struct sched_node *node);
void preempts_fail(struct sched *sched, struct sched_node *node);
void preempts_stand(struct sched *sched, struct sched_node *node);

#endif
