/* When nothing happens any more: within how long everything is as it should be. */
#ifndef TESTS_SHARDLAB_CALM_H
#define TESTS_SHARDLAB_CALM_H

#include "tests/shardlab/campaign.h"

struct calm {
	uint64_t end_ms;   /* until what was going on had ended */
	uint64_t place_ms; /* from then until everything had its place */
	uint32_t pods;     /* in the store at the end */
};

/* Fails, or comes back when all is well. */
void calm_run(struct campaign *c, struct calm *out);

#endif
