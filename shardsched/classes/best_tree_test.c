#include <stdlib.h>

#include "shardsched/classes/best_tree.h"
#include "store/base/alloc.h"
#include "store/base/rng.h"
#include "tests/harness/t.h"
#include "tests/harness/torture.h"

static struct best_top top_slowly(const int32_t *total, uint32_t count)
{
	struct best_top top = {.best = BEST_NONE};

	for (uint32_t i = 0; i < count; i++) {
		if (total[i] == BEST_NONE)
			continue;
		if (total[i] > top.best)
			top = (struct best_top){.best = total[i]};
		top.ties += total[i] == top.best;
	}
	return top;
}

static uint32_t pick_slowly(const int32_t *total, int32_t best, uint32_t index)
{
	uint32_t at = 0;

	for (; total[at] != best || index-- > 0;)
		at++;
	return at;
}

static void check(const struct best_tree *tree, const int32_t *total, uint32_t count,
                  struct pl_rng *rng)
{
	struct best_top want = top_slowly(total, count), got = best_tree_top(tree);

	T_EQ(got.best, want.best);
	T_EQ(got.ties, want.ties);
	if (want.ties > 0) {
		uint32_t index = (uint32_t)pl_rng_below(rng, want.ties);

		T_EQ(best_tree_pick(tree, index), pick_slowly(total, want.best, index));
		T_EQ(best_tree_pick(tree, want.ties - 1),
		     pick_slowly(total, want.best, want.ties - 1));
	}
}

/* Changes of one total or of many, with few different values. */
static void history(uint32_t count, uint32_t steps, uint64_t seed)
{
	uint32_t capacity = (count + 511) / 512 * 512;
	int32_t *total = pl_malloc(capacity * sizeof(*total));
	struct best_tree tree;
	struct pl_rng rng;

	T_TRUE(total != NULL);
	for (uint32_t i = 0; i < capacity; i++)
		total[i] = BEST_NONE;
	T_TRUE(best_tree_init(&tree, total, capacity));
	pl_rng_init(&rng, seed);
	check(&tree, total, capacity, &rng);
	for (uint32_t step = 0; step < steps; step++) {
		uint32_t at = (uint32_t)pl_rng_below(&rng, count);
		uint64_t values = pl_rng_chance(&rng, 1, 50) ? 1000 : 5;

		total[at] = pl_rng_chance(&rng, 1, 3)
		                    ? BEST_NONE
		                    : (int32_t)pl_rng_below(&rng, values);
		if (step % 97 == 0)
			best_tree_build(&tree);
		else
			best_tree_update(&tree, at / BEST_WIDTH);
		check(&tree, total, capacity, &rng);
	}
	best_tree_done(&tree);
	free(total);
}

T_CASE_SECONDS(best_total_is_right_on_random_histories, 60)
{
	history(1, 300, t_seed());
	history(64, 3000, t_seed());
	history(65, 3000, t_seed());
	history(500, 3000, t_seed());
	history(5000, 3000, t_seed());
	history(70000, 200, t_seed());
	history(300000, 30, t_seed());
}

static enum pl_code make(void)
{
	int32_t total[512] = {0};
	struct best_tree tree;

	if (!best_tree_init(&tree, total, 512))
		return PL_NOMEM;
	best_tree_done(&tree);
	return PL_OK;
}

T_CASE(no_memory)
{
	t_torture(make, false);
}
