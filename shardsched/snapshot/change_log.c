/*
 * The log of changed slots, for caches of results by node; and probes, whose changes are
 * not logged.
 */
#include "shardsched/snapshot/snapshot_inner.h"

void snapshot_touch(struct snapshot *snapshot, uint32_t slot)
{
	if (snapshot->inner->probing)
		return;
	snapshot->inner->log[snapshot->changes % SNAPSHOT_LOG] = slot;
	snapshot->changes++;
	snapshot->row[slot].generation++;
}

bool snapshot_changed_since(const struct snapshot *snapshot, uint64_t changes,
                            void (*fn)(void *ctx, uint32_t slot), void *ctx)
{
	PL_ASSERT(changes <= snapshot->changes);
	if (snapshot->changes - changes > SNAPSHOT_LOG)
		return false;
	for (; changes < snapshot->changes; changes++)
		fn(ctx, snapshot->inner->log[changes % SNAPSHOT_LOG]);
	return true;
}

void snapshot_probe(struct snapshot *snapshot)
{
	PL_ASSERT(!snapshot->inner->probing);
	snapshot->inner->probing = true;
	snapshot->inner->probe_balance = 0;
}

void snapshot_probe_end(struct snapshot *snapshot)
{
	PL_ASSERT(snapshot->inner->probing);
	PL_ASSERT(snapshot->inner->lifted == 0 && snapshot->inner->probe_balance == 0);
	snapshot->inner->probing = false;
}

bool snapshot_probing(const struct snapshot *snapshot)
{
	return snapshot->inner->probing;
}
