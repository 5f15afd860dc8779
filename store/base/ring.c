#include "store/base/ring.h"

#include <stdlib.h>
#include <string.h>

#include "store/base/alloc.h"

enum pl_code pl_ring_init(struct pl_ring *ring, size_t size, size_t cap)
{
	uint8_t *at;

	PL_ASSERT(size > 0 && cap > 0);
	if (cap > SIZE_MAX / size)
		return PL_NOMEM;
	at = pl_calloc(cap, size);
	if (at == NULL)
		return PL_NOMEM;
	*ring = (struct pl_ring){.at = at, .size = size, .cap = cap};
	return PL_OK;
}

void pl_ring_done(struct pl_ring *ring)
{
	free(ring->at);
	*ring = (struct pl_ring){0};
}

static uint8_t *slot_at(const struct pl_ring *ring, size_t index)
{
	/* avoids head + index, which could overflow */
	size_t left = ring->cap - ring->head;

	return ring->at + ring->size * (index < left ? ring->head + index : index - left);
}

bool pl_ring_push(struct pl_ring *ring, const void *element)
{
	if (ring->count == ring->cap)
		return false;
	memcpy(slot_at(ring, ring->count), element, ring->size);
	ring->count++;
	return true;
}

bool pl_ring_push_overwrite(struct pl_ring *ring, const void *element)
{
	bool full = ring->count == ring->cap;

	if (full)
		(void)!pl_ring_pop(ring, NULL);
	(void)!pl_ring_push(ring, element);
	return full;
}

bool pl_ring_pop(struct pl_ring *ring, void *element)
{
	if (ring->count == 0)
		return false;
	if (element != NULL)
		memcpy(element, slot_at(ring, 0), ring->size);
	ring->head = ring->head + 1 == ring->cap ? 0 : ring->head + 1;
	ring->count--;
	return true;
}

void *pl_ring_at(const struct pl_ring *ring, size_t index)
{
	PL_ASSERT(index < ring->count);
	return slot_at(ring, index);
}
