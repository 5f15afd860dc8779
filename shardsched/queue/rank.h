/*
 * A rank tree is an ordered set that knows its ranks. It is intrusive, so adding can not
 * fail. Adding, removing from anywhere, "how much comes before this element" and "which
 * element is at that rank" take O(log n).
 *
 * Nodes have no parent link: the way from the root follows from the order.
 *
 * The tree is a treap whose balance comes from a counter instead of random numbers: equal
 * calls give equal trees. Each element has a weight (1 for a pod; for a band its number
 * of pods), and ranks are sums of weights.
 */
#ifndef SHARDSCHED_QUEUE_RANK_H
#define SHARDSCHED_QUEUE_RANK_H

#include <stdbool.h>
#include <stdint.h>

#include "store/base/compiler.h"

/* Embedded in the element, which may be in one tree at a time. Zeroed: in no tree. */
struct rank_node {
	struct rank_node *left;
	struct rank_node *right;
	uint32_t sum;    /* weights of this node and all nodes below it */
	uint32_t height; /* priority of the treap; 0: in no tree */
};

/* Whether a comes before b: a strict total order, which must not change while the
 * elements are in the tree. */
typedef bool rank_before_fn(const struct rank_node *a, const struct rank_node *b);

/* Zeroed: empty. */
struct rank_tree {
	struct rank_node *root;
};

/* State shared by all trees of one kind: there may be a million trees. */
struct rank_kind {
	rank_before_fn *before;
	uint64_t heights; /* how many heights were given out */
};

void rank_add(struct rank_kind *kind, struct rank_tree *tree, struct rank_node *node,
              uint32_t weight);
/* The node must be in the tree; before is its kind's. */
void rank_del(rank_before_fn *before, struct rank_tree *tree, struct rank_node *node);
void rank_weigh(rank_before_fn *before, struct rank_tree *tree, struct rank_node *node,
                uint32_t weight);
/* NULL: node is the last one. */
struct rank_node *rank_next(rank_before_fn *before, const struct rank_tree *tree,
                            const struct rank_node *node);
/* The sum of the weights of the elements before it. */
uint32_t rank_of(rank_before_fn *before, const struct rank_tree *tree,
                 const struct rank_node *node);

/* NULL: the tree is empty. */
struct rank_node *rank_first(const struct rank_tree *tree);

/* The element that covers that rank, among the elements with a weight; NULL: past the
 * end. */
struct rank_node *rank_at(const struct rank_tree *tree, uint32_t place);

/* Asserts order, balance and sums, in O(n); for tests. */
void rank_check(const struct rank_kind *kind, const struct rank_tree *tree);

static inline bool rank_has(const struct rank_node *node)
{
	return node->height != 0;
}

static inline uint32_t rank_sum(const struct rank_tree *tree)
{
	return tree->root == NULL ? 0 : tree->root->sum;
}

static inline uint32_t rank_weight(const struct rank_node *node)
{
	return node->sum - (node->left == NULL ? 0 : node->left->sum) -
	       (node->right == NULL ? 0 : node->right->sum);
}

#endif
