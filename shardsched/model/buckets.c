#include "shardsched/model/buckets.h"

#include <stdlib.h>

#include "store/base/alloc.h"

enum { FEW = 16 };

void buckets_init(struct buckets *buckets, const void *owner, bucket_link_fn *link)
{
	*buckets = (struct buckets){.owner = owner, .link = link};
}

void buckets_done(struct buckets *buckets)
{
	free(buckets->first);
	*buckets = (struct buckets){0};
}

bool buckets_ready(struct buckets *buckets)
{
	if (buckets->count > 0)
		return true;
	buckets->first = pl_calloc(FEW, sizeof *buckets->first);
	if (buckets->first == NULL)
		return false;
	buckets->base = buckets->count = buckets->cap = FEW;
	return true;
}

static uint32_t *bucket_of(const struct buckets *buckets, uint32_t hash)
{
	uint32_t at = hash & (buckets->base * 2 - 1);

	if (at >= buckets->count)
		at = hash & (buckets->base - 1);
	return &buckets->first[at];
}

uint32_t buckets_chain(const struct buckets *buckets, uint32_t hash)
{
	return buckets->count == 0 ? 0 : *bucket_of(buckets, hash);
}

static bool grow_buckets(struct buckets *buckets)
{
	uint32_t *grown,
		cap = buckets->cap + buckets->cap / 8; /* a growth of an eighth leaves
								 * little memory idle */

	if (buckets->count < buckets->cap)
		return true;
	if (cap < buckets->cap)
		return false;
	grown = pl_realloc(buckets->first, cap * sizeof *grown);
	if (grown == NULL)
		return false;
	buckets->first = grown;
	buckets->cap = cap;
	return true;
}

/* With base 8 and 11 buckets, buckets 0 to 2 have been split, their halves are 8 to
 * 10, and 3 is next. */
static void split_next(struct buckets *buckets)
{
	uint32_t *fresh, *from;

	if (!grow_buckets(buckets))
		return;
	if (buckets->count == buckets->base * 2)
		buckets->base *= 2;
	fresh = &buckets->first[buckets->count];
	from = &buckets->first[buckets->count - buckets->base];
	buckets->count++;
	*fresh = 0;
	while (*from != 0) {
		uint32_t id = *from;
		struct bucket_link *link = buckets->link(buckets->owner, id);

		if (bucket_of(buckets, link->hash) != fresh) {
			from = &link->next;
			continue;
		}
		*from = link->next;
		link->next = *fresh;
		*fresh = id;
	}
}

void buckets_add(struct buckets *buckets, uint32_t id)
{
	struct bucket_link *link = buckets->link(buckets->owner, id);
	uint32_t *bucket = bucket_of(buckets, link->hash);

	link->next = *bucket;
	*bucket = id;
	buckets->entries++;
	/* Two at a time, so that a table that was short of memory catches up. */
	for (int i = 0; i < 2 && buckets->entries > buckets->count; i++)
		split_next(buckets);
}

void buckets_del(struct buckets *buckets, uint32_t id)
{
	struct bucket_link *link = buckets->link(buckets->owner, id);
	uint32_t *from = bucket_of(buckets, link->hash);

	while (*from != id)
		from = &buckets->link(buckets->owner, *from)->next;
	*from = link->next;
	link->next = 0;
	buckets->entries--;
}
