/*
 * The entries of a txn, once its outcome is known. answer.c calls these in order:
 *
 *	applied      entries_stand
 *	not applied  entries_unsend, then entries_apply_read if a read came with the answer
 *	both         entries_apply_deferred, entries_reconcile
 *
 * Invariant: after entries_stand or entries_unsend no pod and no node carries the txn's
 * number any more.
 */
#ifndef SHARDSCHED_SHARD_TXN_ENTRIES_H
#define SHARDSCHED_SHARD_TXN_ENTRIES_H

#include "shardsched/shard/inner.h"

/* The txn was applied at that revision: what its entries assumed is true. */
void entries_stand(struct sched *sched, const struct shard_txn *txn, int64_t revision);
/* The txn was not applied: its pods wait again as they did before it was sent. */
void entries_unsend(struct sched *sched, const struct shard_txn *txn);
/* Applies the values that were read instead. True: another writer had changed a key. */
bool entries_apply_read(struct sched *sched, const struct shard_txn *txn,
                        const struct kv_result *result);
/* Applies the events that waited for the answer. */
void entries_apply_deferred(struct sched *sched, const struct shard_txn *txn);
/* Derives what follows for the pods and nodes of the txn. */
void entries_reconcile(struct sched *sched, const struct shard_txn *txn);

#endif
