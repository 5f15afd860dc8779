/*
 * Counts for disruption budgets, while it leads: follows /budgets/, and /schedules/ as
 * long as there are any, and writes what is counted (shardsched/budget/counter.h). Of
 * /schedules/ all changes are watched, but only namespaces that have budgets are listed,
 * partition by partition.
 *
 * Happy path: leads, lists both, puts each budget whose count is another, and so on with
 * each change. Its puts carry the election's guard and compare the budget that they were
 * made from; one that is lost on the way is made again.
 */
#ifndef COORD_BUDGETS_BUDGETS_H
#define COORD_BUDGETS_BUDGETS_H

#include "coord/elect/elect.h"

struct budgets;

enum budgets_what {
	BUDGETS_MALFORMED, /* key, err: it makes no sense, and is set aside */
	BUDGETS_TROUBLE,   /* err; tries again */
	BUDGETS_STOPPED,   /* last */
};

struct budgets_note {
	enum budgets_what what;
	struct pl_span key;
	const struct pl_err *err;
};

typedef void budgets_fn(void *ctx, const struct budgets_note *note);

struct budgets_opts {
	const struct elect *elect;
	uint32_t partitions;
	uint64_t seed; /* 0: from the operating system */
};

/* elect outlives it. Notes come later, never from inside a call of ours. */
PL_NODISCARD enum pl_code budgets_open(struct kv *kv, const struct budgets_opts *opts,
                                       budgets_fn *fn, void *ctx, struct budgets **out,
                                       struct pl_err *err);
void budgets_lead(struct budgets *budgets, bool leading);
void budgets_stop(struct budgets *budgets);

#endif
