/*
 * What it costs that a shard looks at its own nodes only. The placements of a run are
 * repeated in their order in one engine that has all nodes; for every so many-th one it
 * is asked which node is best at that moment, and the score of the node that was chosen
 * is compared with that one's.
 *
 * Scores are sums of the profile's weighted plugins, as kube-scheduler has them. A shard
 * decides before it knows of what is under way elsewhere, so some regret would be there
 * with one shard, too; the moment is that of the commit, not of the decision.
 */
#ifndef BENCH_LIVE_REGRET_H
#define BENCH_LIVE_REGRET_H

#include "bench/live/load.h"
#include "bench/live/onlooker.h"

struct regret {
	uint32_t samples;
	uint32_t refused; /* the node would have been refused at that moment */
	double mean;      /* points by which the best node was better */
	double percent;   /* the same of the best node's score */
	double none;      /* share of those with the best score, or one as good */
};

void regret_compute(const struct load *load, const struct onlooker *onlooker,
                    uint32_t samples, struct regret *out);
void regret_emit(const struct regret *regret, const char *fields);

#endif
