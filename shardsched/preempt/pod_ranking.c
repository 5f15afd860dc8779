/*
 * Caches the pods of each node in order of importance, as columns, so that victims are
 * found by reading on. The columns hold one node after the other; a node with more
 * pods than before moves to the end, and when the end is too far away all rankings are
 * dropped.
 */
#include "shardsched/preempt/preempt_int.h"

enum { POD_RANKING_SPARE = 8, LINE_BYTES = 64 /* of a cache line */ };

void pod_rankings_done(struct pod_rankings *rankings)
{
#define POD_RANKING_DONE(type, name) scratch_done(&rankings->name);
	POD_RANKING_COLUMNS_MAP(POD_RANKING_DONE)
	known_slots_done(&rankings->known);
	scratch_done(&rankings->of);
}

static void forget_rankings(struct pod_rankings *rankings)
{
	known_slots_clear(&rankings->known);
	memset(rankings->of.at, 0, rankings->of.cap * sizeof(struct pod_ranking));
	rankings->used = 0;
}

bool pod_rankings_ready(struct preempt *preempt)
{
	const struct snapshot *snapshot = preempt->snapshot;
	struct pod_rankings *rankings = &preempt->rankings;

	if (!known_slots_grow(&rankings->known, snapshot) ||
	    !scratch_grow_zeroed(&rankings->of, snapshot->capacity,
	                         sizeof(struct pod_ranking)))
		return false;
	if (!known_slots_update(&rankings->known, snapshot))
		forget_rankings(rankings);
	return true;
}

static struct pod_ranking *ranking_at(const struct pod_rankings *rankings, uint32_t slot)
{
	return (struct pod_ranking *)rankings->of.at + slot;
}

bool pod_ranking_known(const struct pod_rankings *rankings, uint32_t slot)
{
	return known_slots_has(&rankings->known, slot);
}

static bool has_space(const struct preempt *preempt, const struct node_scan *scan)
{
	return scan->state == SCAN_HOPELESS ||
	       pod_ranking_known(&preempt->rankings, scan->slot) ||
	       preempt->snapshot->row[scan->slot].pods <=
	               ranking_at(&preempt->rankings, scan->slot)->cap;
}

/* How many pods have to be added for the scanned nodes. */
static size_t count_missing(const struct preempt *preempt)
{
	size_t more = 0;

	for (uint32_t i = 0; i < preempt->scans; i++)
		if (!has_space(preempt, &preempt->scan[i]))
			more += (size_t)preempt->snapshot->row[preempt->scan[i].slot]
			                .pods +
			        POD_RANKING_SPARE;
	return more;
}

static bool grow_columns(struct pod_rankings *rankings, size_t pods)
{
	bool grown = pods <= UINT32_MAX;

#define POD_RANKING_GROW(type, name) \
	grown = grown && scratch_grow(&rankings->name, pods, sizeof(type));
	POD_RANKING_COLUMNS_MAP(POD_RANKING_GROW)
	return grown;
}

bool pod_rankings_place(struct preempt *preempt)
{
	struct pod_rankings *rankings = &preempt->rankings;
	size_t more = count_missing(preempt);

	if (rankings->used + more > rankings->most) {
		forget_rankings(rankings);
		more = count_missing(preempt);
	}
	if (!grow_columns(rankings, rankings->used + more))
		return false;
	for (uint32_t i = 0; i < preempt->scans; i++) {
		const struct node_scan *scan = &preempt->scan[i];
		struct pod_ranking *ranking = ranking_at(rankings, scan->slot);

		if (has_space(preempt, scan))
			continue;
		ranking->cap =
			preempt->snapshot->row[scan->slot].pods + POD_RANKING_SPARE;
		ranking->first = rankings->used;
		rankings->used += ranking->cap;
	}
	return true;
}

void pod_ranking_fill(struct pod_rankings *rankings, uint32_t slot,
                      const struct victim *pod, uint32_t count)
{
	struct pod_ranking *ranking = ranking_at(rankings, slot);

	PL_ASSERT(count <= ranking->cap);
	ranking->count = count;
	for (uint32_t i = 0; i < count; i++) {
		const struct resources *requests = pod[i].spec->requests;
		uint32_t at = ranking->first + i;

		((int64_t *)rankings->cpu_milli.at)[at] = requests->cpu_milli;
		((int64_t *)rankings->memory.at)[at] = requests->memory;
		((int64_t *)rankings->storage.at)[at] = requests->storage;
		((int32_t *)rankings->priority.at)[at] = pod[i].priority;
		((uint32_t *)rankings->placed.at)[at] = pod[i].placed;
		((uint32_t *)rankings->spec.at)[at] = pod[i].spec->item.id;
	}
	known_slots_add(&rankings->known, slot);
}

static void prefetch_column(const void *column, size_t from, size_t size)
{
	const char *at = (const char *)column + from;

	for (size_t i = 0; i < size; i += LINE_BYTES)
		__builtin_prefetch(at + i);
}

void pod_ranking_prefetch(const struct pod_rankings *rankings, uint32_t slot)
{
	const struct pod_ranking *ranking = ranking_at(rankings, slot);
	size_t first = ranking->first, count = ranking->count;

	prefetch_column(rankings->priority.at, first * sizeof(int32_t),
	                count * sizeof(int32_t));
	prefetch_column(rankings->spec.at, first * sizeof(uint32_t),
	                count * sizeof(uint32_t));
	prefetch_column(rankings->cpu_milli.at, first * sizeof(int64_t),
	                count * sizeof(int64_t));
	prefetch_column(rankings->memory.at, first * sizeof(int64_t),
	                count * sizeof(int64_t));
}

struct ranking_part pod_ranking_below(const struct pod_rankings *rankings, uint32_t slot,
                                      int32_t below)
{
	const struct pod_ranking *ranking = ranking_at(rankings, slot);
	const int32_t *priority = (const int32_t *)rankings->priority.at + ranking->first;
	uint32_t from = 0, to = ranking->count, first;

	while (from < to) {
		uint32_t middle = from + (to - from) / 2;

		if (priority[middle] >= below)
			from = middle + 1;
		else
			to = middle;
	}
	first = ranking->first + from;
	return (struct ranking_part){.count = ranking->count - from,
#define POD_RANKING_PART(type, name) .name = (const type *)rankings->name.at + first,
	                             POD_RANKING_COLUMNS_MAP(POD_RANKING_PART)};
}
