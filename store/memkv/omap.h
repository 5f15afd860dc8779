/*
 * Ordered map of byte strings: an in-memory B+tree of pointers to elements that
 * carry their own key.
 *
 * A million keys are four levels; leaves are chained, so a range walks along.
 * Adding can not fail once room has been reserved, removing never does. Pages
 * that run empty merge with a neighbour.
 */
#ifndef STORE_MEMKV_OMAP_H
#define STORE_MEMKV_OMAP_H

#include "store/base/err.h"
#include "store/base/span.h"

struct omap_page;

/* Embedded in the element. The key must not change while it is in the map. */
struct omap_node {
	struct pl_span key;
};

struct omap {
	struct omap_page *root; /* NULL: empty */
	unsigned height;        /* levels of pages */
	size_t count;
	struct omap_page *spare; /* for the splits of the next addition */
	unsigned spares;
};

/* A place between elements. Any change of the map makes it invalid. */
struct omap_cursor {
	const struct omap_page *page;
	unsigned at;
};

/* Frees the pages, not the elements. A zeroed map is empty. */
void omap_done(struct omap *map);

/* Memory for one addition. */
PL_NODISCARD enum pl_code omap_reserve(struct omap *map);

/* The key must not be in the map yet. */
void omap_add(struct omap *map, struct omap_node *node);

/* The node must be in the map. */
void omap_del(struct omap *map, struct omap_node *node);

/* Before the first element that is not less than key. */
struct omap_cursor omap_seek(const struct omap *map, struct pl_span key);

/* The element behind the cursor, which moves over it. NULL: the end. */
struct omap_node *omap_next(struct omap_cursor *cursor);

/* For tests: order, chain, separators and fill are as they should be. */
void omap_check(const struct omap *map);

#endif
