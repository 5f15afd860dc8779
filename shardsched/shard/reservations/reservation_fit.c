/*
 * Which nominations have room. An alloc that is put leaves out nominations for which
 * there is none: pods of higher priority, which do not see them, have come, or the node
 * has become smaller. What terminating pods use counts as free for nominations.
 */
#include "shardsched/shard/reservations/preemption.h"

static void add_amounts(struct node_amounts *left, const struct resources *amounts)
{
	left->cpu_milli += amounts->cpu_milli;
	left->memory += amounts->memory;
	left->storage += amounts->storage;
	left->pods++;
}

static void sub_amounts(struct node_amounts *left, const struct resources *amounts)
{
	left->cpu_milli -= amounts->cpu_milli;
	left->memory -= amounts->memory;
	left->storage -= amounts->storage;
	left->pods--;
}

/* The pod's spec is not known, so the node's row counts the amounts as used. */
static bool is_of_unknown_pod(const struct sched_reservation *reservation)
{
	return reservation->number != SNAPSHOT_NONE &&
	       reservation->kind == ALLOC_RESERVATION_NOMINATED &&
	       !reservation->nominates && reservation_counts(reservation);
}

/* The same, and the txn that is being made leaves it out. */
static bool is_left_out(const struct sched_reservation *reservation)
{
	return reservation->number != SNAPSHOT_NONE && !reservation->nominates &&
	       reservation_is_out(reservation);
}

static bool is_nominated(const struct sched_reservation *reservation)
{
	return reservation->number != SNAPSHOT_NONE && reservation->nominates &&
	       reservation_counts(reservation);
}

struct node_amounts reservations_nominated_amounts(const struct sched_node *node)
{
	struct node_amounts kept = {0};

	for (uint32_t i = 0; i < node->reservations; i++) {
		const struct sched_reservation *reservation = &node->reservation[i];

		if (reservation->nominates)
			add_amounts(&kept, reservation->is.amounts);
	}
	return kept;
}

int32_t reservations_least_priority(const struct sched_node *node)
{
	int32_t least = INT32_MAX;

	for (uint32_t i = 0; i < node->reservations; i++) {
		const struct sched_reservation *reservation = &node->reservation[i];

		if (reservation->nominates && reservation->pod->spec->priority < least)
			least = reservation->pod->spec->priority;
	}
	return least;
}

/* The entry's room is free, or will be, by the alloc that is being written. */
static bool entry_goes(const struct alloc_entry *listed)
{
	return listed->leaving || listed->end != STATE_TRANSITION_NONE;
}

/* The entry's room is free as things stand (NULL), or once that plan is done. */
static bool entry_frees(const struct preemption_plan *plan,
                        const struct alloc_entry *listed)
{
	return entry_goes(listed) || (plan != NULL && listed->pod->victim_of == plan);
}

/* The nominations of which the plan's pod does not take precedence, as things stand
 * (NULL) or once that plan is done. */
static bool reservation_takes(const struct preemption_plan *plan,
                              const struct sched_reservation *reservation)
{
	if (plan == NULL)
		return is_nominated(reservation);
	if (reservation->pod == plan->pod)
		return true;
	return is_nominated(reservation) &&
	       reservation->pod->spec->priority >= plan->pod->spec->priority;
}

/* The node's amounts, less what stays there and what is nominated. */
static struct node_amounts amounts_left(const struct sched *sched,
                                        const struct sched_node *node,
                                        const struct preemption_plan *plan)
{
	const struct node_row *row = &sched->snapshot.row[node->slot];
	struct node_amounts left = {row->alloc.cpu_milli - row->used.cpu_milli,
	                            row->alloc.memory - row->used.memory,
	                            row->alloc.storage - row->used.storage,
	                            row->alloc.pods - row->used.pods};

	for (uint32_t i = 0; i < node->count; i++)
		if (entry_frees(plan, &node->listed[i]))
			add_amounts(&left, node->listed[i].pod->spec->requests);
	for (uint32_t i = 0; i < node->reservations; i++)
		if (is_left_out(&node->reservation[i]))
			add_amounts(&left, node->reservation[i].is.amounts);
		else if (reservation_takes(plan, &node->reservation[i]))
			sub_amounts(&left, node->reservation[i].is.amounts);
	return left;
}

static int64_t scalar_left(const struct sched *sched, const struct sched_node *node,
                           const struct preemption_plan *plan, uint32_t name)
{
	const struct snapshot *snapshot = &sched->snapshot;
	uint32_t at = snapshot_scalar(snapshot, name);
	int64_t left = 0;

	if (at != SNAPSHOT_NONE)
		left = snapshot->scalar[at].alloc[node->slot] -
		       snapshot->scalar[at].used[node->slot];
	for (uint32_t i = 0; i < node->count; i++)
		if (entry_frees(plan, &node->listed[i]))
			left += resources_get(node->listed[i].pod->spec->requests, name);
	for (uint32_t i = 0; i < node->reservations; i++)
		if (is_left_out(&node->reservation[i]))
			left += resources_get(node->reservation[i].is.amounts, name);
		else if (reservation_takes(plan, &node->reservation[i]))
			left -= resources_get(node->reservation[i].is.amounts, name);
	return left;
}

/* There is too little of something that the reservation asks for. */
static bool has_no_room(const struct sched *sched, const struct sched_node *node,
                        const struct preemption_plan *plan,
                        const struct node_amounts *left,
                        const struct sched_reservation *reservation)
{
	const struct resources *amounts = reservation->is.amounts;

	if ((left->cpu_milli < 0 && amounts->cpu_milli > 0) ||
	    (left->memory < 0 && amounts->memory > 0) ||
	    (left->storage < 0 && amounts->storage > 0) || left->pods < 0)
		return true;
	for (uint64_t i = 0; i < amounts->count; i++)
		if (scalar_left(sched, node, plan, amounts->row[i].name) < 0)
			return true;
	return false;
}

struct sched_reservation *reservations_crowded_out(const struct sched *sched,
                                                   struct sched_node *node)
{
	struct node_amounts left = amounts_left(sched, node, NULL);
	struct sched_reservation *last = NULL;

	/* The pod may be gone, or its deadline renewed, since other pods were put in its
	 * place. */
	for (uint32_t i = 0; i < node->reservations; i++)
		if (is_of_unknown_pod(&node->reservation[i]) &&
		    has_no_room(sched, node, NULL, &left, &node->reservation[i]))
			return &node->reservation[i];
	for (uint32_t i = 0; i < node->reservations; i++) {
		struct sched_reservation *reservation = &node->reservation[i];

		if (is_nominated(reservation) &&
		    has_no_room(sched, node, NULL, &left, reservation) &&
		    (last == NULL ||
		     reservation->pod->spec->priority < last->pod->spec->priority))
			last = reservation;
	}
	return last;
}

bool reservations_fit(const struct sched *sched, const struct preemption_plan *plan)
{
	const struct sched_node *node = plan->node;
	const struct sched_reservation *reservation = reservation_of_pod(node, plan->pod);
	struct node_amounts left;

	if (reservation == NULL || reservation->number == SNAPSHOT_NONE ||
	    !reservation->nominates || node->slot == SNAPSHOT_NONE)
		return true; /* nothing crowds it out */
	left = amounts_left(sched, node, plan);
	return !has_no_room(sched, node, plan, &left, reservation);
}
