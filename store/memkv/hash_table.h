/*
 * An intrusive hash table, which finds in one step what the ordered map finds in twenty
 * comparisons. Adding cannot fail once room has been reserved.
 *
 * pl_map is no substitute here: it takes 48 bytes an element instead of 16, and leases are
 * looked up by number.
 */
#ifndef STORE_MEMKV_HASH_TABLE_H
#define STORE_MEMKV_HASH_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "store/base/err.h"
#include "store/base/span.h"

struct hash_table_node {
	struct hash_table_node *next;
	uint64_t hash;
};

struct hash_table {
	struct hash_table_node **bucket;
	size_t buckets; /* a power of two, or 0 */
	size_t count;
};

/* Frees the buckets but not the elements. A zeroed table is empty. */
void hash_table_done(struct hash_table *table);

/* Reserves room for count elements in all. */
PL_NODISCARD enum pl_code hash_table_reserve(struct hash_table *table, size_t count);
void hash_table_add(struct hash_table *table, struct hash_table_node *node,
                    uint64_t hash);
void hash_table_del(struct hash_table *table, struct hash_table_node *node);

/* A walk over the elements with one hash; the caller compares the keys. */
struct hash_table_node *hash_table_first(const struct hash_table *table, uint64_t hash);
struct hash_table_node *hash_table_next(const struct hash_table_node *node);

uint64_t hash_table_hash(struct pl_span span);
uint64_t hash_table_hash_int(int64_t number);

#endif
