/*
 * Pieces of memory close together: those of one size stand in pages of their own, without
 * what an allocator adds to each. A large one has a page to itself; a page that is empty
 * goes back to the heap.
 *
 * A piece is known by a number, below 2^31 and never 0, and stays where it is until it is
 * given back: then its number may be given again. Aligned for uint32_t; for uint64_t
 * where all sizes are multiples of 8.
 */
#ifndef SHARDSCHED_MODEL_PAGES_H
#define SHARDSCHED_MODEL_PAGES_H

#include <stddef.h>
#include <stdint.h>

#include "store/base/compiler.h"

enum {
	PAGES_STEP = 4,
	PAGES_LARGE = 512, /* the largest that share a page */
	PAGES_SIZES = PAGES_LARGE / PAGES_STEP,
	PAGES_PLACE_BITS = 8, /* of a number; the rest is the page's */
};

struct page {
	uint8_t *at;   /* NULL: none has this number */
	uint32_t size; /* of a piece */
	uint32_t next,
		prev; /* of those open of its size; of numbers that are free: next */
	uint16_t used, places;
	uint16_t fresh; /* places from here on were never used */
	uint16_t free;  /* the first of the others */
};

/* Zeroed: empty. */
struct pages {
	struct page *page;
	uint32_t count;             /* numbers of pages that were ever given, from 1 */
	uint32_t cap;               /* of page */
	uint32_t unused;            /* the first of a chain of them; 0: none */
	uint32_t open[PAGES_SIZES]; /* the first page with room; 0: none */
	size_t bytes;               /* of pages */
};

/* All that was taken goes with it. */
void pages_done(struct pages *pages);

/* 0: no memory. */
uint32_t pages_take(struct pages *pages, size_t size);
void pages_give(struct pages *pages, uint32_t number);

/* Heap bytes, without what the allocator adds to a page. */
size_t pages_memory(const struct pages *pages);

static inline void *pages_at(const struct pages *pages, uint32_t number)
{
	const struct page *page = &pages->page[number >> PAGES_PLACE_BITS];
	uint32_t place = number & ((1U << PAGES_PLACE_BITS) - 1);

	PL_ASSERT(number >> PAGES_PLACE_BITS <= pages->count && place < page->fresh);
	return page->at + (size_t)page->size * place;
}

#endif
