/* A round: a fresh cluster, clients at work, a nemesis, and the judge. */
#ifndef TESTS_FAULTLAB_ROUND_H
#define TESTS_FAULTLAB_ROUND_H

#include "tests/faultlab/nemesis.h"

/* Half of all seeds, so that a seed repeats its round. */
#define ROUND_IS_SECURE(seed) (((seed) >> 1 & 1) != 0)

struct round_opts {
	uint64_t seed;
	uint64_t faults_ms;     /* duration of the faults */
	struct wire *wire;      /* NULL: loopback */
	enum nemesis_what only; /* NEMESIS_COUNT: all */
	bool strict;            /* no excuse for known faults of the server */
	bool secure; /* TLS, a user and a password between clients and members */
	bool keep;   /* keep logs and history, also when nothing is found */
};

/* How often each action was seen, over all rounds. */
struct round_totals {
	unsigned action[NEMESIS_COUNT];
	unsigned left_out;
	uint64_t ok, refused, failed, unknown, events;
};

/* Runs a round and prints its progress. True: no fault was found. */
bool round_run(const struct round_opts *opts, struct round_totals *totals);

#endif
