/*
 * Amounts on a node that belong to no pod there. They count as a pod's do, in the node's
 * sums and columns, and so in fits and scores; they have no rules, ports or volumes.
 */
#include <stdlib.h>

#include "shardsched/snapshot/inner.h"
#include "store/base/alloc.h"

enum { CAP_MIN = 64 };

static bool is_countable(const struct snapshot *snapshot, uint32_t slot,
                         const struct node_hold *hold)
{
	const struct node_row *row = &snapshot->row[slot];
	const struct resources *amounts = hold->amounts;

	return amounts->cpu_milli <= SNAPSHOT_USED_MOST - row->used.cpu_milli &&
	       amounts->memory <= SNAPSHOT_USED_MOST - row->used.memory &&
	       amounts->storage <= SNAPSHOT_USED_MOST - row->used.storage &&
	       amounts->pods <= SNAPSHOT_USED_MOST - row->used.pods &&
	       hold->nonzero_cpu_milli <= SNAPSHOT_USED_MOST - row->nonzero_cpu_milli &&
	       hold->nonzero_memory <= SNAPSHOT_USED_MOST - row->nonzero_memory &&
	       scalars_countable(snapshot, slot, amounts);
}

static void count(struct snapshot *snapshot, const struct hold *hold, int sign)
{
	struct node_row *row = &snapshot->row[hold->node];
	const struct resources *amounts = hold->is.amounts;

	row->used.cpu_milli += sign * amounts->cpu_milli;
	row->used.memory += sign * amounts->memory;
	row->used.storage += sign * amounts->storage;
	row->used.pods += sign * amounts->pods;
	row->nonzero_cpu_milli += sign * hold->is.nonzero_cpu_milli;
	row->nonzero_memory += sign * hold->is.nonzero_memory;
	hot_show_used(snapshot, hold->node);
	scalars_use(snapshot, hold->node, amounts, sign);
	snapshot_touch(snapshot, hold->node);
}

static enum pl_code make_room(struct snapshot *snapshot, struct pl_err *err)
{
	struct pool *pool = &snapshot->inner->holds;
	uint32_t cap = pool->cap == 0 ? CAP_MIN : pool->cap * 2;
	struct hold *grown;

	if (pool_has(pool))
		return PL_OK;
	if (cap > SNAPSHOT_PODS_MAX)
		return pl_err_set(err, PL_LIMIT, "want at most %d holds",
		                  SNAPSHOT_PODS_MAX);
	grown = pl_realloc(snapshot->hold, cap * sizeof *grown);
	if (grown == NULL)
		return pl_err_set(err, PL_NOMEM, "room for a hold");
	snapshot->hold = grown;
	pool->cap = cap;
	return PL_OK;
}

static uint32_t take(struct snapshot *snapshot)
{
	struct pool *pool = &snapshot->inner->holds;
	uint32_t hold = pool->free;

	if (hold == SNAPSHOT_NONE)
		return pool->end++;
	pool->free = snapshot->hold[hold].next;
	return hold;
}

enum pl_code snapshot_hold(struct snapshot *snapshot, uint32_t slot,
                           const struct node_hold *is, uint32_t *hold, struct pl_err *err)
{
	enum pl_code code = PL_OK;

	PL_ASSERT(slot < snapshot->slots && snapshot->row[slot].node.name != 0);
	PL_ASSERT(!snapshot->inner->probing);
	PL_ASSERT(row_is_counted(&snapshot->row[slot]));
	if (!is_countable(snapshot, slot, is))
		code = pl_err_set(err, PL_LIMIT, "a node holds more than can be counted");
	if (code == PL_OK)
		code = make_room(snapshot, err);
	if (code == PL_OK && is->amounts->count > 0)
		code = scalars_ready(snapshot, is->amounts, err);
	if (code != PL_OK)
		return code;
	*hold = take(snapshot);
	snapshot->hold[*hold] = (struct hold){
		.is = *is, .node = slot, .next = snapshot->row[slot].first_hold};
	snapshot->row[slot].first_hold = *hold;
	model_ref(snapshot->model, MODEL_RESOURCES, is->amounts);
	scalars_hold(snapshot, is->amounts);
	count(snapshot, &snapshot->hold[*hold], 1);
	return PL_OK;
}

static struct hold *get(const struct snapshot *snapshot, uint32_t hold)
{
	PL_ASSERT(hold < snapshot->inner->holds.end);
	PL_ASSERT(snapshot->hold[hold].is.amounts != NULL);
	return &snapshot->hold[hold];
}

void snapshot_hold_end(struct snapshot *snapshot, uint32_t hold)
{
	struct hold old = *get(snapshot, hold);
	uint32_t *at = &snapshot->row[old.node].first_hold;

	PL_ASSERT(!snapshot->inner->probing);
	while (*at != hold)
		at = &snapshot->hold[*at].next;
	*at = old.next;
	if (!old.lifted)
		count(snapshot, &old, -1);
	scalars_release(snapshot, old.is.amounts);
	model_unref(snapshot->model, MODEL_RESOURCES, old.is.amounts);
	snapshot->hold[hold] = (struct hold){.next = snapshot->inner->holds.free};
	snapshot->inner->holds.free = hold;
}

void snapshot_hold_lift(struct snapshot *snapshot, uint32_t number)
{
	struct hold *hold = get(snapshot, number);

	PL_ASSERT(!hold->lifted);
	hold->lifted = true;
	snapshot->inner->probe_balance--;
	count(snapshot, hold, -1);
}

/* What others took meanwhile is within half of what can be counted, and so is this. */
void snapshot_hold_lower(struct snapshot *snapshot, uint32_t number)
{
	struct hold *hold = get(snapshot, number);

	PL_ASSERT(hold->lifted);
	hold->lifted = false;
	snapshot->inner->probe_balance++;
	count(snapshot, hold, 1);
}
