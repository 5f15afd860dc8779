/*
 * A slab: an allocator of small objects. Objects of one size share pages, without an
 * allocator's header for each; a large object has a page of its own. An empty page goes
 * back to the heap.
 *
 * Invariants: an object is known by a number, below 2^31 and never 0, and stays at its
 * address until it is freed; then the number may be reused. Objects are aligned for
 * uint32_t; for uint64_t where all sizes are multiples of 8.
 */
#ifndef SHARDSCHED_MODEL_SLAB_H
#define SHARDSCHED_MODEL_SLAB_H

#include <stddef.h>
#include <stdint.h>

#include "store/base/compiler.h"

enum {
	SLAB_STEP = 4,
	SLAB_LARGE = 512, /* the largest size whose objects share a page */
	SLAB_SIZES = SLAB_LARGE / SLAB_STEP,
	SLAB_PLACE_BITS = 8, /* bits of a number for the place within the page; the rest
			      * is the page's number */
};

struct slab_page {
	uint8_t *at;   /* NULL: the page number is free */
	uint32_t size; /* bytes of one object */
	uint32_t next,
		prev; /* in the list of open pages of one size; of free page numbers: next
		       * only */
	uint16_t used, places;
	uint16_t fresh; /* places from here on were never used */
	uint16_t free;  /* the first free place below fresh */
};

/* Zeroed: empty. */
struct slab {
	struct slab_page *page;
	uint32_t count;            /* page numbers that were ever used, from 1 */
	uint32_t cap;              /* entries allocated in page */
	uint32_t unused;           /* the first free page number; 0: none */
	uint32_t open[SLAB_SIZES]; /* the first page with room; 0: none */
	size_t bytes;              /* bytes of all pages */
};

/* Frees all pages, whatever is allocated in them. */
void slab_done(struct slab *slab);

/* 0: no memory. */
uint32_t slab_alloc(struct slab *slab, size_t size);
void slab_free(struct slab *slab, uint32_t number);

/* Heap bytes, without what the allocator adds to a page. */
size_t slab_memory(const struct slab *slab);

static inline void *slab_at(const struct slab *slab, uint32_t number)
{
	const struct slab_page *page = &slab->page[number >> SLAB_PLACE_BITS];
	uint32_t place = number & ((1U << SLAB_PLACE_BITS) - 1);

	PL_ASSERT(number >> SLAB_PLACE_BITS <= slab->count && place < page->fresh);
	return page->at + (size_t)page->size * place;
}

#endif
