/*
 * Preemption: pods that make room for themselves by evicting others.
 *
 * A plan says which pods have to leave a node so that a pod finds room there. It is in
 * the snapshot already, and on its way into the store: there is at most one for a node
 * and one for a pod.
 *
 *	WAITS    at its node, to be put with the node's alloc
 *	  |  preemption_put          ^ preemption_undo
 *	  v                          |
 *	PUTTING  in a txn that is being made
 *	  |  preemption_seal
 *	  v
 *	SENT     --> WAITS, when that txn has told some of the victims;
 *	             no plan any more, when it has told the last ones or has failed
 */
#ifndef SHARDSCHED_SHARD_RESERVATIONS_PREEMPTION_H
#define SHARDSCHED_SHARD_RESERVATIONS_PREEMPTION_H

#include "shardsched/shard/reservations/reservation.h"

enum preemption_plan_state {
	PREEMPTION_PLAN_WAITS,
	PREEMPTION_PLAN_PUTTING,
	PREEMPTION_PLAN_SENT,
};

/* Victims of one node and the nomination of the pod that needs the room. */
struct preemption_plan {
	struct pl_map_node by_pod;
	struct sched_pod *pod; /* the pod that needs room; not itself a victim */
	struct sched_node *node;
	struct sched_pod **victim;
	uint32_t victims; /* number of victims that are not told yet */
	uint32_t leavers; /* all pods that have to leave, for whatever reason */
	uint32_t limit;   /* the most victims that one txn tells */
	enum preemption_plan_state state;
	bool is_last;  /* the txn tells the last victims, and so has the nomination */
	bool reported; /* the pod's state tells of the plan */
	bool fits;     /* at its making there was to be room for the nomination */
	struct plan_disruption disruption;
};

PL_NODISCARD enum pl_code preemption_new(struct sched *sched, struct pl_err *err);
void preemption_free(struct sched *sched);

enum preemption_result {
	/* there is nothing to preempt for: a node was found, or the pod waits */
	PREEMPTION_DONE,
	PREEMPTION_WAITS, /* room is being made, or will be soon */
	/* No room can be made. refused_by gets the plugins that would refuse the pod
	 * still, outcome what the last cycle said. */
	PREEMPTION_NONE,
};
/* No known node has room for the pod: looks for victims. asked: the last cycle looked at
 * all known nodes. */
enum preemption_result preemption_try(struct sched *sched, struct sched_pod *pod,
                                      uint64_t draw, bool asked,
                                      struct cycle_outcome *outcome,
                                      uint64_t *refused_by);
/* The room that was made for the pod does not help it. */
void preemption_give_up(struct sched *sched, struct sched_pod *pod);

static inline void plan_set_state(struct preemption_plan *plan,
                                  enum preemption_plan_state to)
{
	static const uint8_t from[] = {
		[PREEMPTION_PLAN_WAITS] =
			1 << PREEMPTION_PLAN_PUTTING | 1 << PREEMPTION_PLAN_SENT,
		[PREEMPTION_PLAN_PUTTING] = 1 << PREEMPTION_PLAN_WAITS,
		[PREEMPTION_PLAN_SENT] = 1 << PREEMPTION_PLAN_PUTTING,
	};

	PL_ASSERT((from[to] >> plan->state & 1) != 0);
	plan->state = to;
}

/* A plan evicts the pod, and the store does not have that yet. */
static inline bool pod_is_victim(const struct sched_pod *pod)
{
	return pod->victim_of != NULL;
}

static inline bool pod_is_victim_at(const struct sched_pod *pod,
                                    const struct sched_node *node)
{
	return pod_is_victim(pod) && pod->victim_of->node == node;
}

/* The pod's state, as far as it is known, says that it is placed there. */
static inline bool pod_is_at(const struct sched_pod *pod, const struct sched_node *node)
{
	return (pod->phase == STATE_BOUND || pod->phase == STATE_TERMINATING) &&
	       pod->at[0] == node->key[0] && pod->at[1] == node->key[1];
}

/* The plan that makes room for the pod; NULL: none. Few pods have one at any time, so
 * pods have no field for it. */
struct preemption_plan *pod_plan(const struct sched *sched, const struct sched_pod *pod);

/* Facts about a victim have changed. */
void preemption_reconcile(struct sched *sched, struct sched_pod *victim);

/* The plan's reason is gone: the plan ends unless it is SENT. */
void preemption_cancel(struct sched *sched, struct preemption_plan *plan);
/* The same for the plans made for that pod and against it. */
void preemption_cancel_of(struct sched *sched, const struct sched_pod *pod);
/* Exempt pods may be victims again. */
void preemption_clear_exempt(struct sched *sched);

/* -- preemption_txn.c -------------------------------------------------------- */

bool preemption_goes(const struct sched *sched, const struct sched_node *node);
/* Called before the node's alloc is written. The victims' states are in the txn's
 * entries. */
PL_NODISCARD enum pl_code preemption_put(struct sched *sched, struct shard_txn *txn,
                                         struct sched_node *node, struct pl_err *err);
/* Called after reservations_send: writes the pod's own state, if it changes. */
PL_NODISCARD enum pl_code preemption_report(struct sched *sched, struct shard_txn *txn,
                                            struct sched_node *node, struct pl_err *err);
/* Ends the plan if a pod of higher priority has come since, so that its nomination would
 * not stand; the pod is tried again. */
void preemption_check(struct sched *sched, struct sched_node *node);
/* Called after reservations_sent: the rest of the node's plan has a nomination, or
 * ends. */
void preemption_keep(struct sched *sched, struct sched_node *node);
/* The plan does not fit into a transaction alone: it is made smaller, or ends. */
void preemption_shrink(struct sched *sched, struct sched_node *node,
                       const struct pl_err *err);
/* In a txn; not, after all; the txn failed; it was applied. */
void preemption_seal(struct sched_node *node);
void preemption_undo(struct sched *sched, struct sched_node *node);
void preemption_fail(struct sched *sched, struct sched_node *node);
void preemption_applied(struct sched *sched, struct sched_node *node);

#endif
