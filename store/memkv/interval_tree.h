/*
 * An interval tree: finds the ranges that contain a key. The tree is a treap ordered by
 * where the ranges begin, and knows the furthest end in each subtree.
 *
 * A query costs the ranges that it finds plus a logarithm. Nothing allocates, and nothing
 * fails. Ranges are found in the order of (begin, seq).
 */
#ifndef STORE_MEMKV_INTERVAL_TREE_H
#define STORE_MEMKV_INTERVAL_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "store/base/err.h"
#include "store/base/rng.h"
#include "store/base/span.h"

/* Embedded in the element. begin, end, endless and seq are set before the node is added,
 * and must not change while it is in the tree. */
struct interval_tree_node {
	struct interval_tree_node *left, *right;
	const struct interval_tree_node
		*furthest; /* the node with the greatest end in this subtree */
	struct pl_span begin;
	struct pl_span end; /* the first key behind the range */
	bool endless;
	uint64_t seq; /* distinguishes equal ranges */
	uint64_t weight;
};

struct interval_tree {
	struct interval_tree_node *root;
	struct pl_rng rng;
};

typedef enum pl_code interval_tree_fn(void *ctx, struct interval_tree_node *node);

void interval_tree_init(struct interval_tree *tree, uint64_t seed);
void interval_tree_add(struct interval_tree *tree, struct interval_tree_node *node);
void interval_tree_del(struct interval_tree *tree, struct interval_tree_node *node);

/* Stops at the first code that is not PL_OK, and returns it. */
PL_NODISCARD enum pl_code interval_tree_each(const struct interval_tree *tree,
                                             struct pl_span key, interval_tree_fn *fn,
                                             void *ctx);

#endif
