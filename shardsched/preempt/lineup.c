/*
 * The pods of each node in order of importance, kept from run to run and mended for
 * nodes that changed; as columns, so that victims are found by reading on. They stand one
 * node behind the other; a node with more pods than before moves to the end, and when
 * that is too far away all are forgotten.
 */
#include "shardsched/preempt/inner.h"

enum { LINEUP_SPARE = 8, LINE_BYTES = 64 /* of a cache */ };

void lineups_done(struct lineups *lineups)
{
#define LINEUP_DONE(type, name) scratch_done(&lineups->name);
	LINEUP_COLUMNS_MAP(LINEUP_DONE)
	scratch_done(&lineups->known);
	scratch_done(&lineups->of);
}

static void forget_slot(void *ctx, uint32_t slot)
{
	struct lineups *lineups = ctx;
	uint64_t *known = lineups->known.at;

	if (slot / 64 < lineups->known.cap)
		known[slot / 64] &= ~(UINT64_C(1) << slot % 64);
}

static void forget_all(struct lineups *lineups)
{
	memset(lineups->known.at, 0, lineups->known.cap * sizeof(uint64_t));
	memset(lineups->of.at, 0, lineups->of.cap * sizeof(struct lineup));
	lineups->used = 0;
}

bool lineups_ready(struct preempt *preempt)
{
	const struct snapshot *snapshot = preempt->snapshot;
	struct lineups *lineups = &preempt->lineups;

	if (!scratch_grow_zeroed(&lineups->known, pl_bitset_words(snapshot->capacity),
	                         sizeof(uint64_t)) ||
	    !scratch_grow_zeroed(&lineups->of, snapshot->capacity, sizeof(struct lineup)))
		return false;
	if (!snapshot_changed_since(snapshot, lineups->changes, forget_slot, lineups))
		forget_all(lineups);
	lineups->changes = snapshot->changes;
	return true;
}

static struct lineup *lineup_at(const struct lineups *lineups, uint32_t slot)
{
	return (struct lineup *)lineups->of.at + slot;
}

bool lineup_known(const struct lineups *lineups, uint32_t slot)
{
	const uint64_t *known = lineups->known.at;

	return (known[slot / 64] >> slot % 64 & 1) != 0;
}

static bool has_place(const struct preempt *preempt, const struct look *look)
{
	return look->hopeless || lineup_known(&preempt->lineups, look->slot) ||
	       preempt->snapshot->row[look->slot].pods <=
	               lineup_at(&preempt->lineups, look->slot)->cap;
}

/* How many more pods the nodes that are looked at take. */
static size_t want_more(const struct preempt *preempt)
{
	size_t more = 0;

	for (uint32_t i = 0; i < preempt->looks; i++)
		if (!has_place(preempt, &preempt->look[i]))
			more += (size_t)preempt->snapshot->row[preempt->look[i].slot]
			                .pods +
			        LINEUP_SPARE;
	return more;
}

static bool grow(struct lineups *lineups, size_t pods)
{
	bool grown = pods <= UINT32_MAX;

#define LINEUP_GROW(type, name) \
	grown = grown && scratch_grow(&lineups->name, pods, sizeof(type));
	LINEUP_COLUMNS_MAP(LINEUP_GROW)
	return grown;
}

bool lineups_place(struct preempt *preempt)
{
	struct lineups *lineups = &preempt->lineups;
	size_t more = want_more(preempt);

	if (lineups->used + more > lineups->most) {
		forget_all(lineups);
		more = want_more(preempt);
	}
	if (!grow(lineups, lineups->used + more))
		return false;
	for (uint32_t i = 0; i < preempt->looks; i++) {
		const struct look *look = &preempt->look[i];
		struct lineup *lineup = lineup_at(lineups, look->slot);

		if (has_place(preempt, look))
			continue;
		lineup->cap = preempt->snapshot->row[look->slot].pods + LINEUP_SPARE;
		lineup->first = lineups->used;
		lineups->used += lineup->cap;
	}
	return true;
}

void lineup_fill(struct lineups *lineups, uint32_t slot, const struct victim *pod,
                 uint32_t count)
{
	struct lineup *lineup = lineup_at(lineups, slot);
	uint64_t *known = lineups->known.at;

	PL_ASSERT(count <= lineup->cap);
	lineup->count = count;
	for (uint32_t i = 0; i < count; i++) {
		const struct resources *requests = pod[i].spec->requests;
		uint32_t at = lineup->first + i;

		((int64_t *)lineups->cpu_milli.at)[at] = requests->cpu_milli;
		((int64_t *)lineups->memory.at)[at] = requests->memory;
		((int64_t *)lineups->storage.at)[at] = requests->storage;
		((int32_t *)lineups->priority.at)[at] = pod[i].priority;
		((uint32_t *)lineups->placed.at)[at] = pod[i].placed;
		((uint32_t *)lineups->spec.at)[at] = pod[i].spec->item.id;
	}
	known[slot / 64] |= UINT64_C(1) << slot % 64;
}

static void fetch(const void *column, size_t from, size_t size)
{
	const char *at = (const char *)column + from;

	for (size_t i = 0; i < size; i += LINE_BYTES)
		__builtin_prefetch(at + i);
}

void lineup_fetch(const struct lineups *lineups, uint32_t slot)
{
	const struct lineup *lineup = lineup_at(lineups, slot);
	size_t first = lineup->first, count = lineup->count;

	fetch(lineups->priority.at, first * sizeof(int32_t), count * sizeof(int32_t));
	fetch(lineups->spec.at, first * sizeof(uint32_t), count * sizeof(uint32_t));
	fetch(lineups->cpu_milli.at, first * sizeof(int64_t), count * sizeof(int64_t));
	fetch(lineups->memory.at, first * sizeof(int64_t), count * sizeof(int64_t));
}

struct lineup_part lineup_below(const struct lineups *lineups, uint32_t slot,
                                int32_t below)
{
	const struct lineup *lineup = lineup_at(lineups, slot);
	const int32_t *priority = (const int32_t *)lineups->priority.at + lineup->first;
	uint32_t from = 0, to = lineup->count, first;

	while (from < to) {
		uint32_t middle = from + (to - from) / 2;

		if (priority[middle] >= below)
			from = middle + 1;
		else
			to = middle;
	}
	first = lineup->first + from;
	return (struct lineup_part){.count = lineup->count - from,
#define LINEUP_PART(type, name) .name = (const type *)lineups->name.at + first,
	                            LINEUP_COLUMNS_MAP(LINEUP_PART)};
}
