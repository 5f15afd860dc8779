/*
 * The counter of disruption budgets, one of the elected roles. While it leads it
 * follows /budgets/, and /schedules/ as long as there is a budget, and writes the
 * counts (shardsched/budget/counter.h) into the budgets. The watch on /schedules/
 * covers all namespaces; the list reads only namespaces that have budgets, partition
 * by partition.
 *
 * Happy path: become the leader, list both prefixes, put each budget whose count
 * differs, and do so again with each change. Each put carries the election's guard and
 * compares the budget that it was computed from; a put that fails is computed again.
 */
#ifndef COORD_BUDGETS_BUDGETS_H
#define COORD_BUDGETS_BUDGETS_H

#include "coord/elect/elect.h"

struct budgets;

enum budgets_what {
	BUDGETS_MALFORMED, /* carries key and err: the budget or pod does not parse and
	                    * is left out */
	BUDGETS_TROUBLE,   /* carries err; what failed is tried again */
	BUDGETS_STOPPED,   /* the last note */
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
	uint64_t seed; /* of the jitter; 0: from the operating system */
};

/* elect outlives the counter. Notes come later, never from inside a call of ours. */
PL_NODISCARD enum pl_code budgets_open(struct kv *kv, const struct budgets_opts *opts,
                                       budgets_fn *fn, void *ctx, struct budgets **out,
                                       struct pl_err *err);
void budgets_lead(struct budgets *budgets, bool leading);
void budgets_stop(struct budgets *budgets);

#endif
