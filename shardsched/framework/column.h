/*
 * What a cycle does to columns, a word of 64 slots at a time, and nothing else: written
 * so that the compiler makes vectors of it, once for any machine and once for those that
 * have wider ones.
 *
 * Where only some bits of a word are set, what stands in its other places may be
 * anything and is not looked at; where a column is written, all 64 are. Totals are below
 * 2^30 and never negative.
 */
#ifndef SHARDSCHED_FRAMEWORK_COLUMN_H
#define SHARDSCHED_FRAMEWORK_COLUMN_H

#include <stdbool.h>
#include <stdint.h>

/* offset + weight * (100 * raw / max), for 0 <= raw <= max. max > 0. */
struct column_scale {
	uint32_t max;
	uint32_t factor; /* 100 / max, shifted by COLUMN_SHIFT, rounded up */
	int32_t weight;
	int32_t offset;
};

/* raw * factor >> shift is exact while max is below COLUMN_EXACT. */
enum { COLUMN_SHIFT = 24, COLUMN_EXACT = 4096 };

struct column_ops {
	/* gone: in before and not in after. Gives how many. */
	uint32_t (*drop)(uint64_t *gone, const uint64_t *before, const uint64_t *after,
	                 uint32_t words);
	uint32_t (*count)(const uint64_t *bits, uint32_t words);
	/* to = from + weight * score; from may be to. NULL: 0. Gives the fold. */
	uint64_t (*sum)(int32_t *to, const int32_t *from, const int64_t *score,
	                const uint64_t *bits, uint32_t words, int32_t weight);
	/* All bits of the scores together: 0 when all are 0, and no higher bit than the
	 * highest of them has, nor bit 63 when none is negative. */
	uint64_t (*fold)(const int64_t *score, const uint64_t *bits, uint32_t words);
	/* to = score, which fits. Gives the highest of the bits; 0: there is none. */
	int32_t (*narrow)(int32_t *to, const int64_t *score, const uint64_t *bits,
	                  uint32_t words);
	int32_t (*max)(const int32_t *column, const uint64_t *bits, uint32_t words);
	/* How many of the bits have that value. */
	uint32_t (*equal)(const int32_t *column, const uint64_t *bits, uint32_t words,
	                  int32_t value);
	/* to += what raw is worth */
	void (*scale)(int32_t *to, const int32_t *raw, uint32_t words,
	              const struct column_scale *scale);
};

/* down: what is counted is 100 less the share. */
struct column_scale column_scale(int32_t max, int32_t weight, bool down);

/* Those that are best on this machine. */
const struct column_ops *column_ops(void);
enum { COLUMN_VARIANTS = 3 };
/* All that it has, the best first; gives how many. For tests to compare. */
unsigned column_ops_all(const struct column_ops *out[COLUMN_VARIANTS]);

#endif
