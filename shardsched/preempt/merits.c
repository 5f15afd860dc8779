/*
 * How good a candidate a node was, kept for the class of pods that asked last: a node
 * that did not change and loses again costs one look. What is kept may be better than
 * the truth, since a node is left as soon as it loses; then it is tried again.
 */
#include "shardsched/preempt/inner.h"

static struct merit_key key_of(const struct preempt *preempt)
{
	return (struct merit_key){
		.cpu_milli = preempt->asks.cpu_milli,
		.memory = preempt->asks.memory,
		.storage = preempt->asks.storage,
		.budgets = preempt->snapshot->catalog.epoch[CATALOG_BUDGET],
		.priority = preempt->priority,
	};
}

static bool same(const struct merit_key *a, const struct merit_key *b)
{
	return a->cpu_milli == b->cpu_milli && a->memory == b->memory &&
	       a->storage == b->storage && a->budgets == b->budgets &&
	       a->priority == b->priority;
}

void merits_done(struct merits *merits)
{
	scratch_done(&merits->known);
	scratch_done(&merits->rank);
}

static void forget_slot(void *ctx, uint32_t slot)
{
	struct merits *merits = ctx;
	uint64_t *known = merits->known.at;

	if (slot / 64 < merits->known.cap)
		known[slot / 64] &= ~(UINT64_C(1) << slot % 64);
}

bool merits_ready(struct preempt *preempt)
{
	const struct snapshot *snapshot = preempt->snapshot;
	struct merits *merits = &preempt->merits;
	struct merit_key key = key_of(preempt);

	if (!scratch_grow_zeroed(&merits->known, pl_bitset_words(snapshot->capacity),
	                         sizeof(uint64_t)) ||
	    !scratch_grow(&merits->rank, snapshot->capacity,
	                  sizeof(struct candidate_rank)))
		return false;
	if (!same(&key, &merits->key) ||
	    !snapshot_changed_since(snapshot, merits->changes, forget_slot, merits))
		memset(merits->known.at, 0, merits->known.cap * sizeof(uint64_t));
	merits->key = key;
	merits->changes = snapshot->changes;
	return true;
}

void merit_keep(struct preempt *preempt, uint32_t slot, const struct candidate_rank *rank)
{
	uint64_t *known = preempt->merits.known.at;

	((struct candidate_rank *)preempt->merits.rank.at)[slot] = *rank;
	known[slot / 64] |= UINT64_C(1) << slot % 64;
}

bool merit_known(const struct preempt *preempt, uint32_t slot)
{
	const uint64_t *known = preempt->merits.known.at;

	return (known[slot / 64] >> slot % 64 & 1) != 0;
}

bool merit_loses(struct preempt *preempt, uint32_t slot)
{
	const struct candidate_rank *rank =
		(const struct candidate_rank *)preempt->merits.rank.at + slot;

	if (!merit_known(preempt, slot) || !victims_add(preempt, slot) ||
	    !candidate_loses(preempt, rank))
		return false;
	candidate_found(preempt, rank->violations);
	return true;
}
