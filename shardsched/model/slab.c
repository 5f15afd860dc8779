#include "shardsched/model/slab.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/alloc.h"

enum {
	PAGE_BYTES = 16360, /* with the allocator's header: 16 KiB less 16 */
	PLACES_MAX = 1 << SLAB_PLACE_BITS,
	SLAB_MAX = 1 << (31 - SLAB_PLACE_BITS), /* numbers are below 2^31 */
	SLAB_FIRST = 16,
	NO_PLACE = UINT16_MAX,
};

void slab_done(struct slab *slab)
{
	for (uint32_t i = 1; i <= slab->count; i++)
		free(slab->page[i].at);
	free(slab->page);
	*slab = (struct slab){0};
}

/* -- pages of one size with room ------------------------------------------ */

static bool is_full(const struct slab_page *page)
{
	return page->used == page->places;
}

static bool is_large(const struct slab_page *page)
{
	return page->size > SLAB_LARGE;
}

static uint32_t *open_of(struct slab *slab, const struct slab_page *page)
{
	return &slab->open[page->size / SLAB_STEP - 1];
}

static void open_add(struct slab *slab, uint32_t number)
{
	struct slab_page *page = &slab->page[number];
	uint32_t *first = open_of(slab, page);

	page->prev = 0;
	page->next = *first;
	if (*first != 0)
		slab->page[*first].prev = number;
	*first = number;
}

static void open_del(struct slab *slab, uint32_t number)
{
	const struct slab_page *page = &slab->page[number];

	if (page->prev == 0)
		*open_of(slab, page) = page->next;
	else
		slab->page[page->prev].next = page->next;
	if (page->next != 0)
		slab->page[page->next].prev = page->prev;
}

/* -- a page, and its end ---------------------------------------------------- */

/* 0: no memory. */
static uint32_t alloc_page_number(struct slab *slab)
{
	uint32_t number = slab->unused;
	uint32_t cap = slab->cap == 0 ? SLAB_FIRST : slab->cap * 2;
	struct slab_page *grown;

	if (number != 0) {
		slab->unused = slab->page[number].next;
		return number;
	}
	if (slab->count + 1 < slab->cap)
		return ++slab->count;
	if (slab->cap >= SLAB_MAX)
		return 0;
	grown = pl_realloc(slab->page, cap * sizeof *grown);
	if (grown == NULL)
		return 0;
	slab->page = grown;
	slab->cap = cap;
	return ++slab->count;
}

static uint32_t slab_page_new(struct slab *slab, size_t size, size_t places)
{
	uint8_t *at = pl_malloc(size * places);
	uint32_t number = at == NULL ? 0 : alloc_page_number(slab);

	if (number == 0) {
		free(at);
		return 0;
	}
	slab->page[number] = (struct slab_page){.at = at,
	                                        .size = (uint32_t)size,
	                                        .places = (uint16_t)places,
	                                        .free = NO_PLACE};
	slab->bytes += size * places;
	if (!is_large(&slab->page[number]))
		open_add(slab, number);
	return number;
}

static void slab_page_free(struct slab *slab, uint32_t number)
{
	struct slab_page *page = &slab->page[number];

	if (!is_large(page))
		open_del(slab, number);
	slab->bytes -= (size_t)page->size * page->places;
	free(page->at);
	*page = (struct slab_page){.next = slab->unused};
	slab->unused = number;
}

/* -- pieces ----------------------------------------------------------------- */

/* A free place begins with the number of the next free place. */
static uint32_t alloc_place(struct slab_page *page)
{
	uint32_t place = page->free;

	page->used++;
	if (place == NO_PLACE)
		return page->fresh++;
	memcpy(&page->free, page->at + (size_t)page->size * place, sizeof page->free);
	return place;
}

uint32_t slab_alloc(struct slab *slab, size_t size)
{
	size_t round = (size + SLAB_STEP - 1) / SLAB_STEP * SLAB_STEP, places = 1;
	uint32_t number = 0, place;

	PL_ASSERT(size > 0 && size < UINT32_MAX - SLAB_STEP);
	if (round <= SLAB_LARGE) {
		number = slab->open[round / SLAB_STEP - 1];
		places = PAGE_BYTES / round;
	}
	if (number == 0)
		number = slab_page_new(slab, round,
		                       places < PLACES_MAX ? places : PLACES_MAX);
	if (number == 0)
		return 0;
	place = alloc_place(&slab->page[number]);
	if (is_full(&slab->page[number]) && !is_large(&slab->page[number]))
		open_del(slab, number);
	return number << SLAB_PLACE_BITS | place;
}

void slab_free(struct slab *slab, uint32_t number)
{
	void *piece = slab_at(slab, number);
	uint32_t of = number >> SLAB_PLACE_BITS;
	struct slab_page *page = &slab->page[of];

	PL_ASSERT(page->used > 0);
	if (is_full(page) && !is_large(page))
		open_add(slab, of);
	memcpy(piece, &page->free, sizeof page->free);
	page->free = number & (PLACES_MAX - 1);
	if (--page->used == 0)
		slab_page_free(slab, of);
}

size_t slab_memory(const struct slab *slab)
{
	return slab->bytes + slab->cap * sizeof(struct slab_page);
}
