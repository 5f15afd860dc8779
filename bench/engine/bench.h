/* What the benches of the engine share: one thread, no I/O, CPU time, and one JSON
 * object a line on stdout. */
#ifndef BENCH_ENGINE_BENCH_H
#define BENCH_ENGINE_BENCH_H

#include <stddef.h>
#include <stdint.h>

#include "store/base/err.h"

struct bench_opts {
	const char *only;    /* NULL: all; otherwise a part's name */
	const char *profile; /* NULL: all */
	unsigned nodes;      /* 0: all sizes */
	unsigned pods;
	uint64_t seed;
};

/* Ends the program with a message when something fails. */
void bench_check(enum pl_code code, const struct pl_err *err, const char *what);

/* Zeroed; never NULL. Freed by free(). */
__attribute__((returns_nonnull)) void *bench_alloc(size_t count, size_t size);

/* fields: the inside of "case", as "\"op\":\"push\",\"pods\":1000". */
void bench_emit(const char *fields, const char *metric, double value, const char *unit);

/* The parts. */
void bench_queue(const struct bench_opts *opts);
void bench_decide(const struct bench_opts *opts);
void bench_preempt(const struct bench_opts *opts);
void bench_pending(const struct bench_opts *opts);
void bench_count(const struct bench_opts *opts);
void bench_ledger(const struct bench_opts *opts);
void bench_sched(const struct bench_opts *opts);

/* What bench_count runs under callgrind: how is "plain" or "cache". */
void bench_count_child(const char *how);

#endif
