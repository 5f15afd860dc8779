#include "store/memkv/hash_table.h"

#include <stdlib.h>

#include "store/base/alloc.h"

enum { BUCKETS_MIN = 64 };

#define MIX_A UINT64_C(0x9e3779b97f4a7c15)
#define MIX_B UINT64_C(0xd6e8feb86659fd93)

void hash_table_done(struct hash_table *table)
{
	PL_ASSERT(table->count == 0);
	free(table->bucket);
	*table = (struct hash_table){0};
}

static struct hash_table_node **bucket_of(const struct hash_table *table, uint64_t hash)
{
	return &table->bucket[hash & (table->buckets - 1)];
}

static void link_node(struct hash_table *table, struct hash_table_node *node)
{
	struct hash_table_node **bucket = bucket_of(table, node->hash);

	node->next = *bucket;
	*bucket = node;
}

enum pl_code hash_table_reserve(struct hash_table *table, size_t count)
{
	struct hash_table grown = {.buckets = BUCKETS_MIN, .count = table->count};

	if (count <= table->buckets)
		return PL_OK;
	while (grown.buckets < count) {
		if (grown.buckets > SIZE_MAX / 2 / sizeof(struct hash_table_node *))
			return PL_NOMEM;
		grown.buckets *= 2;
	}
	grown.bucket = pl_calloc(grown.buckets, sizeof(struct hash_table_node *));
	if (grown.bucket == NULL)
		return PL_NOMEM;
	for (size_t i = 0; i < table->buckets; i++) {
		struct hash_table_node *node = table->bucket[i];

		while (node != NULL) {
			struct hash_table_node *next = node->next;

			link_node(&grown, node);
			node = next;
		}
	}
	free(table->bucket);
	*table = grown;
	return PL_OK;
}

void hash_table_add(struct hash_table *table, struct hash_table_node *node, uint64_t hash)
{
	PL_ASSERT(table->count < table->buckets);
	node->hash = hash;
	link_node(table, node);
	table->count++;
}

void hash_table_del(struct hash_table *table, struct hash_table_node *node)
{
	struct hash_table_node **link = bucket_of(table, node->hash);

	while (*link != node) {
		PL_ASSERT(*link != NULL);
		link = &(*link)->next;
	}
	*link = node->next;
	table->count--;
}

struct hash_table_node *hash_table_first(const struct hash_table *table, uint64_t hash)
{
	struct hash_table_node *node;

	if (table->buckets == 0)
		return NULL;
	node = *bucket_of(table, hash);
	while (node != NULL && node->hash != hash)
		node = node->next;
	return node;
}

struct hash_table_node *hash_table_next(const struct hash_table_node *node)
{
	struct hash_table_node *next = node->next;

	while (next != NULL && next->hash != node->hash)
		next = next->next;
	return next;
}

static uint64_t mix_bits(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * MIX_A;
	hash ^= hash >> 32;
	return hash * MIX_B;
}

uint64_t hash_table_hash(struct pl_span span)
{
	uint64_t hash = span.len * MIX_B;
	uint64_t word;
	size_t at = 0;

	for (; span.len - at >= sizeof word; at += sizeof word) {
		memcpy(&word, span.at + at, sizeof word);
		hash = mix_bits(hash, word);
	}
	word = 0;
	if (at < span.len)
		memcpy(&word, span.at + at, span.len - at);
	hash = mix_bits(hash, word);
	return hash ^ hash >> 29;
}

uint64_t hash_table_hash_int(int64_t number)
{
	uint64_t hash = mix_bits(MIX_A, (uint64_t)number);

	return hash ^ hash >> 29;
}
