/*
 * A histogram as a plain value, for code that counts often: one bucket to a power of two,
 * so counting is a bit scan and three additions, without a search, atomics or doubles.
 * The unit is the owner's (microseconds, pods, ...); metric_fold() knows it.
 */
#ifndef STORE_METRICS_HISTOGRAM_H
#define STORE_METRICS_HISTOGRAM_H

#include <stdint.h>

enum { HISTOGRAM_BUCKETS = 40 }; /* the last one also takes what is larger */

struct histogram {
	uint64_t count, sum;
	/* [0]: zeros; [i]: values from 2^(i-1) to 2^i - 1 */
	uint64_t bucket[HISTOGRAM_BUCKETS];
};

static inline void histogram_add(struct histogram *histogram, uint64_t value)
{
	unsigned bits = value == 0 ? 0 : 64 - (unsigned)__builtin_clzll(value);

	histogram->count++;
	histogram->sum += value;
	histogram->bucket[bits < HISTOGRAM_BUCKETS ? bits : HISTOGRAM_BUCKETS - 1]++;
}

/* The largest value that the bucket counts, but for the last one. */
static inline uint64_t histogram_last(unsigned bucket)
{
	return (UINT64_C(1) << bucket) - 1;
}

#endif
