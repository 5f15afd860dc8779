/*
 * Digests: what shards write about the free room of their partitions
 * (shardsched/records/digest.h). The digest index holds those of the other shards; a pod
 * that finds no local node looks only where a digest admits it. The shard's own digest is
 * made partition by partition where nodes changed, and written when it says something
 * else than before.
 *
 * Invariants: each partition has one entry in the index, of the shard that wrote about it
 * last; an entry's number grows whenever the entry says something else, so a search knows
 * what it has tried. A digest errs on one side only: where it can not tell it admits.
 */
#ifndef SHARDSCHED_SHARD_REMOTE_DIGESTS_H
#define SHARDSCHED_SHARD_REMOTE_DIGESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shardsched/records/digest.h"
#include "store/base/list.h"

struct kv_event;
struct kv_record;
struct kv_result;
struct remote_digest;
struct sched;
struct shard_txn;
struct spec;

/* -- digest_index.c, digest_admits.c: of other shards ------------------------------- */

/* A partition in the digest of its owner. */
struct digest_entry {
	const struct remote_digest *from;  /* NULL: no shard says anything */
	const struct digest_partition *is; /* part of `from`; NULL: nothing */
	uint64_t hash;                     /* of *is */
	uint32_t number;                   /* grows when the entry says something else */
};

/* Fed by the driver, as sched_view_* of sched.h. */
void digest_index_begin(struct sched *sched);
void digest_index_records(struct sched *sched, const struct kv_record *records,
                          size_t count);
void digest_index_end(struct sched *sched);
void digest_index_events(struct sched *sched, const struct kv_event *events,
                         size_t count);
void digest_index_forget(struct sched *sched);
/* At which the entry was written; 0: there is no entry. */
int64_t digest_entry_revision(const struct digest_entry *entry);
/* Searches try the partition again, although its entry says the same as before. */
void digest_entry_recheck(struct sched *sched, uint32_t partition);
/* The pod may find a node there. Without an entry: false. */
bool digest_admits(const struct sched *sched, uint32_t partition,
                   const struct spec *spec);
/* The lowest priority among the pods there that the pod may preempt; INT32_MAX: there is
 * no such pod. */
int32_t digest_least_priority(const struct sched *sched, uint32_t partition,
                              const struct spec *spec);

/* -- own_digest.c, digest_make.c, digest_fit.c --------------------------------------- */

enum { DIGEST_SUMMARY_AMOUNTS = 4 }; /* cpu, memory, pods, storage */

/* By which two versions of a partition's digest are compared. */
struct digest_summary {
	uint64_t hash; /* of everything */
	uint64_t kind; /* of everything but amounts and numbers of nodes */
	uint64_t nodes;
	int64_t amount[2][DIGEST_SUMMARY_AMOUNTS]; /* free in all, most on one node */
};

/* One partition in the own digest. */
struct own_digest {
	struct pl_arena arena;
	struct digest_partition part;
	struct digest_summary now, published; /* of part, of what was written last */
	bool dirty;                           /* nodes changed since part was made */
	bool made;                            /* part can be written */
	bool written; /* part is in the digest that was written last */
};

struct digests {
	struct pl_list remotes; /* struct remote_digest */
	uint8_t generation;     /* of the list */
	bool listed;            /* a list of all digests was complete */
	uint64_t listed_ms;     /* when the first one was */
	uint32_t shards;        /* how many there are */
	uint32_t published;     /* of the others, how many have a digest */
	uint32_t rank;          /* of this shard's name among theirs */
	/* The own digest. */
	bool pending;           /* something is to be made or written */
	int64_t revision;       /* of the key; 0: not there */
	uint8_t own_generation; /* of the list in which the key was last heard of */
	uint64_t changes;       /* of the snapshot, that `dirty` accounts for */
	uint64_t due_ms, written_ms;
	uint32_t next; /* partition after which the next round of making begins */
};

/* Makes part of a partition. Gives 1 more than the nodes that it looked at. */
uint32_t digest_make(struct sched *sched, uint32_t partition);
/* Prints the digest, with less detail where it would be too large. PL_LIMIT: it is too
 * large without any detail. */
PL_NODISCARD enum pl_code digest_fit(struct pl_arena *arena, const struct digest *digest,
                                     struct pl_buf *out, struct pl_err *err);

void digests_init(struct sched *sched);
void digests_done(struct sched *sched);
void own_digest_run(struct sched *sched);
uint64_t own_digest_deadline_ms(const struct sched *sched);
void own_digest_answer(struct sched *sched, struct shard_txn *txn,
                       const struct kv_result *result);
/* The key does not hold what was written last. */
void own_digest_unwritten(struct sched *sched);
/* The partition's part is outdated, or the partition was taken up or given up. */
void own_digest_dirty(struct sched *sched, uint32_t partition);

#endif
