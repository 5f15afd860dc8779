/* Transactions and reads that are under way. */
#ifndef SHARDSCHED_SHARD_COMMIT_CALLS_H
#define SHARDSCHED_SHARD_COMMIT_CALLS_H

#include "shardsched/shard/inner.h"

/* -- calls.c ------------------------------------------------------------- */

struct call *call_begin(struct sched *sched, enum call_kind kind);
/* What is decided about the pod as it is known; its new state is the caller's to add. */
struct book_decided call_decided(const struct sched *sched, const struct sched_pod *pod);
/* For an entry that was added to its book just now. */
struct call_item *call_item_add(struct call *call, const struct call_item *item);
/* Else it is a lock or the like, of everybody. */
static inline bool call_has_partition(enum keys_kind kind)
{
	return kind == KEYS_NODE || kind == KEYS_ALLOC || kind == KEYS_STATE;
}

/* It is written under the epoch of its partition; a gang's record has one, too, though
 * its key does not say which. */
static inline bool call_has_epoch(enum keys_kind kind)
{
	return call_has_partition(kind) || kind == KEYS_GANG;
}

/* 0: not ours. */
static inline int64_t call_epoch(const struct sched *sched, uint32_t partition)
{
	const struct sched_partition *part = &sched->partition[partition];

	return part->owned ? part->epoch : 0;
}
/* Likewise, where the key is not what is compared last. PL_NOMEM. */
PL_NODISCARD enum pl_code call_item_of(struct call *call, const struct call_item *item,
                                       struct pl_span key);
/* Likewise, where what is compared is no key; item->id says what it is of. */
PL_NODISCARD enum pl_code call_item_for(struct call *call, const struct call_item *item);
PL_NODISCARD enum pl_code call_room(struct call *call, uint32_t items);
/* The book is full as it is to be. */
void call_post(struct sched *sched, struct call *call);
void call_end(struct sched *sched, struct call *call);
uint8_t call_number(const struct sched *sched, const struct call *call);
/* Calls that were to be made, and were made for what is no more: a partition of theirs
 * was lost, whether it is ours again or not. */
void call_drop_stale(struct sched *sched);
/* News about something that is in that call, which may have come since that revision. */
bool call_hold(struct sched *sched, uint8_t number, const struct kv_record *record,
               int64_t since, bool gone);
/* What was held of that partition's pods, and of its nodes if wanted, is forgotten with
 * them: it may be of a store that is no more. */
void call_unhold(struct sched *sched, const struct sched_partition *of, bool nodes);

/* -- clashes.c ----------------------------------------------------------- */

/* A call failed, and this was read: before it is taken as news. Its items have their
 * causes from then on. */
void clash_failed(struct sched *sched, const struct call *call,
                  const struct kv_result *result);
/* The commit failed as a whole, for a reason that is not in what was read. */
void clash_call(struct sched *sched, const struct call *call, enum conflict_cause cause);

#endif
