/*
 * An ordered map of byte strings: a B+tree in memory whose leaves point to elements that
 * carry their own key.
 *
 * A million keys make four levels. Leaves are chained, so a walk over a range is linear.
 * Adding cannot fail once pages have been reserved, and removing never fails. A page that
 * is less than half full merges with a neighbour.
 */
#ifndef STORE_BASE_BTREE_H
#define STORE_BASE_BTREE_H

#include "store/base/err.h"
#include "store/base/span.h"

struct pl_btree_page;

/* Embedded in the element. The key must not change while the element is in the map. */
struct pl_btree_node {
	struct pl_span key;
};

struct pl_btree {
	struct pl_btree_page *root; /* NULL: the map is empty */
	unsigned height;            /* levels of pages */
	size_t count;
	/* pages reserved for the splits of the next addition */
	struct pl_btree_page *spare;
	unsigned spares;
};

/* A position between two elements. Any change of the map invalidates it. */
struct pl_btree_cursor {
	const struct pl_btree_page *page;
	unsigned at;
};

/* Frees the pages but not the elements. A zeroed map is empty. */
void pl_btree_done(struct pl_btree *map);

/* Reserves the pages that one addition may need. */
PL_NODISCARD enum pl_code pl_btree_reserve(struct pl_btree *map);

/* The map must not hold the key yet, and pages must have been reserved. */
void pl_btree_add(struct pl_btree *map, struct pl_btree_node *node);

/* The map must hold the node. */
void pl_btree_del(struct pl_btree *map, struct pl_btree_node *node);

/* Puts node in the place of old. Both must have the same key. */
void pl_btree_replace(struct pl_btree *map, struct pl_btree_node *old,
                      struct pl_btree_node *node);

/* Gives the position before the first element that is not less than key. */
struct pl_btree_cursor pl_btree_seek(const struct pl_btree *map, struct pl_span key);

/* Gives the element behind the cursor and moves the cursor over it. NULL: the end. */
struct pl_btree_node *pl_btree_next(struct pl_btree_cursor *cursor);

/* For tests: asserts order, leaf chain, separators and fill. */
void pl_btree_check(const struct pl_btree *map);

#endif
