/*
 * Disruption budgets in a search for victims: which budgets protect a class of pods is
 * found once for each run, and what is left of each budget is counted anew for each node.
 */
#ifndef SHARDSCHED_PREEMPT_BUDGETS_H
#define SHARDSCHED_PREEMPT_BUDGETS_H

#include "shardsched/model/number_map.h"
#include "shardsched/preempt/scratch.h"
#include "shardsched/snapshot/snapshot.h"

struct budgets {
	const struct snapshot *snapshot;
	/* by namespace: index in uses of its first budget */
	struct number_map by_namespace;
	struct scratch by_spec; /* struct spec_list, by the id of a spec */
	/* struct budget_use: index 0 is no budget, followed by the budgets of each
	 * namespace in a row */
	struct scratch uses;
	/* uint32_t: a count, followed by that many indexes in uses */
	struct scratch lists;
	uint32_t uses_count;
	uint32_t lists_count;
	uint64_t run;
	uint64_t node; /* number of nodes looked at so far */
};

void budgets_done(struct budgets *budgets);

/* Pods of a node, the most important one first. */
struct budget_pods {
	uint32_t count;
	const uint32_t *placed;
	const uint32_t *spec; /* id of the spec of each pod */
};

/* Begins a run. */
void budgets_begin(struct budgets *budgets, const struct snapshot *snapshot);

/* Takes the pods in order, each of which uses up what its budgets have left. Pods that
 * overdraw a budget are the protected ones: order begins with *protected of them,
 * followed by the others. 0 protected: order is not written. order has room for twice as
 * many pods. false: out of memory. */
PL_NODISCARD bool budgets_split(struct budgets *budgets, const struct budget_pods *pods,
                                uint32_t *order, uint32_t *protected);

#endif
