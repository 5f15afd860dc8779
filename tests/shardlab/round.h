/* One round, in a process of its own: whatever becomes of it, nothing of it is left. */
#ifndef TESTS_SHARDLAB_ROUND_H
#define TESTS_SHARDLAB_ROUND_H

#include "tests/shardlab/act.h"
#include "tests/shardlab/witness.h"

/* Half of all seeds, so that a seed repeats its round. */
#define ROUND_IS_SECURE(seed) (((seed) >> 1 & 1) != 0)

struct round_opts {
	uint64_t seed, faults_ms;
	unsigned nodes, pods;
	enum act_what only; /* ACT_COUNT: all */
	bool keep;
	bool secure; /* TLS, users and passwords between everything and the store */
	const char *placet, *placetd, *skew;
};

/* What came up, over all rounds; in memory that is shared with their processes. */
struct round_totals {
	unsigned act[ACT_COUNT], done[ACT_COUNT];
	uint64_t kind[SCENE_KINDS]; /* pods bound */
	uint64_t budgets[PDB_TALLIES], counters;
	uint64_t gangs[WITNESS_GANGS];
	uint64_t revisions, judged, bound, preempted, owners_lost, blind;
	uint64_t place_ms_max;
	uint32_t rounds;
};

/* Prints as it goes. Ends the process: 0, nothing was found. */
_Noreturn void round_run(const struct round_opts *opts, struct round_totals *totals);

#endif
