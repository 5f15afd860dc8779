/*
 * Caches how good a candidate each node was for the class of pods that asked last: a node
 * that did not change and loses again costs one look. A cached rank may be better than
 * the real one, since a node is left as soon as it loses; such a node is tried again when
 * it no longer loses.
 */
#include "shardsched/preempt/preempt_int.h"

static struct candidate_key make_key(const struct preempt *preempt)
{
	return (struct candidate_key){
		.cpu_milli = preempt->request.cpu_milli,
		.memory = preempt->request.memory,
		.storage = preempt->request.storage,
		.budgets = preempt->snapshot->catalog.epoch[CATALOG_BUDGET],
		.priority = preempt->priority,
	};
}

static bool keys_equal(const struct candidate_key *a, const struct candidate_key *b)
{
	return a->cpu_milli == b->cpu_milli && a->memory == b->memory &&
	       a->storage == b->storage && a->budgets == b->budgets &&
	       a->priority == b->priority;
}

void candidate_cache_done(struct candidate_cache *candidate_cache)
{
	scratch_done(&candidate_cache->known);
	scratch_done(&candidate_cache->rank);
}

static void on_slot_changed(void *ctx, uint32_t slot)
{
	struct candidate_cache *candidate_cache = ctx;
	uint64_t *known = candidate_cache->known.at;

	if (slot / 64 < candidate_cache->known.cap)
		known[slot / 64] &= ~(UINT64_C(1) << slot % 64);
}

bool candidate_cache_ready(struct preempt *preempt)
{
	const struct snapshot *snapshot = preempt->snapshot;
	struct candidate_cache *candidate_cache = &preempt->candidate_cache;
	struct candidate_key key = make_key(preempt);

	if (!scratch_grow_zeroed(&candidate_cache->known,
	                         pl_bitset_words(snapshot->capacity), sizeof(uint64_t)) ||
	    !scratch_grow(&candidate_cache->rank, snapshot->capacity,
	                  sizeof(struct candidate_rank)))
		return false;
	if (!keys_equal(&key, &candidate_cache->key) ||
	    !snapshot_changed_since(snapshot, candidate_cache->changes, on_slot_changed,
	                            candidate_cache))
		memset(candidate_cache->known.at, 0,
		       candidate_cache->known.cap * sizeof(uint64_t));
	candidate_cache->key = key;
	candidate_cache->changes = snapshot->changes;
	return true;
}

void candidate_cache_put(struct preempt *preempt, uint32_t slot,
                         const struct candidate_rank *rank)
{
	uint64_t *known = preempt->candidate_cache.known.at;

	((struct candidate_rank *)preempt->candidate_cache.rank.at)[slot] = *rank;
	known[slot / 64] |= UINT64_C(1) << slot % 64;
}

bool candidate_cache_has(const struct preempt *preempt, uint32_t slot)
{
	const uint64_t *known = preempt->candidate_cache.known.at;

	return (known[slot / 64] >> slot % 64 & 1) != 0;
}

bool candidate_cache_loses(struct preempt *preempt, uint32_t slot)
{
	const struct candidate_rank *rank =
		(const struct candidate_rank *)preempt->candidate_cache.rank.at + slot;

	if (!candidate_cache_has(preempt, slot) || !victims_sums_suffice(preempt, slot) ||
	    !candidate_loses(preempt, rank))
		return false;
	candidate_found(preempt, rank->violations);
	return true;
}
