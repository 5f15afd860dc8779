/*
 * A hash map with byte strings as keys, for a handful of entries or for a million.
 *
 * The map is intrusive: the node lies in the element, which also owns the key's bytes
 * (they must not change while the element is in a map). Adding cannot fail: without
 * memory for more buckets the chains get longer. Adding never stops to rehash either:
 * buckets are split one at a time (linear hashing), so the millionth entry costs what the
 * tenth did.
 *
 * Walks go in the order of adding. The hash is keyed with a secret of the process, so
 * that names from outside cannot be chosen to collide; an order that depended on it would
 * not repeat.
 *
 * A map must not be moved or copied. It takes 48 bytes an entry and 8 to 16 bytes a
 * bucket.
 */
#ifndef STORE_BASE_MAP_H
#define STORE_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>

#include "store/base/hash.h"
#include "store/base/list.h"
#include "store/base/span.h"

enum { PL_MAP_FEW = 8 };

/* A zeroed node is in no map. */
struct pl_map_node {
	struct pl_map_node *chain;
	struct pl_list order;
	struct pl_span key;
	uint64_t hash;
};

struct pl_map {
	struct pl_map_node **bucket; /* the array few, or on the heap */
	size_t base;                 /* a power of two: base <= buckets <= 2 * base */
	size_t buckets;
	size_t cap;
	size_t count;
	struct pl_list order;
	struct pl_hash_key key;
	struct pl_map_node *few[PL_MAP_FEW];
};

void pl_map_init(struct pl_map *map);

/* Does not touch the elements: they belong to the caller. */
void pl_map_done(struct pl_map *map);

/* NULL: the map does not hold the key. */
struct pl_map_node *pl_map_get(const struct pl_map *map, struct pl_span key);

/* NULL: the node was added. Otherwise the map is unchanged, and the result is the node
 * that has this key. */
PL_NODISCARD struct pl_map_node *pl_map_add(struct pl_map *map, struct pl_map_node *node,
                                            struct pl_span key);
void pl_map_del(struct pl_map *map, struct pl_map_node *node);

static inline bool pl_map_has(const struct pl_map_node *node)
{
	return node->order.next != NULL;
}

/* The oldest node, or NULL when the map is empty; and the node added after node, or NULL
 * at the end. */
struct pl_map_node *pl_map_first(const struct pl_map *map);
struct pl_map_node *pl_map_next(const struct pl_map *map, const struct pl_map_node *node);

/* NOLINTBEGIN(bugprone-macro-parentheses): node is a name */
/* The body may remove the current node but no other. */
#define PL_MAP_EACH(node, map)                                                        \
	for (struct pl_map_node *node = pl_map_first(map),                            \
	                        *node##_next = node == NULL ? NULL                    \
	                                                    : pl_map_next(map, node); \
	     node != NULL;                                                            \
	     node = node##_next, node##_next = node == NULL ? NULL                    \
	                                                    : pl_map_next(map, node))
/* NOLINTEND(bugprone-macro-parentheses) */

#endif
