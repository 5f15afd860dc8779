#include <stdlib.h>
#include <string.h>

#include "bench/api/cases.h"

void figures_add(struct figures *figures, unsigned target, const char *metric,
                 double value, const char *unit, enum figure_better better)
{
	unsigned i = 0;

	while (i < figures->count && strcmp(figures->at[i].metric, metric) != 0)
		i++;
	if (i == figures->count) {
		PL_ASSERT(i < FIGURES_MAX);
		figures->count++;
		figures->at[i].metric = metric;
		figures->at[i].unit = unit;
		figures->at[i].better = better;
	}
	if (figures->at[i].count[target] < API_ROUNDS_MAX)
		figures->at[i].value[target][figures->at[i].count[target]++] = value;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(const double *values, unsigned count)
{
	double sorted[API_ROUNDS_MAX];

	if (count == 0)
		return 0;
	memcpy(sorted, values, count * sizeof *values);
	qsort(sorted, count, sizeof sorted[0], by_value);
	return count % 2 == 1 ? sorted[count / 2]
	                      : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

static void emit_ratio(const struct figures *figures, unsigned at, const double *of)
{
	struct bench_fields fields = figures->fields;
	bool higher = figures->at[at].better == FIGURE_HIGHER;

	if (of[0] <= 0 || of[1] <= 0 || figures->at[at].better == FIGURE_PLAIN)
		return;
	bench_field(&fields, "\"of\":\"%s\"", figures->at[at].metric);
	bench_emit(fields.at, "ratio", higher ? of[0] / of[1] : of[1] / of[0], "");
}

void figures_emit(const struct figures *figures, const struct api_bench *bench)
{
	for (unsigned i = 0; i < figures->count; i++) {
		double of[API_TARGETS_MAX] = {0};

		for (unsigned t = 0; t < bench->targets; t++) {
			struct bench_fields fields = figures->fields;

			if (figures->at[i].count[t] == 0)
				continue;
			of[t] = median(figures->at[i].value[t], figures->at[i].count[t]);
			bench_field(&fields, "\"server\":\"%s\"", bench->target[t].name);
			bench_emit(fields.at, figures->at[i].metric, of[t],
			           figures->at[i].unit);
		}
		if (bench->targets == 2)
			emit_ratio(figures, i, of);
	}
}
