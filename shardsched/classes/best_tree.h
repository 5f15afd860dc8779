/*
 * The best of a column of totals, and how many share it, kept up in O(log n): blocks of
 * 64 totals, blocks of 64 blocks, and so on until at most 64 are left. Blocks are wide
 * because 64 totals next to each other are compared in a few instructions.
 *
 * The column is the owner's, padded with BEST_NONE to a multiple of 64.
 */
#ifndef SHARDSCHED_CLASSES_BEST_TREE_H
#define SHARDSCHED_CLASSES_BEST_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/base/err.h"

#define BEST_NONE INT32_MIN

enum { BEST_LEVELS_MAX = 4, BEST_WIDTH = 64 };

struct best_level {
	int32_t *best;
	uint32_t *ties; /* 0 where best is BEST_NONE */
	uint32_t count; /* number of blocks; the arrays are padded to a multiple of 64 */
};

struct best_tree {
	const int32_t *total;
	uint32_t levels;
	struct best_level level[BEST_LEVELS_MAX];
};

struct best_top {
	int32_t best; /* BEST_NONE: no total */
	uint32_t ties;
};

/* Bytes of heap for that many totals. */
size_t best_tree_bytes(uint32_t count);
/* Makes a tree of totals that all are BEST_NONE. false: no memory. */
PL_NODISCARD bool best_tree_init(struct best_tree *tree, const int32_t *total,
                                 uint32_t count);
/* A zeroed tree may be given, too. */
void best_tree_done(struct best_tree *tree);

/* To be called when totals of that block have changed. */
void best_tree_update(struct best_tree *tree, uint32_t block);
/* To be called when any total may have changed. */
void best_tree_build(struct best_tree *tree);

struct best_top best_tree_top(const struct best_tree *tree);
/* The position of one of the totals that equal the best: the index-th of them, below
 * ties. */
uint32_t best_tree_pick(const struct best_tree *tree, uint32_t index);

#endif
