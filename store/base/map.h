/*
 * A hash map keyed by bytes, for a handful of entries or a million.
 *
 * Intrusive: the node lives in the element, which also owns the bytes of the key
 * (they may not change while it is in a map). Adding can not fail: when there is
 * no memory for more buckets, chains get longer instead. Nor does it ever stop
 * to rehash: buckets are split one at a time as entries come (linear hashing),
 * so the millionth entry costs what the tenth did.
 *
 * Walks go in the order of adding, whatever the hash: the hash has a key of the
 * process, so that names from outside can not be chosen to collide, and what
 * depends on its order would not repeat.
 *
 * The map may not be moved or copied. 48 bytes an entry and 8 to 16 a bucket.
 */
#ifndef STORE_BASE_MAP_H
#define STORE_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>

#include "store/base/hash.h"
#include "store/base/list.h"
#include "store/base/span.h"

enum { PL_MAP_FEW = 8 };

/* Zeroed: in no map. */
struct pl_map_node {
	struct pl_map_node *chain;
	struct pl_list order;
	struct pl_span key;
	uint64_t hash;
};

struct pl_map {
	struct pl_map_node **bucket; /* few, or on the heap */
	size_t base;                 /* a power of two: base <= buckets <= 2 * base */
	size_t buckets;
	size_t cap;
	size_t count;
	struct pl_list order;
	struct pl_hash_key key;
	struct pl_map_node *few[PL_MAP_FEW];
};

void pl_map_init(struct pl_map *map);

/* Forgets its elements, which are the owner's business. */
void pl_map_done(struct pl_map *map);

/* NULL: there is none. */
struct pl_map_node *pl_map_get(const struct pl_map *map, struct pl_span key);

/* NULL: added. Otherwise the node that has this key already, and nothing changed. */
PL_NODISCARD struct pl_map_node *pl_map_add(struct pl_map *map, struct pl_map_node *node,
                                            struct pl_span key);
void pl_map_del(struct pl_map *map, struct pl_map_node *node);

static inline bool pl_map_has(const struct pl_map_node *node)
{
	return node->order.next != NULL;
}

/* The oldest, NULL when empty; the one added after node, NULL at the end. */
struct pl_map_node *pl_map_first(const struct pl_map *map);
struct pl_map_node *pl_map_next(const struct pl_map *map, const struct pl_map_node *node);

/* NOLINTBEGIN(bugprone-macro-parentheses): node is a name */
/* The body may remove the current node, no other. */
#define PL_MAP_EACH(node, map)                                                        \
	for (struct pl_map_node *node = pl_map_first(map),                            \
	                        *node##_next = node == NULL ? NULL                    \
	                                                    : pl_map_next(map, node); \
	     node != NULL;                                                            \
	     node = node##_next, node##_next = node == NULL ? NULL                    \
	                                                    : pl_map_next(map, node))
/* NOLINTEND(bugprone-macro-parentheses) */

#endif
