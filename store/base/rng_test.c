#include "store/base/rng.h"
#include "tests/harness/t.h"

/* Seeds are written into bug reports, so their sequences must never change. The values
 * are those of the published xoshiro256** and splitmix64. */
T_CASE(a_seed_gives_the_same_numbers_for_ever)
{
	struct pl_rng rng;

	pl_rng_init(&rng, 0);
	T_TRUE(rng.state[0] == UINT64_C(0xe220a8397b1dcdaf));
	T_TRUE(rng.state[1] == UINT64_C(0x6e789e6aa1b965f4));
	rng = (struct pl_rng){{1, 2, 3, 4}};
	T_TRUE(pl_rng_next(&rng) == 11520);
	T_TRUE(pl_rng_next(&rng) == 0);
	T_TRUE(pl_rng_next(&rng) == 1509978240);
	T_TRUE(pl_rng_next(&rng) == UINT64_C(1215971899390074240));
}

T_CASE(bounds_hold_and_are_reached)
{
	struct pl_rng rng;
	unsigned seen[7] = {0};

	pl_rng_init(&rng, t_seed());
	for (int i = 0; i < 70000; i++)
		seen[pl_rng_below(&rng, 7)]++;
	for (int i = 0; i < 7; i++)
		T_TRUE(seen[i] > 9000 && seen[i] < 11000);
	for (int i = 0; i < 1000; i++) {
		uint64_t between = pl_rng_between(&rng, 5, 8);

		T_TRUE(between >= 5 && between <= 8);
		T_EQ(pl_rng_below(&rng, 1), 0);
		T_EQ(pl_rng_between(&rng, 9, 9), 9);
		T_TRUE(!pl_rng_chance(&rng, 0, 3) && pl_rng_chance(&rng, 3, 3));
	}
	(void)pl_rng_between(&rng, 0, UINT64_MAX);
}

T_CASE(a_copy_forks_the_sequence)
{
	struct pl_rng one, two;

	pl_rng_init(&one, 5);
	(void)pl_rng_next(&one);
	two = one;
	T_TRUE(pl_rng_next(&one) == pl_rng_next(&two));
}

T_CASE(random_seeds_differ)
{
	T_TRUE(pl_rng_seed_random() != pl_rng_seed_random());
}
