/*
 * A key and its versions. A version never changes. It is held by its key, and by whatever
 * still shows it (an answer, a watch note); and a version holds its key.
 */
#ifndef STORE_MEMKV_DATA_H
#define STORE_MEMKV_DATA_H

#include "store/base/btree.h"
#include "store/base/list.h"
#include "store/kv/types.h"
#include "store/memkv/hash_table.h"

struct mem_lease;
struct mem_version;

struct mem_key {
	struct pl_btree_node node; /* the key of the node is bytes */
	struct hash_table_node hash;
	uint32_t refs;
	/* Oldest first, one for each write, deletions included. Most keys have one
	 * version. */
	uint32_t count;
	uint32_t cap; /* 0: the single version is inside */
	union {
		struct mem_version *one;
		struct mem_version **many;
	} versions;
	struct mem_lease *lease; /* of the newest version; NULL: none */
	struct pl_list of_lease;
	uint8_t bytes[];
};

struct mem_version {
	struct mem_key *key; /* the version holds a reference */
	uint32_t refs;
	uint32_t sub; /* position within its revision */
	int64_t mod_revision;
	int64_t create_revision;
	int64_t version; /* 0: a deletion */
	int64_t lease;
	size_t len;
	uint8_t bytes[];
};

struct mem_key *mem_key_new(struct pl_span name);
struct mem_key *mem_key_ref(struct mem_key *key);
void mem_key_unref(struct mem_key *key);

/* Holds the key. The caller fills in the numbers. */
struct mem_version *mem_version_new(struct mem_key *key, struct pl_span value);
struct mem_version *mem_version_ref(struct mem_version *version);
void mem_version_unref(struct mem_version *version); /* takes NULL */

static inline bool mem_is_delete(const struct mem_version *version)
{
	return version->version == 0;
}

/* The version's share of the store's size, as the quota counts it: 96 bytes, key and
 * value. */
static inline uint64_t mem_version_cost(const struct mem_version *version)
{
	return 96 + version->key->node.key.len + version->len;
}

struct mem_version **mem_versions(struct mem_key *key);
struct mem_version *mem_newest(struct mem_key *key); /* NULL: no version at all */

/* Takes the caller's reference to version. */
PL_NODISCARD enum pl_code mem_push(struct mem_key *key, struct mem_version *version);

/* Removes the newest version and gives its reference to the caller. */
struct mem_version *mem_pop(struct mem_key *key);

/* Removes the oldest count versions, whose references the caller has given back. */
void mem_drop_oldest(struct mem_key *key, uint32_t count);

/* The number of versions that are not newer than revision. */
uint32_t mem_rank(struct mem_key *key, int64_t revision);

/* The key's version at revision. NULL: the key did not exist. */
struct mem_version *mem_at(struct mem_key *key, int64_t revision);

/* The record borrows from the version. */
void mem_record(const struct mem_version *version, bool keys_only, struct kv_record *out);

#endif
