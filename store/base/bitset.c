#include "store/base/bitset.h"

struct pl_bitset pl_bitset_init(uint64_t *word, size_t bits)
{
	struct pl_bitset set = {.word = word, .bits = bits};

	pl_bitset_clear(set);
	return set;
}

enum pl_code pl_bitset_make(struct pl_arena *arena, size_t bits, struct pl_bitset *out)
{
	uint64_t *word = pl_arena_alloc(arena, pl_bitset_words(bits) * sizeof *word);

	if (word == NULL)
		return PL_NOMEM;
	*out = pl_bitset_init(word, bits);
	return PL_OK;
}

void pl_bitset_clear(struct pl_bitset set)
{
	for (size_t i = 0; i < pl_bitset_words(set.bits); i++)
		set.word[i] = 0;
}

void pl_bitset_fill(struct pl_bitset set)
{
	for (size_t i = 0; i < pl_bitset_words(set.bits); i++)
		set.word[i] = UINT64_MAX;
	if (set.bits % 64 != 0)
		set.word[set.bits / 64] = (UINT64_C(1) << set.bits % 64) - 1;
}

size_t pl_bitset_count(struct pl_bitset set)
{
	size_t count = 0;

	for (size_t i = 0; i < pl_bitset_words(set.bits); i++)
		count += (size_t)__builtin_popcountll(set.word[i]);
	return count;
}

bool pl_bitset_empty(struct pl_bitset set)
{
	uint64_t any = 0;

	for (size_t i = 0; i < pl_bitset_words(set.bits); i++)
		any |= set.word[i];
	return any == 0;
}

bool pl_bitset_eq(struct pl_bitset a, struct pl_bitset b)
{
	uint64_t differ = 0;

	PL_ASSERT(a.bits == b.bits);
	for (size_t i = 0; i < pl_bitset_words(a.bits); i++)
		differ |= a.word[i] ^ b.word[i];
	return differ == 0;
}

void pl_bitset_copy(struct pl_bitset to, struct pl_bitset from)
{
	PL_ASSERT(to.bits == from.bits);
	for (size_t i = 0; i < pl_bitset_words(to.bits); i++)
		to.word[i] = from.word[i];
}

void pl_bitset_and(struct pl_bitset to, struct pl_bitset with)
{
	PL_ASSERT(to.bits == with.bits);
	for (size_t i = 0; i < pl_bitset_words(to.bits); i++)
		to.word[i] &= with.word[i];
}

void pl_bitset_or(struct pl_bitset to, struct pl_bitset with)
{
	PL_ASSERT(to.bits == with.bits);
	for (size_t i = 0; i < pl_bitset_words(to.bits); i++)
		to.word[i] |= with.word[i];
}

void pl_bitset_and_not(struct pl_bitset to, struct pl_bitset without)
{
	PL_ASSERT(to.bits == without.bits);
	for (size_t i = 0; i < pl_bitset_words(to.bits); i++)
		to.word[i] &= ~without.word[i];
}

size_t pl_bitset_next(struct pl_bitset set, size_t from)
{
	size_t at = from / 64;
	uint64_t word;

	if (from >= set.bits)
		return set.bits;
	word = set.word[at] & UINT64_MAX << from % 64;
	while (word == 0) {
		if (++at == pl_bitset_words(set.bits))
			return set.bits;
		word = set.word[at];
	}
	return at * 64 + (size_t)__builtin_ctzll(word);
}
