/* The benches of the engine share these options: one thread, no I/O, CPU time. */
#ifndef BENCH_ENGINE_BENCH_H
#define BENCH_ENGINE_BENCH_H

#include "bench/common/report.h"

struct engine_bench_opts {
	const char *profile; /* NULL: all */
	unsigned nodes;      /* 0: all sizes */
	unsigned pods;
	uint64_t seed;
};

/* The parts. */
void bench_queue(const struct engine_bench_opts *opts);
void bench_decide(const struct engine_bench_opts *opts);
void bench_preempt(const struct engine_bench_opts *opts);
void bench_pending(const struct engine_bench_opts *opts);
void bench_count(const struct engine_bench_opts *opts);
void bench_records(const struct engine_bench_opts *opts);
void bench_sched(const struct engine_bench_opts *opts);

/* The child that bench_count runs under callgrind: how is "plain" or "cache". */
void bench_count_child(const char *how);

#endif
