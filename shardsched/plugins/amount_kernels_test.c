/* Each kernel of each kind of processor agrees with whole numbers. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "shardsched/plugins/amount_kernels.h"
#include "store/base/quantity.h"
#include "store/base/rng.h"
#include "tests/harness/t.h"

/* NOLINTBEGIN(bugprone-macro-parentheses): kernels is a name */
#define EACH_LEVEL(kernels)                                                           \
	for (unsigned level = 0; level < AMOUNT_LEVELS; level++)                      \
		for (const struct amount_kernels *kernels = amount_kernels_at(level); \
		     kernels != NULL; kernels = NULL)
/* NOLINTEND(bugprone-macro-parentheses) */

/* As many pairs as a word has. */
struct word {
	int64_t alloc[64];
	int64_t requested[64];
	uint32_t count;
};

static int64_t percent(int64_t part, int64_t of)
{
	return (int64_t)((pl_int128)part * 100 / of);
}

static int64_t free_of(int64_t alloc, int64_t requested)
{
	return alloc == 0 || requested > alloc ? 0 : percent(alloc - requested, alloc);
}

static int64_t used_of(int64_t alloc, int64_t requested)
{
	if (alloc == 0)
		return 0;
	return requested > alloc ? 100 : percent(requested, alloc);
}

static void check(struct word *word)
{
	EACH_LEVEL(kernels)
	{
		static const int64_t none[64];
		struct amount_word in;
		struct amount_means free = {0}, means = {0};
		int32_t used[64];

		T_TRUE(kernels->load64(word->alloc, word->requested, 0, &in) <
		       (uint64_t)AMOUNT_SMALL);
		kernels->weigh_free(&in, 1, &free);
		kernels->weigh_used(&in, 1, &means);
		kernels->percent_used(&in, used);
		for (uint32_t i = 0; i < 64; i++) {
			T_EQ(free.sum[i], free_of(word->alloc[i], word->requested[i]));
			T_EQ(used[i], used_of(word->alloc[i], word->requested[i]));
			T_EQ(means.sum[i], used[i]);
		}
		T_EQ(kernels->load64(none, none, 0, &in), 0);
	}
	word->count = 0;
}

static void add(struct word *word, int64_t alloc, int64_t requested)
{
	if (requested < 0 || requested >= AMOUNT_SMALL)
		return;
	word->alloc[word->count] = alloc;
	word->requested[word->count] = requested;
	if (++word->count == 64)
		check(word);
}

T_CASE(percentages_of_all_small_amounts_are_exact)
{
	struct word word = {0};

	for (int64_t alloc = 0; alloc < 300; alloc++) {
		for (int64_t requested = 0; requested < alloc + 3; requested++)
			add(&word, alloc, requested);
	}
	check(&word);
}

/* Where a percentage begins, and just before, from either side. */
static void borders(struct word *word, int64_t alloc)
{
	for (int64_t whole = 0; whole <= 100; whole++) {
		int64_t part = (int64_t)((pl_int128)alloc * whole / 100);

		for (int64_t by = -1; by <= 2; by++) {
			add(word, alloc, part + by);
			add(word, alloc, alloc - part + by);
		}
	}
}

T_CASE_SECONDS(percentages_at_borders_are_exact, 60)
{
	struct word word = {0};
	struct pl_rng rng;

	pl_rng_init(&rng, t_seed());
	for (int64_t from = 1; from < AMOUNT_SMALL; from *= 2) {
		for (int64_t by = -3; by <= 3; by++) {
			if (from + by > 0)
				borders(&word, from + by);
		}
	}
	for (int64_t by = 1; by < 300; by++)
		borders(&word, AMOUNT_SMALL - by);
	for (int i = 0; i < 3000; i++) {
		uint64_t top = UINT64_C(1) << pl_rng_between(&rng, 1, 43);

		borders(&word, (int64_t)pl_rng_between(&rng, 1, top - 1));
	}
	check(&word);
}

T_CASE_SECONDS(random_percentages_are_exact, 60)
{
	struct word word = {0};
	struct pl_rng rng;

	pl_rng_init(&rng, t_seed());
	for (int i = 0; i < 1000000; i++) {
		uint64_t top = UINT64_C(1) << pl_rng_between(&rng, 1, 43);
		uint64_t alloc = pl_rng_below(&rng, top);

		add(&word, (int64_t)alloc, (int64_t)pl_rng_below(&rng, alloc + 2));
	}
}

T_CASE(large_amounts_are_reported)
{
	int64_t alloc[64] = {0}, used[64] = {0};

	EACH_LEVEL(kernels)
	{
		struct amount_word out;

		alloc[63] = AMOUNT_SMALL;
		T_TRUE(kernels->load64(alloc, used, 0, &out) >= (uint64_t)AMOUNT_SMALL);
		alloc[63] = 5;
		used[7] = INT64_MAX;
		T_TRUE(kernels->load64(alloc, used, INT64_MAX, &out) >=
		       (uint64_t)AMOUNT_SMALL);
		used[7] = AMOUNT_SMALL - 1;
		T_TRUE(kernels->load64(alloc, used, 0, &out) < (uint64_t)AMOUNT_SMALL);
		T_TRUE(kernels->load64(alloc, used, 1, &out) >= (uint64_t)AMOUNT_SMALL);
		used[7] = 0;
	}
}

enum { FIT_WORDS = 3, FIT_SLOTS = FIT_WORDS * 64 };

static void fits_slowly(const struct amount_fits *in, uint64_t *bits)
{
	for (int i = 0; i < FIT_SLOTS; i++) {
		if ((int64_t)in->cpu_alloc[i] - in->cpu_used[i] < in->cpu ||
		    in->memory_alloc[i] - in->memory_used[i] < in->memory)
			bits[i / 64] &= ~(UINT64_C(1) << i % 64);
	}
}

static void check_free(const struct amount_kernels *kernels, const struct amount_fits *in)
{
	uint64_t bits = 0, free = 0;

	for (int i = 0; i < 64; i++) {
		bits |= (uint64_t)(in->memory_alloc[i] >= in->memory) << i;
		free |= (uint64_t)(in->memory_alloc[i] - in->memory_used[i] >= in->memory)
		        << i;
	}
	T_EQ(kernels->mask_at_least(in->memory_alloc, in->memory), bits);
	T_EQ(kernels->free(in->memory_alloc, in->memory_used, in->memory), free);
}

T_CASE(fits_agree_with_integers)
{
	int32_t cpu[FIT_SLOTS], cpu_used[FIT_SLOTS];
	int64_t memory[FIT_SLOTS], memory_used[FIT_SLOTS];
	struct amount_fits in = {cpu, cpu_used, memory, memory_used, 0, 0};
	struct pl_rng rng;

	pl_rng_init(&rng, t_seed());
	for (int round = 0; round < 10000; round++) {
		uint64_t most = round % 2 == 0 ? 4 : INT32_MAX;
		uint64_t from[FIT_WORDS], want[FIT_WORDS], bits[FIT_WORDS];

		for (int i = 0; i < FIT_SLOTS; i++) {
			cpu[i] = (int32_t)pl_rng_between(&rng, 0, most);
			cpu_used[i] = (int32_t)pl_rng_between(&rng, 0, most);
			memory[i] = (int64_t)pl_rng_below(&rng, 5) << 40;
			memory_used[i] = (int64_t)pl_rng_below(&rng, 5) << 40;
		}
		in.cpu = pl_rng_chance(&rng, 1, 4) ? INT32_MIN
		                                   : (int32_t)pl_rng_below(&rng, most);
		in.memory = pl_rng_chance(&rng, 1, 4)
		                    ? INT64_MIN
		                    : (int64_t)pl_rng_below(&rng, 3) << 40;
		for (int i = 0; i < FIT_WORDS; i++) {
			from[i] = pl_rng_next(&rng);
			from[i] |= pl_rng_next(&rng);
		}
		memcpy(want, from, sizeof from);
		fits_slowly(&in, want);
		EACH_LEVEL(kernels)
		{
			memcpy(bits, from, sizeof from);
			kernels->fits(&in, FIT_WORDS, bits);
			T_TRUE(memcmp(bits, want, sizeof want) == 0);
			check_free(kernels, &in);
		}
	}
}

T_CASE(means_of_all_sums_are_exact)
{
	struct pl_rng rng;

	pl_rng_init(&rng, t_seed());
	for (int round = 0; round < 20000; round++) {
		struct amount_means in;
		int64_t score[64];

		for (int i = 0; i < 64; i++) {
			int32_t weights = (int32_t)pl_rng_below(&rng, 12801);
			int32_t whole = (int32_t)pl_rng_between(&rng, 0, 100);
			int32_t by = (int32_t)pl_rng_below(&rng, 2);

			in.weights[i] = weights;
			in.sum[i] = whole * weights - (whole > 0 ? by : 0);
			if (in.sum[i] < 0)
				in.sum[i] = 0;
		}
		EACH_LEVEL(kernels)
		{
			kernels->mean(&in, score);
			for (int i = 0; i < 64; i++)
				T_EQ(score[i],
				     in.weights[i] == 0 ? 0 : in.sum[i] / in.weights[i]);
		}
	}
}

T_CASE(weights_count_where_the_resource_exists)
{
	EACH_LEVEL(kernels)
	{
		int64_t alloc[64], used[64] = {0};
		struct amount_means free = {0}, in_use = {0};
		struct amount_word in;

		for (int i = 0; i < 64; i++)
			alloc[i] = (int64_t)(i % 3) * 2;
		(void)kernels->load64(alloc, used, 1, &in);
		kernels->weigh_free(&in, 7, &free);
		kernels->weigh_used(&in, 9, &in_use);
		for (int i = 0; i < 64; i++) {
			T_EQ(free.weights[i], i % 3 > 0 ? 7 : 0);
			T_EQ(free.sum[i], free_of(alloc[i], 1) * 7);
			T_EQ(in_use.weights[i], i % 3 > 0 ? 9 : 0);
			T_EQ(in_use.sum[i], used_of(alloc[i], 1) * 9);
		}
	}
}

static int64_t balance_of(const int64_t alloc[2], const int64_t requested[2])
{
	volatile double one = (double)requested[0] / (double)alloc[0];
	volatile double two = (double)requested[1] / (double)alloc[1];
	volatile double difference;

	if (alloc[0] == 0 || alloc[1] == 0)
		return 100;
	one = one > 1 ? 1 : one;
	two = two > 1 ? 1 : two;
	difference = fabs((one - two) / 2);
	difference = 1 - difference;
	return (int64_t)(difference * 100);
}

T_CASE_SECONDS(balance_equals_division_bit_by_bit, 60)
{
	struct pl_rng rng;

	pl_rng_init(&rng, t_seed());
	for (int round = 0; round < 20000; round++) {
		int32_t cpu[64], cpu_used[64];
		int64_t memory[64], memory_used[64], score[64];
		uint64_t scale = UINT64_C(1) << pl_rng_between(&rng, 1, 42);

		for (int i = 0; i < 64; i++) {
			cpu[i] = (int32_t)pl_rng_below(&rng, 200);
			cpu_used[i] = (int32_t)pl_rng_below(&rng, 220);
			memory[i] = (int64_t)pl_rng_below(&rng, scale);
			memory_used[i] = (int64_t)pl_rng_below(
				&rng, (uint64_t)memory[i] * 9 / 8 + 1);
		}
		EACH_LEVEL(kernels)
		{
			struct amount_word a, b;

			kernels->load32(cpu, cpu_used, 3, &a);
			(void)kernels->load64(memory, memory_used, 2, &b);
			kernels->balance(&a, &b, score);
			for (int i = 0; i < 64; i++)
				T_EQ(score[i],
				     balance_of((int64_t[2]){cpu[i], memory[i]},
				                (int64_t[2]){cpu_used[i] + 3,
				                             memory_used[i] + 2}));
		}
	}
}

/* -- cpu and memory at once -------------------------------------------------------------- */

enum { PAIR_WORDS = 2, PAIRS = PAIR_WORDS * 64 };

struct pairs {
	int32_t cpu_alloc[PAIRS], cpu_used[PAIRS];
	int64_t memory_alloc[PAIRS], memory_used[PAIRS];
	double cpu_unit[PAIRS], memory_unit[PAIRS];
	struct amount_pair in;
	struct pl_rng rng;
};

static int64_t mean_of(const struct pairs *pairs, int i, int64_t (*of)(int64_t, int64_t))
{
	const struct amount_pair *in = &pairs->in;
	int64_t cpu = of(in->cpu_alloc[i], (int64_t)in->cpu_used[i] + in->cpu);
	int64_t memory = of(in->memory_alloc[i], in->memory_used[i] + in->memory);
	int64_t weights = (in->cpu_alloc[i] > 0 ? in->cpu_weight : 0) +
	                  (in->memory_alloc[i] > 0 ? in->memory_weight : 0);

	return weights == 0
	               ? 0
	               : (cpu * in->cpu_weight + memory * in->memory_weight) / weights;
}

static void check_pairs(struct pairs *pairs)
{
	const struct amount_pair *in = &pairs->in;

	for (int i = 0; i < PAIRS; i++) {
		pairs->cpu_unit[i] =
			in->cpu_alloc[i] == 0 ? 0 : 1 / (double)in->cpu_alloc[i];
		pairs->memory_unit[i] =
			in->memory_alloc[i] == 0 ? 0 : 1 / (double)in->memory_alloc[i];
	}
	EACH_LEVEL(kernels)
	{
		int64_t free[PAIRS], used[PAIRS], balance[PAIRS];

		kernels->mean_free(in, PAIR_WORDS, free);
		kernels->mean_used(in, PAIR_WORDS, used);
		kernels->balance_pair(in, PAIR_WORDS, balance);
		for (int i = 0; i < PAIRS; i++) {
			int64_t cpu = (int64_t)in->cpu_used[i] + in->cpu;
			int64_t memory = in->memory_used[i] + in->memory;

			T_EQ(free[i], mean_of(pairs, i, free_of));
			T_EQ(used[i], mean_of(pairs, i, used_of));
			T_EQ(balance[i], balance_of((int64_t[2]){in->cpu_alloc[i],
			                                         in->memory_alloc[i]},
			                            (int64_t[2]){cpu, memory}));
		}
	}
}

static void pairs_init(struct pairs *pairs)
{
	pl_rng_init(&pairs->rng, t_seed());
	pairs->in = (struct amount_pair){
		.cpu_alloc = pairs->cpu_alloc,
		.cpu_used = pairs->cpu_used,
		.cpu_unit = pairs->cpu_unit,
		.memory_alloc = pairs->memory_alloc,
		.memory_used = pairs->memory_used,
		.memory_unit = pairs->memory_unit,
	};
}

/* A random use including the pod: anything, or where a percentage begins, or just
 * before. */
static int64_t asked_by_chance(struct pl_rng *rng, int64_t alloc)
{
	int64_t whole = (int64_t)pl_rng_between(rng, 0, 100);

	if (pl_rng_chance(rng, 1, 3))
		return (int64_t)pl_rng_below(rng, (uint64_t)alloc / 8 * 9 + 2);
	return (int64_t)((pl_int128)alloc * whole / 100) + (int64_t)pl_rng_below(rng, 4) -
	       1;
}

static int64_t up_to_bits(struct pl_rng *rng, unsigned most)
{
	uint64_t bits = pl_rng_between(rng, 0, most);

	return (int64_t)pl_rng_below(rng, UINT64_C(1) << bits);
}

static int64_t without(int64_t requested, int64_t pod)
{
	int64_t used = requested - pod;

	return used < 0 ? 0 : used;
}

static void pairs_by_chance(struct pairs *pairs)
{
	struct pl_rng *rng = &pairs->rng;
	bool alike = pl_rng_chance(rng, 1, 2);

	pairs->in.cpu = (int32_t)up_to_bits(rng, pl_rng_chance(rng, 1, 8) ? 31 : 9);
	pairs->in.memory = up_to_bits(rng, pl_rng_chance(rng, 1, 8) ? 43 : 30);
	pairs->in.cpu_weight = (int32_t)pl_rng_between(rng, 1, 100);
	pairs->in.memory_weight =
		alike ? pairs->in.cpu_weight : (int32_t)pl_rng_between(rng, 1, 100);
	for (int i = 0; i < PAIRS; i++) {
		int64_t cpu = up_to_bits(rng, 31), memory = up_to_bits(rng, 43);
		int64_t cpu_asked, memory_asked;

		cpu -= cpu == INT32_MAX;
		cpu_asked = asked_by_chance(rng, cpu);
		memory_asked = asked_by_chance(rng, memory);
		cpu_asked = without(cpu_asked, pairs->in.cpu);
		pairs->cpu_alloc[i] = (int32_t)cpu;
		pairs->cpu_used[i] =
			(int32_t)(cpu_asked < INT32_MAX ? cpu_asked : INT32_MAX - 1);
		pairs->memory_alloc[i] = memory;
		pairs->memory_used[i] = without(memory_asked, pairs->in.memory);
		/* Over-committed beyond the precision of doubles. */
		if (pl_rng_chance(rng, 1, 40))
			pairs->memory_used[i] = INT64_MAX / 2 - 1;
		if (pl_rng_chance(rng, 1, 40))
			pairs->cpu_used[i] = INT32_MAX - 1;
	}
}

T_CASE_SECONDS(pairs_equal_single_resources, 60)
{
	static struct pairs pairs;

	pairs_init(&pairs);
	for (int round = 0; round < 6000; round++) {
		pairs_by_chance(&pairs);
		check_pairs(&pairs);
	}
}

/* All amounts of small nodes, and the largest possible ones. */
T_CASE_SECONDS(pairs_at_their_limits_are_exact, 60)
{
	static struct pairs pairs;
	int at = 0;

	pairs_init(&pairs);
	pairs.in.cpu_weight = pairs.in.memory_weight = 1;
	for (int64_t by = 0; by < 40; by++) {
		for (int64_t used = 0; used < 130; used++) {
			int64_t alloc = by < 20 ? by : AMOUNT_SMALL - 40 + by;
			int32_t there = by < 20 ? (int32_t)by : INT32_MAX - 40;
			int64_t cpu = used * there / 100;

			pairs.cpu_alloc[at] = there;
			pairs.cpu_used[at] =
				(int32_t)(cpu < INT32_MAX ? cpu : INT32_MAX - 1);
			pairs.memory_alloc[at] = alloc;
			pairs.memory_used[at] = alloc / 100 * used + used % 3;
			at = (at + 1) % PAIRS;
			if (at == 0)
				check_pairs(&pairs);
		}
	}
}

T_CASE(processor_has_kernels)
{
	T_TRUE(amount_kernels_at(0) != NULL);
	T_TRUE(amount_kernels() != NULL);
	printf("# %s\n", amount_kernels()->name);
}
