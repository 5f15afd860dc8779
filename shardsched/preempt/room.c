#include "shardsched/preempt/inner.h"

void rooms_done(struct preempt *preempt)
{
	for (int i = 0; i < ROOMS; i++) {
		scratch_done(&preempt->rooms[i].known);
		scratch_done(&preempt->rooms[i].room);
	}
}

static void forget_slot(void *ctx, uint32_t slot)
{
	struct rooms *rooms = ctx;
	uint64_t *known = rooms->known.at;

	if (slot / 64 < rooms->known.cap)
		known[slot / 64] &= ~(UINT64_C(1) << slot % 64);
}

static void forget_all(struct rooms *rooms)
{
	if (rooms->known.cap > 0)
		memset(rooms->known.at, 0, rooms->known.cap * sizeof(uint64_t));
}

/* Those of that priority, else those that nobody asked for longest. */
static struct rooms *rooms_for(struct preempt *preempt, int32_t below)
{
	struct rooms *oldest = &preempt->rooms[0];

	for (int i = 0; i < ROOMS; i++) {
		struct rooms *rooms = &preempt->rooms[i];

		if (rooms->used > 0 && rooms->below == below)
			return rooms;
		if (rooms->used < oldest->used)
			oldest = rooms;
	}
	forget_all(oldest);
	oldest->below = below;
	oldest->changes = preempt->snapshot->changes;
	return oldest;
}

bool rooms_ready(struct preempt *preempt)
{
	const struct snapshot *snapshot = preempt->snapshot;
	struct rooms *rooms;

	PL_ASSERT(preempt->only == NULL || preempt->only == snapshot);
	preempt->only = snapshot;
	rooms = rooms_for(preempt, preempt->priority);
	if (!scratch_grow_zeroed(&rooms->known, pl_bitset_words(snapshot->capacity),
	                         sizeof(uint64_t)) ||
	    !scratch_grow(&rooms->room, snapshot->capacity, sizeof(struct room)))
		return false;
	if (!snapshot_changed_since(snapshot, rooms->changes, forget_slot, rooms))
		forget_all(rooms);
	rooms->changes = snapshot->changes;
	rooms->used = preempt->run;
	preempt->room = rooms;
	return true;
}

/* No more than the node counts as used, which is far from the end. */
static struct room count(const struct lineup_part *part)
{
	struct room room = {.pods = part->count};

	for (uint32_t i = 0; i < part->count; i++) {
		room.cpu_milli += part->cpu_milli[i];
		room.memory += part->memory[i];
		room.storage += part->storage[i];
	}
	return room;
}

const struct room *room_known(const struct preempt *preempt, uint32_t slot)
{
	const struct rooms *rooms = preempt->room;
	uint64_t known = ((const uint64_t *)rooms->known.at)[slot / 64];

	return (known >> slot % 64 & 1) == 0 ? NULL
	                                     : (const struct room *)rooms->room.at + slot;
}

const struct room *room_of(struct preempt *preempt, uint32_t slot,
                           const struct lineup_part *part)
{
	struct rooms *rooms = preempt->room;
	struct room *room = (struct room *)rooms->room.at + slot;

	PL_ASSERT(rooms->room.at != NULL && slot < rooms->room.cap);
	if (room_known(preempt, slot) == NULL) {
		*room = count(part);
		((uint64_t *)rooms->known.at)[slot / 64] |= UINT64_C(1) << slot % 64;
	}
	return room;
}
