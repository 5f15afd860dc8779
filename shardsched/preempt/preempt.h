/*
 * Preemption finds pods that have to go so that a pod finds room: kube-scheduler's
 * DefaultPreemption.
 *
 * It runs after a cycle without a feasible node. On each node where removing pods could
 * help, all pods of lower priority are removed; if the pod fits then, as many as possible
 * are reprieved: first pods that a disruption budget protects, then by priority and age.
 * Among the nodes that are left one is chosen: fewest budget violations, lowest priority
 * of the first victim, lowest sum of priorities, fewest victims, latest start of the
 * oldest victim of the highest priority, and then the first node found.
 *
 * A run only decides: the snapshot is as before when it returns.
 */
#ifndef SHARDSCHED_PREEMPT_PREEMPT_H
#define SHARDSCHED_PREEMPT_PREEMPT_H

#include "shardsched/framework/cycle.h"

struct preempt_opts {
	uint32_t candidates_percent; /* of the nodes that may help; kube-scheduler: 10 */
	uint32_t candidates_least;   /* kube-scheduler: 100 */
	uint64_t draw;               /* decides at which node the search begins */
	bool keep_all;               /* report all candidates, not only the best */
};

struct preempt_candidate {
	uint32_t node;
	uint32_t violations; /* of disruption budgets */
	/* the victims are victim[first] and following, in the order in which they were
	 * given up */
	uint32_t first;
	uint32_t count;
};

struct preempt_outcome {
	enum verdict_code code; /* VERDICT_SUCCESS: the pod is to be nominated for node */
	bool waits;             /* victims are terminating for this pod already */
	uint32_t node;
	uint32_t victims;       /* number of victims */
	const uint32_t *victim; /* numbers of placed pods */
	uint32_t violations;
	uint32_t tried; /* number of nodes tried */
	/* Without success: plugins that still refuse a node when all pods of lower
	 * priority are removed. An event that helps there helps the pod. */
	uint64_t refused_by;
	/* Only with keep_all: */
	const struct preempt_candidate *candidate;
	uint32_t candidates;
	const uint32_t *all_victims;
	/* Candidates that are equal but for the last tie-break: indexes in candidate. */
	const uint32_t *tied;
	uint32_t tied_count;
};

struct preempt;

/* Handed to plugin_default_preemption by cycle_set_post_filter_ctx: the plugin sets
 * candidates_* of opts from its arguments, and fills out. */
struct preempt_request {
	struct preempt *preempt;
	const struct cycle_outcome *last;
	struct preempt_opts opts;
	bool ran; /* out is filled */
	struct preempt_outcome out;
};

PL_NODISCARD enum pl_code preempt_new(struct preempt **out, struct pl_err *err);
void preempt_free(struct preempt *preempt);

/* Call after cycle_run answered CYCLE_NONE with *last; nothing may have changed since.
 * What out points to holds until the next run. */
void preempt_run(struct preempt *preempt, struct cycle *cycle,
                 const struct cycle_outcome *last, const struct preempt_opts *opts,
                 struct preempt_outcome *out);

#endif
