/*
 * Reservations on nodes, as allocs have them.
 *
 * In the snapshot a reservation for a pod whose spec is known is that pod's nomination,
 * which pods of higher priority do not see; any other is amounts that count as used.
 *
 * A nomination of a pod of this shard is kept while the pod waits. It *goes* when the pod
 * is decided for this node (and comes back when that is undone), or for good when it is
 * not wanted any more: other pods may take the room from then on. The node's alloc is put
 * without it, at the latest with what is placed there next. Until that txn is applied the
 * reservation counts in the node's sums.
 */
#include "shardsched/shard/reservations/reservation.h"

#include <stdlib.h>

#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/pending_status.h"
#include "shardsched/shard/report.h"
#include "shardsched/shard/termination/termination.h"
#include "store/base/alloc.h"

/* -- amounts ----------------------------------------------------------------- */

/* The amounts are those that a pod of that spec uses on its node. */
static bool is_of_spec(const struct node_reservation *is, const struct spec *spec)
{
	const struct resources *a = is->amounts, *b = spec->requests;

	if (a->cpu_milli != b->cpu_milli || a->memory != b->memory ||
	    a->storage != b->storage || a->pods != 1 || a->count != b->count ||
	    is->nonzero_cpu_milli != spec_nonzero_cpu_milli(spec) ||
	    is->nonzero_memory != spec_nonzero_memory(spec))
		return false;
	for (uint64_t i = 0; i < a->count; i++)
		if (a->row[i].name != b->row[i].name ||
		    a->row[i].amount != b->row[i].amount)
			return false;
	return true;
}

/* -- in the snapshot --------------------------------------------------------- */

void reservation_hide(struct sched *sched, struct sched_reservation *reservation)
{
	if (reservation->number == SNAPSHOT_NONE)
		return;
	if (reservation->nominates)
		snapshot_nominate_end(&sched->snapshot, reservation->number);
	else
		snapshot_unreserve(&sched->snapshot, reservation->number);
	reservation->number = SNAPSHOT_NONE;
	reservation->nominates = false;
}

static bool is_nomination(const struct sched_reservation *reservation)
{
	return reservation->pod != NULL && reservation->pod->spec != NULL &&
	       is_of_spec(&reservation->is, reservation->pod->spec);
}

static enum pl_code show_in_snapshot(struct sched *sched, const struct sched_node *node,
                                     struct sched_reservation *reservation,
                                     struct pl_err *err)
{
	struct pod_on_node on = {0};
	enum pl_code code;

	if (reservation->number != SNAPSHOT_NONE || reservation_goes(reservation) ||
	    node->slot == SNAPSHOT_NONE || !node_is_counted(node))
		return PL_OK;
	reservation->nominates = is_nomination(reservation);
	if (reservation->nominates) {
		on.spec = reservation->pod->spec;
		on.name = reservation->pod->key[2];
		code = rules_see_namespace(sched, reservation->pod->key[1]);
		if (code == PL_OK)
			code = pod_uid_take(sched, reservation->pod, &on.uid, err);
		if (code == PL_OK)
			code = snapshot_nominate(&sched->snapshot, node->slot, &on,
			                         &reservation->number, err);
		strings_unref(&sched->model.strings, on.uid);
	} else {
		code = snapshot_reserve(&sched->snapshot, node->slot, &reservation->is,
		                        &reservation->number, err);
	}
	if (code != PL_OK) {
		reservation->number = SNAPSHOT_NONE;
		reservation->nominates = false;
	}
	return code;
}

/* Without the reservation the node would seem emptier than it is. */
void reservation_show(struct sched *sched, struct sched_node *node,
                      struct sched_reservation *reservation)
{
	struct pl_err err = {0};

	if (show_in_snapshot(sched, node, reservation, &err) == PL_OK)
		return;
	node_snapshot_failed(sched, node, &err);
}

enum pl_code reservations_show(struct sched *sched, struct sched_node *node,
                               struct pl_err *err)
{
	enum pl_code code = PL_OK;

	for (uint32_t i = 0; i < node->reservations && code == PL_OK; i++)
		code = show_in_snapshot(sched, node, &node->reservation[i], err);
	return code;
}

void reservations_hide(struct sched *sched, struct sched_node *node)
{
	for (uint32_t i = 0; i < node->reservations; i++)
		reservation_hide(sched, &node->reservation[i]);
}

/* -- nominations of a pod ---------------------------------------------------- */

struct sched_reservation *reservation_of_pod(const struct sched_node *node,
                                             const struct sched_pod *pod)
{
	for (uint32_t i = 0; i < node->reservations; i++)
		if (node->reservation[i].pod == pod)
			return &node->reservation[i];
	return NULL;
}

/* The node with that many reservations for the pod before it; NULL: no more nodes. */
static struct sched_node *holding_node(const struct sched *sched,
                                       const struct sched_pod *pod, uint32_t nth)
{
	PL_LIST_EACH (link, &sched->reserving) {
		struct sched_node *node =
			PL_LIST_ITEM(link, struct sched_node, reserving);

		if (reservation_of_pod(node, pod) != NULL && nth-- == 0)
			return node;
	}
	return NULL;
}

/* Calls fn for each reservation of the pod. */
static void each_holding_node(struct sched *sched, struct sched_pod *pod,
                              void (*fn)(struct sched *sched, struct sched_node *node,
                                         struct sched_reservation *reservation))
{
	struct sched_reservation *reservation;

	if (pod->reserved_by == 1 && pod->nominated != NULL) {
		reservation = reservation_of_pod(pod->nominated, pod);
		PL_ASSERT(reservation != NULL);
		fn(sched, pod->nominated, reservation);
		return;
	}
	/* Searched from the start each time, since fn may remove reservations. */
	for (uint32_t i = 0; i < pod->reserved_by; i++) {
		struct sched_node *node = holding_node(sched, pod, i);

		if (node == NULL) /* one is on its way into a node's list, or out of it */
			return;
		fn(sched, node, reservation_of_pod(node, pod));
	}
}

static bool is_decided_here(const struct sched_node *node, const struct sched_pod *pod)
{
	PL_ASSERT(pod != NULL); /* only nominations have no pod of their own */
	return (pod->stage == POD_ASSUMED || pod->stage == POD_COMMITTING) &&
	       pod->node == node;
}

/* The reservation is not wanted, as far as this shard decides that. */
static bool is_not_wanted(const struct sched *sched, const struct sched_node *node,
                          const struct sched_reservation *reservation)
{
	const struct sched_pod *pod = reservation->pod;
	const struct sched_partition *part = &sched->partition[pod->key[0]];

	if (!part->owned || !part->open || part->quiet ||
	    (pod->flags & (POD_BAD_SPEC | POD_BAD_STATE)) != 0)
		return false;
	if (pod->rev[FACT_SPEC] == 0 && pod->txn != 0)
		return false; /* an event about the spec is deferred to the answer */
	return pod->rev[FACT_SPEC] == 0 || pod->spec == NULL || pod->listed > 0 ||
	       (pod->phase != PHASE_NONE && pod->phase != STATE_PENDING) ||
	       termination_is_wanted(pod) ||
	       (pod->flags & (POD_HAS_NODE_NAME | POD_ENDED | POD_NO_PROFILE)) != 0 ||
	       pod->nominated != node || !is_of_spec(&reservation->is, pod->spec);
}

void reservation_reconcile(struct sched *sched, struct sched_node *node,
                           struct sched_reservation *reservation)
{
	bool gone = reservation_goes(reservation);

	if (reservation->kind != ALLOC_RESERVATION_NOMINATED)
		return;
	reservation_watch(sched, node, reservation);
	reservation->taken = is_decided_here(node, reservation->pod);
	reservation->unwanted =
		reservation->unwanted ||
		(!reservation->taken && is_not_wanted(sched, node, reservation));
	if (!reservation_goes(reservation))
		reservation_show(sched, node, reservation);
	else if (!gone)
		reservation_hide(sched, reservation);
	if (!gone && reservation->unwanted && node->slot != SNAPSHOT_NONE)
		emit_queue_event(sched, QUEUE_EV_POD_REMOVED, node->slot);
	node_set_ready(sched, node);
}

void reservation_leave(struct sched *sched, struct sched_node *node,
                       struct sched_reservation *reservation)
{
	reservation_hide(sched, reservation);
	if (node->slot != SNAPSHOT_NONE)
		emit_queue_event(sched, QUEUE_EV_POD_REMOVED, node->slot);
	node_set_ready(sched, node);
}

void reservation_give_up(struct sched *sched, struct sched_node *node,
                         const struct sched_pod *pod)
{
	struct sched_reservation *reservation = reservation_of_pod(node, pod);

	if (reservation == NULL || reservation_is_planned(reservation) ||
	    reservation_goes(reservation))
		return;
	reservation->unwanted = true;
	reservation_leave(sched, node, reservation);
}

void reservations_reconcile_pod(struct sched *sched, struct sched_pod *pod)
{
	if (pod->reserved_by > 0)
		each_holding_node(sched, pod, reservation_reconcile);
}

void reservations_reconcile_node(struct sched *sched, struct sched_node *node)
{
	for (uint32_t i = 0; i < node->reservations; i++) {
		struct sched_reservation *reservation = &node->reservation[i];

		if (reservation->pod != NULL && reservation->pod->spec == NULL &&
		    !pod_is_owned(sched, reservation->pod))
			spec_reads_want(sched, reservation->pod, node->rev[FACT_ALLOC]);
		reservation_reconcile(sched, node, reservation);
	}
}

/* on_learn_spec shows it again */
static void on_forget_spec(struct sched *sched, struct sched_node *node,
                           struct sched_reservation *reservation)
{
	(void)node;
	reservation_hide(sched, reservation);
}

static void on_learn_spec(struct sched *sched, struct sched_node *node,
                          struct sched_reservation *reservation)
{
	reservation_hide(sched, reservation);
	reservation_show(sched, node, reservation);
}

void reservations_forget_spec(struct sched *sched, struct sched_pod *pod)
{
	if (pod->reserved_by > 0 && pod->spec != NULL)
		each_holding_node(sched, pod, on_forget_spec);
}

void reservations_learn_spec(struct sched *sched, struct sched_pod *pod)
{
	if (pod->reserved_by > 0 && pod->spec != NULL)
		each_holding_node(sched, pod, on_learn_spec);
}

/* There is room now, as far as amounts go. */
static bool has_room_for(const struct sched *sched, const struct sched_node *node,
                         const struct resources *asks)
{
	const struct node_row *row = &sched->snapshot.row[node->slot];

	return asks->cpu_milli <= row->alloc.cpu_milli - row->used.cpu_milli &&
	       asks->memory <= row->alloc.memory - row->used.memory &&
	       asks->storage <= row->alloc.storage - row->used.storage &&
	       row->used.pods < row->alloc.pods;
}

static void retry_pod(struct sched *sched, struct sched_pod *pod)
{
	if (pod->stage == POD_QUEUED &&
	    (pod->queue.place == QUEUE_WAITING || pod->queue.place == QUEUE_BACKOFF))
		queue_activate(queue_of_class(sched, pod->queue.class), &pod->queue,
		               sched->now_ms);
}

void reservations_retry_nominated(struct sched *sched, struct sched_node *node)
{
	for (uint32_t i = 0; i < node->reservations && node->slot != SNAPSHOT_NONE; i++) {
		const struct sched_reservation *reservation = &node->reservation[i];

		if (reservation->pod != NULL && reservation->nominates &&
		    !reservation_goes(reservation) &&
		    has_room_for(sched, node, reservation->pod->spec->requests))
			retry_pod(sched, reservation->pod);
	}
}

/* -- the row of a node ------------------------------------------------------- */

/* The pod is nominated on another node, or nowhere any more. */
static void end_nomination(struct sched *sched, struct sched_node *node,
                           struct sched_pod *pod)
{
	pod->reserved_by--;
	if (pod->nominated != node || reservation_of_pod(node, pod) != NULL)
		return;
	pod->nominated = pod->reserved_by == 0 ? NULL : holding_node(sched, pod, 0);
}

void reservation_free(struct sched *sched, struct sched_reservation *reservation)
{
	strings_unref(&sched->model.strings, reservation->key[0]);
	strings_unref(&sched->model.strings, reservation->key[1]);
	model_unref(&sched->model, MODEL_RESOURCES, reservation->is.amounts);
	model_unref(&sched->model, MODEL_RESOURCES, reservation->rest.amounts);
}

/* The reservation stands on no node any more. */
void reservation_end(struct sched *sched, struct sched_node *node,
                     struct sched_reservation *reservation)
{
	bool shown = reservation->number != SNAPSHOT_NONE;
	struct sched_pod *pod = reservation->pod;

	reservation_hide(sched, reservation);
	if (shown && node->slot != SNAPSHOT_NONE)
		emit_queue_event(sched, QUEUE_EV_POD_REMOVED, node->slot);
	reservation_free(sched, reservation);
	if (pod == NULL)
		return;
	end_nomination(sched, node, pod);
	if (pod->nominated == NULL)
		retry_pod(sched, pod);
	pending_status_owe(sched, pod);
	if (!reservation_is_planned(
		    reservation)) /* else its plan ends, perhaps because the pod does */
		pod_reconcile(sched, pod);
}
