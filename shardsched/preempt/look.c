/*
 * The pods of a node are a chain through memory, each link of it a wait for the next; so
 * the chains of several nodes are walked at once, and the waits overlap.
 */
#include "shardsched/preempt/inner.h"

/* As far as sums that are known can tell. */
static bool is_hopeless(const struct preempt *preempt, uint32_t slot)
{
	const struct room *room = room_known(preempt, slot);
	struct free_amounts free;

	if (room == NULL)
		return false;
	if (room->pods == 0)
		return true;
	/* Scalars are not in the sums. */
	if (preempt->fit < 0 || preempt->asks.scalars > 0)
		return false;
	asks_free(&preempt->asks, preempt->snapshot, slot, room, &free);
	return !asks_fit(&preempt->asks, &free);
}

static void look_at(struct preempt *preempt, uint32_t slot)
{
	struct look *look = &preempt->look[preempt->looks++];

	*look = (struct look){.slot = slot,
	                      .next = SNAPSHOT_NONE,
	                      .hopeless = is_hopeless(preempt, slot)};
}

static void begin_walk(const struct preempt *preempt, struct look *look)
{
	const struct snapshot *snapshot = preempt->snapshot;

	look->orders = true;
	look->next = snapshot->row[look->slot].first_pod;
	if (look->next != SNAPSHOT_NONE)
		__builtin_prefetch(&snapshot->placed[look->next]);
}

static bool make_room(struct preempt *preempt)
{
	uint32_t most = 0;
	size_t all = 0;

	if (!lineups_place(preempt))
		return false;
	for (uint32_t i = 0; i < preempt->looks; i++) {
		struct look *look = &preempt->look[i];
		uint32_t pods = preempt->snapshot->row[look->slot].pods;

		if (look->hopeless || lineup_known(&preempt->lineups, look->slot))
			continue;
		begin_walk(preempt, look);
		look->first = (uint32_t)all;
		all += pods;
		most = pods > most ? pods : most;
	}
	return all <= UINT32_MAX &&
	       scratch_grow(&preempt->victims, all, sizeof(struct victim)) &&
	       victims_sort_ready(preempt, most);
}

/* One link. false: the chain is at its end. */
static bool step(struct preempt *preempt, struct look *look)
{
	const struct placed *pod = &preempt->snapshot->placed[look->next];
	struct victim *victim = (struct victim *)preempt->victims.at + look->first;
	const struct spec *spec = pod->view->spec;
	uint32_t number = look->next;

	look->next = pod->next_on_node;
	if (look->next != SNAPSHOT_NONE)
		__builtin_prefetch(&preempt->snapshot->placed[look->next]);
	if ((pod->flags & PLACED_STAYS) == 0)
		victim[look->count++] = (struct victim){
			pod->started_ms == 0 ? INT64_MAX : pod->started_ms, spec,
			spec->priority, number};
	return look->next != SNAPSHOT_NONE;
}

static void walk(struct preempt *preempt)
{
	struct look *walking[LOOKS];
	uint32_t count = 0;

	for (uint32_t i = 0; i < preempt->looks; i++)
		if (preempt->look[i].next != SNAPSHOT_NONE)
			walking[count++] = &preempt->look[i];
	while (count > 0)
		for (uint32_t i = 0; i < count;)
			if (step(preempt, walking[i]))
				i++;
			else
				walking[i] = walking[--count];
}

static void put_in_order(struct preempt *preempt, const struct look *look)
{
	struct victim *victim = (struct victim *)preempt->victims.at + look->first;

	lineup_fill(&preempt->lineups, look->slot,
	            victims_sort(preempt, victim, look->count), look->count);
}

size_t look_ahead(struct preempt *preempt, size_t slot, uint32_t most)
{
	preempt->looks = 0;
	while (preempt->looks < LOOKS && preempt->looks < most) {
		look_at(preempt, (uint32_t)slot);
		slot = pl_bitset_next(preempt->potential, slot + 1);
		if (slot == preempt->potential.bits)
			slot = pl_bitset_next(preempt->potential, 0);
	}
	if (!make_room(preempt)) {
		preempt->no_memory = true;
		return slot;
	}
	walk(preempt);
	for (uint32_t i = 0; i < preempt->looks; i++)
		if (preempt->look[i].orders)
			put_in_order(preempt, &preempt->look[i]);
	return slot;
}
