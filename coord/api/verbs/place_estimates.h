/*
 * Estimates of when waiting pods will be placed, and how many of them came true.
 *
 *	time = now + (pods that go before + 1) / (pods that the shard places in a second)
 *
 * That holds for a pod that fits somewhere now and whose shard places pods at a known rate;
 * otherwise nothing is estimated. Estimates that were given are remembered, as many as fit,
 * and settled when the next one is made: one came true when its pod was on a node by then.
 *
 * Invariant: the coverage counts the estimates of this server only, and is not said before
 * PLACE_ESTIMATES_LEAST are settled.
 */
#ifndef COORD_API_VERBS_PLACE_ESTIMATES_H
#define COORD_API_VERBS_PLACE_ESTIMATES_H

#include "coord/api/objects/sources.h"

enum {
	PLACE_ESTIMATES_MAX = 128,
	PLACE_ESTIMATES_LEAST = 10,
	PLACE_ESTIMATE_NAME_SIZE = 64 + 254
};

struct place_estimate {
	int64_t until_ms; /* 0: free */
	size_t namespace_len, len;
	char name[PLACE_ESTIMATE_NAME_SIZE]; /* "shop/web-0" */
};

struct place_estimates {
	struct place_estimate at[PLACE_ESTIMATES_MAX];
	unsigned next;
	uint64_t settled, true_ones;
};

/* Seconds until the pod may be placed. False: nothing can be said. */
bool place_estimate_seconds(double placed_per_s, uint64_t ahead, double *out);

/* Settles what can be settled, by what the sources have of the pods. */
void place_estimates_settle(struct place_estimates *estimates, struct sources *sources,
                            int64_t now_ms);
/* Remembers an estimate; the oldest one gives way. */
void place_estimates_add(struct place_estimates *estimates, struct pl_span namespace,
                         struct pl_span name, int64_t until_ms);
/* The share of settled ones that came true. False: too few are settled. */
bool place_estimates_coverage(const struct place_estimates *estimates, double *out);

#endif
