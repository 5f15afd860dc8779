/* A round of faults, in a process of its own: nothing of it survives that process. */
#ifndef TESTS_SHARDLAB_ROUND_H
#define TESTS_SHARDLAB_ROUND_H

#include "tests/shardlab/act.h"
#include "tests/shardlab/observer.h"

/* Half of all seeds, so that a seed repeats its round. */
#define ROUND_IS_SECURE(seed) (((seed) >> 1 & 1) != 0)

struct round_opts {
	uint64_t seed, faults_ms;
	unsigned nodes, pods;
	enum act_what only; /* the only kind of act; ACT_COUNT: all */
	bool keep;
	bool secure; /* TLS, users and passwords on every connection to the store */
	const char *placet, *placetd, *skew;
};

/* Counts of all rounds, in memory that their processes share. */
struct round_totals {
	unsigned act[ACT_COUNT], done[ACT_COUNT];
	uint64_t kind[SCENARIO_KINDS]; /* pods bound, by kind */
	uint64_t budgets[PDB_TALLIES], counters;
	uint64_t gangs[OBSERVER_GANGS];
	uint64_t revisions, judged, bound, preempted, owners_lost, unjudged;
	uint64_t place_ms_max;
	uint32_t rounds;
};

/* Runs the round, prints its progress, and ends the process: 0 if nothing was found. */
_Noreturn void round_run(const struct round_opts *opts, struct round_totals *totals);

#endif
