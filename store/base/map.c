/*
 * Linear hashing. With base = 8 and 11 buckets, the state is 3 splits on the way from 8
 * to 16 buckets: buckets 0, 1 and 2 have been split, and their halves are 8, 9 and 10. A
 * hash selects one of 16 buckets; a number behind the last bucket is reduced to one of 8.
 */
#include "store/base/map.h"

#include <stdint.h>
#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/base/err.h"

void pl_map_init(struct pl_map *map)
{
	*map = (struct pl_map){.base = PL_MAP_FEW,
	                       .buckets = PL_MAP_FEW,
	                       .cap = PL_MAP_FEW,
	                       .key = pl_hash_process_key()};
	map->bucket = map->few;
	pl_list_init(&map->order);
}

void pl_map_done(struct pl_map *map)
{
	if (map->bucket != map->few)
		free(map->bucket);
	*map = (struct pl_map){0};
}

static size_t bucket_of(const struct pl_map *map, uint64_t hash)
{
	size_t at = (size_t)hash & (map->base * 2 - 1);

	return at < map->buckets ? at : (size_t)hash & (map->base - 1);
}

static struct pl_map_node *find_node(const struct pl_map *map, struct pl_span key,
                                     uint64_t hash)
{
	struct pl_map_node *node = map->bucket[bucket_of(map, hash)];

	while (node != NULL && !(node->hash == hash && pl_span_eq(node->key, key)))
		node = node->chain;
	return node;
}

struct pl_map_node *pl_map_get(const struct pl_map *map, struct pl_span key)
{
	return find_node(map, key, pl_hash_keyed(key, map->key));
}

/* Makes room for one more bucket. False: there is no memory for it. */
static bool reserve_bucket(struct pl_map *map)
{
	size_t size = sizeof(struct pl_map_node *);
	bool few = map->bucket == map->few;
	struct pl_map_node **grown;

	if (map->buckets < map->cap)
		return true;
	if (map->cap > SIZE_MAX / 4 / size)
		return false;
	grown = pl_realloc(few ? NULL : map->bucket, map->cap * 2 * size);
	if (grown == NULL)
		return false;
	if (few)
		memcpy(grown, map->few, sizeof map->few);
	map->bucket = grown;
	map->cap *= 2;
	return true;
}

static bool split_next(struct pl_map *map)
{
	struct pl_map_node **from, *node;
	size_t fresh = map->buckets;

	if (!reserve_bucket(map))
		return false;
	if (map->buckets == map->base * 2)
		map->base *= 2;
	map->bucket[fresh] = NULL;
	map->buckets++;
	from = &map->bucket[fresh - map->base];
	while ((node = *from) != NULL) {
		if (bucket_of(map, node->hash) != fresh) {
			from = &node->chain;
			continue;
		}
		*from = node->chain;
		node->chain = map->bucket[fresh];
		map->bucket[fresh] = node;
	}
	return true;
}

struct pl_map_node *pl_map_add(struct pl_map *map, struct pl_map_node *node,
                               struct pl_span key)
{
	uint64_t hash = pl_hash_keyed(key, map->key);
	struct pl_map_node *twin = find_node(map, key, hash), **bucket;

	PL_ASSERT(!pl_map_has(node));
	if (twin != NULL)
		return twin;
	bucket = &map->bucket[bucket_of(map, hash)];
	*node = (struct pl_map_node){.chain = *bucket, .key = key, .hash = hash};
	*bucket = node;
	pl_list_add_tail(&map->order, &node->order);
	map->count++;
	/* Two splits an addition, so that a map that was short of memory catches up. */
	if (map->count > map->buckets && split_next(map) && map->count > map->buckets)
		(void)split_next(map);
	return NULL;
}

void pl_map_del(struct pl_map *map, struct pl_map_node *node)
{
	struct pl_map_node **from = &map->bucket[bucket_of(map, node->hash)];

	PL_ASSERT(pl_map_has(node));
	while (*from != node) {
		PL_ASSERT(*from != NULL); /* fails if the node is in another map */
		from = &(*from)->chain;
	}
	*from = node->chain;
	pl_list_del(&node->order);
	*node = (struct pl_map_node){0};
	map->count--;
}

static struct pl_map_node *node_of(const struct pl_map *map, struct pl_list *link)
{
	if (link == &map->order)
		return NULL;
	return PL_LIST_ITEM(link, struct pl_map_node, order);
}

struct pl_map_node *pl_map_first(const struct pl_map *map)
{
	return node_of(map, map->order.next);
}

struct pl_map_node *pl_map_next(const struct pl_map *map, const struct pl_map_node *node)
{
	return node_of(map, node->order.next);
}
