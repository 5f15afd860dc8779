/*
 * A set of small numbers as bits, such as the candidates among a shard's nodes.
 *
 * A bitset is a view of words that the caller owns (an arena, a column, a frame): it is
 * copied freely and allocates nothing. Invariant: bits behind the last one are 0. An
 * operation on two sets needs sets of one size.
 */
#ifndef STORE_BASE_BITSET_H
#define STORE_BASE_BITSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/base/arena.h"
#include "store/base/err.h"

struct pl_bitset {
	uint64_t *word;
	size_t bits;
};

static inline size_t pl_bitset_words(size_t bits)
{
	return bits / 64 + (bits % 64 != 0);
}

/* Empties the set: clears the pl_bitset_words(bits) words at word. */
struct pl_bitset pl_bitset_init(uint64_t *word, size_t bits);

/* Takes the words from the arena. PL_NOMEM: the arena is full. */
PL_NODISCARD enum pl_code pl_bitset_make(struct pl_arena *arena, size_t bits,
                                         struct pl_bitset *out);

static inline bool pl_bitset_has(struct pl_bitset set, size_t bit)
{
	PL_ASSERT(bit < set.bits);
	return (set.word[bit / 64] >> bit % 64 & 1) != 0;
}

static inline void pl_bitset_add(struct pl_bitset set, size_t bit)
{
	PL_ASSERT(bit < set.bits);
	set.word[bit / 64] |= UINT64_C(1) << bit % 64;
}

static inline void pl_bitset_del(struct pl_bitset set, size_t bit)
{
	PL_ASSERT(bit < set.bits);
	set.word[bit / 64] &= ~(UINT64_C(1) << bit % 64);
}

static inline void pl_bitset_put(struct pl_bitset set, size_t bit, bool there)
{
	if (there)
		pl_bitset_add(set, bit);
	else
		pl_bitset_del(set, bit);
}

void pl_bitset_clear(struct pl_bitset set);
void pl_bitset_fill(struct pl_bitset set);

size_t pl_bitset_count(struct pl_bitset set);
bool pl_bitset_empty(struct pl_bitset set);
bool pl_bitset_eq(struct pl_bitset a, struct pl_bitset b);

/* The first set receives the result. */
void pl_bitset_copy(struct pl_bitset to, struct pl_bitset from);
void pl_bitset_and(struct pl_bitset to, struct pl_bitset with);
void pl_bitset_or(struct pl_bitset to, struct pl_bitset with);
void pl_bitset_and_not(struct pl_bitset to, struct pl_bitset without);

/* Gives the first bit at or behind from that is set, or set.bits if no bit is. */
size_t pl_bitset_next(struct pl_bitset set, size_t from);

#define PL_BITSET_EACH(bit, set)                                      \
	for (size_t bit = pl_bitset_next(set, 0); (bit) < (set).bits; \
	     (bit) = pl_bitset_next(set, (bit) + 1))

#endif
