/* Transactions and reads that are under way. */
#ifndef SHARDSCHED_SHARD_TXN_INFLIGHT_H
#define SHARDSCHED_SHARD_TXN_INFLIGHT_H

#include "shardsched/shard/inner.h"

/* -- calls.c ------------------------------------------------------------- */

struct shard_txn *txn_begin(struct sched *sched, enum txn_kind kind);
/* What is decided about the pod as it is known; its new state is the caller's to add. */
struct builder_decision txn_decided(const struct sched *sched,
                                    const struct sched_pod *pod);
/* For an entry that was added to its book just now. */
struct txn_entry *txn_add(struct shard_txn *txn, const struct txn_entry *entry);
/* Else it is a lock or the like, of everybody. */
static inline bool txn_key_has_partition(enum keys_kind kind)
{
	return kind == KEYS_NODE || kind == KEYS_ALLOC || kind == KEYS_STATE;
}

/* It is written under the epoch of its partition; a gang's record has one, too, though
 * its key does not say which. */
static inline bool txn_key_has_epoch(enum keys_kind kind)
{
	return txn_key_has_partition(kind) || kind == KEYS_GANG;
}

/* 0: not ours. */
static inline int64_t txn_epoch(const struct sched *sched, uint32_t partition)
{
	const struct sched_partition *part = &sched->partition[partition];

	return part->owned ? part->epoch : 0;
}
/* Likewise, where the key is not what is compared last. PL_NOMEM. */
PL_NODISCARD enum pl_code txn_add_key(struct shard_txn *txn,
                                      const struct txn_entry *entry, struct pl_span key);
/* Likewise, where what is compared is no key; item->id says what it is of. */
PL_NODISCARD enum pl_code txn_add_id(struct shard_txn *txn,
                                     const struct txn_entry *entry);
PL_NODISCARD enum pl_code txn_reserve(struct shard_txn *txn, uint32_t entries);
/* The book is full as it is to be. */
void txn_post(struct sched *sched, struct shard_txn *txn);
void txn_end(struct sched *sched, struct shard_txn *txn);
uint8_t txn_number(const struct sched *sched, const struct shard_txn *txn);
/* Calls that were to be made, and were made for what is no more: a partition of theirs
 * was lost, whether it is ours again or not. */
void txn_drop_stale(struct sched *sched);
/* News about something that is in that call, which may have come since that revision. */
bool txn_defer(struct sched *sched, uint8_t number, const struct kv_record *record,
               int64_t since, bool gone);
/* What was held of that partition's pods, and of its nodes if wanted, is forgotten with
 * them: it may be of a store that is no more. */
void txn_drop_deferred(struct sched *sched, const struct sched_partition *of, bool nodes);

/* -- clashes.c ----------------------------------------------------------- */

/* A call failed, and this was read: before it is taken as news. Its items have their
 * causes from then on. */
void txn_record_conflicts(struct sched *sched, const struct shard_txn *txn,
                          const struct kv_result *result);
/* The commit failed as a whole, for a reason that is not in what was read. */
void txn_record_conflict(struct sched *sched, const struct shard_txn *txn,
                         enum conflict_cause cause);

#endif
