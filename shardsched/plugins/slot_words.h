/* Slot words are sets of 64 slots, one bit each, made from columns. */
#ifndef SHARDSCHED_PLUGINS_SLOT_WORDS_H
#define SHARDSCHED_PLUGINS_SLOT_WORDS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
	/* a word with so few bits is processed bit by bit */
	SLOT_WORDS_SPARSE = 8,
};

static inline bool slot_words_sparse(uint64_t bits)
{
	return __builtin_popcountll(bits) <= SLOT_WORDS_SPARSE;
}

#define SLOT_WORDS_EACH(bit, bits)                                                     \
	for (uint64_t left_##bit = (bits), bit;                                        \
	     left_##bit != 0 && ((bit) = (uint64_t)__builtin_ctzll(left_##bit), true); \
	     left_##bit &= left_##bit - 1)

/* From 64 bytes that are 0 or 1: the product brings bit 8 * i to bit 56 + i. */
static inline uint64_t slot_words_pack(const uint8_t hit[64])
{
	uint64_t out = 0;

	for (unsigned i = 0; i < 8; i++) {
		uint64_t eight;

		memcpy(&eight, hit + (size_t)i * 8, sizeof eight);
		if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
			eight = __builtin_bswap64(eight);
		out |= (eight * UINT64_C(0x0102040810204080) >> 56) << i * 8;
	}
	return out;
}

/* The bits of the numbers that are equal to to. */
static inline uint64_t slot_words_equal(const uint32_t *number, uint32_t to)
{
	uint8_t hit[64];

	for (unsigned i = 0; i < 64; i++)
		hit[i] = number[i] == to;
	return slot_words_pack(hit);
}

#endif
