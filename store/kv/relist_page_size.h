/*
 * The number of keys in a page of a list, chosen by the size of those that came before:
 * small values come by the thousand, and large ones do not come in one message. For each
 * page etcd reads all keys from there to the end of the list, so pages should be few.
 */
#ifndef STORE_KV_RELIST_PAGE_SIZE_H
#define STORE_KV_RELIST_PAGE_SIZE_H

#include "store/kv/kv.h"

enum {
	RELIST_PAGE_BYTES = 4 << 20, /* target bytes of a page */
	RELIST_PAGE_FIRST = 1000,    /* keys of a page while nothing is known */
	RELIST_PAGE_MIN = 100,
	RELIST_PAGE_MAX = 10000,
};

/* The state for keys whose values are alike; all lists of such keys share one. Zeroed:
 * nothing is known. */
struct relist_page_size {
	uint32_t keys; /* keys of the next page */
};

uint32_t relist_page_size_keys(const struct relist_page_size *pages);
/* Learns from a page. Pages of few keys are ignored. */
void relist_page_size_observe(struct relist_page_size *pages,
                              const struct kv_record *records, size_t count);
/* A page was late or too large: the next one is half as large. */
void relist_page_size_halve(struct relist_page_size *pages);

#endif
