#include "shardsched/preempt/preempt_int.h"

void reclaimable_done(struct preempt *preempt)
{
	for (int i = 0; i < RECLAIMABLE_SETS; i++) {
		scratch_done(&preempt->reclaimable[i].known);
		scratch_done(&preempt->reclaimable[i].sums);
	}
}

static void on_slot_changed(void *ctx, uint32_t slot)
{
	struct reclaimable *reclaimable = ctx;
	uint64_t *known = reclaimable->known.at;

	if (slot / 64 < reclaimable->known.cap)
		known[slot / 64] &= ~(UINT64_C(1) << slot % 64);
}

static void forget_sums(struct reclaimable *reclaimable)
{
	if (reclaimable->known.cap > 0)
		memset(reclaimable->known.at, 0,
		       reclaimable->known.cap * sizeof(uint64_t));
}

/* The sums for that priority, or else the sums that were not used for the longest
 * time. */
static struct reclaimable *reclaimable_for(struct preempt *preempt, int32_t below)
{
	struct reclaimable *oldest = &preempt->reclaimable[0];

	for (int i = 0; i < RECLAIMABLE_SETS; i++) {
		struct reclaimable *reclaimable = &preempt->reclaimable[i];

		if (reclaimable->used > 0 && reclaimable->below == below)
			return reclaimable;
		if (reclaimable->used < oldest->used)
			oldest = reclaimable;
	}
	forget_sums(oldest);
	oldest->below = below;
	oldest->changes = preempt->snapshot->changes;
	return oldest;
}

bool reclaimable_ready(struct preempt *preempt)
{
	const struct snapshot *snapshot = preempt->snapshot;
	struct reclaimable *reclaimable;

	PL_ASSERT(preempt->only == NULL || preempt->only == snapshot);
	preempt->only = snapshot;
	reclaimable = reclaimable_for(preempt, preempt->priority);
	if (!scratch_grow_zeroed(&reclaimable->known, pl_bitset_words(snapshot->capacity),
	                         sizeof(uint64_t)) ||
	    !scratch_grow(&reclaimable->sums, snapshot->capacity,
	                  sizeof(struct request_sum)))
		return false;
	if (!snapshot_changed_since(snapshot, reclaimable->changes, on_slot_changed,
	                            reclaimable))
		forget_sums(reclaimable);
	reclaimable->changes = snapshot->changes;
	reclaimable->used = preempt->run;
	preempt->current = reclaimable;
	return true;
}

/* The sum can not overflow: it is part of what the node counts as used. */
static struct request_sum sum_part(const struct ranking_part *part)
{
	struct request_sum sum = {.pods = part->count};

	for (uint32_t i = 0; i < part->count; i++) {
		sum.cpu_milli += part->cpu_milli[i];
		sum.memory += part->memory[i];
		sum.storage += part->storage[i];
	}
	return sum;
}

const struct request_sum *reclaimable_known(const struct preempt *preempt, uint32_t slot)
{
	const struct reclaimable *reclaimable = preempt->current;
	uint64_t known = ((const uint64_t *)reclaimable->known.at)[slot / 64];

	return (known >> slot % 64 & 1) == 0
	               ? NULL
	               : (const struct request_sum *)reclaimable->sums.at + slot;
}

const struct request_sum *reclaimable_on(struct preempt *preempt, uint32_t slot,
                                         const struct ranking_part *part)
{
	struct reclaimable *reclaimable = preempt->current;
	struct request_sum *sum = (struct request_sum *)reclaimable->sums.at + slot;

	PL_ASSERT(reclaimable->sums.at != NULL && slot < reclaimable->sums.cap);
	if (reclaimable_known(preempt, slot) == NULL) {
		*sum = sum_part(part);
		((uint64_t *)reclaimable->known.at)[slot / 64] |= UINT64_C(1)
		                                                  << slot % 64;
	}
	return sum;
}
