/* Amounts of a row, in its columns. */
#include "shardsched/snapshot/snapshot_inner.h"

static int32_t narrow_cpu(int64_t amount)
{
	return amount >= INT32_MAX ? INT32_MAX : (int32_t)amount;
}

static bool uses_wide(const struct hot_columns *hot, uint32_t slot)
{
	return hot->cpu_used[slot] == INT32_MAX || hot->cpu_nonzero[slot] == INT32_MAX;
}

static bool is_wide(const struct hot_columns *hot, uint32_t slot)
{
	return hot->cpu_alloc[slot] == INT32_MAX || uses_wide(hot, slot);
}

static double unit_of(int64_t amount)
{
	return amount > 0 ? 1 / (double)amount : 0;
}

/* Sets the column of free storage, which is computed from both amounts. */
static void update_storage_free(struct snapshot *snapshot, uint32_t slot)
{
	const struct node_row *row = &snapshot->row[slot];

	snapshot->storage_free[slot] = row->alloc.storage - row->used.storage;
	pl_bitset_put(snapshot->vacant, slot, row->alloc.pods > row->used.pods);
}

void hot_update_alloc(struct snapshot *snapshot, uint32_t slot)
{
	const struct node_row *row = &snapshot->row[slot];
	struct hot_columns *hot = &snapshot->hot;
	bool was = is_wide(hot, slot);

	hot->cpu_alloc[slot] = narrow_cpu(row->alloc.cpu_milli);
	hot->memory_alloc[slot] = row->alloc.memory;
	hot->cpu_unit[slot] = unit_of(hot->cpu_alloc[slot]);
	hot->memory_unit[slot] = unit_of(row->alloc.memory);
	pl_bitset_put(snapshot->large, slot, row->alloc.memory >= SNAPSHOT_LARGE);
	update_storage_free(snapshot, slot);
	hot->wide += (uint32_t)is_wide(hot, slot) - (uint32_t)was;
}

void hot_update_used(struct snapshot *snapshot, uint32_t slot)
{
	const struct node_row *row = &snapshot->row[slot];
	struct hot_columns *hot = &snapshot->hot;
	bool was = uses_wide(hot, slot), is;

	hot->cpu_used[slot] = narrow_cpu(row->used.cpu_milli);
	hot->cpu_nonzero[slot] = narrow_cpu(row->nonzero_cpu_milli);
	hot->memory_used[slot] = row->used.memory;
	hot->memory_nonzero[slot] = row->nonzero_memory;
	update_storage_free(snapshot, slot);
	is = uses_wide(hot, slot);
	if (is != was && hot->cpu_alloc[slot] != INT32_MAX)
		hot->wide += (uint32_t)is - (uint32_t)was;
}
