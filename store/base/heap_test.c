#include <stdlib.h>

#include "store/base/heap.h"
#include "store/base/rng.h"
#include "tests/harness/torture.h"

enum { COUNT = 200 };

struct heap_item {
	struct pl_heap_node node;
	uint64_t value;
};

static struct heap_item items[COUNT];

static const struct heap_item *item_of(const struct pl_heap_node *node)
{
	return PL_CONTAINER_OF_CONST(node, struct heap_item, node);
}

static bool before(const struct pl_heap_node *a, const struct pl_heap_node *b)
{
	return item_of(a)->value < item_of(b)->value;
}

static void check(const struct pl_heap *heap)
{
	for (size_t i = 0; i < heap->count; i++) {
		T_EQ(heap->node[i]->slot, i + 1);
		T_TRUE(i == 0 || !before(heap->node[i], heap->node[(i - 1) / 2]));
	}
}

T_CASE(elements_leave_in_order)
{
	struct pl_heap heap;
	uint64_t last = 0;

	pl_heap_init(&heap, before);
	T_TRUE(pl_heap_top(&heap) == NULL);
	for (unsigned i = 0; i < COUNT; i++) {
		items[i].value = i * 7919 % 101;
		T_OK(pl_heap_add(&heap, &items[i].node), NULL);
	}
	for (unsigned i = 0; i < COUNT; i++) {
		struct pl_heap_node *top = pl_heap_top(&heap);

		T_TRUE(item_of(top)->value >= last);
		last = item_of(top)->value;
		pl_heap_del(&heap, top);
		T_TRUE(!pl_heap_has(top));
	}
	T_EQ(heap.count, 0);
	pl_heap_done(&heap);
}

static void step(struct pl_heap *heap, struct pl_rng *rng)
{
	struct heap_item *item = &items[pl_rng_below(rng, COUNT)];

	if (!pl_heap_has(&item->node)) {
		item->value = pl_rng_below(rng, 50);
		T_OK(pl_heap_add(heap, &item->node), NULL);
	} else if (pl_rng_chance(rng, 1, 2)) {
		item->value = pl_rng_below(rng, 50);
		pl_heap_fix(heap, &item->node);
	} else {
		pl_heap_del(heap, &item->node);
	}
}

/* Elements are added, removed from anywhere and moved at random. The order always holds,
 * and the top is the least element by a plain search. */
T_CASE(order_holds_after_random_changes)
{
	struct pl_heap heap;
	struct pl_rng rng;

	pl_rng_init(&rng, t_seed());
	pl_heap_init(&heap, before);
	for (int i = 0; i < 5000; i++) {
		uint64_t least = UINT64_MAX;
		size_t count = 0;

		step(&heap, &rng);
		check(&heap);
		for (unsigned n = 0; n < COUNT; n++) {
			bool in = pl_heap_has(&items[n].node);

			count += in;
			if (in && items[n].value < least)
				least = items[n].value;
		}
		T_EQ(heap.count, count);
		if (count > 0)
			T_TRUE(item_of(pl_heap_top(&heap))->value == least);
	}
	pl_heap_done(&heap);
}

T_CASE(adding_into_reserved_room_cannot_fail)
{
	struct pl_heap heap;

	pl_heap_init(&heap, before);
	T_OK(pl_heap_reserve(&heap, COUNT), NULL);
	pl_fault_arm(PL_FAULT_ALLOC, 1);
	for (unsigned i = 0; i < COUNT; i++)
		T_OK(pl_heap_add(&heap, &items[i].node), NULL);
	T_TRUE(!pl_fault_fired(PL_FAULT_ALLOC));
	T_CODE(pl_heap_reserve(&heap, SIZE_MAX), PL_NOMEM, NULL);
	pl_heap_done(&heap);
}

static enum pl_code fill(void)
{
	struct pl_heap heap;
	enum pl_code code = PL_OK;

	memset(items, 0, sizeof items);
	pl_heap_init(&heap, before);
	for (unsigned i = 0; i < COUNT && code == PL_OK; i++) {
		code = pl_heap_add(&heap, &items[i].node);
		T_TRUE(pl_heap_has(&items[i].node) == (code == PL_OK));
		check(&heap);
	}
	pl_heap_done(&heap);
	return code;
}

T_CASE(every_allocation_may_fail)
{
	t_torture(fill, false);
}
