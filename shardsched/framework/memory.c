#include <stdlib.h>
#include <string.h>

#include "shardsched/framework/cycle_int.h"
#include "store/base/alloc.h"

void memory_done(struct cycle_memory *memory)
{
	for (unsigned i = 0; i < PLUGINS_MAX; i++) {
		free(memory->gone[i]);
		free(memory->scores[i]);
	}
	for (unsigned i = 0; i < STAGE_BY_MAX_LIMIT; i++)
		free(memory->by_max[i]);
	free(memory->feasible);
	free(memory->examined);
	free(memory->judged);
	free(memory->filtered);
	free(memory->left);
	free(memory->raised);
	free(memory->best);
	free(memory->ties);
	free(memory->total);
	free(memory->wide);
	free(memory->totals);
	*memory = (struct cycle_memory){0};
}

static void *memory_make(struct cycle *cycle, void *have, size_t bytes)
{
	if (have == NULL)
		have = pl_calloc(1, bytes == 0 ? 1 : bytes);
	if (have == NULL)
		cycle_fail(cycle, -1, NULL);
	return have;
}

void *memory_column(struct cycle *cycle, void *have, size_t size)
{
	return memory_make(cycle, have, cycle->memory.capacity * size);
}

uint64_t *memory_set(struct cycle *cycle, uint64_t *have)
{
	return memory_make(cycle, have, pl_bitset_words(cycle->memory.capacity) * 8);
}

/* An array with one element for each block. */
static void *memory_blocks(struct cycle *cycle, void *have, size_t size)
{
	return memory_make(cycle, have,
	                   (cycle->memory.capacity / CYCLE_BLOCK + 1) * size);
}

/* The arena's next first chunk has room for what the last cycle used, so that the heap is
 * not asked again. */
static void arena_begin(struct cycle *cycle)
{
	size_t used = cycle->arena.used;

	if (used <= cycle->arena.chunk_size) {
		pl_arena_reset(&cycle->arena);
		return;
	}
	pl_arena_done(&cycle->arena);
	pl_arena_init(&cycle->arena, used + used / 2, CYCLE_ARENA_MAX);
}

bool memory_begin(struct cycle *cycle)
{
	struct cycle_memory *memory = &cycle->memory;

	arena_begin(cycle);
	if (memory->capacity != cycle->snapshot->capacity) {
		memory_done(memory);
		memory->capacity = cycle->snapshot->capacity;
	}
	memory->feasible = memory_set(cycle, memory->feasible);
	memory->filtered =
		memory_blocks(cycle, memory->filtered, sizeof *memory->filtered);
	memory->left = memory_blocks(cycle, memory->left, sizeof *memory->left);
	memory->raised = memory_blocks(cycle, memory->raised, sizeof *memory->raised);
	memory->best = memory_blocks(cycle, memory->best, sizeof *memory->best);
	memory->ties = memory_blocks(cycle, memory->ties, sizeof *memory->ties);
	memory->total = memory_column(cycle, memory->total, sizeof *memory->total);
	return !cycle_has_failed(cycle);
}

static void memory_for_scores(struct cycle *cycle, const uint8_t *plugin, unsigned count)
{
	struct cycle_memory *memory = &cycle->memory;

	for (unsigned i = 0; i < count; i++)
		memory->scores[plugin[i]] = memory_column(
			cycle, memory->scores[plugin[i]], sizeof *memory->scores[0]);
}

bool memory_for_plan(struct cycle *cycle)
{
	struct cycle_memory *memory = &cycle->memory;
	const struct profile_point *scores = &cycle->profile->at[POINT_SCORE];

	for (unsigned i = 0; i < cycle->filters; i++)
		memory->gone[i] = memory_set(cycle, memory->gone[i]);
	for (unsigned i = 0; i < cycle->local.by_max_count; i++)
		memory->by_max[i] = memory_column(cycle, memory->by_max[i],
		                                  sizeof *memory->by_max[i]);
	if (cycle->deferred_count != 0)
		memory->wide = memory_column(cycle, memory->wide, sizeof *memory->wide);
	if (cycle->opts.keep_scores)
		memory_for_scores(cycle, scores->plugin, scores->count);
	return !cycle_has_failed(cycle);
}
