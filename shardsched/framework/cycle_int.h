/* A cycle from inside; for this folder. */
#ifndef SHARDSCHED_FRAMEWORK_CYCLE_INT_H
#define SHARDSCHED_FRAMEWORK_CYCLE_INT_H

#include "shardsched/framework/column.h"
#include "shardsched/framework/local_stage.h"

enum {
	CYCLE_BLOCK_WORDS = CYCLE_BLOCK / 64,
	CYCLE_SAMPLED = 16, /* one cycle in so many is timed, plugin by plugin */
};

/* A node that was judged on its own, since pods are nominated for it. */
struct judged_node {
	uint32_t slot;
	int refused_by; /* the place in filter[]; -1: it is good */
	struct judged_node *next;
};

/* What is measured of one plugin; figures.c. */
struct plugin_measure {
	uint64_t runs, skips, refused, failed, overran;
	uint64_t ns[POINTS]; /* in cycles that were timed */
	uint64_t now_ns;     /* in this cycle */
};

/* Memory by slot. What a run needs of it is made when it is first needed, and again when
 * the snapshot has outgrown it. */
struct cycle_memory {
	uint32_t capacity;
	uint64_t *feasible;
	uint64_t *examined;          /* when narrowed */
	uint64_t *judged;            /* nodes judged on their own */
	uint64_t *gone[PLUGINS_MAX]; /* refused first by filter[i] */
	uint8_t *filtered;           /* by block: how many of filter[] were asked */
	uint32_t *left;              /* by block: feasible nodes */
	int32_t *total;
	int32_t *by_max[STAGE_BY_MAX_LIMIT];
	uint8_t *raised; /* by block: a bit for each of maxed that is not all 0 there */
	int64_t *wide;   /* scores of one plugin that sees all nodes */
	int64_t *scores[PLUGINS_MAX]; /* when they are kept */
	int64_t *totals;              /* totals, for who asks */
	int32_t *best;                /* by block: the highest total */
	uint32_t *ties;               /* by block: nodes with the highest of all */
};

struct cycle {
	struct cycle_opts opts;
	const struct column_ops *ops;
	struct pl_arena arena;
	struct cycle_memory memory;
	void *state;
	size_t state_size;
	void *post_filter_ctx;
	struct pl_bitset only; /* word NULL: all */

	/* This run. */
	struct snapshot *snapshot;
	struct fw_class *class;
	const struct profile *profile;
	struct pod_self pod;
	struct cycle_outcome result; /* what is told; out points to it */
	struct cycle_outcome *out;
	struct plugin_call call[PLUGINS_MAX];
	bool ready;  /* PreFilters let the pod through, and nothing failed */
	bool failed; /* out tells */
	uint64_t skipped[POINTS];
	uint64_t narrowed_by; /* plugins whose PreFilter left out nodes */
	uint32_t words;       /* of the slots in use */
	uint32_t blocks;
	struct verdict pre;
	struct verdict pre_score; /* a local plugin's failure, told if a node is left */

	/* The plan. Filters that run, in order. */
	uint8_t filter[PLUGINS_MAX];
	unsigned filters;
	unsigned filters_local; /* that come before any global one */
	bool in_order;          /* no local one comes after a global one */
	struct stage_plan local;
	uint8_t as_is[PLUGINS_MAX];
	unsigned as_is_count;
	uint8_t deferred[PLUGINS_MAX]; /* scores that need to see all that is feasible */
	unsigned deferred_count;

	const struct stage_results *results; /* NULL: done without */
	bool whole;  /* what is kept is the whole answer; or so far, before late scores */
	bool chosen; /* of each block the best is known, and how many they are */
	struct judged_node *judged; /* in the order of slots */
	const int32_t *base;        /* totals before late scores; in the end all of it */
	int32_t bonus;              /* the same for all nodes, not in the column */
	int32_t max[STAGE_BY_MAX_LIMIT];
	int32_t highest; /* of the blocks chosen from so far */

	/* Measured. */
	struct plugin_measure measure[PLUGINS_MAX];
	uint64_t runs, timed_runs;
	unsigned suspect; /* so many runs to be timed */
	bool timed;
	bool slow; /* a stage took longer than a plugin may: again, and timed */
	uint64_t mark_ns, stage_ns;

	uint32_t narrowed_text; /* a reference to what the last such refusal said */
	uint32_t *added;        /* nominated pods that this run has put on a node */
	uint32_t added_count, added_cap;

	int64_t block[CYCLE_BLOCK];
};

/* -- memory.c: false: out of memory, the run has failed ----------------------------- */

void memory_done(struct cycle_memory *memory);
bool memory_begin(struct cycle *cycle);
/* For what the plan says. */
bool memory_for_plan(struct cycle *cycle);
/* have, or, when that is NULL, a new zeroed column of so many bytes a slot. NULL: the run
 * has failed. */
void *memory_column(struct cycle *cycle, void *have, size_t size);
/* The same of a set of slots. */
uint64_t *memory_set(struct cycle *cycle, uint64_t *have);
/* The run fails; say NULL: nothing more is known. */
void cycle_fail(struct cycle *cycle, int plugin, const struct verdict *verdict);

/* -- prepare.c: up to the plan. false: the run is over. */
bool cycle_prepare(struct cycle *cycle, struct fw_class *class,
                   const struct pod_self *pod);
struct pl_bitset cycle_set(const struct cycle *cycle, uint64_t *word);
/* Live and not left out by PreFilters. */
const uint64_t *cycle_candidates(const struct cycle *cycle);

/* -- filter.c --------------------------------------------------------------------- */

/* The words of a block. */
struct node_span cycle_block(const struct cycle *cycle, uint32_t block);
/* Asks one plugin; false: the run has failed. */
bool filter_ask(struct cycle *cycle, unsigned plugin, struct node_span span);
/* The first that refuses the slot as the snapshot is now; -1: none. */
int filter_one(struct cycle *cycle, uint32_t slot);
/* Filters and local scores of all candidates. false: the run has failed. */
bool filter_all(struct cycle *cycle);
/* The same with what is kept. */
bool filter_results(struct cycle *cycle);
/* To sets of its own, when what is kept is not the whole answer. */
bool filter_results_each(struct cycle *cycle);
/* Only this node is feasible. */
void filter_only(struct cycle *cycle, uint32_t slot);

/* -- nominated.c ------------------------------------------------------------------- */

/* Plugins follow a pod that has come (1) or gone (-1). */
void cycle_pod_moved(struct cycle *cycle, const struct placed_pod *pod, int delta);
/* Does anything that counts wait for this node? */
bool nominated_counts(const struct cycle *cycle, uint32_t slot);
/* As filter_one, but as kube-scheduler: with nominated pods, and without. */
int nominated_filter(struct cycle *cycle, uint32_t slot);
/* Judges the candidates that have some. false: the run has failed. */
bool nominated_judge_nodes(struct cycle *cycle);
/* They are candidates like others again. */
void nominated_release(struct cycle *cycle);
/* Puts those that count on their node; takes them off. false: out of memory, none is. */
bool nominated_add(struct cycle *cycle, uint32_t slot);
void nominated_remove(struct cycle *cycle);

/* -- score.c ------------------------------------------------------------------------ */

/* Room for PLUGIN_SCORE_MAX; totals stay in bounds with whatever else they hold. */
enum { SCORE_BITS = 127 };

/* Asks one plugin. false: all are 0, and nothing was written; or the run has failed. */
bool score_call(struct cycle *cycle, unsigned plugin, struct node_span span,
                int64_t *column);
/* The run fails: added up, what the plugin gave would spoil the totals. */
bool score_out_of_range(struct cycle *cycle, unsigned plugin);
/* Scores of local plugins, fused with the filters of a block. false: has failed. */
bool score_local_block(struct cycle *cycle, uint32_t block);
/* The same into somewhere else. */
bool score_local_span(struct cycle *cycle, struct node_span span,
                      const struct stage_out *out);
/* All the rest, when some node is feasible. false: the run has failed. */
bool score_all(struct cycle *cycle);

/* -- late.c ---------------------------------------------------------------------------
 */

/* PreScores of global plugins, which tell whose scores have nothing to say. */
bool deferred_pre_score(struct cycle *cycle);
bool deferred_any(const struct cycle *cycle);
bool deferred_score_all(struct cycle *cycle);
void score_normalize(struct cycle *cycle, unsigned plugin, int64_t *score);

/* -- choose.c -------------------------------------------------------------------------
 */

void choose_node(struct cycle *cycle, uint64_t draw);
/* Of a block; span may be part of it, with all that is left. */
void choose_in_block(struct cycle *cycle, struct node_span span, uint32_t block);

/* -- figures.c ----------------------------------------------------------------------- */

bool measure_took(struct cycle *cycle, unsigned plugin, enum point point);
bool measure_due(struct cycle *cycle);
void measure_begin(struct cycle *cycle, bool timed);
/* Within a stage, and at its end. false: somebody takes too long. */
bool measure_within(struct cycle *cycle);
bool measure_stage(struct cycle *cycle);
void measure_end(struct cycle *cycle);

/* After each call of a plugin; nothing but in cycles that are timed. false: it is over
 * its budget, the run has failed. */
static inline bool measure_call(struct cycle *cycle, unsigned plugin, enum point point)
{
	return !cycle->timed || measure_took(cycle, plugin, point);
}

#endif
