/* What the benches of the engine share: one thread, no I/O, CPU time, and one JSON
 * object a line on stdout. */
#ifndef BENCH_ENGINE_ENGINE_H
#define BENCH_ENGINE_ENGINE_H

#include <stddef.h>
#include <stdint.h>

#include "store/base/err.h"

struct engine_opts {
	const char *only; /* NULL: all; otherwise a part's name */
	unsigned pods;
	uint64_t seed;
};

/* Ends the program with a message when something fails. */
void engine_check(enum pl_code code, const struct pl_err *err, const char *what);

/* Zeroed; never NULL. Freed by free(). */
__attribute__((returns_nonnull)) void *engine_alloc(size_t count, size_t size);

/* fields: the inside of "case", as "\"op\":\"push\",\"pods\":1000". */
void engine_emit(const char *fields, const char *metric, double value, const char *unit);

/* The parts. */
void engine_queue(const struct engine_opts *opts);

#endif
