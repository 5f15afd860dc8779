/* Room that is kept on nodes: what holds.c knows, for the others. */
#ifndef SHARDSCHED_SHARD_HOLDS_H
#define SHARDSCHED_SHARD_HOLDS_H

#include "shardsched/shard/inner.h"

/* Of nominations: holds_until.c. */
enum {
	RESERVATION_MS = 60000,       /* from when its owner writes it to its deadline */
	RESERVATION_RENEW_MS = 30000, /* so long before that it is made later */
	RESERVATION_GRACE_MS = 60000, /* so long after that others end it */
};

struct sched_reservation {
	enum alloc_reservation_kind kind;
	uint32_t key[2];            /* namespace, name; held */
	struct sched_pod *pod;      /* NOMINATED: for which it is; else NULL */
	struct node_reservation is; /* held */
	int64_t until_ms;
	int64_t until_next; /* NOMINATED: what a call makes of it; 0: nothing */
	uint64_t over_ms;   /* NOMINATED: when others end it; 0: to be worked out */
	uint32_t number;    /* in the snapshot; or SNAPSHOT_NONE */
	bool nominates;     /* ... of a nomination */
	bool taken;         /* the pod was decided for this node */
	bool unwanted;      /* nobody needs it any more */
	bool due;           /* NOMINATED: its deadline is to be later, if it is kept */
	bool overdue; /* NOMINATED: that has passed, and who is to see to it has not */
	bool out;     /* one that is without it is in a call */
	bool planned; /* not in the store yet (preempts.c, gang_large.c) */
	bool sent;    /* planned: one that is with it is in a call */
	bool shrinks; /* GANG: less is to be held */
	bool shrunk;  /* one that holds less is in a call: rest is what was held */
	struct node_reservation rest; /* shrinks: held */
	uint64_t lone_ms; /* GANG: when it is given up, if nobody has it; 0: not yet */
};

/* Those of an alloc, on their way to a node. */
struct sched_reservations {
	struct sched_reservation *at;
	uint32_t count;
};

/* The alloc that is written next is to be without it. */
static inline bool reservation_goes(const struct sched_reservation *hold)
{
	return hold->taken || hold->unwanted || hold->overdue;
}

/* It is in the node's sums, and in what is printed. */
static inline bool reservation_counts(const struct sched_reservation *hold)
{
	return !hold->out && (!hold->planned || hold->sent);
}

/* Found or made, so that nothing fails later. PL_INVALID: no such partition. */
PL_NODISCARD enum pl_code reservations_read(struct sched *sched,
                                            const struct alloc *alloc,
                                            struct sched_reservations *out);
void reservations_free(struct sched *sched, struct sched_reservations *holds);
/* The node has these already. */
bool reservations_equal(const struct sched_node *node,
                        const struct sched_reservations *holds);
/* Takes them over: the node has these. */
void reservations_set(struct sched *sched, struct sched_node *node,
                      struct sched_reservations *holds);
void reservations_clear(struct sched *sched, struct sched_node *node);

/* When the node comes into the snapshot, and leaves it. */
PL_NODISCARD enum pl_code reservations_show(struct sched *sched, struct sched_node *node,
                                            struct pl_err *err);
void reservations_hide(struct sched *sched, struct sched_node *node);

/* Which of them are wanted. */
void reservations_reconcile_pod(struct sched *sched, struct sched_pod *pod);
void reservations_reconcile_node(struct sched *sched, struct sched_node *node);
/* Before and after the spec of a pod changes. */
void reservations_forget_spec(struct sched *sched, struct sched_pod *pod);
void reservations_learn_spec(struct sched *sched, struct sched_pod *pod);
/* Somebody left the node: those that are nominated there and may fit are tried. */
void reservations_retry_nominated(struct sched *sched, struct sched_node *node);
/* What is nominated there, and so in no pod's way that is more important, nor counted in
 * the snapshot's row. */
struct node_amounts reservations_nominated_amounts(const struct sched_node *node);
/* The lowest priority of whom they are for; INT32_MAX: there are none. */
int32_t reservations_least_priority(const struct sched_node *node);
struct sched_reservation *reservation_of_pod(const struct sched_node *node,
                                             const struct sched_pod *pod);
/* Of the nominations that are to be written the least important of those for which there
 * is no room; NULL: there is for all. */
struct sched_reservation *reservations_crowded_out(const struct sched *sched,
                                                   struct sched_node *node);
/* When all have gone whom the plan makes go, its own will not be among these. */
bool reservations_fit(const struct sched *sched, const struct preemption_plan *plan);

/* -- deadlines of nominations (holds_until.c) ------------------------------- */

/* Those that are due for something. */
void reservations_run(struct sched *sched);
/* When the next one is. */
uint64_t reservations_deadline_ms(const struct sched *sched);
/* It, its node, or the pod's partition is not as it was. */
void reservation_watch(struct sched *sched, const struct sched_node *node,
                       const struct sched_reservation *hold);
/* The alloc that is written next is to have a later deadline. */
bool reservation_renews(const struct sched *sched, const struct sched_reservation *hold);
/* It is in what is written now; it stands. */
void reservation_renew(const struct sched *sched, struct sched_reservation *hold);
void reservation_renewed(struct sched *sched, struct sched_reservation *hold);

/* -- what the pod's state says of it (holds_state.c) ------------------------- */

/* As things stand: the state of a pod that waits, and is ours, is to say that. */
void nomination_state(const struct sched *sched, const struct sched_pod *pod,
                      struct pod_state *out);
/* It does. */
bool nomination_is_reported(const struct sched *sched, const struct sched_pod *pod);
/* After reservations_send, and all that has to be in the call of that node: states of those that
 * are not nominated there any more, a few of them, if they fit. */
PL_NODISCARD enum pl_code nominations_report(struct sched *sched, struct shard_txn *txn,
                                             struct sched_node *node, struct pl_err *err);
/* Its state says that room is held for it where none is, and that is for us to say. */
bool nomination_is_owed(const struct sched *sched, const struct sched_pod *pod);
/* It may be, but what that node holds is not known. */
bool nomination_is_unconfirmed(const struct sched *sched, const struct sched_pod *pod);
/* It is, and that node is looked at: it is not ours. */
bool nomination_lists_remote(struct sched *sched, const struct sched_pod *pod);
/* Why, for its state. */
void nomination_ended_text(const struct sched *sched, const uint32_t node[2], char *out,
                           size_t size);

/* -- gangs' (holds_gang.c) ------------------------------------------------ */

/* Nothing else is put on a node while a gang holds room there. */
bool reservations_close_node(const struct sched_node *node);
/* That gang's: namespace and name. */
struct sched_reservation *reservation_of_gang(const struct sched_node *node,
                                              const uint32_t key[2]);
/* What pods of these specs take together. */
PL_NODISCARD enum pl_code reservation_amounts(struct sched *sched,
                                              const struct spec *const *spec,
                                              uint32_t count,
                                              struct node_reservation *out);
/* Planned, so the node is closed; there is none of that gang. Takes is over. */
PL_NODISCARD enum pl_code reservation_plan_gang(struct sched *sched,
                                                struct sched_node *node,
                                                const uint32_t key[2],
                                                struct node_reservation *is,
                                                int64_t until_ms, struct pl_err *err);
/* Nothing comes of what is planned, of that gang or of all. The node stays closed until
 * it is settled. */
void reservation_unplan_gang(struct sched *sched, struct sched_node *node,
                             const uint32_t key[2]);
void reservations_unplan_gangs(struct sched *sched, struct sched_node *node);
/* It is in what is written now. */
void reservation_send_gang(struct sched *sched, struct sched_node *node,
                           struct sched_reservation *hold);
/* The alloc that is written next is without it, or holds only that (taken over); and:
 * not so, after all. */
void reservation_take_gang(struct sched *sched, struct sched_reservation *hold);
void reservation_shrink_gang(struct sched_reservation *hold,
                             struct node_reservation *rest);
void reservation_untake_gang(struct sched *sched, struct sched_node *node,
                             struct sched_reservation *hold);

/* -- between holds.c, holds_alloc.c and holds_gang.c ------------------------------- */

void reservation_hide(struct sched *sched, struct sched_reservation *hold);
/* It goes from now on: others may see the room. */
void reservation_leave(struct sched *sched, struct sched_node *node,
                       struct sched_reservation *hold);
/* Into the node's sums, or out of them. */
void reservation_sum(const struct sched *sched, struct sched_node *node,
                     const struct sched_reservation *hold, bool add);
/* With a reference, in sched's arena; NULL: no memory. */
const struct resources *reservation_resources(struct sched *sched,
                                              const struct alloc_amounts *used);
PL_NODISCARD enum pl_code reservation_room(struct sched_node *node);
/* In its order; NULL: one of that name is there. */
struct sched_reservation *reservation_insert(struct sched *sched, struct sched_node *node,
                                             const struct sched_reservation *new);
/* Out of the row. */
void reservation_drop_at(struct sched *sched, struct sched_node *node, uint32_t i);

/* Whether it goes. */
void reservation_reconcile(struct sched *sched, struct sched_node *node,
                           struct sched_reservation *hold);
/* In the snapshot, if the node is; that is left when it fails. */
void reservation_show(struct sched *sched, struct sched_node *node,
                      struct sched_reservation *hold);
/* It stands in no row any more: what follows. */
void reservation_end(struct sched *sched, struct sched_node *node,
                     struct sched_reservation *hold);
/* What it refers to. */
void reservation_free(struct sched *sched, struct sched_reservation *hold);

/* -- nominations that are made here ------------------------------------ */

/* The pod is nominated for that node. One that it has there already will do. */
PL_NODISCARD enum pl_code reservation_plan(struct sched *sched, struct sched_node *node,
                                           struct sched_pod *pod, int64_t until_ms,
                                           struct pl_err *err);
/* It is in what is written now; it is not, after all; it stands; nothing comes of it. */
void reservation_send_planned(struct sched *sched, struct sched_node *node,
                              const struct sched_pod *pod);
void reservation_unsend_planned(struct sched *sched, struct sched_node *node,
                                const struct sched_pod *pod);
void reservation_planned_applied(struct sched *sched, struct sched_node *node,
                                 const struct sched_pod *pod);
void reservation_unplan(struct sched *sched, struct sched_node *node,
                        const struct sched_pod *pod);
/* It helps the pod nothing. */
void reservation_give_up(struct sched *sched, struct sched_node *node,
                         const struct sched_pod *pod);

/* -- writing ---------------------------------------------------------- */

/* Its alloc is to be written without some, or with later deadlines. */
bool reservations_go(const struct sched *sched, const struct sched_node *node);
/* They are out of its sums, and of what reservations_print prints; then it is undone, or so. */
void reservations_send(struct sched *sched, struct sched_node *node);
void reservations_unsend(struct sched *sched, struct sched_node *node);
void reservations_sent(struct sched *sched, struct sched_node *node);
/* In the arena. */
PL_NODISCARD enum pl_code reservations_print(struct sched *sched,
                                             const struct sched_node *node,
                                             struct alloc *out);

#endif
