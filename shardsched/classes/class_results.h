/*
 * Class results: what the class cache keeps of one class, or of several classes with one
 * signature (class_cache.h).
 *
 * Invariant: the numbers hold for the snapshot as it was at `changes`;
 * class_results_update brings them to the current one.
 */
#ifndef SHARDSCHED_CLASSES_CLASS_RESULTS_H
#define SHARDSCHED_CLASSES_CLASS_RESULTS_H

#include "shardsched/classes/best_tree.h"
#include "shardsched/classes/class_signature.h"
#include "shardsched/framework/local_stage.h"
#include "store/base/list.h"
#include "store/base/map.h"

/* A score that is normalised by its maximum. */
struct class_results_maxed {
	int32_t *raw;     /* by slot, where feasible; NULL: all are 0 */
	int32_t max;      /* maximum over feasible slots */
	uint32_t holders; /* number of feasible slots with the maximum */
	int32_t basis;    /* the maximum by which totals are weighed now */
	int32_t of_zero;  /* share of a raw score of 0 under that basis */
};

struct class_results {
	struct pl_list order; /* in the order of use */
	struct pl_map_node by_signature;
	struct class_signature signature;
	struct pl_list shares; /* result_share of each class that uses them */
	bool local;            /* only local nodes are considered */
	struct stage_plan plan;
	uint64_t changes;
	uint32_t capacity; /* number of slots */
	size_t bytes;
	uint64_t *feasible;
	uint8_t *refuser; /* REFUSED_BY_NONE: no node, or feasible */
	int32_t *total;   /* BEST_NONE: not feasible */
	struct class_results_maxed by_max[STAGE_BY_MAX_LIMIT];
	struct best_tree tree;
	struct stage_results shown;
};

enum { REFUSED_BY_NONE = UINT8_MAX };

/* Scratch memory for the words of one stage_local. */
struct class_results_scratch {
	uint64_t bits[CYCLE_BLOCK / 64];
	uint8_t refuser[CYCLE_BLOCK];
	int32_t total[CYCLE_BLOCK];
	int32_t by_max[STAGE_BY_MAX_LIMIT][CYCLE_BLOCK];
};

/* Changed slots as bits, and a list of the words that have any. */
struct class_results_dirty {
	uint64_t *word;
	uint32_t *list;
	uint32_t count;
	uint32_t words; /* words of the snapshot's bitsets in use */
};

/* Bytes of heap with that many maxed columns. */
size_t class_results_bytes(uint32_t capacity, uint32_t columns);

/* Makes empty results. NULL: no memory. */
PL_NODISCARD struct class_results *class_results_new(uint32_t capacity);
void class_results_free(struct class_results *results);

/* Empties the results, for another plan. */
void class_results_reset(struct class_results *results, const struct stage_plan *plan);

/* Computes the dirty slots again. false: no memory, or a plugin failed; the results are
 * unusable. */
PL_NODISCARD bool class_results_update(struct class_results *results, struct cycle *cycle,
                                       const struct snapshot *snapshot,
                                       const struct class_results_dirty *dirty,
                                       struct class_results_scratch *scratch);

#endif
