#include "store/memkv/stab.h"

void stab_init(struct stab *stab, uint64_t seed)
{
	*stab = (struct stab){0};
	pl_rng_init(&stab->rng, seed);
}

static bool node_before(const struct stab_node *a, const struct stab_node *b)
{
	int order = pl_span_cmp(a->begin, b->begin);

	return order != 0 ? order < 0 : a->seq < b->seq;
}

static const struct stab_node *further(const struct stab_node *a,
                                       const struct stab_node *child)
{
	const struct stab_node *b = child == NULL ? NULL : child->furthest;

	if (b == NULL || a->endless)
		return a;
	return b->endless || pl_span_cmp(a->end, b->end) < 0 ? b : a;
}

static void node_update(struct stab_node *node)
{
	node->furthest = further(further(node, node->left), node->right);
}

/* Depths here and below are logarithmic: weights are random. */
static void split(struct stab_node *root, /* NOLINT(misc-no-recursion) */
                  const struct stab_node *by, struct stab_node **left,
                  struct stab_node **right)
{
	if (root == NULL) {
		*left = *right = NULL;
	} else if (node_before(root, by)) {
		split(root->right, by, &root->right, right);
		*left = root;
		node_update(root);
	} else {
		split(root->left, by, left, &root->left);
		*right = root;
		node_update(root);
	}
}

static struct stab_node *merge(struct stab_node *left, /* NOLINT(misc-no-recursion) */
                               struct stab_node *right)
{
	if (left == NULL || right == NULL)
		return left == NULL ? right : left;
	if (left->weight > right->weight) {
		left->right = merge(left->right, right);
		node_update(left);
		return left;
	}
	right->left = merge(left, right->left);
	node_update(right);
	return right;
}

static struct stab_node *add(struct stab_node *root, /* NOLINT(misc-no-recursion) */
                             struct stab_node *node)
{
	if (root == NULL || node->weight > root->weight) {
		split(root, node, &node->left, &node->right);
		node_update(node);
		return node;
	}
	if (node_before(node, root))
		root->left = add(root->left, node);
	else
		root->right = add(root->right, node);
	node_update(root);
	return root;
}

static struct stab_node *del(struct stab_node *root, /* NOLINT(misc-no-recursion) */
                             struct stab_node *node)
{
	PL_ASSERT(root != NULL);
	if (root == node)
		return merge(node->left, node->right);
	if (node_before(node, root))
		root->left = del(root->left, node);
	else
		root->right = del(root->right, node);
	node_update(root);
	return root;
}

void stab_add(struct stab *stab, struct stab_node *node)
{
	node->weight = pl_rng_next(&stab->rng);
	stab->root = add(stab->root, node);
}

void stab_del(struct stab *stab, struct stab_node *node)
{
	stab->root = del(stab->root, node);
	node->left = node->right = NULL;
}

static bool ends_behind(const struct stab_node *node, struct pl_span key)
{
	return node->endless || pl_span_cmp(key, node->end) < 0;
}

static enum pl_code each(struct stab_node *node, /* NOLINT(misc-no-recursion) */
                         struct pl_span key, stab_fn *fn, void *ctx)
{
	enum pl_code code;

	if (node == NULL || !ends_behind(node->furthest, key))
		return PL_OK;
	code = each(node->left, key, fn, ctx);
	if (code != PL_OK || pl_span_cmp(node->begin, key) > 0)
		return code;
	if (ends_behind(node, key))
		code = fn(ctx, node);
	return code != PL_OK ? code : each(node->right, key, fn, ctx);
}

enum pl_code stab_each(const struct stab *stab, struct pl_span key, stab_fn *fn,
                       void *ctx)
{
	return each(stab->root, key, fn, ctx);
}
