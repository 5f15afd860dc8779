#include "store/kv/histogram.h"

#include "store/base/compiler.h"

/* 0 to 7 have a bucket each. Above, the three bits behind the leading one choose among
 * the eight buckets of the power of two. */
static unsigned bucket_of(uint64_t us)
{
	unsigned power, bucket;

	if (us < HISTOGRAM_STEPS)
		return (unsigned)us;
	power = 63 - (unsigned)__builtin_clzll(us);
	bucket = (power - 2) * HISTOGRAM_STEPS + (unsigned)((us >> (power - 3)) & 7);
	return bucket < HISTOGRAM_BUCKETS ? bucket : HISTOGRAM_BUCKETS - 1;
}

static uint64_t bucket_last_us(unsigned bucket)
{
	unsigned power = bucket / HISTOGRAM_STEPS + 2;
	uint64_t step = bucket % HISTOGRAM_STEPS;

	if (bucket < HISTOGRAM_STEPS)
		return bucket;
	return ((step + HISTOGRAM_STEPS + 1) << (power - 3)) - 1;
}

void histogram_add(struct histogram *histogram, uint64_t us)
{
	histogram->count++;
	histogram->sum_us += us;
	if (us > histogram->max_us)
		histogram->max_us = us;
	histogram->bucket[bucket_of(us)]++;
}

uint64_t histogram_quantile_us(const struct histogram *histogram, uint32_t per_mille)
{
	uint64_t want = (histogram->count * per_mille + 999) / 1000, seen = 0;

	PL_ASSERT(per_mille <= 1000);
	if (histogram->count == 0)
		return 0;
	if (want == 0)
		want = 1;
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS - 1; i++) {
		uint64_t last = bucket_last_us(i);

		seen += histogram->bucket[i];
		if (seen >= want)
			return last < histogram->max_us ? last : histogram->max_us;
	}
	return histogram->max_us;
}

uint64_t histogram_at_most(const struct histogram *histogram, uint64_t us)
{
	uint64_t seen = 0;

	for (unsigned i = 0; i < HISTOGRAM_BUCKETS && bucket_last_us(i) <= us; i++)
		seen += histogram->bucket[i];
	return seen;
}
