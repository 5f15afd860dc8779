#include "shardsched/preempt/known_slots.h"

#include <string.h>

#include "store/base/bitset.h"

bool known_slots_grow(struct known_slots *known, const struct snapshot *snapshot)
{
	return scratch_grow_zeroed(&known->words, pl_bitset_words(snapshot->capacity),
	                           sizeof(uint64_t));
}

static void on_slot_changed(void *ctx, uint32_t slot)
{
	const struct scratch *words = ctx;

	if (slot / 64 < words->cap)
		((uint64_t *)words->at)[slot / 64] &= ~(UINT64_C(1) << slot % 64);
}

bool known_slots_update(struct known_slots *known, const struct snapshot *snapshot)
{
	uint64_t since = known->changes;

	known->changes = snapshot->changes;
	return snapshot_changed_since(snapshot, since, on_slot_changed, &known->words);
}

void known_slots_clear(struct known_slots *known)
{
	if (known->words.cap > 0)
		memset(known->words.at, 0, known->words.cap * sizeof(uint64_t));
}

void known_slots_done(struct known_slots *known)
{
	scratch_done(&known->words);
}
