/* The recovery phase of a round: no more acts begin, and everything has to be as it
 * should be within a bound. */
#ifndef TESTS_SHARDLAB_RECOVERY_H
#define TESTS_SHARDLAB_RECOVERY_H

#include "tests/shardlab/campaign.h"

struct recovery_times {
	uint64_t end_ms;   /* time until all acts had ended */
	uint64_t place_ms; /* time from then until every pod had its place */
	uint32_t pods;     /* pods in the store at the end */
};

/* Fails the round, or returns when everything is well. */
void recovery_run(struct campaign *c, struct recovery_times *out);

#endif
