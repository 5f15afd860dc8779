/* Txns from txn_begin to txn_end (struct shard_txn, txn.h): filling them, posting them,
 * and the events that are deferred while they are in flight.
 *
 * Invariant: txn_begin is followed by txn_post or txn_end within the same call of the
 * core. */
#ifndef SHARDSCHED_SHARD_TXN_INFLIGHT_H
#define SHARDSCHED_SHARD_TXN_INFLIGHT_H

#include "shardsched/shard/inner.h"

/* -- inflight.c -------------------------------------------------------------------- */

struct shard_txn *txn_begin(struct sched *sched, enum txn_kind kind);
/* The facts of the pod that a builder needs; the new state is the caller's to add. */
struct builder_decision txn_decided(const struct sched *sched,
                                    const struct sched_pod *pod);
/* The entry for what was added to the builder just now. txn_reserve has counted it. */
struct txn_entry *txn_add(struct shard_txn *txn, const struct txn_entry *entry);
/* False: a lock, a registry or the like, of the whole store. */
static inline bool txn_key_has_partition(enum keys_kind kind)
{
	return kind == KEYS_NODE || kind == KEYS_ALLOC || kind == KEYS_STATE;
}

/* The key is written under the epoch of a partition. A gang's record has one as well,
 * although its key does not name it. */
static inline bool txn_key_has_epoch(enum keys_kind kind)
{
	return txn_key_has_partition(kind) || kind == KEYS_GANG;
}

/* 0: the partition is not owned. */
static inline int64_t txn_epoch(const struct sched *sched, uint32_t partition)
{
	const struct sched_partition *part = &sched->partition[partition];

	return part->owned ? part->epoch : 0;
}
/* As txn_add, where the key is not the one that was compared last. The entry needs no
 * room from txn_reserve. PL_NOMEM. */
PL_NODISCARD enum pl_code txn_add_key(struct shard_txn *txn,
                                      const struct txn_entry *entry, struct pl_span key);
/* As txn_add_key, where the builder compared no key; entry->id says what it is about. */
PL_NODISCARD enum pl_code txn_add_id(struct shard_txn *txn,
                                     const struct txn_entry *entry);
PL_NODISCARD enum pl_code txn_reserve(struct shard_txn *txn, uint32_t entries);
/* The builder is complete: the request is made and waits for the driver. */
void txn_post(struct sched *sched, struct shard_txn *txn);
void txn_end(struct sched *sched, struct shard_txn *txn);
uint8_t txn_number(const struct sched *sched, const struct shard_txn *txn);
/* Drops posted txns that are not sent and were made under an epoch that is over, whether
 * the partition is owned again or not. */
void txn_drop_stale(struct sched *sched);
/* Defers an event about a pod or node of that txn. since: the revision from which the key
 * may have changed. False: no memory. */
bool txn_defer(struct sched *sched, uint8_t number, const struct kv_record *record,
               int64_t since, bool gone);
/* Drops deferred events about the partition's pods, and about its nodes if `nodes`: they
 * may be of a store that is no more. */
void txn_drop_deferred(struct sched *sched, const struct sched_partition *of, bool nodes);

/* -- conflict_causes.c ------------------------------------------------------------- */

/* Counts what a failed txn conflicted with, and sets the causes of its entries. To be
 * called before what was read is applied. */
void txn_record_conflicts(struct sched *sched, const struct shard_txn *txn,
                          const struct kv_result *result);
/* Counts a txn that failed as a whole, for a cause that no read shows. */
void txn_record_conflict(struct sched *sched, const struct shard_txn *txn,
                         enum conflict_cause cause);

#endif
