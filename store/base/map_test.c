#include <stdio.h>
#include <stdlib.h>

#include "store/base/fault.h"
#include "store/base/map.h"
#include "store/base/rng.h"
#include "tests/harness/t.h"

struct map_item {
	struct pl_map_node node;
	char name[24];
};

static struct map_item *items_new(size_t count)
{
	struct map_item *items = calloc(count, sizeof *items);

	T_TRUE(items != NULL);
	for (size_t i = 0; i < count; i++)
		(void)snprintf(items[i].name, sizeof items[i].name, "n%zu", i);
	return items;
}

static void add(struct pl_map *map, struct map_item *item)
{
	T_TRUE(pl_map_add(map, &item->node, pl_span_str(item->name)) == NULL);
}

static struct map_item *get(const struct pl_map *map, const char *name)
{
	struct pl_map_node *node = pl_map_get(map, pl_span_str(name));

	return node == NULL ? NULL : PL_CONTAINER_OF(node, struct map_item, node);
}

T_CASE(map_adds_finds_and_removes)
{
	struct map_item *items = items_new(3);
	struct map_item twin = {.name = "n1"};
	struct pl_map map;

	pl_map_init(&map);
	T_TRUE(pl_map_first(&map) == NULL && get(&map, "n0") == NULL);
	for (int i = 0; i < 3; i++)
		add(&map, &items[i]);
	T_EQ(map.count, 3);
	T_TRUE(get(&map, "n1") == &items[1] && get(&map, "n") == NULL);
	T_TRUE(pl_map_add(&map, &twin.node, PL_SPAN_LIT("n1")) == &items[1].node);
	T_TRUE(!pl_map_has(&twin.node) && map.count == 3);
	pl_map_del(&map, &items[1].node);
	T_TRUE(!pl_map_has(&items[1].node) && get(&map, "n1") == NULL);
	T_TRUE(get(&map, "n0") == &items[0] && get(&map, "n2") == &items[2]);
	add(&map, &twin);
	T_TRUE(get(&map, "n1") == &twin);
	pl_map_done(&map);
	free(items);
}

T_CASE(keys_may_hold_any_bytes)
{
	struct map_item items[3] = {0};
	struct pl_map map;

	pl_map_init(&map);
	T_TRUE(pl_map_add(&map, &items[0].node, PL_SPAN_LIT("")) == NULL);
	T_TRUE(pl_map_add(&map, &items[1].node, PL_SPAN_LIT("a\0b")) == NULL);
	T_TRUE(pl_map_add(&map, &items[2].node, PL_SPAN_LIT("a\0c")) == NULL);
	T_TRUE(pl_map_get(&map, pl_span(NULL, 0)) == &items[0].node);
	T_TRUE(pl_map_get(&map, PL_SPAN_LIT("a\0c")) == &items[2].node);
	T_TRUE(pl_map_get(&map, PL_SPAN_LIT("a")) == NULL);
	pl_map_done(&map);
}

T_CASE(walks_in_the_order_of_adding_and_may_remove)
{
	enum { COUNT = 1000 };
	struct map_item *items = items_new(COUNT);
	struct pl_map map;
	size_t at = 0;

	pl_map_init(&map);
	for (size_t i = 0; i < COUNT; i++)
		add(&map, &items[i]);
	PL_MAP_EACH (node, &map) {
		T_TRUE(node == &items[at].node);
		if (at++ % 3 != 0)
			pl_map_del(&map, node);
	}
	T_EQ(at, COUNT);
	at = 0;
	PL_MAP_EACH (node, &map) {
		T_TRUE(node == &items[at].node);
		at += 3;
	}
	T_EQ(map.count, 334);
	pl_map_done(&map);
	free(items);
}

/* No chain is long at any size on the way up. */
static size_t longest_chain(const struct pl_map *map)
{
	size_t longest = 0;

	for (size_t i = 0; i < map->buckets; i++) {
		size_t len = 0;

		for (const struct pl_map_node *n = map->bucket[i]; n != NULL;
		     n = n->chain)
			len++;
		longest = len > longest ? len : longest;
	}
	return longest;
}

T_CASE(grows_a_bucket_at_a_time)
{
	enum { COUNT = 100000 };
	struct map_item *items = items_new(COUNT);
	struct pl_map map;

	pl_map_init(&map);
	for (size_t i = 0; i < COUNT; i++) {
		add(&map, &items[i]);
		T_TRUE(map.buckets >= map.count || map.buckets == PL_MAP_FEW);
		T_TRUE(map.buckets <= map.count + PL_MAP_FEW);
	}
	T_TRUE(longest_chain(&map) < 20);
	for (size_t i = 0; i < COUNT; i++)
		T_TRUE(get(&map, items[i].name) == &items[i]);
	for (size_t i = 0; i < COUNT; i++)
		pl_map_del(&map, &items[i].node);
	T_TRUE(map.count == 0 && pl_map_first(&map) == NULL);
	pl_map_done(&map);
	free(items);
}

T_CASE(map_works_without_memory_and_catches_up)
{
	enum { COUNT = 2000 };
	struct map_item *items = items_new(COUNT);
	struct pl_map map;

	pl_map_init(&map);
	for (size_t i = 0; i < COUNT; i++) {
		if (i < 500)
			pl_fault_arm(PL_FAULT_ALLOC, 1);
		add(&map, &items[i]);
		T_TRUE(i >= 500 || map.buckets == PL_MAP_FEW);
	}
	pl_fault_reset();
	T_TRUE(map.buckets >= map.count);
	for (size_t i = 0; i < COUNT; i++)
		T_TRUE(get(&map, items[i].name) == &items[i]);
	pl_map_done(&map);
	free(items);
}

/* A plain array is the model. */
T_CASE(map_agrees_with_a_model)
{
	enum { COUNT = 300 };
	struct map_item *items = items_new(COUNT);
	bool in[COUNT] = {false};
	struct pl_rng rng;
	struct pl_map map;
	size_t count = 0;

	pl_rng_init(&rng, t_seed());
	pl_map_init(&map);
	for (int i = 0; i < 50000; i++) {
		size_t at = (size_t)pl_rng_below(&rng, COUNT);

		T_TRUE((get(&map, items[at].name) == &items[at]) == in[at]);
		if (in[at])
			pl_map_del(&map, &items[at].node);
		else
			add(&map, &items[at]);
		count += in[at] ? (size_t)-1 : 1;
		in[at] = !in[at];
		T_EQ(map.count, count);
		T_TRUE(pl_map_has(&items[at].node) == in[at]);
	}
	pl_map_done(&map);
	free(items);
}
