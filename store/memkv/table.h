/*
 * Intrusive hash table: finds in one step what the ordered map finds in twenty
 * comparisons. Adding can not fail once room has been reserved.
 */
#ifndef STORE_MEMKV_TABLE_H
#define STORE_MEMKV_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "store/base/err.h"
#include "store/base/span.h"

struct table_node {
	struct table_node *next;
	uint64_t hash;
};

struct table {
	struct table_node **bucket;
	size_t buckets; /* a power of two, or 0 */
	size_t count;
};

/* Frees the buckets, not the elements. A zeroed table is empty. */
void table_done(struct table *table);

/* Room for count elements in all. */
PL_NODISCARD enum pl_code table_reserve(struct table *table, size_t count);
void table_add(struct table *table, struct table_node *node, uint64_t hash);
void table_del(struct table *table, struct table_node *node);

/* The elements with this hash, one after the other; the caller compares. */
struct table_node *table_first(const struct table *table, uint64_t hash);
struct table_node *table_next(const struct table_node *node);

uint64_t table_hash(struct pl_span span);
uint64_t table_hash_int(int64_t number);

#endif
