/* Runs random histories until two stores differ, then shortens and prints the history. */
#ifndef TESTS_CONFORMANCE_RANDOM_H
#define TESTS_CONFORMANCE_RANDOM_H

#include "tests/conformance/pair.h"

enum { RANDOM_HISTORY_STEPS = 10000 };

struct random_opts {
	uint64_t seed;
	uint64_t steps; /* in histories of RANDOM_HISTORY_STEPS, each from a reset */
	uint64_t shrink_ms_max; /* once a difference is found */
};

struct random_found {
	uint64_t seed;       /* seed of the history that differs */
	size_t steps_before; /* until the difference, as it was found */
	size_t steps;        /* length of the shortest history that differs */
	unsigned runs;
	bool repeats; /* false: a chance difference; steps is the length found */
	struct difference difference;
};

/* True: the stores differ; report gets the history as a script. */
bool random_differ(struct pair *pair, const struct random_opts *opts,
                   struct random_found *out, struct pl_buf *report);

#endif
