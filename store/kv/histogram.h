/*
 * A histogram of durations, as a plain value. There are eight buckets to a power of two,
 * so a quantile is at most an eighth too high.
 */
#ifndef STORE_KV_HISTOGRAM_H
#define STORE_KV_HISTOGRAM_H

#include <stdint.h>

enum {
	HISTOGRAM_STEPS = 8,   /* buckets to a power of two */
	HISTOGRAM_POWERS = 34, /* durations above about 19 hours count as that */
	HISTOGRAM_BUCKETS = HISTOGRAM_STEPS * HISTOGRAM_POWERS,
};

struct histogram {
	uint64_t count;
	uint64_t sum_us;
	uint64_t max_us;
	uint64_t bucket[HISTOGRAM_BUCKETS];
};

void histogram_add(struct histogram *histogram, uint64_t us);

/* The upper bound of the bucket in which the quantile lies, but at most the maximum.
 * per_mille 500 is the median. 0: the histogram is empty. */
uint64_t histogram_quantile_us(const struct histogram *histogram, uint32_t per_mille);

/* The number of durations of at most us. The number is exact where us is a bucket's
 * bound, such as 2^k - 1. */
uint64_t histogram_at_most(const struct histogram *histogram, uint64_t us);

#endif
