/*
 * The local stage is the part of a cycle whose results can be cached by class.
 *
 * After PreFilter, a cycle knows which plugins run for its class: its plan. The plan's
 * local filters, and the scores of the local plugins that do not look at other nodes,
 * can be computed for any words of slots, any number of times. The results depend on the
 * class, the plan and the node only. Pods nominated for a node are not part of them: the
 * cycle judges such nodes itself.
 *
 *	cycle_run
 *	  |-- get_results(plan): the cache keeps, updates or makes them; it calls
 *	  |                      stage_local for the words that it lacks
 *	  |-- no global plugin has a say, no node is excluded: best(draw) is the answer
 *	  '-- else global filters and scores run over the cached results
 *
 * The cycle does without the cache when get_results has nothing, when scores are to be
 * kept, when the pod's own name matters (SPEC_BY_NAME), or when a global filter comes
 * before a local one in the profile: the local ones then do not know which plugin was the
 * first to refuse a node.
 */
#ifndef SHARDSCHED_FRAMEWORK_LOCAL_STAGE_H
#define SHARDSCHED_FRAMEWORK_LOCAL_STAGE_H

#include "shardsched/framework/cycle.h"

enum { STAGE_BY_MAX_LIMIT = 4 };

/* A local score that is normalised by the highest one among the feasible nodes. Raw
 * scores are 0 to INT32_MAX. */
struct stage_by_max {
	uint8_t plugin;
	bool down; /* as PLUGIN_BY_MAX_DOWN */
	int32_t weight;
};

/* Results computed under an equal plan stay valid, except for nodes that changed. */
struct stage_plan {
	uint64_t filters; /* mask of the local filters */
	uint64_t scores;  /* mask of the local scores that are used as they are */
	uint64_t epoch;   /* sum of the epochs of all these plugins */
	uint32_t by_max_count;
	struct stage_by_max by_max[STAGE_BY_MAX_LIMIT];
};

/* Results of a plan's plugins for some words of slots: index 0 is slot span.word * 64.
 * Values of slots whose bit is clear in the end may be overwritten. */
struct stage_out {
	uint8_t *refuser; /* the first plugin that refused; written only where one did */
	int32_t *total;   /* weighted sum of the scores that are used as they are */
	int32_t *by_max[STAGE_BY_MAX_LIMIT];
};

/* Only within get_results. span: nodes of the class, at most CYCLE_BLOCK slots; the bits
 * of refused nodes are cleared. false: a plugin failed, and with it the cycle;
 * get_results then returns NULL. */
PL_NODISCARD bool stage_local(struct cycle *cycle, struct node_span span,
                              const struct stage_out *out);

/* The cached results of a class. They hold until the snapshot changes or get_results is
 * called again. */
struct stage_results {
	struct pl_bitset feasible; /* nodes of the class that no local filter refuses */
	uint32_t count;            /* number of feasible nodes */
	uint32_t refused[PLUGINS_MAX];
	/* by slot, for nodes of the class that are not feasible */
	const uint8_t *refuser;
	/* raw scores by slot; NULL: all are 0 */
	const int32_t *by_max[STAGE_BY_MAX_LIMIT];
	int32_t max[STAGE_BY_MAX_LIMIT]; /* highest raw score of the feasible nodes */
	/* by slot, including stage_weigh of each by_max under its max */
	const int32_t *total;
};

struct stage_winner {
	uint32_t slot;
	int32_t total;
	uint32_t ties; /* number of nodes with that total */
};

/* The cache of struct cycle_opts. */
struct cycle_cache {
	void *ctx;
	/* The results of the class as of now; NULL: there are none. */
	const struct stage_results *(*get_results)(void *ctx, struct cycle *cycle,
	                                           struct fw_class *class,
	                                           const struct stage_plan *plan);
	/* The best node of the feasible ones, of which there is at least one. Among equal
	 * totals it is the one with index stage_pick in the order of slots. */
	void (*best)(void *ctx, struct fw_class *class, uint64_t draw,
	             struct stage_winner *out);
};

/* The share of a raw score in the total: normalised and weighted. 0 <= raw <= max. */
int32_t stage_weigh(const struct stage_by_max *by_max, int32_t raw, int32_t max);

/* The index that a draw picks of count. The high half of the draw says where, the low
 * half how many further on, below STAGE_NEAR: draws with equal high halves pick
 * neighbours. */
enum { STAGE_NEAR = 64 };

uint32_t stage_pick(uint64_t draw, uint32_t count);

#endif
