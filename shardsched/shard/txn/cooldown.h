/*
 * struct cooldown: the pause of txns that serve no pod: those that only renew or release
 * reservations. When such a txn fails for good no pod could wait in its place, and
 * nothing would be decided differently. So all of these txns pause for a while, and fewer
 * nodes go into one afterwards.
 *
 * Invariant: nodes_max is 0 or the limit that failures have halved down to; successes
 * double it until it is 0 again.
 */
#ifndef SHARDSCHED_SHARD_TXN_COOLDOWN_H
#define SHARDSCHED_SHARD_TXN_COOLDOWN_H

#include <stdbool.h>
#include <stdint.h>

struct shard_txn;
struct sched;

struct cooldown {
	uint64_t until_ms;  /* 0: there is no pause */
	uint32_t nodes_max; /* nodes in one txn; 0: as many as fit */
};

bool cooldown_applies(const struct shard_txn *txn);
/* Such a txn failed; succeeded. */
void cooldown_start(struct sched *sched, const struct shard_txn *txn);
void cooldown_relax(struct sched *sched, const struct shard_txn *txn);

/* No such txn is sent now. */
bool cooldown_is_on(const struct sched *sched);
/* The txn has as many nodes as one may have at the moment. */
bool cooldown_is_full(const struct sched *sched, const struct shard_txn *txn);

void cooldown_run(struct sched *sched);
uint64_t cooldown_deadline_ms(const struct sched *sched);

#endif
