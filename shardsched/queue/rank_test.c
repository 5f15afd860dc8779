#include "shardsched/queue/rank.h"
#include "store/base/rng.h"
#include "tests/harness/t.h"

enum { ITEMS = 200, STEPS = 20000, MANY = 100000 };

struct rank_item {
	struct rank_node node;
	uint64_t key;
	uint32_t weight;
};

static struct rank_item item[ITEMS];
static struct rank_item many[MANY];

static const struct rank_item *of(const struct rank_node *node)
{
	return PL_CONTAINER_OF_CONST(node, struct rank_item, node);
}

static bool before(const struct rank_node *a, const struct rank_node *b)
{
	return of(a)->key != of(b)->key ? of(a)->key < of(b)->key : of(a) < of(b);
}

/* The rank, by counting one by one. */
static uint32_t count_before(const struct rank_item *it)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < ITEMS; i++)
		if (rank_has(&item[i].node) && before(&item[i].node, &it->node))
			sum += item[i].weight;
	return sum;
}

static void same_as_counting(const struct rank_kind *kind, const struct rank_tree *tree)
{
	rank_check(kind, tree);
	for (unsigned i = 0; i < ITEMS; i++) {
		uint32_t rank;

		if (!rank_has(&item[i].node))
			continue;
		rank = rank_of(before, tree, &item[i].node);
		T_EQ(rank, count_before(&item[i]));
		T_EQ(rank_weight(&item[i].node), item[i].weight);
		for (uint32_t w = 0; w < item[i].weight; w++)
			T_TRUE(rank_at(tree, rank + w) == &item[i].node);
	}
	T_TRUE(rank_at(tree, rank_sum(tree)) == NULL);
}

T_CASE(random_steps_agree_with_counting)
{
	struct rank_kind kind = {.before = before};
	struct rank_tree tree = {0};
	struct pl_rng rng;

	pl_rng_init(&rng, t_seed());

	for (unsigned step = 0; step < STEPS; step++) {
		struct rank_item *it = &item[pl_rng_below(&rng, ITEMS)];
		uint32_t weight = (uint32_t)pl_rng_below(&rng, 4);

		if (!rank_has(&it->node)) {
			it->key = pl_rng_below(&rng, 50);
			it->weight = weight;
			rank_add(&kind, &tree, &it->node, weight);
		} else if (pl_rng_chance(&rng, 1, 3)) {
			it->weight = weight;
			rank_weigh(before, &tree, &it->node, weight);
		} else {
			rank_del(before, &tree, &it->node);
		}
		if (step % 100 == 0)
			same_as_counting(&kind, &tree);
	}
}

T_CASE(tree_empties_from_the_front)
{
	struct rank_kind kind = {.before = before};
	struct rank_tree tree = {0};

	T_TRUE(rank_first(&tree) == NULL && rank_at(&tree, 0) == NULL &&
	       rank_sum(&tree) == 0);
	for (unsigned i = 0; i < MANY; i++) {
		many[i].key = i;
		rank_add(&kind, &tree, &many[i].node, 1);
	}
	for (unsigned i = 0; i < MANY; i++) {
		T_TRUE(rank_first(&tree) == &many[i].node);
		rank_del(before, &tree, rank_first(&tree));
	}
	T_TRUE(tree.root == NULL);
}

/* Sorted keys are what unbalances trees. */
T_CASE(tree_stays_flat)
{
	struct rank_kind kind = {.before = before};
	struct rank_tree tree = {0};
	unsigned deepest = 0;

	for (unsigned i = 0; i < MANY; i++) {
		many[i].key = i;
		rank_add(&kind, &tree, &many[i].node, 1);
	}
	rank_check(&kind, &tree);
	for (unsigned i = 0; i < MANY; i++) {
		unsigned depth = 0;

		for (const struct rank_node *at = tree.root; at != &many[i].node;
		     at = before(&many[i].node, at) ? at->left : at->right)
			depth++;
		deepest = depth > deepest ? depth : deepest;
	}
	T_TRUE(deepest < 60);
}
