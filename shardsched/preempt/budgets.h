/*
 * Disruption budgets while victims are looked for: which of them protect a class of pods,
 * found out once a run, and what is left of each, counted anew on each node.
 */
#ifndef SHARDSCHED_PREEMPT_BUDGETS_H
#define SHARDSCHED_PREEMPT_BUDGETS_H

#include "shardsched/preempt/number_map.h"
#include "shardsched/preempt/scratch.h"
#include "shardsched/snapshot/snapshot.h"

struct budgets {
	const struct snapshot *snapshot;
	struct number_map by_space; /* the first of its budgets in use */
	struct number_map by_spec;  /* where its list begins */
	struct scratch uses;        /* struct budget_use: all of a namespace in a row */
	struct scratch lists;       /* uint32_t: a count, then so many indexes of uses */
	uint32_t uses_count;
	uint32_t lists_count;
	uint64_t node; /* counts the nodes that were looked at */
};

void budgets_done(struct budgets *budgets);

/* A run; then each node. */
void budgets_begin(struct budgets *budgets, const struct snapshot *snapshot);
void budgets_node(struct budgets *budgets);

/* One more pod of that node would go: is a budget overdrawn by it? false, too, when
 * *no_memory becomes true. */
bool budgets_take(struct budgets *budgets, const struct placed *pod, bool *no_memory);

#endif
