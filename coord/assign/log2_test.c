#include <math.h>

#include "coord/assign/log2.h"
#include "store/base/rng.h"
#include "tests/harness/t.h"

static double real(uint64_t hash)
{
	return -log2((double)hash / 0x1p64) * (double)(UINT64_C(1) << ASSIGN_LOG_BITS);
}

static void check(uint64_t hash)
{
	double want = real(hash), unit = want * 0x1p-50; /* the precision of a double */
	uint64_t got = assign_log2(hash);

	T_TRUE((double)got >= want - unit - 0x1p-13);
	T_TRUE((double)got <= want + unit + 2);
	T_TRUE(assign_log2_least(hash) <= got);
}

/* libm is good to a few units in the last place of a double. */
T_CASE(agrees_with_libm)
{
	struct pl_rng rng;

	pl_rng_init(&rng, t_seed());
	for (unsigned i = 0; i < 200000; i++)
		check(pl_rng_next(&rng) >> pl_rng_below(&rng, 63) | 1);
}

/* Where 1 - x is small, -log2 is about x/ln(2), which a double can not represent. */
T_CASE(near_one)
{
	for (unsigned shift = 0; shift < 64; shift++) {
		uint64_t rest = UINT64_C(1) << shift, hash = 0 - rest;
		double want = -log1p(-(double)rest / 0x1p64) / log(2) * 0x1p38;

		T_NEAR((double)assign_log2(hash), want, 2);
		T_TRUE((double)assign_log2(hash) >= want * (1 - 0x1p-40));
		T_TRUE(assign_log2_least(hash) <= assign_log2(hash));
	}
}

T_CASE(smallest_and_largest_hash)
{
	T_EQ(assign_log2(0), INT64_C(64) << ASSIGN_LOG_BITS);
	T_EQ(assign_log2(1), INT64_C(64) << ASSIGN_LOG_BITS);
	T_EQ(assign_log2(UINT64_C(1) << 63), INT64_C(1) << ASSIGN_LOG_BITS);
	T_EQ(assign_log2(UINT64_MAX), 1);
	T_TRUE(assign_log2_least(0) <= assign_log2(0));
}

/* A greater hash never has a greater logarithm. */
T_CASE(a_greater_hash_has_no_greater_logarithm)
{
	struct pl_rng rng;

	pl_rng_init(&rng, t_seed());
	for (unsigned i = 0; i < 100000; i++) {
		uint64_t hash = pl_rng_next(&rng);
		uint64_t step = pl_rng_next(&rng) >> pl_rng_between(&rng, 1, 63);

		if (hash > UINT64_MAX - step)
			continue;
		T_TRUE(assign_log2(hash + step) <= assign_log2(hash));
	}
}

/* Mainly close to the value, where every digit counts. */
T_CASE(at_most_agrees)
{
	struct pl_rng rng;

	pl_rng_init(&rng, t_seed());
	for (unsigned i = 0; i < 100000; i++) {
		uint64_t hash = pl_rng_next(&rng) >> pl_rng_below(&rng, 64);
		uint64_t log = assign_log2(hash);
		uint64_t far = pl_rng_next(&rng) >> pl_rng_between(&rng, 18, 63);

		T_TRUE(assign_log2_at_most(hash, log));
		T_TRUE(assign_log2_at_most(hash, log + far));
		T_TRUE(!assign_log2_at_most(hash, log - 1));
		T_TRUE(log <= far || !assign_log2_at_most(hash, log - 1 - far));
	}
	T_TRUE(assign_log2_at_most(UINT64_MAX, 1) && !assign_log2_at_most(UINT64_MAX, 0));
}
