#include "bench/common/samples.h"

#include <stdio.h>
#include <stdlib.h>

#include "bench/common/report.h"

void samples_init(struct samples *s, size_t cap)
{
	*s = (struct samples){.at = bench_alloc(cap, sizeof(uint32_t)), .cap = cap};
}

void samples_add(struct samples *s, uint64_t ns)
{
	uint64_t us = ns / 1000;
	uint32_t sample = us < UINT32_MAX ? (uint32_t)us : UINT32_MAX;

	if (s->count < s->cap)
		s->at[s->count++] = sample;
	else
		s->at[s->seen % s->cap] = sample;
	s->seen++;
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

double samples_ms(struct samples *s, double share)
{
	if (s->count == 0)
		return 0;
	qsort(s->at, s->count, sizeof s->at[0], by_value);
	return s->at[(size_t)((double)(s->count - 1) * share)] / 1e3;
}

void samples_emit(struct samples *s, const char *fields, const char *prefix)
{
	static const struct {
		const char *name;
		double share;
	} marks[] = {
		{"p50_ms", 0.50}, {"p99_ms", 0.99}, {"p999_ms", 0.999}, {"max_ms", 1}};
	char metric[64];

	if (s->count == 0)
		return;
	qsort(s->at, s->count, sizeof s->at[0], by_value);
	for (unsigned i = 0; i < sizeof marks / sizeof marks[0]; i++) {
		size_t at = (size_t)((double)(s->count - 1) * marks[i].share);

		(void)snprintf(metric, sizeof metric, "%s%s", prefix, marks[i].name);
		bench_emit(fields, metric, s->at[at] / 1e3, "ms");
	}
}

void samples_done(struct samples *s)
{
	free(s->at);
	*s = (struct samples){0};
}
