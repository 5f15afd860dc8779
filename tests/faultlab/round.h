/* One round: a fresh cluster, clients at work, a nemesis, the judgement. */
#ifndef TESTS_FAULTLAB_ROUND_H
#define TESTS_FAULTLAB_ROUND_H

#include "tests/faultlab/nemesis.h"

struct round_opts {
	uint64_t seed;
	uint64_t faults_ms;     /* how long things go wrong */
	struct wire *wire;      /* NULL: loopback */
	enum nemesis_what only; /* NEMESIS_COUNT: all */
	bool strict;            /* no excuse for known faults of the server */
	bool keep;              /* the evidence, also when nothing is found */
};

/* How often each action was seen, over all rounds. */
struct round_totals {
	unsigned action[NEMESIS_COUNT];
	unsigned left_out;
	uint64_t ok, refused, failed, unknown, events;
};

/* Prints as it goes. True: nothing was found. */
bool round_run(const struct round_opts *opts, struct round_totals *totals);

#endif
