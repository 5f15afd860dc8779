/*
 * Buckets: chains of numbers by hash. Elements are known by a number and hold the link
 * themselves; strings, shared values, the snapshot's nodes and its label columns are
 * found by such a table.
 *
 * Invariants: an element is in at most one table; its number is never 0; the hash in its
 * link does not change while it is in the table.
 *
 * Linear hashing, as in store/base/map.h: buckets are split one at a time as elements
 * come, so the millionth costs what the tenth did, and when there is no memory for more
 * buckets, chains get longer instead. 4 bytes an element beside its link of 8, where
 * pl_map takes 48 bytes for the node alone: with a million names that is why both exist.
 */
#ifndef SHARDSCHED_MODEL_BUCKETS_H
#define SHARDSCHED_MODEL_BUCKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bucket_link {
	uint32_t hash;
	uint32_t next; /* 0: the last */
};

/* Returns the link of the element with that number, which is never 0. */
typedef struct bucket_link *bucket_link_fn(const void *owner, uint32_t id);

struct buckets {
	uint32_t *first;
	uint32_t base; /* a power of two: base <= count <= 2 * base */
	uint32_t count;
	uint32_t cap;
	uint32_t entries;
	bucket_link_fn *link;
	const void *owner;
};

/* Allocates nothing yet. */
void buckets_init(struct buckets *buckets, const void *owner, bucket_link_fn *link);
void buckets_done(struct buckets *buckets);

/* To be called before the first element is added; false: no memory. */
bool buckets_ready(struct buckets *buckets);

/* The first element of the chain for that hash; 0: the chain is empty. */
uint32_t buckets_chain(const struct buckets *buckets, uint32_t hash);

/* Adds the element, whose link has its hash. */
void buckets_add(struct buckets *buckets, uint32_t id);
void buckets_del(struct buckets *buckets, uint32_t id);

#endif
