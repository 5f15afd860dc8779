/*
 * Regret: the score that is lost because a shard looks at its own nodes only. The
 * placements of a run are repeated in their order in one engine that has all nodes; for
 * one of every few placements the engine is asked which node is best at that moment,
 * and the score of the chosen node is compared with the score of the best.
 *
 * Scores are sums of the profile's weighted plugins, as in kube-scheduler. A shard
 * decides before it knows what is under way elsewhere, so a single shard has some
 * regret, too: the moment is that of the commit, not of the decision.
 */
#ifndef BENCH_LIVE_REGRET_H
#define BENCH_LIVE_REGRET_H

#include "bench/live/load.h"
#include "bench/live/observer.h"

struct regret {
	uint32_t samples;
	uint32_t refused; /* the node would have been refused at that moment */
	double mean;      /* points by which the best node was better */
	double percent;   /* the same of the best node's score */
	double none;      /* share of those with the best score, or one as good */
};

void regret_compute(const struct load *load, const struct observer *observer,
                    uint32_t samples, struct regret *out);
void regret_emit(const struct regret *regret, const char *fields);

#endif
