/* Latencies in microseconds, and where most of them lie. */
#ifndef BENCH_COMMON_SAMPLES_H
#define BENCH_COMMON_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

struct samples {
	uint32_t *at;
	size_t count, cap, seen; /* when full, what comes replaces what came first */
};

void samples_init(struct samples *s, size_t cap);
void samples_add(struct samples *s, uint64_t ns);
/* prefix: before p50_ms, p99_ms, p999_ms. Nothing of none. Sorts them. */
void samples_emit(struct samples *s, const char *fields, const char *prefix);
void samples_done(struct samples *s);

#endif
