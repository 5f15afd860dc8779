/* Samples of a latency in microseconds, and their percentiles. */
#ifndef BENCH_COMMON_SAMPLES_H
#define BENCH_COMMON_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

struct samples {
	uint32_t *at;
	size_t count, cap, seen; /* when full, a new sample replaces the oldest */
};

void samples_init(struct samples *s, size_t cap);
void samples_add(struct samples *s, uint64_t ns);
/* Sorts the samples and emits <prefix>p50_ms, p99_ms, p999_ms; nothing when there are
 * no samples. */
void samples_emit(struct samples *s, const char *fields, const char *prefix);
/* Sorts the samples; share 0.5: the median. 0 when there are none. */
double samples_ms(struct samples *s, double share);
void samples_done(struct samples *s);

#endif
