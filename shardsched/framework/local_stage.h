/*
 * The local part of a cycle, on its own: for whoever keeps results by class.
 *
 * Once PreFilters have spoken, a cycle knows which plugins run for its class: its plan.
 * The plan's local filters, and the scores of local plugins that need no sight of other
 * nodes, can be worked out for any words of slots, as often as one likes. What comes out
 * depends on the class, the plan and the node; pods nominated for a node are not
 * counted in it: the cycle judges such nodes by itself.
 *
 *	cycle_run
 *	  |-- bring(plan): keep, mend or make; calls stage_local for the words it lacks
 *	  |-- nothing global to ask, no node left out: best(draw), and that is all
 *	  '-- else global filters and scores over what was kept
 *
 * The cycle does without when bring has nothing to give, when scores are to be kept, when
 * the pod's own name matters (SPEC_BY_NAME), or when a global filter comes before a local
 * one in the profile: then who was the first to refuse a node is not known to the local
 * ones.
 */
#ifndef SHARDSCHED_FRAMEWORK_LOCAL_STAGE_H
#define SHARDSCHED_FRAMEWORK_LOCAL_STAGE_H

#include "shardsched/framework/cycle.h"

enum { STAGE_BY_MAX_LIMIT = 4 };

/* A local score that is normalised by the highest among the feasible nodes. Raw ones are
 * 0 to INT32_MAX. */
struct stage_by_max {
	uint8_t plugin;
	bool down; /* PLUGIN_BY_MAX_DOWN */
	int32_t weight;
};

/* Results that were worked out under an equal plan hold, but for nodes that changed. */
struct stage_plan {
	uint64_t filters; /* masks of local plugins */
	uint64_t scores;  /* taken as they are */
	uint64_t epoch;   /* of all of these together */
	uint32_t by_max_count;
	struct stage_by_max by_max[STAGE_BY_MAX_LIMIT];
};

/* Of a plan's plugins about some words of slots: [0] is of slot span.word * 64. What
 * stands at slots whose bit is clear in the end may be overwritten. */
struct stage_out {
	uint8_t *refuser; /* the first that refused; written where one did, only there */
	int32_t *total;   /* weighted, of scores that are taken as they are */
	int32_t *by_max[STAGE_BY_MAX_LIMIT];
};

/* Only within bring. span: nodes of the class, at most CYCLE_BLOCK slots; those that
 * nobody refused are left. false: a plugin failed, and with it the cycle; nothing was
 * found out, and bring gives NULL. */
PL_NODISCARD bool stage_local(struct cycle *cycle, struct node_span span,
                              const struct stage_out *out);

/* What is kept of a class; holds until the snapshot changes or bring is called again. */
struct stage_results {
	struct pl_bitset feasible; /* of the class, and no local filter refuses it */
	uint32_t count;            /* of these */
	uint32_t refused[PLUGINS_MAX];
	const uint8_t *refuser; /* by slot, of the class's nodes that are not feasible */
	const int32_t *by_max[STAGE_BY_MAX_LIMIT]; /* raw, by slot; NULL: all are 0 */
	int32_t max[STAGE_BY_MAX_LIMIT];           /* over the feasible ones */
	const int32_t *total; /* by slot, stage_weigh of each maxed under max in it */
};

struct stage_winner {
	uint32_t slot;
	int32_t total;
	uint32_t ties; /* nodes with that total */
};

/* Of struct cycle_opts. */
struct cycle_cache {
	void *ctx;
	/* The class's results as of now; NULL: there are none. */
	const struct stage_results *(*get_results)(void *ctx, struct cycle *cycle,
	                                           struct fw_class *class,
	                                           const struct stage_plan *plan);
	/* The best of kept->feasible, which is not empty: of equally good ones that of
	 * index stage_pick in the order of slots. */
	void (*best)(void *ctx, struct fw_class *class, uint64_t draw,
	             struct stage_winner *out);
};

/* What a raw score adds to the total: normalised and weighted. 0 <= raw <= max. */
int32_t stage_weigh(const struct stage_by_max *by_max, int32_t raw, int32_t max);

/* The index that a draw chooses of so many: its high half says where, its low half how
 * many further on, of STAGE_NEAR. So draws whose high halves are the same choose
 * neighbours. */
enum { STAGE_NEAR = 64 };

uint32_t stage_pick(uint64_t draw, uint32_t count);

#endif
