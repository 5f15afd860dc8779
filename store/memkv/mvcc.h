/*
 * The state of the memory store: keys with all their versions since the last compaction,
 * the log of revisions, and leases. It knows nothing of clients, watches or time.
 *
 * A write is a sequence of puts and deletes, which see each other, and then one commit or
 * one undo. Everything that needs memory happens before the commit; undo and commit never
 * fail.
 *
 * A key takes about 200 bytes and a version 80, besides keys and values themselves.
 */
#ifndef STORE_MEMKV_MVCC_H
#define STORE_MEMKV_MVCC_H

#include "store/base/heap.h"
#include "store/memkv/revlog.h"

struct mem_lease {
	struct hash_table_node node;
	struct pl_heap_node due;
	int64_t id;
	int64_t ttl_s;
	uint64_t expiry_ms; /* the lease is dead from then on */
	/* when its keys are deleted, at expiry_ms or a little later */
	uint64_t due_ms;
	uint64_t seq;
	struct pl_list keys; /* of mem_key.of_lease */
	size_t key_count;
};

struct mvcc {
	struct pl_btree keys;
	struct hash_table by_key;
	struct revlog log;
	int64_t revision;
	int64_t compacted; /* -1: never */
	uint64_t bytes;    /* of all versions, as the quota counts them */
	struct hash_table leases;
	struct pl_heap due;
	uint64_t lease_seq;
	struct mem_version **changes; /* of the write in progress */
	uint32_t change_count;
	uint32_t change_cap;
	struct mem_version **hits; /* of the last mvcc_range */
	size_t hit_count;
	size_t hit_cap;
};

void mvcc_init(struct mvcc *mvcc);
void mvcc_done(struct mvcc *mvcc);

/* The revision that a read inside the write in progress sees. */
static inline int64_t mvcc_view(const struct mvcc *mvcc)
{
	return mvcc->revision + (mvcc->change_count != 0);
}

/* NULL: the key has never existed, or was compacted away. */
struct mem_key *mvcc_find(const struct mvcc *mvcc, struct pl_span key);

/* Fills hits with the keys' versions at revision, in order: at most limit of them (0:
 * all; negative: none). *total counts all of them. */
PL_NODISCARD enum pl_code mvcc_range(struct mvcc *mvcc, const struct kv_keys *keys,
                                     int64_t revision, int64_t limit, int64_t *total);

PL_NODISCARD enum pl_code mvcc_put(struct mvcc *mvcc, struct pl_span key,
                                   struct pl_span value, int64_t lease);

/* The key must exist. */
PL_NODISCARD enum pl_code mvcc_delete(struct mvcc *mvcc, struct mem_key *key);

/* Called when there are changes. PL_OK: the commit has everything that it needs. */
PL_NODISCARD enum pl_code mvcc_prepare(struct mvcc *mvcc);
void mvcc_commit(struct mvcc *mvcc);
void mvcc_undo(struct mvcc *mvcc);

/* Adds a copy of a version from elsewhere, by key and oldest first, to a state that has
 * its leases, but neither log nor revision yet. */
PL_NODISCARD enum pl_code mvcc_load(struct mvcc *mvcc, const struct mem_version *from,
                                    struct mem_version **out);

/* Never fails. Requires compacted < revision <= mvcc->revision. */
void mvcc_compact(struct mvcc *mvcc, int64_t revision);

/* -- leases (lease.c) -------------------------------------------------- */

struct mem_lease *mem_lease_find(const struct mvcc *mvcc, int64_t id);
PL_NODISCARD enum pl_code mem_lease_add(struct mvcc *mvcc, int64_t id, int64_t ttl_s,
                                        struct mem_lease **out);
/* The lease's keys must be gone. */
void mem_lease_del(struct mvcc *mvcc, struct mem_lease *lease);

void mem_lease_set_due(struct mvcc *mvcc, struct mem_lease *lease, uint64_t expiry_ms,
                       uint64_t due_ms);

/* The lease whose keys are deleted next. NULL: there is none. */
struct mem_lease *mem_lease_next_due(const struct mvcc *mvcc);

/* lease NULL: the key leaves the lease that it has. */
void mem_lease_attach(struct mem_key *key, struct mem_lease *lease);

/* Fills the caller's array of lease->key_count with the lease's keys, in order. */
void mem_lease_keys(const struct mem_lease *lease, struct mem_key **out);

#endif
