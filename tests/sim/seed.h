/*
 * A seed from beginning to end: shards start, faults happen for a while, the recovery
 * phase lasts until the world has converged, and then all shards leave.
 */
#ifndef TESTS_SIM_SEED_H
#define TESTS_SIM_SEED_H

#include "tests/sim/cover.h"
#include "tests/sim/extent.h"
#include "tests/sim/plan.h"
#include "tests/sim/story.h"

struct seed_opts {
	uint64_t seed;
	struct plan_request request;
	struct story story;
	/* Reports a judge's finding. Does not return. */
	void (*failed)(void *ctx, const char *check, const char *text);
	void *ctx;
};

struct seed_result {
	uint64_t digest;       /* digest of everything that happened */
	uint64_t converged_ms; /* time from the begin of the recovery phase */
	struct cover cover;
	struct extent extent;
};

/* False: such a world can not be drawn; plan_check() tells why. */
bool seed_run(const struct seed_opts *opts, struct seed_result *result);

#endif
