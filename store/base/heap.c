#include "store/base/heap.h"

#include <stdint.h>
#include <stdlib.h>

#include "store/base/alloc.h"

enum { CAP_MIN = 16 };

void pl_heap_init(struct pl_heap *heap, pl_heap_before_fn *before)
{
	*heap = (struct pl_heap){.before = before};
}

void pl_heap_done(struct pl_heap *heap)
{
	free(heap->node);
	*heap = (struct pl_heap){.before = heap->before};
}

static void place_node(struct pl_heap *heap, size_t at, struct pl_heap_node *node)
{
	heap->node[at] = node;
	node->slot = at + 1;
}

static void sift_up(struct pl_heap *heap, size_t at, struct pl_heap_node *node)
{
	while (at > 0) {
		size_t parent = (at - 1) / 2;

		if (!heap->before(node, heap->node[parent]))
			break;
		place_node(heap, at, heap->node[parent]);
		at = parent;
	}
	place_node(heap, at, node);
}

static void sift_down(struct pl_heap *heap, size_t at, struct pl_heap_node *node)
{
	for (;;) {
		size_t child = at * 2 + 1;

		if (child >= heap->count)
			break;
		if (child + 1 < heap->count &&
		    heap->before(heap->node[child + 1], heap->node[child]))
			child++;
		if (!heap->before(heap->node[child], node))
			break;
		place_node(heap, at, heap->node[child]);
		at = child;
	}
	place_node(heap, at, node);
}

enum pl_code pl_heap_reserve(struct pl_heap *heap, size_t count)
{
	size_t cap = heap->cap == 0 ? CAP_MIN : heap->cap;
	struct pl_heap_node **grown;

	if (count <= heap->cap)
		return PL_OK;
	if (count > SIZE_MAX / 2 / sizeof(struct pl_heap_node *))
		return PL_NOMEM;
	while (cap < count)
		cap *= 2;
	grown = pl_realloc(heap->node, cap * sizeof(struct pl_heap_node *));
	if (grown == NULL)
		return PL_NOMEM;
	heap->node = grown;
	heap->cap = cap;
	return PL_OK;
}

enum pl_code pl_heap_add(struct pl_heap *heap, struct pl_heap_node *node)
{
	enum pl_code code = pl_heap_reserve(heap, heap->count + 1);

	PL_ASSERT(!pl_heap_has(node));
	if (code != PL_OK)
		return code;
	heap->count++;
	sift_up(heap, heap->count - 1, node);
	return PL_OK;
}

void pl_heap_fix(struct pl_heap *heap, struct pl_heap_node *node)
{
	size_t at = node->slot - 1;

	PL_ASSERT(pl_heap_has(node) && at < heap->count && heap->node[at] == node);
	if (at > 0 && heap->before(node, heap->node[(at - 1) / 2]))
		sift_up(heap, at, node);
	else
		sift_down(heap, at, node);
}

void pl_heap_del(struct pl_heap *heap, struct pl_heap_node *node)
{
	size_t at = node->slot - 1;
	struct pl_heap_node *last;

	PL_ASSERT(pl_heap_has(node) && at < heap->count && heap->node[at] == node);
	last = heap->node[--heap->count];
	node->slot = PL_HEAP_OUT;
	if (last == node)
		return;
	place_node(heap, at, last);
	pl_heap_fix(heap, last);
}
