/*
 * One seed from beginning to end: shards come up, faults for a while, calm
 * until all is well, and then everybody leaves.
 */
#ifndef TESTS_SIM_SEED_H
#define TESTS_SIM_SEED_H

#include "tests/sim/cover.h"
#include "tests/sim/extent.h"
#include "tests/sim/plan.h"
#include "tests/sim/story.h"

struct seed_opts {
	uint64_t seed;
	struct plan_wish wish;
	struct story story;
	/* A judge's finding. Does not come back. */
	void (*failed)(void *ctx, const char *check, const char *text);
	void *ctx;
};

struct seed_result {
	uint64_t digest;     /* of everything that happened */
	uint64_t settled_ms; /* after calm began */
	struct cover cover;
	struct extent extent;
};

/* False: there is no such world; plan_check() says why. */
bool seed_run(const struct seed_opts *opts, struct seed_result *result);

#endif
