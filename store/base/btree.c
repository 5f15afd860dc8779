#include "store/base/btree.h"

#include <stdbool.h>
#include <stdlib.h>

#include "store/base/alloc.h"

enum { PAGE_MAX = 64, MERGE_MAX = PAGE_MAX * 3 / 4, HEIGHT_MAX = 16 };

/*
 * least[i] is the first element of a leaf's slot, or of the subtree below slot i of a
 * branch. A branch can come to have a single child, but no page is ever empty.
 */
struct pl_btree_page {
	/* the next leaf; of a spare page the next spare one */
	struct pl_btree_page *next;
	struct pl_btree_page *prev;
	unsigned count;
	bool is_leaf;
	struct pl_btree_node *least[PAGE_MAX];
	struct pl_btree_page *child[PAGE_MAX]; /* branches only */
};

static struct pl_btree_page *page_take(struct pl_btree *map, bool is_leaf)
{
	struct pl_btree_page *page = map->spare;

	PL_ASSERT(page != NULL && map->spares > 0);
	map->spare = page->next;
	map->spares--;
	page->next = page->prev = NULL;
	page->count = 0;
	page->is_leaf = is_leaf;
	return page;
}

static void pages_free(struct pl_btree_page *page) /* NOLINT(misc-no-recursion) */
{
	if (!page->is_leaf)
		for (unsigned i = 0; i < page->count; i++)
			pages_free(page->child[i]);
	free(page);
}

void pl_btree_done(struct pl_btree *map)
{
	if (map->root != NULL)
		pages_free(map->root);
	while (map->spare != NULL) {
		struct pl_btree_page *page = map->spare;

		map->spare = page->next;
		free(page);
	}
	*map = (struct pl_btree){0};
}

enum pl_code pl_btree_reserve(struct pl_btree *map)
{
	while (map->spares < map->height + 1) {
		struct pl_btree_page *page = pl_malloc(sizeof *page);

		if (page == NULL)
			return PL_NOMEM;
		page->next = map->spare;
		map->spare = page;
		map->spares++;
	}
	return PL_OK;
}

/* The number of the page's keys that are less than key; with equal, that are not
 * greater. */
static unsigned slot_rank(const struct pl_btree_page *page, struct pl_span key,
                          bool equal)
{
	unsigned low = 0, high = page->count;

	while (low < high) {
		unsigned mid = (low + high) / 2;
		int order = pl_span_cmp(page->least[mid]->key, key);

		if (order < 0 || (equal && order == 0))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static unsigned child_of(const struct pl_btree_page *page, struct pl_span key)
{
	unsigned at = slot_rank(page, key, true);

	return at == 0 ? 0 : at - 1;
}

static void slots_move(struct pl_btree_page *to, unsigned to_at,
                       struct pl_btree_page *from, unsigned from_at, unsigned count)
{
	memmove(&to->least[to_at], &from->least[from_at],
	        count * sizeof(struct pl_btree_node *));
	if (!to->is_leaf)
		memmove(&to->child[to_at], &from->child[from_at],
		        count * sizeof(struct pl_btree_page *));
}

static void slot_open(struct pl_btree_page *page, unsigned at)
{
	slots_move(page, at + 1, page, at, page->count - at);
	page->count++;
}

static void slot_close(struct pl_btree_page *page, unsigned at)
{
	page->count--;
	slots_move(page, at, page, at + 1, page->count - at);
}

static void leaf_link(struct pl_btree_page *left, struct pl_btree_page *right)
{
	right->prev = left;
	right->next = left->next;
	if (right->next != NULL)
		right->next->prev = right;
	left->next = right;
}

static void leaf_unlink(struct pl_btree_page *leaf)
{
	if (leaf->prev != NULL)
		leaf->prev->next = leaf->next;
	if (leaf->next != NULL)
		leaf->next->prev = leaf->prev;
}

/* Keys that arrive in order leave full pages behind. */
static struct pl_btree_page *page_split(struct pl_btree *map, struct pl_btree_page *page,
                                        unsigned at)
{
	struct pl_btree_page *right = page_take(map, page->is_leaf);
	bool last = at == page->count && page->next == NULL;
	unsigned keep = last ? page->count - 1 : page->count / 2;

	right->count = page->count - keep;
	slots_move(right, 0, page, keep, right->count);
	page->count = keep;
	if (page->is_leaf)
		leaf_link(page, right);
	return right;
}

static struct pl_btree_page *slot_add(struct pl_btree *map, struct pl_btree_page *page,
                                      unsigned at, struct pl_btree_node *least,
                                      struct pl_btree_page *child)
{
	struct pl_btree_page *right = NULL;

	if (page->count == PAGE_MAX) {
		right = page_split(map, page, at);
		if (at > page->count) {
			at -= page->count;
			page = right;
		}
	}
	slot_open(page, at);
	page->least[at] = least;
	if (!page->is_leaf)
		page->child[at] = child;
	return right;
}

/* Returns the page that was split off to the right. NULL: there was no split. */
static struct pl_btree_page *
add_below(struct pl_btree *map, /* NOLINT(misc-no-recursion) */
          struct pl_btree_page *page, struct pl_btree_node *node)
{
	struct pl_btree_page *right;
	unsigned at;

	if (page->is_leaf) {
		at = slot_rank(page, node->key, false);
		PL_ASSERT(at == page->count ||
		          !pl_span_eq(page->least[at]->key, node->key));
		return slot_add(map, page, at, node, NULL);
	}
	at = child_of(page, node->key);
	right = add_below(map, page->child[at], node);
	page->least[at] = page->child[at]->least[0];
	return right == NULL ? NULL : slot_add(map, page, at + 1, right->least[0], right);
}

void pl_btree_add(struct pl_btree *map, struct pl_btree_node *node)
{
	struct pl_btree_page *right, *root;

	PL_ASSERT(map->spares >= map->height + 1);
	if (map->root == NULL) {
		map->root = page_take(map, true);
		map->height = 1;
	}
	map->count++;
	right = add_below(map, map->root, node);
	if (right == NULL)
		return;
	root = page_take(map, false);
	root->count = 2;
	root->least[0] = map->root->least[0];
	root->child[0] = map->root;
	root->least[1] = right->least[0];
	root->child[1] = right;
	map->root = root;
	map->height++;
	PL_ASSERT(map->height <= HEIGHT_MAX);
}

/* Moves the child at at + 1 into the child at at, if there is room. */
static bool children_merge(struct pl_btree_page *page, unsigned at)
{
	struct pl_btree_page *left, *right;

	if (at + 1 >= page->count)
		return false;
	left = page->child[at];
	right = page->child[at + 1];
	if (left->count + right->count > MERGE_MAX)
		return false;
	slots_move(left, left->count, right, 0, right->count);
	left->count += right->count;
	if (right->is_leaf)
		leaf_unlink(right);
	free(right);
	slot_close(page, at + 1);
	return true;
}

static void del_below(struct pl_btree_page *page, /* NOLINT(misc-no-recursion) */
                      struct pl_btree_node *node)
{
	struct pl_btree_page *child;
	unsigned at;

	if (page->is_leaf) {
		at = slot_rank(page, node->key, false);
		PL_ASSERT(at < page->count && page->least[at] == node);
		slot_close(page, at);
		return;
	}
	at = child_of(page, node->key);
	child = page->child[at];
	del_below(child, node);
	if (child->count == 0) {
		if (child->is_leaf)
			leaf_unlink(child);
		free(child);
		slot_close(page, at);
		return;
	}
	page->least[at] = child->least[0];
	if (child->count < PAGE_MAX / 2 && !children_merge(page, at) && at > 0)
		(void)children_merge(page, at - 1);
}

void pl_btree_del(struct pl_btree *map, struct pl_btree_node *node)
{
	struct pl_btree_page *root = map->root;

	PL_ASSERT(root != NULL);
	del_below(root, node);
	map->count--;
	while (root != NULL &&
	       (root->count == 0 || (!root->is_leaf && root->count == 1))) {
		struct pl_btree_page *below = root->count == 0 ? NULL : root->child[0];

		free(root);
		map->height = below == NULL ? 0 : map->height - 1;
		map->root = root = below;
	}
}

void pl_btree_replace(struct pl_btree *map, struct pl_btree_node *old,
                      struct pl_btree_node *node)
{
	struct pl_btree_page *page = map->root;

	PL_ASSERT(page != NULL && pl_span_eq(old->key, node->key));
	for (;;) {
		unsigned at = page->is_leaf ? slot_rank(page, node->key, false)
		                            : child_of(page, node->key);

		PL_ASSERT(at < page->count);
		if (page->least[at] == old)
			page->least[at] = node;
		if (page->is_leaf) {
			PL_ASSERT(page->least[at] == node);
			return;
		}
		page = page->child[at];
	}
}

struct pl_btree_cursor pl_btree_seek(const struct pl_btree *map, struct pl_span key)
{
	const struct pl_btree_page *page = map->root;

	if (page == NULL)
		return (struct pl_btree_cursor){0};
	while (!page->is_leaf)
		page = page->child[child_of(page, key)];
	return (struct pl_btree_cursor){.page = page, .at = slot_rank(page, key, false)};
}

struct pl_btree_node *pl_btree_next(struct pl_btree_cursor *cursor)
{
	while (cursor->page != NULL && cursor->at >= cursor->page->count) {
		cursor->page = cursor->page->next;
		cursor->at = 0;
	}
	return cursor->page == NULL ? NULL : cursor->page->least[cursor->at++];
}

static size_t
check_below(const struct pl_btree_page *page, /* NOLINT(misc-no-recursion) */
            unsigned level)
{
	size_t count = 0;

	PL_ASSERT(page->count > 0 && page->count <= PAGE_MAX);
	PL_ASSERT(page->is_leaf == (level == 1));
	for (unsigned i = 1; i < page->count; i++)
		PL_ASSERT(pl_span_cmp(page->least[i - 1]->key, page->least[i]->key) < 0);
	if (page->is_leaf)
		return page->count;
	for (unsigned i = 0; i < page->count; i++) {
		PL_ASSERT(page->least[i] == page->child[i]->least[0]);
		count += check_below(page->child[i], level - 1);
	}
	return count;
}

void pl_btree_check(const struct pl_btree *map)
{
	struct pl_btree_cursor cursor = pl_btree_seek(map, pl_span(NULL, 0));
	const struct pl_btree_node *before = NULL, *node;
	size_t count = 0;

	PL_ASSERT((map->root == NULL) == (map->height == 0));
	if (map->root != NULL)
		PL_ASSERT(check_below(map->root, map->height) == map->count);
	while ((node = pl_btree_next(&cursor)) != NULL) {
		PL_ASSERT(before == NULL || pl_span_cmp(before->key, node->key) < 0);
		before = node;
		count++;
	}
	PL_ASSERT(count == map->count);
}
