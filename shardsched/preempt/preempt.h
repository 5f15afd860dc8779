/*
 * Which pods have to go so that a pod finds room: kube-scheduler's DefaultPreemption.
 *
 * After a cycle without a feasible node: on each node whose refusal victims could
 * cure, all pods of lower priority are lifted; if the pod fits then, as many as
 * possible come back, those protected by a disruption budget first, then by priority
 * and age. Of the nodes that are left one is chosen: fewest budget violations, lowest
 * highest priority, lowest sum of priorities, fewest victims, latest start of the
 * oldest of the highest, and then the first.
 *
 * Decides only; everything is back in its place when it returns.
 */
#ifndef SHARDSCHED_PREEMPT_PREEMPT_H
#define SHARDSCHED_PREEMPT_PREEMPT_H

#include "shardsched/framework/cycle.h"

struct preempt_opts {
	uint32_t candidates_percent; /* of the nodes that are tried; kube: 10 */
	uint32_t candidates_least;   /* kube: 100 */
	uint64_t draw;               /* where the search begins */
	bool keep_all;               /* candidates are told */
};

struct preempt_candidate {
	uint32_t node;
	uint32_t violations; /* of budgets */
	uint32_t first; /* victim[first], count; in the order in which they were given up
	                 */
	uint32_t count;
};

struct preempt_outcome {
	enum verdict_code code; /* SUCCESS: node is nominated */
	bool waits;             /* room is being made for it already */
	uint32_t node;
	uint32_t victims;       /* of the node */
	const uint32_t *victim; /* numbers of placed pods */
	uint32_t violations;
	uint32_t tried; /* nodes */
	/* Without SUCCESS: plugins that refuse a node still when all whose priority is
	 * lower are gone. What helps there helps the pod, too. */
	uint64_t refused_by;
	/* With keep_all: */
	const struct preempt_candidate *candidate;
	uint32_t candidates;
	const uint32_t *all_victims;
	/* Left after all ties but the last: their indexes in candidate. */
	const uint32_t *tied;
	uint32_t tied_count;
};

struct preempt;

/* What plugin_default_preemption finds in the cycle (cycle_set_post_filter_ctx), and fills: candidates_*
 * of opts come from its arguments. */
struct preempt_request {
	struct preempt *preempt;
	const struct cycle_outcome *last;
	struct preempt_opts opts;
	bool ran; /* out is said */
	struct preempt_outcome out;
};

PL_NODISCARD enum pl_code preempt_new(struct preempt **out, struct pl_err *err);
void preempt_free(struct preempt *preempt);

/* After cycle_run answered CYCLE_NONE with *last, nothing changed since. What out points
 * to holds until the next run. */
void preempt_run(struct preempt *preempt, struct cycle *cycle,
                 const struct cycle_outcome *last, const struct preempt_opts *opts,
                 struct preempt_outcome *out);

#endif
