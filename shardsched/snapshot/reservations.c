/*
 * Amounts on a node that belong to no pod there. They count as a pod's do, in the node's
 * sums and columns, and so in fits and scores; they have no rules, ports or volumes.
 */
#include <stdlib.h>

#include "shardsched/snapshot/snapshot_inner.h"
#include "store/base/alloc.h"

enum { CAP_MIN = 64 };

static bool is_countable(const struct snapshot *snapshot, uint32_t slot,
                         const struct node_reservation *reservation)
{
	const struct node_row *row = &snapshot->row[slot];
	const struct resources *amounts = reservation->amounts;

	return amounts->cpu_milli <= SNAPSHOT_USED_MOST - row->used.cpu_milli &&
	       amounts->memory <= SNAPSHOT_USED_MOST - row->used.memory &&
	       amounts->storage <= SNAPSHOT_USED_MOST - row->used.storage &&
	       amounts->pods <= SNAPSHOT_USED_MOST - row->used.pods &&
	       reservation->nonzero_cpu_milli <=
	               SNAPSHOT_USED_MOST - row->nonzero_cpu_milli &&
	       reservation->nonzero_memory <= SNAPSHOT_USED_MOST - row->nonzero_memory &&
	       scalars_countable(snapshot, slot, amounts);
}

static void count_amounts(struct snapshot *snapshot,
                          const struct reservation *reservation, int sign)
{
	struct node_row *row = &snapshot->row[reservation->node];
	const struct resources *amounts = reservation->is.amounts;

	row->used.cpu_milli += sign * amounts->cpu_milli;
	row->used.memory += sign * amounts->memory;
	row->used.storage += sign * amounts->storage;
	row->used.pods += sign * amounts->pods;
	row->nonzero_cpu_milli += sign * reservation->is.nonzero_cpu_milli;
	row->nonzero_memory += sign * reservation->is.nonzero_memory;
	hot_update_used(snapshot, reservation->node);
	scalars_add_used(snapshot, reservation->node, amounts, sign);
	snapshot_touch(snapshot, reservation->node);
}

static enum pl_code reserve_number(struct snapshot *snapshot, struct pl_err *err)
{
	struct number_pool *pool = &snapshot->inner->reservations;
	uint32_t cap = pool->cap == 0 ? CAP_MIN : pool->cap * 2;
	struct reservation *grown;

	if (number_pool_has(pool))
		return PL_OK;
	if (cap > SNAPSHOT_PODS_MAX)
		return pl_err_set(err, PL_LIMIT, "want at most %d reservations",
		                  SNAPSHOT_PODS_MAX);
	grown = pl_realloc(snapshot->reservation, cap * sizeof *grown);
	if (grown == NULL)
		return pl_err_set(err, PL_NOMEM, "room for a reservation");
	snapshot->reservation = grown;
	pool->cap = cap;
	return PL_OK;
}

static uint32_t take_number(struct snapshot *snapshot)
{
	struct number_pool *pool = &snapshot->inner->reservations;
	uint32_t reservation = pool->free;

	if (reservation == SNAPSHOT_NONE)
		return pool->end++;
	pool->free = snapshot->reservation[reservation].next;
	return reservation;
}

enum pl_code snapshot_reserve(struct snapshot *snapshot, uint32_t slot,
                              const struct node_reservation *is, uint32_t *reservation,
                              struct pl_err *err)
{
	enum pl_code code = PL_OK;

	PL_ASSERT(slot < snapshot->slots && snapshot->row[slot].node.name != 0);
	PL_ASSERT(!snapshot->inner->probing);
	PL_ASSERT(row_is_counted(&snapshot->row[slot]));
	if (!is_countable(snapshot, slot, is))
		code = pl_err_set(err, PL_LIMIT,
		                  "a node has more reserved than can be counted");
	if (code == PL_OK)
		code = reserve_number(snapshot, err);
	if (code == PL_OK && is->amounts->count > 0)
		code = scalars_ready(snapshot, is->amounts, err);
	if (code != PL_OK)
		return code;
	*reservation = take_number(snapshot);
	snapshot->reservation[*reservation] = (struct reservation){
		.is = *is, .node = slot, .next = snapshot->row[slot].first_reservation};
	snapshot->row[slot].first_reservation = *reservation;
	model_ref(snapshot->model, MODEL_RESOURCES, is->amounts);
	scalars_ref(snapshot, is->amounts);
	count_amounts(snapshot, &snapshot->reservation[*reservation], 1);
	return PL_OK;
}

static struct reservation *get_reservation(const struct snapshot *snapshot,
                                           uint32_t reservation)
{
	PL_ASSERT(reservation < snapshot->inner->reservations.end);
	PL_ASSERT(snapshot->reservation[reservation].is.amounts != NULL);
	return &snapshot->reservation[reservation];
}

void snapshot_unreserve(struct snapshot *snapshot, uint32_t reservation)
{
	struct reservation old = *get_reservation(snapshot, reservation);
	uint32_t *at = &snapshot->row[old.node].first_reservation;

	PL_ASSERT(!snapshot->inner->probing);
	while (*at != reservation)
		at = &snapshot->reservation[*at].next;
	*at = old.next;
	if (!old.lifted)
		count_amounts(snapshot, &old, -1);
	scalars_unref(snapshot, old.is.amounts);
	model_unref(snapshot->model, MODEL_RESOURCES, old.is.amounts);
	snapshot->reservation[reservation] =
		(struct reservation){.next = snapshot->inner->reservations.free};
	snapshot->inner->reservations.free = reservation;
}

void snapshot_reservation_lift(struct snapshot *snapshot, uint32_t number)
{
	struct reservation *reservation = get_reservation(snapshot, number);

	PL_ASSERT(!reservation->lifted);
	reservation->lifted = true;
	snapshot->inner->probe_balance--;
	count_amounts(snapshot, reservation, -1);
}

/* The pods that came in between use at most half of what can be counted, and so does this
 * reservation. */
void snapshot_reservation_restore(struct snapshot *snapshot, uint32_t number)
{
	struct reservation *reservation = get_reservation(snapshot, number);

	PL_ASSERT(reservation->lifted);
	reservation->lifted = false;
	snapshot->inner->probe_balance++;
	count_amounts(snapshot, reservation, 1);
}
