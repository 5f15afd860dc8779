#include "shardsched/model/pages.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/alloc.h"

enum {
	PAGE_BYTES = 16360, /* with what the allocator adds: 16 KiB less 16 */
	PLACES_MAX = 1 << PAGES_PLACE_BITS,
	PAGES_MAX = 1 << (31 - PAGES_PLACE_BITS), /* numbers are below 2^31 */
	PAGES_FIRST = 16,
	NO_PLACE = UINT16_MAX,
};

void pages_done(struct pages *pages)
{
	for (uint32_t i = 1; i <= pages->count; i++)
		free(pages->page[i].at);
	free(pages->page);
	*pages = (struct pages){0};
}

/* -- pages of one size with room ------------------------------------------ */

static bool is_full(const struct page *page)
{
	return page->used == page->places;
}

static bool is_large(const struct page *page)
{
	return page->size > PAGES_LARGE;
}

static uint32_t *open_of(struct pages *pages, const struct page *page)
{
	return &pages->open[page->size / PAGES_STEP - 1];
}

static void open_add(struct pages *pages, uint32_t number)
{
	struct page *page = &pages->page[number];
	uint32_t *first = open_of(pages, page);

	page->prev = 0;
	page->next = *first;
	if (*first != 0)
		pages->page[*first].prev = number;
	*first = number;
}

static void open_del(struct pages *pages, uint32_t number)
{
	const struct page *page = &pages->page[number];

	if (page->prev == 0)
		*open_of(pages, page) = page->next;
	else
		pages->page[page->prev].next = page->next;
	if (page->next != 0)
		pages->page[page->next].prev = page->prev;
}

/* -- a page, and its end ---------------------------------------------------- */

/* 0: no memory. */
static uint32_t take_number(struct pages *pages)
{
	uint32_t number = pages->unused;
	uint32_t cap = pages->cap == 0 ? PAGES_FIRST : pages->cap * 2;
	struct page *grown;

	if (number != 0) {
		pages->unused = pages->page[number].next;
		return number;
	}
	if (pages->count + 1 < pages->cap)
		return ++pages->count;
	if (pages->cap >= PAGES_MAX)
		return 0;
	grown = pl_realloc(pages->page, cap * sizeof *grown);
	if (grown == NULL)
		return 0;
	pages->page = grown;
	pages->cap = cap;
	return ++pages->count;
}

static uint32_t page_new(struct pages *pages, size_t size, size_t places)
{
	uint8_t *at = pl_malloc(size * places);
	uint32_t number = at == NULL ? 0 : take_number(pages);

	if (number == 0) {
		free(at);
		return 0;
	}
	pages->page[number] = (struct page){.at = at,
	                                    .size = (uint32_t)size,
	                                    .places = (uint16_t)places,
	                                    .free = NO_PLACE};
	pages->bytes += size * places;
	if (!is_large(&pages->page[number]))
		open_add(pages, number);
	return number;
}

static void page_free(struct pages *pages, uint32_t number)
{
	struct page *page = &pages->page[number];

	if (!is_large(page))
		open_del(pages, number);
	pages->bytes -= (size_t)page->size * page->places;
	free(page->at);
	*page = (struct page){.next = pages->unused};
	pages->unused = number;
}

/* -- pieces ----------------------------------------------------------------- */

/* What is free begins with the number of the next that is. */
static uint32_t take_place(struct page *page)
{
	uint32_t place = page->free;

	page->used++;
	if (place == NO_PLACE)
		return page->fresh++;
	memcpy(&page->free, page->at + (size_t)page->size * place, sizeof page->free);
	return place;
}

uint32_t pages_take(struct pages *pages, size_t size)
{
	size_t round = (size + PAGES_STEP - 1) / PAGES_STEP * PAGES_STEP, places = 1;
	uint32_t number = 0, place;

	PL_ASSERT(size > 0 && size < UINT32_MAX - PAGES_STEP);
	if (round <= PAGES_LARGE) {
		number = pages->open[round / PAGES_STEP - 1];
		places = PAGE_BYTES / round;
	}
	if (number == 0)
		number =
			page_new(pages, round, places < PLACES_MAX ? places : PLACES_MAX);
	if (number == 0)
		return 0;
	place = take_place(&pages->page[number]);
	if (is_full(&pages->page[number]) && !is_large(&pages->page[number]))
		open_del(pages, number);
	return number << PAGES_PLACE_BITS | place;
}

void pages_give(struct pages *pages, uint32_t number)
{
	void *piece = pages_at(pages, number);
	uint32_t of = number >> PAGES_PLACE_BITS;
	struct page *page = &pages->page[of];

	PL_ASSERT(page->used > 0);
	if (is_full(page) && !is_large(page))
		open_add(pages, of);
	memcpy(piece, &page->free, sizeof page->free);
	page->free = number & (PLACES_MAX - 1);
	if (--page->used == 0)
		page_free(pages, of);
}

size_t pages_memory(const struct pages *pages)
{
	return pages->bytes + pages->cap * sizeof(struct page);
}
