/*
 * What is kept of one class, or of several that are alike: see classes.h. Its numbers
 * hold for the snapshot as it was at `changes`; kept_mend brings them up to now.
 */
#ifndef SHARDSCHED_CLASSES_KEPT_H
#define SHARDSCHED_CLASSES_KEPT_H

#include "shardsched/classes/alike.h"
#include "shardsched/classes/best_tree.h"
#include "shardsched/framework/stages.h"
#include "store/base/list.h"
#include "store/base/map.h"

/* A score that is normalised by its maximum. */
struct kept_maxed {
	int32_t *raw;     /* by slot, where feasible; NULL: all are 0 */
	int32_t max;      /* of the feasible ones */
	uint32_t holders; /* of these, with max */
	int32_t basis;    /* the maximum by which totals are weighed now */
	int32_t of_zero;  /* what a raw 0 adds under it */
};

struct kept {
	struct pl_list order; /* of use */
	struct pl_map_node by_alike;
	struct alike alike;
	struct pl_list shares; /* of the classes that use it */
	bool home;             /* only nodes at home are looked at */
	struct stage_plan plan;
	uint64_t changes;
	uint32_t capacity; /* of slots */
	size_t bytes;
	uint64_t *feasible;
	uint8_t *refuser; /* KEPT_NO_ONE: no node, or feasible */
	int32_t *total;   /* BEST_NONE: not feasible */
	struct kept_maxed maxed[STAGE_MAXED_MAX];
	struct best_tree tree;
	struct stage_kept shown;
};

enum { KEPT_NO_ONE = UINT8_MAX };

/* For the words of one stage_local. */
struct kept_scratch {
	uint64_t bits[CYCLE_BLOCK / 64];
	uint8_t refuser[CYCLE_BLOCK];
	int32_t total[CYCLE_BLOCK];
	int32_t maxed[STAGE_MAXED_MAX][CYCLE_BLOCK];
};

/* Slots that changed, as bits, and the words in which they are. */
struct kept_dirty {
	uint64_t *word;
	uint32_t *list;
	uint32_t count;
	uint32_t words; /* of the snapshot in use */
};

/* Heap, with so many maxed columns. */
size_t kept_bytes(uint32_t capacity, uint32_t columns);

/* Nothing is known yet. NULL: no memory. */
PL_NODISCARD struct kept *kept_new(uint32_t capacity);
void kept_free(struct kept *kept);

/* Forgets what it knows, for another plan. */
void kept_reset(struct kept *kept, const struct stage_plan *plan);

/* Works out dirty slots anew. false: no memory, or a plugin failed; it is worthless. */
PL_NODISCARD bool kept_mend(struct kept *kept, struct cycle *cycle,
                            const struct snapshot *snapshot,
                            const struct kept_dirty *dirty, struct kept_scratch *scratch);

#endif
