/*
 * How many keys the pages of lists have: by the size of those that came, so that small
 * values come by the thousand and large ones do not come in one message. What etcd does
 * for a page is as much as all the keys from there to the list's end, so pages are few.
 */
#ifndef STORE_KV_RELIST_PAGE_SIZE_H
#define STORE_KV_RELIST_PAGE_SIZE_H

#include "store/kv/kv.h"

enum {
	RELIST_PAGE_BYTES = 4 << 20, /* what a page should have */
	RELIST_PAGE_FIRST = 1000,    /* keys, as long as nothing is known */
	RELIST_PAGE_MIN = 100,
	RELIST_PAGE_MAX = 10000,
};

/* Of keys whose values are alike; shared by all who list such. Zeroed: nothing is
 * known. */
struct relist_page_size {
	uint32_t keys; /* of the next page */
};

uint32_t relist_page_size_keys(const struct relist_page_size *pages);
/* Few keys say nothing about others. */
void relist_page_size_observe(struct relist_page_size *pages,
                              const struct kv_record *records, size_t count);
/* A page did not come in time, or was too large: the next is half as large. */
void relist_page_size_halve(struct relist_page_size *pages);

#endif
