/* An intrusive binary heap: the least element is on top, and any element can be
 * removed. */
#ifndef STORE_BASE_HEAP_H
#define STORE_BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>

#include "store/base/compiler.h"
#include "store/base/err.h"

enum { PL_HEAP_OUT = 0 };

/* Embedded in the element. A zeroed node is in no heap. */
struct pl_heap_node {
	size_t slot; /* position in the heap plus one */
};

/* True when a must leave the heap before b. Must be a strict weak order. */
typedef bool pl_heap_before_fn(const struct pl_heap_node *a,
                               const struct pl_heap_node *b);

struct pl_heap {
	struct pl_heap_node **node;
	size_t count;
	size_t cap;
	pl_heap_before_fn *before;
};

void pl_heap_init(struct pl_heap *heap, pl_heap_before_fn *before);
/* Does not touch the elements, which may be gone already. An element that was still in
 * the heap must be zeroed before it goes into another heap. */
void pl_heap_done(struct pl_heap *heap);

/* Reserves memory for count elements in all, so that adding up to that number cannot
 * fail. */
PL_NODISCARD enum pl_code pl_heap_reserve(struct pl_heap *heap, size_t count);
PL_NODISCARD enum pl_code pl_heap_add(struct pl_heap *heap, struct pl_heap_node *node);
void pl_heap_del(struct pl_heap *heap, struct pl_heap_node *node);

/* Restores the order after the element's key changed in place. */
void pl_heap_fix(struct pl_heap *heap, struct pl_heap_node *node);

static inline struct pl_heap_node *pl_heap_top(const struct pl_heap *heap)
{
	return heap->count == 0 ? NULL : heap->node[0];
}

static inline bool pl_heap_has(const struct pl_heap_node *node)
{
	return node->slot != PL_HEAP_OUT;
}

#endif
