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
	known_slots_done(&candidate_cache->known);
	scratch_done(&candidate_cache->rank);
}

bool candidate_cache_ready(struct preempt *preempt)
{
	const struct snapshot *snapshot = preempt->snapshot;
	struct candidate_cache *candidate_cache = &preempt->candidate_cache;
	struct candidate_key key = make_key(preempt);

	if (!known_slots_grow(&candidate_cache->known, snapshot) ||
	    !scratch_grow(&candidate_cache->rank, snapshot->capacity,
	                  sizeof(struct candidate_rank)))
		return false;
	if (!known_slots_update(&candidate_cache->known, snapshot) ||
	    !keys_equal(&key, &candidate_cache->key))
		known_slots_clear(&candidate_cache->known);
	candidate_cache->key = key;
	return true;
}

void candidate_cache_put(struct preempt *preempt, uint32_t slot,
                         const struct candidate_rank *rank)
{
	((struct candidate_rank *)preempt->candidate_cache.rank.at)[slot] = *rank;
	known_slots_add(&preempt->candidate_cache.known, slot);
}

bool candidate_cache_has(const struct preempt *preempt, uint32_t slot)
{
	return known_slots_has(&preempt->candidate_cache.known, slot);
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
