#include "shardsched/framework/column.h"
#include "shardsched/framework/local_stage.h"
#include "store/base/rng.h"
#include "tests/harness/t.h"

enum { WORDS = 9, SLOTS = WORDS * 64 };

static struct pl_rng rng;
static uint64_t bits[WORDS], other[WORDS], gone[WORDS];
static int64_t score[SLOTS];
static int32_t from[SLOTS], to[SLOTS], raw[SLOTS];

static bool has(const uint64_t *set, unsigned slot)
{
	return (set[slot / 64] >> slot % 64 & 1) != 0;
}

/* Words of all kinds: full, empty, with few bits, with random bits. */
static uint64_t word(void)
{
	switch (pl_rng_below(&rng, 4)) {
	case 0:
		return UINT64_MAX;
	case 1:
		return 0;
	case 2:
		return UINT64_C(1) << pl_rng_below(&rng, 64);
	default:
		return pl_rng_next(&rng);
	}
}

/* Values at clear bits are random. */
static void fill(int64_t most)
{
	for (unsigned i = 0; i < WORDS; i++) {
		bits[i] = word();
		other[i] = bits[i] & word();
	}
	for (unsigned i = 0; i < SLOTS; i++) {
		bool meant = has(bits, i);
		uint64_t any = pl_rng_next(&rng);

		score[i] = meant ? (int64_t)pl_rng_below(&rng, (uint64_t)most + 1)
		                 : (int64_t)any;
		raw[i] = meant ? (int32_t)score[i] : (int32_t)(uint32_t)any;
		from[i] = meant ? (int32_t)pl_rng_below(&rng, 1 << 20)
		                : (int32_t)(uint32_t)(any >> 32);
	}
}

static void check_sets(const struct column_ops *ops)
{
	uint32_t count = 0;

	for (unsigned i = 0; i < SLOTS; i++)
		count += has(bits, i) && !has(other, i);
	T_EQ(ops->drop(gone, bits, other, WORDS), count);
	for (unsigned i = 0; i < WORDS; i++)
		T_EQ(gone[i], bits[i] & ~other[i]);
	T_EQ(ops->count(gone, WORDS), count);
}

static uint64_t fold(void)
{
	uint64_t all = 0;

	for (unsigned i = 0; i < SLOTS; i++)
		all |= has(bits, i) ? (uint64_t)score[i] : 0;
	return all;
}

static void check_sum(const struct column_ops *ops, int32_t weight)
{
	T_TRUE(ops->sum(to, from, score, bits, WORDS, weight) == fold());
	for (unsigned i = 0; i < SLOTS; i++)
		T_TRUE(!has(bits, i) || to[i] == from[i] + score[i] * weight);
	memcpy(to, from, sizeof to);
	T_TRUE(ops->sum(to, to, score, bits, WORDS, weight) == fold());
	for (unsigned i = 0; i < SLOTS; i++)
		T_TRUE(!has(bits, i) || to[i] == from[i] + score[i] * weight);
	T_TRUE(ops->sum(to, NULL, score, bits, WORDS, weight) == fold());
	for (unsigned i = 0; i < SLOTS; i++)
		T_TRUE(!has(bits, i) || to[i] == score[i] * weight);
}

/* One score is out of range; values at clear bits do not matter. */
static void check_fold(const struct column_ops *ops)
{
	unsigned one = (unsigned)pl_rng_below(&rng, SLOTS);

	T_TRUE(ops->fold(score, bits, WORDS) == fold());
	score[one] = INT64_MIN | 1;
	T_TRUE(ops->fold(score, bits, WORDS) == fold());
	T_TRUE(ops->sum(to, from, score, bits, WORDS, 1) == fold());
	T_EQ(fold() >> 63, has(bits, one));
}

static int32_t check_max(const struct column_ops *ops)
{
	int32_t most = 0;
	uint32_t count = 0;

	for (unsigned i = 0; i < SLOTS; i++)
		if (has(bits, i) && raw[i] > most)
			most = raw[i];
	for (unsigned i = 0; i < SLOTS; i++)
		count += has(bits, i) && raw[i] == most;
	T_EQ(ops->max(raw, bits, WORDS), most);
	T_EQ(ops->equal(raw, bits, WORDS, most), count);
	memset(to, 0, sizeof to);
	T_EQ(ops->narrow(to, score, bits, WORDS), most);
	for (unsigned i = 0; i < SLOTS; i++)
		T_TRUE(!has(bits, i) || to[i] == raw[i]);
	return most;
}

static void check_scale(const struct column_ops *ops, int32_t most, bool down)
{
	const struct stage_by_max by_max = {.down = down, .weight = 7};
	struct column_scale scale = column_scale(most, 7, down);

	memcpy(to, from, sizeof to);
	ops->scale(to, raw, WORDS, &scale);
	for (unsigned i = 0; i < SLOTS; i++)
		T_TRUE(!has(bits, i) ||
		       to[i] == from[i] + stage_weigh(&by_max, raw[i], most));
	scale = column_scale(most, -7, down);
	ops->scale(to, raw, WORDS, &scale);
	for (unsigned i = 0; i < SLOTS; i++)
		T_TRUE(!has(bits, i) || to[i] == from[i]);
}

static void check_all(const struct column_ops *ops)
{
	static const int64_t mosts[] = {0, 1, 7, 100, 4095, 4096, 100000, INT32_MAX};

	pl_rng_init(&rng, t_seed());
	for (unsigned round = 0; round < 400; round++) {
		int32_t most = 0;

		fill(100);
		check_sets(ops);
		check_sum(ops, 1);
		check_sum(ops, 100000);
		fill(mosts[round % 8]);
		most = check_max(ops);
		check_fold(ops);
		if (most != 0) {
			check_scale(ops, most, false);
			check_scale(ops, most, true);
		}
	}
}

T_CASE(all_variants_agree)
{
	const struct column_ops *all[COLUMN_VARIANTS];
	unsigned count = column_ops_all(all);

	T_TRUE(count > 0 && all[0] == column_ops());
	for (unsigned i = 0; i < count; i++)
		check_all(all[i]);
}

T_CASE(shares_of_small_maxima_are_exact)
{
	const struct stage_by_max by_max = {.weight = 1};

	for (int32_t most = 1; most < COLUMN_EXACT; most++) {
		struct column_scale scale = column_scale(most, 1, false);

		for (int32_t value = 0; value <= most; value++) {
			uint64_t share = (uint64_t)value * scale.factor >> COLUMN_SHIFT;

			if (share != (uint64_t)stage_weigh(&by_max, value, most))
				T_EQ(share, stage_weigh(&by_max, value, most));
		}
	}
}

T_CASE(picks_are_uniform_and_in_range)
{
	const uint64_t where = UINT64_C(1) << 32;

	T_EQ(stage_pick(0, 5), 0);
	T_EQ(stage_pick(UINT64_MAX - UINT32_MAX, 5), 4);
	T_EQ(stage_pick(UINT64_MAX, 5), 3); /* four on from the last one */
	T_EQ(stage_pick(UINT64_MAX, UINT32_MAX), STAGE_NEAR - 2);
	T_EQ(stage_pick(UINT64_C(1) << 63, 2), 1);
	T_EQ(stage_pick(UINT64_MAX, 1), 0);
	for (uint32_t count = 1; count < 300; count++) {
		uint32_t seen[300] = {0};

		for (uint64_t high = 0; high < 64; high++)
			for (uint64_t low = 0; low < 64; low++)
				seen[stage_pick(high * (where / 64) * where +
				                        low * (where / 64),
				                count)]++;
		for (uint32_t i = 0; i < count; i++)
			T_TRUE(seen[i] > 0 && seen[i] <= 4096 / count + 70);
	}
}

T_CASE(draws_with_equal_high_halves_pick_neighbours)
{
	const uint64_t high = UINT64_C(0x80000000) << 32;

	for (uint64_t low = 0; low <= UINT32_MAX; low += 1 << 20) {
		T_TRUE(stage_pick(high + low, 1000) >= 500);
		T_TRUE(stage_pick(high + low, 1000) < 500 + STAGE_NEAR);
	}
	T_EQ(stage_pick(high, 1000), 500);
	T_EQ(stage_pick(high + UINT32_MAX, 1000), 500 + STAGE_NEAR - 1);
}
