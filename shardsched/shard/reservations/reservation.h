/*
 * Reservations: room that is kept on a node, as the node's alloc lists it, for a pod that
 * is nominated there or for a gang that is being bound in steps.
 *
 *	             put in a txn                 applied
 *	PLANNED <-----------------> ADDING ------------------> STANDS <---> SHRINKING
 *	in the snapshot    failed    |  ^                       |  ^      a txn puts less
 *	only                         v  | failed                v  | failed
 *	                           OMITTED                   REMOVING
 *	                           the alloc that is put     a txn puts the alloc
 *	                           has no room for it        without it
 *
 * OMITTED and REMOVING reservations are dropped when the txn is applied; SHRINKING ones
 * stand with the rest then. All states but PLANNED and STANDS last while the node is in a
 * txn. Reservations in the states ADDING, STANDS and SHRINKING count in the node's sums.
 *
 * A reservation *goes* when the next alloc is to be without it, for any of three reasons:
 * it is taken (its pod was decided for this node), unwanted, or overdue. One that goes is
 * not in the snapshot.
 */
#ifndef SHARDSCHED_SHARD_RESERVATIONS_RESERVATION_H
#define SHARDSCHED_SHARD_RESERVATIONS_RESERVATION_H

#include "shardsched/shard/inner.h"

/* Times of nominations (reservation_deadline.c). */
enum {
	RESERVATION_MS = 60000,       /* from its writing to its deadline */
	RESERVATION_RENEW_MS = 30000, /* so long before that its owner renews it */
	RESERVATION_GRACE_MS = 60000, /* so long after that the node's owner ends it */
};

enum reservation_state {
	RESERVATION_STANDS,
	RESERVATION_PLANNED,
	RESERVATION_ADDING,
	RESERVATION_OMITTED,
	RESERVATION_REMOVING,
	RESERVATION_SHRINKING,
};

struct sched_reservation {
	enum alloc_reservation_kind kind;
	enum reservation_state state;
	uint32_t key[2];            /* namespace and name of the pod or the gang; held */
	struct sched_pod *pod;      /* NOMINATED: the pod; else NULL */
	struct node_reservation is; /* held */
	/* GANG: the rest when it shrinks or, while SHRINKING, what was reserved before; held;
	 * amounts NULL: it does not shrink */
	struct node_reservation rest;
	int64_t until_ms;
	int64_t until_next; /* NOMINATED: the deadline that a txn writes; 0: none */
	uint64_t over_ms; /* NOMINATED: when the node's owner ends it; 0: not known yet */
	uint64_t orphan_ms; /* GANG: released then if it has no record; 0: not set */
	uint32_t number;    /* in the snapshot, or SNAPSHOT_NONE */
	bool nominates;     /* number is that of a nomination */
	bool taken;         /* goes: the pod was decided for this node */
	bool unwanted;      /* goes: nothing needs it any more */
	bool overdue;       /* goes: it was not renewed in time */
	bool due;           /* NOMINATED: to be renewed, if it is kept */
};

/* The reservations of an alloc, on their way to a node. */
struct sched_reservations {
	struct sched_reservation *at;
	uint32_t count;
};

static inline void reservation_set_state(struct sched_reservation *reservation,
                                         enum reservation_state to)
{
	static const uint8_t from[] = {
		[RESERVATION_STANDS] = 1 << RESERVATION_ADDING |
	                               1 << RESERVATION_REMOVING |
	                               1 << RESERVATION_SHRINKING,
		[RESERVATION_PLANNED] = 1 << RESERVATION_ADDING,
		[RESERVATION_ADDING] =
			1 << RESERVATION_PLANNED | 1 << RESERVATION_OMITTED,
		[RESERVATION_OMITTED] = 1 << RESERVATION_ADDING,
		[RESERVATION_REMOVING] =
			1 << RESERVATION_STANDS | 1 << RESERVATION_OMITTED,
		[RESERVATION_SHRINKING] = 1 << RESERVATION_STANDS,
	};

	PL_ASSERT((from[to] >> reservation->state & 1) != 0);
	reservation->state = to;
}

/* The alloc that is put next is to be without it. */
static inline bool reservation_goes(const struct sched_reservation *reservation)
{
	return reservation->taken || reservation->unwanted || reservation->overdue;
}

/* The reservation is not in the store yet. */
static inline bool reservation_is_planned(const struct sched_reservation *reservation)
{
	return reservation->state == RESERVATION_PLANNED ||
	       reservation->state == RESERVATION_ADDING ||
	       reservation->state == RESERVATION_OMITTED;
}

/* The alloc that is being put is without it. */
static inline bool reservation_is_out(const struct sched_reservation *reservation)
{
	return reservation->state == RESERVATION_OMITTED ||
	       reservation->state == RESERVATION_REMOVING;
}

/* The reservation is in the node's sums, and in the alloc that is printed. */
static inline bool reservation_counts(const struct sched_reservation *reservation)
{
	return reservation->state == RESERVATION_ADDING ||
	       reservation->state == RESERVATION_STANDS ||
	       reservation->state == RESERVATION_SHRINKING;
}

/* The reservations of an alloc; their pods are found or made, so that nothing fails
 * later. PL_INVALID: no such partition. */
PL_NODISCARD enum pl_code reservations_read(struct sched *sched,
                                            const struct alloc *alloc,
                                            struct sched_reservations *out);
void reservations_free(struct sched *sched, struct sched_reservations *reservations);
/* The node has exactly these. */
bool reservations_equal(const struct sched_node *node,
                        const struct sched_reservations *reservations);
/* The node has these from now on; takes them over. */
void reservations_set(struct sched *sched, struct sched_node *node,
                      struct sched_reservations *reservations);
void reservations_clear(struct sched *sched, struct sched_node *node);

/* Called when the node enters the snapshot, and when it leaves. */
PL_NODISCARD enum pl_code reservations_show(struct sched *sched, struct sched_node *node,
                                            struct pl_err *err);
void reservations_hide(struct sched *sched, struct sched_node *node);

/* Works out whether the reservations of the pod, or on the node, still go or stay. */
void reservations_reconcile_pod(struct sched *sched, struct sched_pod *pod);
void reservations_reconcile_node(struct sched *sched, struct sched_node *node);
/* Called before and after the spec of a pod changes. */
void reservations_forget_spec(struct sched *sched, struct sched_pod *pod);
void reservations_learn_spec(struct sched *sched, struct sched_pod *pod);
/* A pod has left the node: nominated pods that may fit now are tried again. */
void reservations_retry_nominated(struct sched *sched, struct sched_node *node);
/* The amounts of all nominations there. Pods of higher priority do not see them, and the
 * snapshot's row does not count them. */
struct node_amounts reservations_nominated_amounts(const struct sched_node *node);
/* The lowest priority of the pods that are nominated there; INT32_MAX: there are none. */
int32_t reservations_least_priority(const struct sched_node *node);
struct sched_reservation *reservation_of_pod(const struct sched_node *node,
                                             const struct sched_pod *pod);
/* The least important of the nominations that the next alloc would keep and for which
 * there is no room; NULL: there is room for all. */
struct sched_reservation *reservations_crowded_out(const struct sched *sched,
                                                   struct sched_node *node);
/* Once all victims of the plan have left, the plan's own nomination will not be crowded
 * out. */
bool reservations_fit(const struct sched *sched, const struct preemption_plan *plan);

/* -- deadlines of nominations (reservation_deadline.c) ----------------------- */

/* Looks at the nominations whose time has come. */
void reservations_run(struct sched *sched);
/* When reservations_run has something to do next. */
uint64_t reservations_deadline_ms(const struct sched *sched);
/* The reservation, its node, or the pod's partition has changed: its time is worked out
 * anew. */
void reservation_watch(struct sched *sched, const struct sched_node *node,
                       const struct sched_reservation *reservation);
/* The next alloc that is put is to have a later deadline. */
bool reservation_renews(const struct sched *sched,
                        const struct sched_reservation *reservation);
/* The reservation is in the alloc that is being put; that alloc was applied. */
void reservation_renew(const struct sched *sched, struct sched_reservation *reservation);
void reservation_renewed(struct sched *sched, struct sched_reservation *reservation);

/* -- the pod's state (reservation_state.c) ----------------------------------- */

/* The nomination that the state of a waiting pod of this shard has to name now. */
void nomination_state(const struct sched *sched, const struct sched_pod *pod,
                      struct pod_state *out);
/* The pod's state says exactly that. */
bool nomination_is_reported(const struct sched *sched, const struct sched_pod *pod);
/* Adds states of pods that are not nominated on the node any more to the node's txn, a
 * few of them, if they fit. Called after reservations_send, and after all that the txn
 * must have. */
PL_NODISCARD enum pl_code nominations_report(struct sched *sched, struct shard_txn *txn,
                                             struct sched_node *node, struct pl_err *err);
/* The pod's state names a nomination that is gone, and this shard has to write that. */
bool nomination_is_owed(const struct sched *sched, const struct sched_pod *pod);
/* The pod's state may name a nomination that is gone: what the named node reserves is not
 * known. */
bool nomination_is_unconfirmed(const struct sched *sched, const struct sched_pod *pod);
/* The same, and the named node is remote, so its partition is listed. */
bool nomination_lists_remote(struct sched *sched, const struct sched_pod *pod);
/* The reason, for the pod's state. */
void nomination_ended_text(const struct sched *sched, const uint32_t node[2], char *out,
                           size_t size);

/* -- reservations of gangs (reservation_gang.c) ------------------------------ */

/* Nothing else is put on a node while a gang has a reservation there. */
bool reservations_close_node(const struct sched_node *node);
/* The reservation of that gang: namespace and name. */
struct sched_reservation *reservation_of_gang(const struct sched_node *node,
                                              const uint32_t key[2]);
/* The sum of what pods of these specs take. */
PL_NODISCARD enum pl_code reservation_amounts(struct sched *sched,
                                              const struct spec *const *spec,
                                              uint32_t count,
                                              struct node_reservation *out);
/* Plans a reservation and so closes the node. The gang has none there. Takes over is. */
PL_NODISCARD enum pl_code reservation_plan_gang(struct sched *sched,
                                                struct sched_node *node,
                                                const uint32_t key[2],
                                                struct node_reservation *is,
                                                int64_t until_ms, struct pl_err *err);
/* Drops what is planned of that gang, or of all gangs. The node stays closed until it is
 * reconciled. */
void reservation_unplan_gang(struct sched *sched, struct sched_node *node,
                             const uint32_t key[2]);
void reservations_unplan_gangs(struct sched *sched, struct sched_node *node);
/* The reservation is in the alloc that is being put. */
void reservation_send_gang(struct sched *sched, struct sched_node *node,
                           struct sched_reservation *reservation);
/* The alloc that is put next is without the reservation, or reserves only rest (taken
 * over). reservation_untake_gang takes either back. */
void reservation_take_gang(struct sched *sched, struct sched_reservation *reservation);
void reservation_shrink_gang(struct sched_reservation *reservation,
                             struct node_reservation *rest);
void reservation_untake_gang(struct sched *sched, struct sched_node *node,
                             struct sched_reservation *reservation);

/* -- used by the reservation_*.c files only ---------------------------------- */

void reservation_hide(struct sched *sched, struct sched_reservation *reservation);
/* The reservation goes from now on: other pods may see its room. */
void reservation_leave(struct sched *sched, struct sched_node *node,
                       struct sched_reservation *reservation);
/* Adds the reservation to the node's sums, or subtracts it. */
void reservation_sum(const struct sched *sched, struct sched_node *node,
                     const struct sched_reservation *reservation, bool add);
/* Interned, with a reference; uses sched's arena. NULL: no memory. */
const struct resources *reservation_resources(struct sched *sched,
                                              const struct alloc_amounts *used);
PL_NODISCARD enum pl_code reservation_room(struct sched_node *node);
/* At its place in the order; NULL: one of that name is there. */
struct sched_reservation *reservation_insert(struct sched *sched, struct sched_node *node,
                                             const struct sched_reservation *new);
/* Removes it from the node. */
void reservation_drop_at(struct sched *sched, struct sched_node *node, uint32_t i);

/* Works out whether it goes. */
void reservation_reconcile(struct sched *sched, struct sched_node *node,
                           struct sched_reservation *reservation);
/* Adds it to the snapshot if the node is a member; if that fails the node leaves the
 * snapshot. */
void reservation_show(struct sched *sched, struct sched_node *node,
                      struct sched_reservation *reservation);
/* Called once the reservation stands on no node any more: frees it, and reconciles its
 * pod. */
void reservation_end(struct sched *sched, struct sched_node *node,
                     struct sched_reservation *reservation);
/* Frees what it refers to. */
void reservation_free(struct sched *sched, struct sched_reservation *reservation);

/* -- nominations that are made here ------------------------------------------ */

/* Nominates the pod for that node. A nomination that the pod has there already will
 * do. */
PL_NODISCARD enum pl_code reservation_plan(struct sched *sched, struct sched_node *node,
                                           struct sched_pod *pod, int64_t until_ms,
                                           struct pl_err *err);
/* The planned nomination is in the alloc that is being put; is not in it after all; was
 * applied; comes to nothing. */
void reservation_send_planned(struct sched *sched, struct sched_node *node,
                              const struct sched_pod *pod);
void reservation_unsend_planned(struct sched *sched, struct sched_node *node,
                                const struct sched_pod *pod);
void reservation_planned_applied(struct sched *sched, struct sched_node *node,
                                 const struct sched_pod *pod);
void reservation_unplan(struct sched *sched, struct sched_node *node,
                        const struct sched_pod *pod);
/* The pod cannot use its nomination there. */
void reservation_give_up(struct sched *sched, struct sched_node *node,
                         const struct sched_pod *pod);

/* -- writing ----------------------------------------------------------------- */

/* The node's alloc is to be put without some of them, or with later deadlines. */
bool reservations_go(const struct sched *sched, const struct sched_node *node);
/* Reservations that go leave the node's sums and what is printed, until the txn fails
 * (unsend) or is applied (sent). */
void reservations_send(struct sched *sched, struct sched_node *node);
void reservations_unsend(struct sched *sched, struct sched_node *node);
void reservations_sent(struct sched *sched, struct sched_node *node);
/* The result lies in sched's arena. */
PL_NODISCARD enum pl_code reservations_print(struct sched *sched,
                                             const struct sched_node *node,
                                             struct alloc *out);

#endif
