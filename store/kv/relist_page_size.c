#include "store/kv/relist_page_size.h"

/* Bytes of a key besides its name and value: revisions, lease, lengths. */
enum { OVERHEAD = 32 };

uint32_t relist_page_size_keys(const struct relist_page_size *pages)
{
	return pages->keys == 0 ? RELIST_PAGE_FIRST : pages->keys;
}

void relist_page_size_observe(struct relist_page_size *pages,
                              const struct kv_record *records, size_t count)
{
	uint64_t bytes = 0, keys;

	for (size_t i = 0; i < count; i++)
		bytes += records[i].key.len + records[i].value.len + OVERHEAD;
	if (count < RELIST_PAGE_MIN && bytes < RELIST_PAGE_BYTES)
		return;
	keys = RELIST_PAGE_BYTES * (uint64_t)count / bytes;
	if (keys < RELIST_PAGE_MIN)
		keys = RELIST_PAGE_MIN;
	pages->keys = keys > RELIST_PAGE_MAX ? RELIST_PAGE_MAX : (uint32_t)keys;
}

void relist_page_size_halve(struct relist_page_size *pages)
{
	uint32_t half = relist_page_size_keys(pages) / 2;

	pages->keys = half < RELIST_PAGE_MIN ? RELIST_PAGE_MIN : half;
}
