/*
 * An explanation: why a pod is on its node, or on none. It is made after a decision, by
 * asking every filter about every node again, and kept as plain values that can be
 * printed as text for people, as JSON for machines, and as a graph.
 *
 * Counts cover all nodes except excluded ones. Single nodes are kept only for the best
 * scores and for the nearest misses: a node is nearer the fewer reasons refuse it, then
 * the less is missing of what it lacks.
 *
 * "Only" counts the nodes that one reason alone keeps away: what removing the reason
 * would win.
 */
#ifndef SHARDSCHED_EXPLAIN_EXPLAIN_H
#define SHARDSCHED_EXPLAIN_EXPLAIN_H

#include "shardsched/engine/engine.h"
#include "shardsched/model/spec_rules.h"
#include "store/base/json_out.h"

enum {
	EXPLAIN_REASONS_MAX = 64, /* more reasons are counted in `unlisted` */
	EXPLAIN_NEAR_MAX = 8,
	EXPLAIN_BEST_MAX = 8,
	EXPLAIN_NODE_REASONS_MAX = 12,
	EXPLAIN_CANDIDATES_MAX = 8,
	EXPLAIN_CLUSTERS_MAX = 32,
	EXPLAIN_WARNINGS_MAX = 16,
};

/* One plugin's Filter. */
struct explain_filter {
	unsigned plugin;
	bool skipped;   /* the plugin has nothing to check for this pod */
	uint32_t first; /* nodes that no earlier filter refused */
	uint32_t alone; /* nodes that it refuses, whether or not another filter does */
};

struct explain_reason {
	unsigned plugin;
	enum verdict_code code;
	struct reason reason; /* lacks: the least that any node lacks */
	int64_t lacks_most;
	uint32_t nodes; /* number of nodes with the reason */
	uint32_t only;  /* how many of them have no other reason */
	uint32_t row;   /* index in the counts of a cluster */
};

/* The same counts for the nodes of one cluster, the largest cluster first. When there are
 * too many clusters the last row is the sum of the rest. */
struct explain_cluster {
	uint32_t cluster; /* string; 0: of no cluster */
	bool others;
	uint32_t nodes, feasible;
	uint32_t alone[PLUGINS_MAX];           /* in the order of filter[] */
	uint32_t reasons[EXPLAIN_REASONS_MAX]; /* nodes, by explain_reason.row */
};

struct explain_near {
	uint32_t slot;
	uint32_t count;
	struct {
		unsigned plugin;
		struct reason reason;
	} reason[EXPLAIN_NODE_REASONS_MAX];
	double distance; /* the missing part of what the node has, summed over its
			  * lacks */
};

struct explain_score {
	unsigned plugin;
	int64_t score; /* 0..100 */
	int32_t weight;
};

struct explain_best {
	uint32_t slot;
	int64_t total;
	uint32_t count;
	struct explain_score share[PLUGINS_MAX];
};

/* A rule of the pod that is valid and yet means nothing: it is impossible (spec_rules.h),
 * or no node has its topology key among its labels, or both. */
struct explain_warning {
	struct spec_rule rule;
	bool no_node;
};

struct explain {
	const struct model *model;
	const struct snapshot *snapshot;
	const struct profile *profile;
	const struct pod *pod;
	const struct engine_decision *decision;
	uint32_t nodes, examined, feasible;
	struct explain_filter filter[PLUGINS_MAX];
	uint32_t filters;
	struct explain_reason reason[EXPLAIN_REASONS_MAX]; /* by number of nodes, greatest
							    * first */
	uint32_t reasons;
	uint32_t unlisted;
	struct explain_cluster cluster[EXPLAIN_CLUSTERS_MAX];
	uint32_t clusters;
	struct explain_near near[EXPLAIN_NEAR_MAX];
	uint32_t nears;
	struct explain_best
		best[EXPLAIN_BEST_MAX]; /* the chosen node, then the runners-up */
	uint32_t bests;
	struct explain_warning
		warning[EXPLAIN_WARNINGS_MAX]; /* in the order of the spec */
	uint32_t warnings;
};

/* To be called after engine_decide answered for that pod, before anything changes; the
 * engine keeps scores. pod and decision must outlive out. */
void explain_make(struct engine *engine, const struct pod *pod,
                  const struct engine_decision *decision, struct explain *out);

PL_NODISCARD enum pl_code explain_text(const struct explain *explain, struct pl_buf *out);
/* Adds one JSON object. */
void explain_json(const struct explain *explain, struct pl_json_out *out);
/* One who may know of pods of some namespaces only. */
struct explain_reader {
	bool (*sees)(void *ctx, struct pl_span namespace);
	void *ctx;
};
/* The same for that reader; NULL: one who sees everything. */
void explain_json_for(const struct explain *explain, const struct explain_reader *reader,
                      struct pl_json_out *out);
/* For Graphviz: the pod, its filters as a sieve, and the nodes that are left. */
PL_NODISCARD enum pl_code explain_dot(const struct explain *explain, struct pl_buf *out);

#endif
