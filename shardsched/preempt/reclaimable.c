#include "shardsched/preempt/preempt_int.h"

void reclaimable_done(struct preempt *preempt)
{
	for (int i = 0; i < RECLAIMABLE_SETS; i++) {
		known_slots_done(&preempt->reclaimable[i].known);
		scratch_done(&preempt->reclaimable[i].sums);
	}
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
	known_slots_clear(&oldest->known);
	oldest->below = below;
	oldest->known.changes = preempt->snapshot->changes;
	return oldest;
}

bool reclaimable_ready(struct preempt *preempt)
{
	const struct snapshot *snapshot = preempt->snapshot;
	struct reclaimable *reclaimable;

	PL_ASSERT(preempt->only == NULL || preempt->only == snapshot);
	preempt->only = snapshot;
	reclaimable = reclaimable_for(preempt, preempt->priority);
	if (!known_slots_grow(&reclaimable->known, snapshot) ||
	    !scratch_grow(&reclaimable->sums, snapshot->capacity,
	                  sizeof(struct request_sum)))
		return false;
	if (!known_slots_update(&reclaimable->known, snapshot))
		known_slots_clear(&reclaimable->known);
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

	return known_slots_has(&reclaimable->known, slot)
	               ? (const struct request_sum *)reclaimable->sums.at + slot
	               : NULL;
}

const struct request_sum *reclaimable_on(struct preempt *preempt, uint32_t slot,
                                         const struct ranking_part *part)
{
	struct reclaimable *reclaimable = preempt->current;
	struct request_sum *sum = (struct request_sum *)reclaimable->sums.at + slot;

	PL_ASSERT(reclaimable->sums.at != NULL && slot < reclaimable->sums.cap);
	if (reclaimable_known(preempt, slot) == NULL) {
		*sum = sum_part(part);
		known_slots_add(&reclaimable->known, slot);
	}
	return sum;
}
