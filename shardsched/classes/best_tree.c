#include "shardsched/classes/best_tree.h"

#include <stdlib.h>

#include "store/base/alloc.h"

static uint32_t block_count(uint32_t count)
{
	return (count + BEST_WIDTH - 1) / BEST_WIDTH;
}

/* The number is rounded up to whole blocks of the level above. */
static size_t padded_count(uint32_t count)
{
	return (size_t)block_count(block_count(count)) * BEST_WIDTH;
}

size_t best_tree_bytes(uint32_t count)
{
	size_t bytes = 0;

	do {
		bytes += padded_count(count) * (sizeof(int32_t) + sizeof(uint32_t));
		count = block_count(count);
	} while (count > BEST_WIDTH);
	return bytes;
}

static bool level_init(struct best_level *level, uint32_t count)
{
	size_t size = padded_count(count);

	level->count = block_count(count);
	level->best = pl_malloc(size * sizeof(*level->best));
	level->ties = pl_calloc(size, sizeof(*level->ties));
	if (level->best == NULL || level->ties == NULL)
		return false;
	for (size_t i = 0; i < size; i++)
		level->best[i] = BEST_NONE;
	return true;
}

bool best_tree_init(struct best_tree *tree, const int32_t *total, uint32_t count)
{
	*tree = (struct best_tree){.total = total};
	do {
		PL_ASSERT(tree->levels < BEST_LEVELS_MAX);
		if (!level_init(&tree->level[tree->levels++], count)) {
			best_tree_done(tree);
			return false;
		}
		count = block_count(count);
	} while (count > BEST_WIDTH);
	return true;
}

void best_tree_done(struct best_tree *tree)
{
	for (uint32_t i = 0; i < tree->levels; i++) {
		free(tree->level[i].best);
		free(tree->level[i].ties);
	}
	*tree = (struct best_tree){0};
}

static int32_t highest_of(const int32_t *at)
{
	int32_t best = BEST_NONE;

	for (int i = 0; i < BEST_WIDTH; i++)
		best = at[i] > best ? at[i] : best;
	return best;
}

static struct best_top top_of_totals(const int32_t *at)
{
	struct best_top top = {.best = highest_of(at)};

	for (int i = 0; i < BEST_WIDTH; i++)
		top.ties += at[i] == top.best;
	if (top.best == BEST_NONE)
		top.ties = 0;
	return top;
}

static struct best_top top_of_blocks(const int32_t *best, const uint32_t *ties)
{
	struct best_top top = {.best = highest_of(best)};

	for (int i = 0; i < BEST_WIDTH; i++)
		top.ties += best[i] == top.best ? ties[i] : 0;
	return top;
}

static struct best_top top_of(const struct best_tree *tree, uint32_t level,
                              uint32_t block)
{
	size_t from = (size_t)block * BEST_WIDTH;

	if (level == 0)
		return top_of_totals(tree->total + from);
	return top_of_blocks(tree->level[level - 1].best + from,
	                     tree->level[level - 1].ties + from);
}

void best_tree_update(struct best_tree *tree, uint32_t block)
{
	for (uint32_t i = 0; i < tree->levels; i++, block /= BEST_WIDTH) {
		struct best_level *level = &tree->level[i];
		struct best_top top = top_of(tree, i, block);

		if (level->best[block] == top.best && level->ties[block] == top.ties)
			return;
		level->best[block] = top.best;
		level->ties[block] = top.ties;
	}
}

void best_tree_build(struct best_tree *tree)
{
	for (uint32_t i = 0; i < tree->levels; i++) {
		struct best_level *level = &tree->level[i];

		for (uint32_t block = 0; block < level->count; block++) {
			struct best_top top = top_of(tree, i, block);

			level->best[block] = top.best;
			level->ties[block] = top.ties;
		}
	}
}

struct best_top best_tree_top(const struct best_tree *tree)
{
	return top_of(tree, tree->levels, 0);
}

uint32_t best_tree_pick(const struct best_tree *tree, uint32_t index)
{
	struct best_top top = best_tree_top(tree);
	uint32_t at = 0;

	PL_ASSERT(index < top.ties);
	for (uint32_t i = tree->levels; i-- > 0;) {
		const struct best_level *level = &tree->level[i];

		for (at *= BEST_WIDTH;; at++) {
			if (level->best[at] != top.best)
				continue;
			if (index < level->ties[at])
				break;
			index -= level->ties[at];
		}
	}
	for (at *= BEST_WIDTH; tree->total[at] != top.best || index-- > 0;)
		at++;
	return at;
}
