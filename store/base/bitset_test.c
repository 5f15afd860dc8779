#include "store/base/bitset.h"
#include "store/base/fault.h"
#include "store/base/rng.h"
#include "tests/harness/t.h"

T_CASE(bits_at_word_edges_are_kept_apart)
{
	static const size_t sizes[] = {0, 1, 63, 64, 65, 127, 128, 200};
	uint64_t words[4];

	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		size_t bits = sizes[i];
		struct pl_bitset set = pl_bitset_init(words, bits);

		T_TRUE(pl_bitset_empty(set));
		T_EQ(pl_bitset_next(set, 0), bits);
		pl_bitset_fill(set);
		T_EQ(pl_bitset_count(set), bits);
		if (bits == 0)
			continue;
		T_EQ(pl_bitset_next(set, bits - 1), bits - 1);
		T_EQ(pl_bitset_next(set, bits), bits);
		pl_bitset_clear(set);
		pl_bitset_add(set, bits - 1);
		T_TRUE(pl_bitset_has(set, bits - 1) && !pl_bitset_empty(set));
		T_EQ(pl_bitset_next(set, 0), bits - 1);
		pl_bitset_del(set, bits - 1);
		T_TRUE(pl_bitset_empty(set));
	}
}

enum { BITS = 331 };

static void any(struct pl_rng *rng, struct pl_bitset set, bool *model)
{
	pl_bitset_clear(set);
	for (size_t i = 0; i < BITS; i++) {
		model[i] = pl_rng_chance(rng, 1, 3);
		if (model[i])
			pl_bitset_add(set, i);
	}
}

static void same(struct pl_bitset set, const bool *model)
{
	size_t count = 0, next = 0;

	for (size_t i = 0; i < BITS; i++) {
		T_TRUE(pl_bitset_has(set, i) == model[i]);
		count += model[i];
	}
	T_EQ(pl_bitset_count(set), count);
	PL_BITSET_EACH (bit, set) {
		for (; next < bit; next++)
			T_TRUE(!model[next]);
		T_TRUE(model[next++]);
	}
	T_EQ(set.word[BITS / 64] >> BITS % 64, 0);
}

T_CASE(bitset_agrees_with_a_model)
{
	uint64_t words[3][6];
	bool a[BITS], b[BITS], want[BITS];
	struct pl_bitset x, y, z;
	struct pl_rng rng;

	T_EQ(pl_bitset_words(BITS), 6);
	x = pl_bitset_init(words[0], BITS);
	y = pl_bitset_init(words[1], BITS);
	z = pl_bitset_init(words[2], BITS);
	pl_rng_init(&rng, t_seed());
	for (int round = 0; round < 100; round++) {
		any(&rng, x, a);
		any(&rng, y, b);
		same(x, a);
		for (int op = 0; op < 3; op++) {
			pl_bitset_copy(z, x);
			T_TRUE(pl_bitset_eq(z, x) && !pl_bitset_eq(z, y));
			for (size_t i = 0; i < BITS; i++)
				want[i] = op == 0   ? a[i] && b[i]
				          : op == 1 ? a[i] || b[i]
				                    : a[i] && !b[i];
			if (op == 0)
				pl_bitset_and(z, y);
			else if (op == 1)
				pl_bitset_or(z, y);
			else
				pl_bitset_and_not(z, y);
			same(z, want);
		}
	}
}

T_CASE(words_come_from_an_arena)
{
	struct pl_arena arena;
	struct pl_bitset set = {0};

	pl_arena_init(&arena, 0, 0);
	pl_fault_arm(PL_FAULT_ALLOC, 1);
	T_CODE(pl_bitset_make(&arena, 1000, &set), PL_NOMEM, NULL);
	T_TRUE(set.word == NULL);
	T_OK(pl_bitset_make(&arena, 1000, &set), NULL);
	T_TRUE(set.bits == 1000 && pl_bitset_empty(set));
	pl_arena_done(&arena);
}
