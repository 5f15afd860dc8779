#include "shardsched/queue/rank.h"

#include <stddef.h>

static uint32_t sum_of(const struct rank_node *node)
{
	return node == NULL ? 0 : node->sum;
}

/* The finaliser of SplitMix64 over a counter: as good as chance, and repeats. */
static uint32_t next_height(struct rank_kind *kind)
{
	uint64_t mix = (kind->heights += 0x9e3779b97f4a7c15ULL);

	mix = (mix ^ (mix >> 30)) * 0xbf58476d1ce4e5b9ULL;
	mix = (mix ^ (mix >> 27)) * 0x94d049bb133111ebULL;
	return (uint32_t)(mix >> 32) | 1;
}

/* Whatever points at node from above points at other instead. */
static void replace(struct rank_tree *tree, const struct rank_node *node,
                    struct rank_node *other)
{
	struct rank_node *parent = node->parent;

	if (parent == NULL)
		tree->root = other;
	else if (parent->left == node)
		parent->left = other;
	else
		parent->right = other;
	if (other != NULL)
		other->parent = parent;
}

/* The child takes the place of its parent; order and the sum above stay. */
static void rotate_up(struct rank_tree *tree, struct rank_node *node)
{
	struct rank_node *parent = node->parent, *moved;
	uint32_t all = parent->sum;

	parent->sum = all - node->sum;
	replace(tree, parent, node);
	if (parent->left == node) {
		moved = node->right;
		parent->left = moved;
		node->right = parent;
	} else {
		moved = node->left;
		parent->right = moved;
		node->left = parent;
	}
	if (moved != NULL)
		moved->parent = parent;
	parent->parent = node;
	parent->sum += sum_of(moved);
	node->sum = all;
}

void rank_add(struct rank_kind *kind, struct rank_tree *tree, struct rank_node *node,
              uint32_t weight)
{
	struct rank_node **link = &tree->root, *parent = NULL;
	bool leftmost = true;

	PL_ASSERT(!rank_has(node));
	while (*link != NULL) {
		parent = *link;
		parent->sum += weight;
		if (kind->before(node, parent)) {
			link = &parent->left;
		} else {
			link = &parent->right;
			leftmost = false;
		}
	}
	*node = (struct rank_node){
		.parent = parent, .sum = weight, .height = next_height(kind)};
	*link = node;
	if (leftmost)
		tree->first = node;
	while (node->parent != NULL && node->parent->height < node->height)
		rotate_up(tree, node);
}

void rank_del(struct rank_tree *tree, struct rank_node *node)
{
	uint32_t weight;

	PL_ASSERT(rank_has(node));
	if (tree->first == node)
		tree->first = rank_next(node);
	while (node->left != NULL && node->right != NULL)
		rotate_up(tree, node->left->height > node->right->height ? node->left
		                                                         : node->right);
	weight = rank_weight(node);
	replace(tree, node, node->left != NULL ? node->left : node->right);
	for (struct rank_node *up = node->parent; up != NULL; up = up->parent)
		up->sum -= weight;
	*node = (struct rank_node){0};
}

void rank_weigh(struct rank_node *node, uint32_t weight)
{
	uint32_t less = rank_weight(node);

	PL_ASSERT(rank_has(node));
	for (; node != NULL; node = node->parent)
		node->sum = node->sum - less + weight;
}

struct rank_node *rank_next(const struct rank_node *node)
{
	struct rank_node *next = node->right;

	if (next == NULL) {
		while (node->parent != NULL && node->parent->right == node)
			node = node->parent;
		return node->parent;
	}
	while (next->left != NULL)
		next = next->left;
	return next;
}

uint32_t rank_of(const struct rank_node *node)
{
	uint32_t before = sum_of(node->left);

	PL_ASSERT(rank_has(node));
	for (; node->parent != NULL; node = node->parent)
		if (node->parent->right == node)
			before += node->parent->sum - node->sum;
	return before;
}

struct rank_node *rank_at(const struct rank_tree *tree, uint32_t place)
{
	struct rank_node *node = tree->root;

	if (place >= rank_sum(tree))
		return NULL;
	for (;;) {
		uint32_t left = sum_of(node->left),
			 upto = node->sum - sum_of(node->right);

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

static void check_node(const struct rank_kind *kind, const struct rank_node *node)
{
	const struct rank_node *next = rank_next(node);

	PL_ASSERT(rank_has(node));
	PL_ASSERT(next == NULL || kind->before(node, next));
	PL_ASSERT(next == NULL || !kind->before(next, node));
	PL_ASSERT(node->left == NULL || node->left->parent == node);
	PL_ASSERT(node->right == NULL || node->right->parent == node);
	PL_ASSERT(node->parent == NULL || node->parent->height >= node->height);
}

void rank_check(const struct rank_kind *kind, const struct rank_tree *tree)
{
	uint32_t sum = 0;

	PL_ASSERT((tree->root == NULL) == (tree->first == NULL));
	PL_ASSERT(tree->root == NULL || tree->root->parent == NULL);
	for (const struct rank_node *node = tree->first; node != NULL;
	     node = rank_next(node)) {
		check_node(kind, node);
		PL_ASSERT(rank_of(node) == sum);
		sum += rank_weight(node);
	}
	PL_ASSERT(sum == rank_sum(tree));
}
