/*
 * Column operations are all that a cycle does to columns, 64 slots (one word of bits) at
 * a time. They are written so that the compiler vectorises them, once for any processor
 * and once for each wider vector unit.
 *
 * Where only some bits of a word are set, an operation ignores the values of the other
 * slots; where an operation writes a column, it writes all 64. Totals are below 2^30 and
 * never negative.
 */
#ifndef SHARDSCHED_FRAMEWORK_COLUMN_H
#define SHARDSCHED_FRAMEWORK_COLUMN_H

#include <stdbool.h>
#include <stdint.h>

/* offset + weight * (100 * raw / max), for 0 <= raw <= max and max > 0. */
struct column_scale {
	uint32_t max;
	uint32_t factor; /* 100 / max, shifted by COLUMN_SHIFT, rounded up */
	int32_t weight;
	int32_t offset;
};

/* raw * factor >> shift is exact while max is below COLUMN_EXACT. */
enum { COLUMN_SHIFT = 24, COLUMN_EXACT = 4096 };

struct column_ops {
	/* Sets gone to the bits of before that are not in after. Returns how many. */
	uint32_t (*drop)(uint64_t *gone, const uint64_t *before, const uint64_t *after,
	                 uint32_t words);
	uint32_t (*count)(const uint64_t *bits, uint32_t words);
	/* to = from + weight * score; from may be equal to to, or NULL for 0. Returns the
	 * fold. */
	uint64_t (*sum)(int32_t *to, const int32_t *from, const int64_t *score,
	                const uint64_t *bits, uint32_t words, int32_t weight);
	/* The OR of the scores of the set bits: 0 when all of them are 0. Its highest bit
	 * is the highest one of any score; bit 63 is clear when none is negative. */
	uint64_t (*fold)(const int64_t *score, const uint64_t *bits, uint32_t words);
	/* to = score, which fits in 32 bits. Returns the highest score of the set bits;
	 * 0: no bit is set. */
	int32_t (*narrow)(int32_t *to, const int64_t *score, const uint64_t *bits,
	                  uint32_t words);
	int32_t (*max)(const int32_t *column, const uint64_t *bits, uint32_t words);
	/* How many of the set bits have that value. */
	uint32_t (*equal)(const int32_t *column, const uint64_t *bits, uint32_t words,
	                  int32_t value);
	/* Adds to each total what the raw score is worth under the scale. */
	void (*scale)(int32_t *to, const int32_t *raw, uint32_t words,
	              const struct column_scale *scale);
};

/* down: the score is 100 less the share. */
struct column_scale column_scale(int32_t max, int32_t weight, bool down);

/* The fastest operations that this processor supports. */
const struct column_ops *column_ops(void);
enum { COLUMN_VARIANTS = 3 };
/* All variants that this processor supports, the fastest first; returns how many. Tests
 * compare them. */
unsigned column_ops_all(const struct column_ops *out[COLUMN_VARIANTS]);

#endif
