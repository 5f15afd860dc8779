/*
 * An ordered set that knows its ranks: intrusive, so adding can not fail, and
 * O(log n) for adding, removing from anywhere, "how much comes before this one"
 * and "who is at that place".
 *
 * Who is above whom is found by the order, from the root, so a node has no link to it.
 *
 * A treap whose balance comes from a counter, not from chance: the same calls give
 * the same trees. Each element has a weight (1 for pods; for a band of pods, how many
 * are in it), and ranks are sums of weights.
 */
#ifndef SHARDSCHED_QUEUE_RANK_H
#define SHARDSCHED_QUEUE_RANK_H

#include <stdbool.h>
#include <stdint.h>

#include "store/base/compiler.h"

/* Embedded in the element, which may be in one tree at a time. Zeroed: in none. */
struct rank_node {
	struct rank_node *left;
	struct rank_node *right;
	uint32_t sum;    /* weights of this and all below */
	uint32_t height; /* what the treap balances by; 0: in no tree */
};

/* True when a comes before b: a strict total order, which must not change while
 * they are in the tree. */
typedef bool rank_before_fn(const struct rank_node *a, const struct rank_node *b);

/* Zeroed: empty. */
struct rank_tree {
	struct rank_node *root;
};

/* What trees of one kind share: there may be a million of them. */
struct rank_kind {
	rank_before_fn *before;
	uint64_t heights; /* given so far */
};

void rank_add(struct rank_kind *kind, struct rank_tree *tree, struct rank_node *node,
              uint32_t weight);
/* Of these the node is in the tree; before is its kind's. */
void rank_del(rank_before_fn *before, struct rank_tree *tree, struct rank_node *node);
void rank_weigh(rank_before_fn *before, struct rank_tree *tree, struct rank_node *node,
                uint32_t weight);
/* NULL at the end. */
struct rank_node *rank_next(rank_before_fn *before, const struct rank_tree *tree,
                            const struct rank_node *node);
/* The sum of the weights of those before it. */
uint32_t rank_of(rank_before_fn *before, const struct rank_tree *tree,
                 const struct rank_node *node);

/* NULL: it is empty. */
struct rank_node *rank_first(const struct rank_tree *tree);

/* The element that covers that place, among those with a weight; NULL past the end. */
struct rank_node *rank_at(const struct rank_tree *tree, uint32_t place);

/* Order, balance and sums of everything; asserts. For tests: O(n). */
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
