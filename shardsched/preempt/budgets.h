/*
 * Disruption budgets while victims are looked for: which of them protect a class of pods,
 * found out once a run, and what is left of each, counted anew on each node.
 */
#ifndef SHARDSCHED_PREEMPT_BUDGETS_H
#define SHARDSCHED_PREEMPT_BUDGETS_H

#include "shardsched/model/number_map.h"
#include "shardsched/preempt/scratch.h"
#include "shardsched/snapshot/snapshot.h"

struct budgets {
	const struct snapshot *snapshot;
	struct number_map by_namespace; /* the first of its budgets in use */
	struct scratch by_spec;         /* struct spec_list, by the number of a class */
	struct scratch uses;  /* struct budget_use: nobody, then all of a namespace in
	                       * a row */
	struct scratch lists; /* uint32_t: a count, then so many indexes of uses */
	uint32_t uses_count;
	uint32_t lists_count;
	uint64_t run;
	uint64_t node; /* counts the nodes that were looked at */
};

void budgets_done(struct budgets *budgets);

/* Pods of a node, the most important first. */
struct budget_pods {
	uint32_t count;
	const uint32_t *placed;
	const uint32_t *spec; /* the number of the class of each */
};

/* Begins a run. */
void budgets_begin(struct budgets *budgets, const struct snapshot *snapshot);

/* One after the other would go, each taking from its budgets what is left. Those by whom
 * one is overdrawn are *wards: order begins with these, behind them the others. 0: order
 * is as before. order has room for twice as many. false: no memory. */
PL_NODISCARD bool budgets_split(struct budgets *budgets, const struct budget_pods *pods,
                                uint32_t *order, uint32_t *protected);

#endif
