/*
 * Ordered map of byte strings: an in-memory B+tree of pointers to elements that
 * carry their own key.
 *
 * A million keys are four levels; leaves are chained, so a range walks along.
 * Adding can not fail once room has been reserved, removing never does. Pages
 * that run empty merge with a neighbour.
 */
#ifndef STORE_BASE_BTREE_H
#define STORE_BASE_BTREE_H

#include "store/base/err.h"
#include "store/base/span.h"

struct pl_btree_page;

/* Embedded in the element. The key must not change while it is in the map. */
struct pl_btree_node {
	struct pl_span key;
};

struct pl_btree {
	struct pl_btree_page *root; /* NULL: empty */
	unsigned height;            /* levels of pages */
	size_t count;
	struct pl_btree_page *spare; /* for the splits of the next addition */
	unsigned spares;
};

/* A place between elements. Any change of the map makes it invalid. */
struct pl_btree_cursor {
	const struct pl_btree_page *page;
	unsigned at;
};

/* Frees the pages, not the elements. A zeroed map is empty. */
void pl_btree_done(struct pl_btree *map);

/* Memory for one addition. */
PL_NODISCARD enum pl_code pl_btree_reserve(struct pl_btree *map);

/* The key must not be in the map yet. */
void pl_btree_add(struct pl_btree *map, struct pl_btree_node *node);

/* The node must be in the map. */
void pl_btree_del(struct pl_btree *map, struct pl_btree_node *node);

/* The node takes the place of another with an equal key. */
void pl_btree_replace(struct pl_btree *map, struct pl_btree_node *old,
                      struct pl_btree_node *node);

/* Before the first element that is not less than key. */
struct pl_btree_cursor pl_btree_seek(const struct pl_btree *map, struct pl_span key);

/* The element behind the cursor, which moves over it. NULL: the end. */
struct pl_btree_node *pl_btree_next(struct pl_btree_cursor *cursor);

/* For tests: order, chain, separators and fill are as they should be. */
void pl_btree_check(const struct pl_btree *map);

#endif
