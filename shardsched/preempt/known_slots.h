/*
 * Known slots are the slots for which a cache holds a valid entry: a slot leaves the set
 * as soon as its node changes. The cache keeps the entries themselves.
 */
#ifndef SHARDSCHED_PREEMPT_KNOWN_SLOTS_H
#define SHARDSCHED_PREEMPT_KNOWN_SLOTS_H

#include "shardsched/preempt/scratch.h"
#include "shardsched/snapshot/snapshot.h"

struct known_slots {
	struct scratch words; /* uint64_t: a bit for each slot */
	uint64_t changes;     /* the snapshot's change number that the set is valid for */
};

/* Gives every slot of the snapshot a bit. false: out of memory. */
PL_NODISCARD bool known_slots_grow(struct known_slots *known,
                                   const struct snapshot *snapshot);
/* Removes the slots that changed since the last call. false: that call is too long ago,
 * and the caller has to drop all entries. */
PL_NODISCARD bool known_slots_update(struct known_slots *known,
                                     const struct snapshot *snapshot);
void known_slots_clear(struct known_slots *known);
void known_slots_done(struct known_slots *known);

static inline bool known_slots_has(const struct known_slots *known, uint32_t slot)
{
	return (((const uint64_t *)known->words.at)[slot / 64] >> slot % 64 & 1) != 0;
}

static inline void known_slots_add(struct known_slots *known, uint32_t slot)
{
	((uint64_t *)known->words.at)[slot / 64] |= UINT64_C(1) << slot % 64;
}

#endif
