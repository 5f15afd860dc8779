/*
 * The cases of the bench of the API. Each runs in rounds, in every round on each server,
 * and the medians are printed: for each server, and as the ratio between them.
 */
#ifndef BENCH_API_CASES_H
#define BENCH_API_CASES_H

#include "bench/api/target.h"
#include "bench/common/report.h"

enum { API_ROUNDS_MAX = 15, API_TARGETS_MAX = 2 };

struct api_bench {
	struct target target[API_TARGETS_MAX];
	unsigned targets;
	uint32_t nodes, pods, conns, rounds, seconds, percent;
	unsigned only;        /* of api_case_names */
	uint32_t spaces;      /* namespaces that were made */
	uint32_t next_number; /* of the next pod */
	uint64_t lost_events; /* that a watcher of Placet has lost */
	double rss_nodes[API_TARGETS_MAX];
};

extern const char *const api_case_names[];

void api_bench_run(struct api_bench *bench);

/* -- figures.c: medians and ratios ------------------------------------------------------ */

enum figure_better { FIGURE_HIGHER, FIGURE_LOWER, FIGURE_PLAIN /* no ratio */ };

enum { FIGURES_MAX = 32 };

struct figures {
	struct bench_fields fields; /* of the case, without the server */
	struct {
		const char *metric, *unit;
		enum figure_better better;
		double value[API_TARGETS_MAX][API_ROUNDS_MAX];
		unsigned count[API_TARGETS_MAX];
	} at[FIGURES_MAX];
	unsigned count;
};

void figures_add(struct figures *figures, unsigned target, const char *metric,
                 double value, const char *unit, enum figure_better better);
void figures_emit(const struct figures *figures, const struct api_bench *bench);

#endif
