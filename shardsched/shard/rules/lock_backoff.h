/*
 * Backoff of shards that decide under one lock at once. Each commit makes those of all
 * the others fail, and the more shards there are, the more of their decisions are in
 * vain. So a shard that has lost against another one that decides under the lock, too,
 * waits until the lock has rested for as long as three of its own transactions take, or
 * until a turn is over, and tries again. The winner goes on at once. The length of a turn
 * is drawn at random, so that the losers do not come back together.
 *
 * A shard that only puts a lock, since a pod of its own came or went, is no competitor:
 * waiting for it would mean to wait while pods come.
 *
 * The value of a lock says which kind its last put was.
 */
#ifndef SHARDSCHED_SHARD_RULES_LOCK_BACKOFF_H
#define SHARDSCHED_SHARD_RULES_LOCK_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

#include "store/base/span.h"

struct sched_rule;
struct sched;

struct lock_backoff {
	uint64_t lost_round; /* counts the rounds that this shard has won */
	/* the txn that is being answered has lost against another that decides */
	bool met;
	bool lost, heard; /* since the last lock_backoff_run */
	uint64_t began_ms, until_ms, quiet_ms, heard_ms;
};

/* A txn that decided under the lock has failed; value is the lock's that was found. */
void lock_backoff_conflict(struct sched *sched, struct sched_rule *rule,
                           struct pl_span value);
/* The fleet view brought a put of the lock by another shard. */
void lock_backoff_heard(struct sched *sched, const struct sched_rule *rule,
                        struct pl_span value);
/* The batch that was begun at began_ms has ended. won: it was applied, and was decided
 * under locks. */
void lock_backoff_batch_done(struct sched *sched, bool won, uint64_t began_ms);
/* Takes note of the time for what lock_backoff_conflict and _heard have left, as answers
 * and events come without one. */
void lock_backoff_run(struct sched *sched);

/* Nothing is to be decided under locks now. */
bool lock_backoff_waits(const struct sched *sched);
/* When the waiting ends if nothing more is heard; UINT64_MAX: there is none. */
uint64_t lock_backoff_deadline_ms(const struct sched *sched);

#endif
