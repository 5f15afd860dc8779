/* The parts of the store, each against something simpler. */
#include <stdlib.h>

#include "store/base/fault.h"
#include "store/memkv/interval_tree.h"
#include "store/memkv/mvcc.h"
#include "tests/harness/t.h"

enum { NODES = 3000, RANGES = 200 };

static struct pl_rng rng;

struct named {
	struct pl_btree_node node;
	struct hash_table_node hash;
	bool in;
	uint8_t name[8];
};

static struct named nodes[NODES];

static void name_nodes(bool in_order)
{
	for (unsigned i = 0; i < NODES; i++) {
		uint64_t number = in_order ? i : pl_rng_next(&rng);

		nodes[i].in = false;
		for (unsigned b = 0; b < 8; b++)
			nodes[i].name[b] = (uint8_t)(number >> (56 - 8 * b));
		nodes[i].node.key = pl_span(nodes[i].name, 8);
	}
}

static void map_toggle(struct pl_btree *map, struct named *named)
{
	if (named->in) {
		pl_btree_del(map, &named->node);
	} else {
		T_EQ(pl_btree_reserve(map), PL_OK);
		pl_btree_add(map, &named->node);
	}
	named->in = !named->in;
}

static void map_drain(struct pl_btree *map)
{
	for (unsigned i = 0; i < NODES; i++)
		if (nodes[i].in)
			map_toggle(map, &nodes[i]);
	pl_btree_check(map);
	T_EQ(map->count, 0);
	T_TRUE(map->root == NULL);
}

T_CASE(map_keeps_its_order_while_keys_come_and_go)
{
	struct pl_btree map = {0};

	pl_rng_init(&rng, 1);
	name_nodes(false);
	for (unsigned round = 0; round < 20000; round++) {
		map_toggle(&map, &nodes[pl_rng_below(&rng, NODES)]);
		if (round % 500 == 0)
			pl_btree_check(&map);
	}
	pl_btree_check(&map);
	map_drain(&map);
	pl_btree_done(&map);
}

T_CASE(map_takes_keys_in_order_and_gives_them_back_from_either_end)
{
	struct pl_btree map = {0};

	name_nodes(true);
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < NODES; i++)
			map_toggle(&map, &nodes[round == 1 ? NODES - 1 - i : i]);
		pl_btree_check(&map);
		for (unsigned i = 0; i + 10 < NODES; i++)
			map_toggle(&map, &nodes[round == 2 ? NODES - 1 - i : i]);
		pl_btree_check(&map);
		T_EQ(map.count, 10);
		map_drain(&map);
	}
	pl_btree_done(&map);
}

T_CASE(map_seeks_the_first_key_that_is_not_less)
{
	struct pl_btree map = {0};
	struct pl_btree_cursor cursor;

	name_nodes(true);
	for (unsigned i = 0; i < NODES; i += 2)
		map_toggle(&map, &nodes[i]);
	for (unsigned i = 0; i + 2 < NODES; i++) {
		cursor = pl_btree_seek(&map, nodes[i].node.key);
		T_TRUE(pl_btree_next(&cursor) == &nodes[i + i % 2].node);
	}
	cursor = pl_btree_seek(&map, nodes[NODES - 1].node.key);
	T_TRUE(pl_btree_next(&cursor) == NULL);
	map_drain(&map);
	pl_btree_done(&map);
}

T_CASE(hash_table_finds_what_is_in_it)
{
	struct hash_table table = {0};

	pl_rng_init(&rng, 2);
	name_nodes(false);
	for (unsigned i = 0; i < NODES; i++) {
		T_EQ(hash_table_reserve(&table, table.count + 1), PL_OK);
		hash_table_add(&table, &nodes[i].hash,
		               hash_table_hash(nodes[i].node.key) % 512);
	}
	for (unsigned i = 0; i < NODES; i += 2)
		hash_table_del(&table, &nodes[i].hash);
	for (unsigned i = 0; i < NODES; i++) {
		struct hash_table_node *node = hash_table_first(
			&table, hash_table_hash(nodes[i].node.key) % 512);

		while (node != NULL && node != &nodes[i].hash)
			node = hash_table_next(node);
		T_EQ(node != NULL, i % 2 == 1);
	}
	for (unsigned i = 1; i < NODES; i += 2)
		hash_table_del(&table, &nodes[i].hash);
	hash_table_done(&table);
}

T_CASE(hash_table_stays_as_it_is_without_memory)
{
	struct hash_table table = {0};

	pl_fault_arm(PL_FAULT_ALLOC, 1);
	T_EQ(hash_table_reserve(&table, 1), PL_NOMEM);
	T_EQ(hash_table_reserve(&table, 1), PL_OK);
	hash_table_done(&table);
}

struct ranged {
	struct interval_tree_node node;
	bool in, found;
	uint8_t begin, end;
};

static struct ranged ranges[RANGES];
static const struct ranged *last;

static enum pl_code on_range(void *ctx, struct interval_tree_node *node)
{
	struct ranged *range = PL_CONTAINER_OF(node, struct ranged, node);

	(void)ctx;
	T_TRUE(!range->found);
	range->found = true;
	T_TRUE(last == NULL || last->begin < range->begin ||
	       (last->begin == range->begin && last->node.seq < range->node.seq));
	last = range;
	return PL_OK;
}

static void range_make(struct ranged *range, uint64_t seq)
{
	range->begin = (uint8_t)pl_rng_below(&rng, 250);
	range->end = (uint8_t)pl_rng_between(&rng, range->begin, 255);
	range->node = (struct interval_tree_node){.begin = pl_span(&range->begin, 1),
	                                          .end = pl_span(&range->end, 1),
	                                          .endless = pl_rng_chance(&rng, 1, 20),
	                                          .seq = seq};
}

static void interval_tree_compare(const struct interval_tree *stab)
{
	uint8_t key = (uint8_t)pl_rng_below(&rng, 256);

	for (unsigned i = 0; i < RANGES; i++)
		ranges[i].found = false;
	last = NULL;
	T_EQ(interval_tree_each(stab, pl_span(&key, 1), on_range, NULL), PL_OK);
	for (unsigned i = 0; i < RANGES; i++)
		T_EQ(ranges[i].found,
		     ranges[i].in && ranges[i].begin <= key &&
		             (ranges[i].node.endless || key < ranges[i].end));
}

T_CASE(interval_tree_finds_each_range_that_has_the_key)
{
	struct interval_tree stab;

	pl_rng_init(&rng, 3);
	interval_tree_init(&stab, 4);
	for (uint64_t round = 0; round < 4000; round++) {
		struct ranged *range = &ranges[pl_rng_below(&rng, RANGES)];

		if (range->in) {
			interval_tree_del(&stab, &range->node);
		} else {
			range_make(range, round);
			interval_tree_add(&stab, &range->node);
		}
		range->in = !range->in;
		interval_tree_compare(&stab);
	}
}

static bool keep_odd(struct mem_version *version, void *ctx)
{
	(void)ctx;
	return version->sub % 2 == 1;
}

T_CASE(log_names_the_changes_of_each_revision)
{
	enum { REVISIONS = 1000 };
	static struct mem_version *version[REVISIONS][5];
	struct mem_version *changes[5];
	struct revlog log;
	uint32_t count;

	revlog_init(&log, 2);
	for (unsigned r = 0; r < REVISIONS; r++) {
		for (unsigned i = 0; i <= r % 5; i++) {
			version[r][i] = calloc(1, sizeof(struct mem_version));
			T_TRUE(version[r][i] != NULL);
			version[r][i]->sub = i;
			changes[i] = version[r][i];
		}
		T_EQ(revlog_prepare(&log, changes, 1 + r % 5), PL_OK);
		if (r % 7 == 0) {
			revlog_forget(&log);
			T_EQ(revlog_prepare(&log, changes, 1 + r % 5), PL_OK);
		}
		revlog_add(&log);
		if (r % 100 == 99)
			revlog_drop_below(&log, (int64_t)r - 10);
	}
	T_TRUE(revlog_at(&log, 900, &count) == NULL);
	T_TRUE(revlog_at(&log, REVISIONS + 2, &count) == NULL);
	for (unsigned r = REVISIONS - 5; r < REVISIONS; r++) {
		struct mem_version **at = revlog_at(&log, r + 2, &count);

		T_EQ(count, 1 + r % 5);
		T_TRUE(at[count - 1] == version[r][count - 1]);
	}
	revlog_filter(&log, REVISIONS + 1, keep_odd, NULL); /* five changes */
	T_TRUE(revlog_at(&log, REVISIONS + 1, &count)[1] == version[REVISIONS - 1][3]);
	T_EQ(count, 2);
	revlog_filter(&log, REVISIONS - 2, keep_odd, NULL); /* two */
	T_TRUE(revlog_at(&log, REVISIONS - 2, &count)[0] == version[REVISIONS - 4][1]);
	T_EQ(count, 1);
	revlog_filter(&log, REVISIONS - 3, keep_odd, NULL); /* one */
	(void)revlog_at(&log, REVISIONS - 3, &count);
	T_EQ(count, 0);
	revlog_drop_below(&log, REVISIONS + 2);
	T_EQ(log.count, 0);
	revlog_done(&log);
	for (unsigned r = 0; r < REVISIONS; r++)
		for (unsigned i = 0; i <= r % 5; i++)
			free(version[r][i]);
}

T_CASE(btree_replaces_an_element_in_place)
{
	static struct named others[NODES];
	struct pl_btree map = {0};
	struct pl_btree_cursor cursor;

	name_nodes(true);
	for (unsigned i = 0; i < NODES; i++)
		map_toggle(&map, &nodes[i]);
	for (unsigned i = 0; i < NODES; i++) {
		others[i] = nodes[i];
		others[i].node.key = pl_span(others[i].name, 8);
		pl_btree_replace(&map, &nodes[i].node, &others[i].node);
		/* The elements that were replaced may go: nothing reads their keys. */
		nodes[i].node.key = pl_span(NULL, 0);
	}
	pl_btree_check(&map);
	cursor = pl_btree_seek(&map, pl_span(NULL, 0));
	for (unsigned i = 0; i < NODES; i++)
		T_TRUE(pl_btree_next(&cursor) == &others[i].node);
	for (unsigned i = 0; i < NODES; i++)
		pl_btree_del(&map, &others[i].node);
	pl_btree_done(&map);
}
