/* Internals of a cycle, for this folder. One run goes through prepare.c, filter.c,
 * score.c, deferred_score.c and choose.c; every function that can fail returns false once
 * the run has failed, and the outcome then says why. */
#ifndef SHARDSCHED_FRAMEWORK_CYCLE_INT_H
#define SHARDSCHED_FRAMEWORK_CYCLE_INT_H

#include "shardsched/framework/column.h"
#include "shardsched/framework/local_stage.h"

enum {
	CYCLE_BLOCK_WORDS = CYCLE_BLOCK / 64,
	CYCLE_ARENA_MAX = 1 << 29, /* bytes that plugins can allocate in one run */
	CYCLE_SAMPLED = 16,        /* one cycle of so many is timed plugin by plugin */
};

/* A node for which pods are nominated: it is judged on its own, with and without them. */
struct judged_node {
	uint32_t slot;
	int refused_by; /* index in filter[]; -1: the node is feasible */
	struct judged_node *next;
};

/* Measurements of one plugin (measure.c). */
struct plugin_measure {
	uint64_t runs, skips, refused, failed, overran;
	uint64_t ns[POINTS]; /* in the cycles that were timed */
	uint64_t now_ns;     /* in this cycle */
	uint64_t
		run_ns[POINTS]; /* the same, by point; of the last cycle that was timed */
	struct histogram *took_ns[POINTS]; /* owned; NULL: none yet */
};

/* Memory by slot. An array is allocated when a run first needs it, and anew when the
 * snapshot has outgrown it. */
struct cycle_memory {
	uint32_t capacity;
	uint64_t *feasible;
	uint64_t *examined;          /* when a PreFilter narrowed the search */
	uint64_t *judged;            /* set of the nodes judged on their own */
	uint64_t *gone[PLUGINS_MAX]; /* nodes that filter[i] was the first to refuse */
	uint8_t *filtered;           /* by block: how many of filter[] were called */
	uint32_t *left;              /* by block: number of feasible nodes */
	int32_t *total;
	int32_t *by_max[STAGE_BY_MAX_LIMIT];
	/* by block: a bit for each of by_max that is not 0 everywhere in it */
	uint8_t *raised;
	int64_t *wide; /* scores of one plugin that needs to see all feasible nodes */
	int64_t *scores[PLUGINS_MAX]; /* when scores are kept */
	int64_t *totals;              /* totals for cycle_totals */
	int32_t *best;                /* by block: the highest total */
	uint32_t *ties; /* by block: nodes that have the highest total of all blocks */
};

/*
 * State of a run.
 *
 *	            the PreFilter plugins accept the pod
 *	PREPARING ---------------------------------------> READY
 *	    |                                                |
 *	    |    a plugin failed, or memory ran out          |
 *	    +-------------------> FAILED <-------------------+
 *
 * A run whose pod was refused by a PreFilter plugin ends in PREPARING; the outcome holds
 * the verdict. A probe that fails puts READY back (probe.c).
 */
enum run_state { RUN_PREPARING, RUN_READY, RUN_FAILED };

struct cycle {
	struct cycle_opts opts;
	const struct column_ops *ops;
	struct pl_arena arena;
	struct cycle_memory memory;
	void *state;
	size_t state_size;
	void *post_filter_ctx;
	struct pl_bitset only; /* word NULL: all nodes */

	/* The run. */
	struct snapshot *snapshot;
	struct fw_class *class;
	const struct profile *profile;
	struct pod_self pod;
	struct cycle_outcome result; /* the outcome of the run; out points to it */
	struct cycle_outcome *out;
	struct plugin_call call[PLUGINS_MAX];
	enum run_state run_state;
	uint64_t skipped[POINTS];
	uint64_t narrowed_by; /* plugins whose PreFilter excluded nodes */
	uint32_t words;       /* words of the slots in use */
	uint32_t blocks;
	struct verdict pre;
	/* failure of a local plugin, reported only if a node is feasible */
	struct verdict pre_score;

	/* The plan: the filters that run, in order. */
	uint8_t filter[PLUGINS_MAX];
	unsigned filters;
	unsigned filters_local; /* how many come before the first global one */
	bool in_order;          /* no local filter comes after a global one */
	struct stage_plan local;
	uint8_t as_is[PLUGINS_MAX];
	unsigned as_is_count;
	/* plugins whose scores need to see all feasible nodes */
	uint8_t deferred[PLUGINS_MAX];
	unsigned deferred_count;

	/* cached results of the class; NULL: none are used */
	const struct stage_results *results;
	/* the cached results are the whole answer, at least before deferred scores */
	bool whole;
	/* the highest total of each block is known, and how many nodes have it */
	bool chosen;
	struct judged_node *judged; /* nodes judged on their own, in the order of slots */
	/* totals before deferred scores; in the end the final ones */
	const int32_t *base;
	int32_t bonus; /* added to every node's total besides its value in the column */
	int32_t max[STAGE_BY_MAX_LIMIT];
	int32_t highest; /* highest total of the blocks looked at so far */

	/* Measurements. */
	struct plugin_measure measure[PLUGINS_MAX];
	uint64_t runs, timed_runs;
	unsigned suspect; /* so many runs are timed, since a stage took too long */
	bool timed;
	bool slow; /* a stage took longer than a plugin may: the run is repeated, timed */
	uint64_t mark_ns, stage_ns;

	/* a reference to the string of the last refusal by narrowing */
	uint32_t narrowed_text;
	uint32_t *added; /* nominated pods that this run has put on a node */
	uint32_t added_count, added_cap;

	int64_t block[CYCLE_BLOCK];
};

static inline bool cycle_is_ready(const struct cycle *cycle)
{
	return cycle->run_state == RUN_READY;
}

static inline bool cycle_has_failed(const struct cycle *cycle)
{
	return cycle->run_state == RUN_FAILED;
}

/* -- memory.c: false means out of memory, and the run has failed ------------------------- */

void memory_done(struct cycle_memory *memory);
bool memory_begin(struct cycle *cycle);
/* Allocates what the plan needs. */
bool memory_for_plan(struct cycle *cycle);
/* Returns have or, when that is NULL, a new zeroed column of so many bytes a slot. NULL:
 * the run has failed. */
void *memory_column(struct cycle *cycle, void *have, size_t size);
/* The same for a set of slots. */
uint64_t *memory_set(struct cycle *cycle, uint64_t *have);
/* Fails the run. verdict NULL: nothing more is known. */
void cycle_fail(struct cycle *cycle, int plugin, const struct verdict *verdict);

/* -- prepare.c ------------------------------------------------------------------------ */

/* Prepares a run up to the plan. false: the run is over. */
bool cycle_prepare(struct cycle *cycle, struct fw_class *class,
                   const struct pod_self *pod);
struct pl_bitset cycle_set(const struct cycle *cycle, uint64_t *word);
/* The live nodes that PreFilters left. */
const uint64_t *cycle_candidates(const struct cycle *cycle);

/* -- filter.c ---------------------------------------------------------------------------- */

/* The words of a block. */
struct node_span cycle_block(const struct cycle *cycle, uint32_t block);
/* Calls the filter of one plugin. false: the run has failed. */
bool filter_ask(struct cycle *cycle, unsigned plugin, struct node_span span);
/* Index of the first filter that refuses the slot in the snapshot as it is now; -1:
 * none. */
int filter_one(struct cycle *cycle, uint32_t slot);
/* Runs the filters and local scores over all candidates. false: the run has failed. */
bool filter_all(struct cycle *cycle);
/* The same, starting from the cached results. */
bool filter_results(struct cycle *cycle);
/* Copies the cached results to sets of the run's own, when they are not the whole
 * answer. */
bool filter_results_each(struct cycle *cycle);
/* Makes this node the only feasible one. */
void filter_only(struct cycle *cycle, uint32_t slot);

/* -- nominated.c ------------------------------------------------------------------------- */

/* Tells the plugins that a pod has come to its node (1) or left it (-1). */
void cycle_pod_moved(struct cycle *cycle, const struct placed_pod *pod, int delta);
/* Whether a pod that counts for this run is nominated for the node. */
bool nominated_counts(const struct cycle *cycle, uint32_t slot);
/* As filter_one, but as kube-scheduler does: with the nominated pods, and without
 * them. */
int nominated_filter(struct cycle *cycle, uint32_t slot);
/* Judges the candidates that have nominated pods. false: the run has failed. */
bool nominated_judge_nodes(struct cycle *cycle);
/* Makes them candidates like all others again. */
void nominated_release(struct cycle *cycle);
/* Adds the nominated pods that count to their node, or removes them again. false: out of
 * memory, and none was added. */
bool nominated_add(struct cycle *cycle, uint32_t slot);
void nominated_remove(struct cycle *cycle);

/* -- score.c ----------------------------------------------------------------------------- */

/* Enough bits for PLUGIN_SCORE_MAX; totals stay in bounds whatever else they contain. */
enum { SCORE_BITS = 127 };

/* Calls the score of one plugin. false: all scores are 0 and nothing was written, or the
 * run has failed. */
bool score_call(struct cycle *cycle, unsigned plugin, struct node_span span,
                int64_t *column);
/* Fails the run: the score is out of range and would spoil the totals. */
bool score_out_of_range(struct cycle *cycle, unsigned plugin);
/* Runs the scores of local plugins over a block that was just filtered. false: the run
 * has failed. */
bool score_local_block(struct cycle *cycle, uint32_t block);
/* The same, written to out. */
bool score_local_span(struct cycle *cycle, struct node_span span,
                      const struct stage_out *out);
/* Runs all other scores, when some node is feasible. false: the run has failed. */
bool score_all(struct cycle *cycle);

/* -- deferred_score.c -------------------------------------------------------------------- */

/* Runs PreScore of the global plugins, which tells which of them have nothing to add. */
bool deferred_pre_score(struct cycle *cycle);
bool deferred_any(const struct cycle *cycle);
bool deferred_score_all(struct cycle *cycle);
void score_normalize(struct cycle *cycle, unsigned plugin, int64_t *score);

/* -- choose.c ---------------------------------------------------------------------------- */

void choose_node(struct cycle *cycle, uint64_t draw);
/* Updates best and ties of a block. span may be a part of it that has all feasible
 * nodes. */
void choose_in_block(struct cycle *cycle, struct node_span span, uint32_t block);

/* -- measure.c --------------------------------------------------------------------------- */

bool measure_took(struct cycle *cycle, unsigned plugin, enum point point);
bool measure_due(struct cycle *cycle);
void measure_begin(struct cycle *cycle, bool timed);
/* Within a stage, and at its end. false: a plugin takes too long. */
bool measure_within(struct cycle *cycle);
bool measure_stage(struct cycle *cycle);
void measure_end(struct cycle *cycle);
void measure_done(struct cycle *cycle);

/* Called after each call of a plugin; does nothing in cycles that are not timed. false:
 * the plugin is over its budget, and the run has failed. */
static inline bool measure_call(struct cycle *cycle, unsigned plugin, enum point point)
{
	return !cycle->timed || measure_took(cycle, plugin, point);
}

#endif
