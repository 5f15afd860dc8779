#include "store/memkv/interval_tree.h"

void interval_tree_init(struct interval_tree *tree, uint64_t seed)
{
	*tree = (struct interval_tree){0};
	pl_rng_init(&tree->rng, seed);
}

static bool node_before(const struct interval_tree_node *a,
                        const struct interval_tree_node *b)
{
	int order = pl_span_cmp(a->begin, b->begin);

	return order != 0 ? order < 0 : a->seq < b->seq;
}

static const struct interval_tree_node *
furthest_of(const struct interval_tree_node *a, const struct interval_tree_node *child)
{
	const struct interval_tree_node *b = child == NULL ? NULL : child->furthest;

	if (b == NULL || a->endless)
		return a;
	return b->endless || pl_span_cmp(a->end, b->end) < 0 ? b : a;
}

static void node_update(struct interval_tree_node *node)
{
	node->furthest = furthest_of(furthest_of(node, node->left), node->right);
}

/* Depths of recursion here and below are logarithmic, because weights are random. */
static void split_at(struct interval_tree_node *root, /* NOLINT(misc-no-recursion) */
                     const struct interval_tree_node *by,
                     struct interval_tree_node **left, struct interval_tree_node **right)
{
	if (root == NULL) {
		*left = *right = NULL;
	} else if (node_before(root, by)) {
		split_at(root->right, by, &root->right, right);
		*left = root;
		node_update(root);
	} else {
		split_at(root->left, by, left, &root->left);
		*right = root;
		node_update(root);
	}
}

static struct interval_tree_node *
merge_trees(struct interval_tree_node *left, /* NOLINT(misc-no-recursion) */
            struct interval_tree_node *right)
{
	if (left == NULL || right == NULL)
		return left == NULL ? right : left;
	if (left->weight > right->weight) {
		left->right = merge_trees(left->right, right);
		node_update(left);
		return left;
	}
	right->left = merge_trees(left, right->left);
	node_update(right);
	return right;
}

static struct interval_tree_node *
add_below(struct interval_tree_node *root, /* NOLINT(misc-no-recursion) */
          struct interval_tree_node *node)
{
	if (root == NULL || node->weight > root->weight) {
		split_at(root, node, &node->left, &node->right);
		node_update(node);
		return node;
	}
	if (node_before(node, root))
		root->left = add_below(root->left, node);
	else
		root->right = add_below(root->right, node);
	node_update(root);
	return root;
}

static struct interval_tree_node *
del_below(struct interval_tree_node *root, /* NOLINT(misc-no-recursion) */
          struct interval_tree_node *node)
{
	PL_ASSERT(root != NULL);
	if (root == node)
		return merge_trees(node->left, node->right);
	if (node_before(node, root))
		root->left = del_below(root->left, node);
	else
		root->right = del_below(root->right, node);
	node_update(root);
	return root;
}

void interval_tree_add(struct interval_tree *tree, struct interval_tree_node *node)
{
	node->weight = pl_rng_next(&tree->rng);
	tree->root = add_below(tree->root, node);
}

void interval_tree_del(struct interval_tree *tree, struct interval_tree_node *node)
{
	tree->root = del_below(tree->root, node);
	node->left = node->right = NULL;
}

static bool ends_behind(const struct interval_tree_node *node, struct pl_span key)
{
	return node->endless || pl_span_cmp(key, node->end) < 0;
}

static enum pl_code
each_below(struct interval_tree_node *node, /* NOLINT(misc-no-recursion) */
           struct pl_span key, interval_tree_fn *fn, void *ctx)
{
	enum pl_code code;

	if (node == NULL || !ends_behind(node->furthest, key))
		return PL_OK;
	code = each_below(node->left, key, fn, ctx);
	if (code != PL_OK || pl_span_cmp(node->begin, key) > 0)
		return code;
	if (ends_behind(node, key))
		code = fn(ctx, node);
	return code != PL_OK ? code : each_below(node->right, key, fn, ctx);
}

enum pl_code interval_tree_each(const struct interval_tree *tree, struct pl_span key,
                                interval_tree_fn *fn, void *ctx)
{
	return each_below(tree->root, key, fn, ctx);
}
