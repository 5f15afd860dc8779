#include "shardsched/queue/rank.h"

#include <stddef.h>

#include "store/base/rng.h"

static uint32_t node_sum(const struct rank_node *node)
{
	return node == NULL ? 0 : node->sum;
}

/* A counter that is mixed is as good as random, and repeatable. */
static uint32_t next_height(struct rank_kind *kind)
{
	kind->heights += UINT64_C(0x9e3779b97f4a7c15);
	return (uint32_t)(pl_rng_mix(kind->heights) >> 32) | 1;
}

/* The child of from that leads to node. */
static struct rank_node **child_towards(rank_before_fn *before, struct rank_node *from,
                                        const struct rank_node *node)
{
	return before(node, from) ? &from->left : &from->right;
}

/* Splits the tree below at into what comes before node and what after it. Only a few
 * levels change: most of what is below a new node stays as it is. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as a treap, logarithmic by its heights */
static void split_tree(rank_before_fn *before, const struct rank_node *node,
                       struct rank_node *at, struct rank_node **left,
                       struct rank_node **right)
{
	uint32_t weight;

	if (at == NULL) {
		*left = *right = NULL;
		return;
	}
	weight = rank_weight(at);
	if (before(node, at)) {
		*right = at;
		split_tree(before, node, at->left, left, &at->left);
	} else {
		*left = at;
		split_tree(before, node, at->right, &at->right, right);
	}
	at->sum = weight + node_sum(at->left) + node_sum(at->right);
}

/* Joins two trees; all of left comes before all of right. */
static void join_trees(struct rank_node *left, struct rank_node *right,
                       struct rank_node **out)
{
	while (left != NULL && right != NULL) {
		if (left->height > right->height) {
			left->sum += right->sum;
			*out = left;
			out = &left->right;
			left = left->right;
		} else {
			right->sum += left->sum;
			*out = right;
			out = &right->left;
			right = right->left;
		}
	}
	*out = left != NULL ? left : right;
}

void rank_add(struct rank_kind *kind, struct rank_tree *tree, struct rank_node *node,
              uint32_t weight)
{
	struct rank_node **link = &tree->root;

	PL_ASSERT(!rank_has(node));
	*node = (struct rank_node){.height = next_height(kind)};
	while (*link != NULL && (*link)->height >= node->height) {
		(*link)->sum += weight;
		link = child_towards(kind->before, *link, node);
	}
	split_tree(kind->before, node, *link, &node->left, &node->right);
	node->sum = weight + node_sum(node->left) + node_sum(node->right);
	*link = node;
}

void rank_del(rank_before_fn *before, struct rank_tree *tree, struct rank_node *node)
{
	struct rank_node **link = &tree->root;
	uint32_t weight = rank_weight(node);

	PL_ASSERT(rank_has(node));
	while (*link != node) {
		PL_ASSERT(*link != NULL);
		(*link)->sum -= weight;
		link = child_towards(before, *link, node);
	}
	join_trees(node->left, node->right, link);
	*node = (struct rank_node){0};
}

void rank_weigh(rank_before_fn *before, struct rank_tree *tree, struct rank_node *node,
                uint32_t weight)
{
	uint32_t more = weight - rank_weight(node); /* may be negative: the sum wraps */

	PL_ASSERT(rank_has(node));
	for (struct rank_node *at = tree->root; at != node;) {
		PL_ASSERT(at != NULL);
		at->sum += more;
		at = *child_towards(before, at, node);
	}
	node->sum += more;
}

static struct rank_node *leftmost(struct rank_node *node)
{
	while (node != NULL && node->left != NULL)
		node = node->left;
	return node;
}

struct rank_node *rank_first(const struct rank_tree *tree)
{
	return leftmost(tree->root);
}

struct rank_node *rank_next(rank_before_fn *before, const struct rank_tree *tree,
                            const struct rank_node *node)
{
	struct rank_node *next = NULL;

	if (node->right != NULL)
		return leftmost(node->right);
	for (struct rank_node *at = tree->root; at != node;) {
		bool left = before(node, at);

		next = left ? at : next;
		at = left ? at->left : at->right;
	}
	return next;
}

uint32_t rank_of(rank_before_fn *before, const struct rank_tree *tree,
                 const struct rank_node *node)
{
	uint32_t ahead = 0;

	PL_ASSERT(rank_has(node));
	for (const struct rank_node *at = tree->root; at != node;) {
		bool left = before(node, at);

		PL_ASSERT(at != NULL);
		ahead += left ? 0 : at->sum - node_sum(at->right);
		at = left ? at->left : at->right;
	}
	return ahead + node_sum(node->left);
}

struct rank_node *rank_at(const struct rank_tree *tree, uint32_t place)
{
	struct rank_node *node = tree->root;

	if (place >= rank_sum(tree))
		return NULL;
	for (;;) {
		uint32_t left = node_sum(node->left),
			 upto = node->sum - node_sum(node->right);

		if (place < left) {
			node = node->left;
		} else if (place < upto) {
			return node;
		} else {
			place -= upto;
			node = node->right;
		}
	}
}

static void check_node(const struct rank_kind *kind, const struct rank_tree *tree,
                       const struct rank_node *node)
{
	const struct rank_node *next = rank_next(kind->before, tree, node);

	PL_ASSERT(rank_has(node));
	PL_ASSERT(next == NULL || kind->before(node, next));
	PL_ASSERT(next == NULL || !kind->before(next, node));
	PL_ASSERT(node->left == NULL || node->left->height <= node->height);
	PL_ASSERT(node->right == NULL || node->right->height <= node->height);
}

void rank_check(const struct rank_kind *kind, const struct rank_tree *tree)
{
	uint32_t sum = 0;

	for (const struct rank_node *node = rank_first(tree); node != NULL;
	     node = rank_next(kind->before, tree, node)) {
		check_node(kind, tree, node);
		PL_ASSERT(rank_of(kind->before, tree, node) == sum);
		sum += rank_weight(node);
	}
	PL_ASSERT(sum == rank_sum(tree));
}
