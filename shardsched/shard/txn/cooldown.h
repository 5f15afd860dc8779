/*
 * Transactions for no pod's sake: holds that are kept or given back. When one fails for
 * good there is nobody who could wait for better times instead of it, and nothing that
 * would be decided otherwise. So all of these rest for a while, and fewer nodes go into
 * one then.
 */
#ifndef SHARDSCHED_SHARD_TXN_COOLDOWN_H
#define SHARDSCHED_SHARD_TXN_COOLDOWN_H

#include <stdbool.h>
#include <stdint.h>

struct shard_txn;
struct sched;

struct cooldown {
	uint64_t until_ms;  /* until then; 0: nothing rests */
	uint32_t nodes_max; /* nodes at once; 0: as many as fit */
};

bool cooldown_applies(const struct shard_txn *txn);
/* What became of one. */
void cooldown_start(struct sched *sched, const struct shard_txn *txn);
void cooldown_relax(struct sched *sched, const struct shard_txn *txn);

/* Nothing of the kind is to go now. */
bool cooldown_is_on(const struct sched *sched);
/* The call has as many nodes as may go at once. */
bool cooldown_is_full(const struct sched *sched, const struct shard_txn *txn);

void cooldown_run(struct sched *sched);
uint64_t cooldown_deadline_ms(const struct sched *sched);

#endif
