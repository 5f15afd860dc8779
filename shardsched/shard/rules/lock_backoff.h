/*
 * Several shards that decide under one lock at once: each commit makes those of all the
 * others fail, and the more they are the more is decided in vain. So whoever lost against
 * another that decides, too, lets him go on, until the lock has rested for as long as
 * three of our own transactions take, or a turn is over; then he tries again. Who won
 * goes on at once. The length of a turn is drawn, so that losers do not come back as one.
 *
 * Whoever only puts a lock, as a pod of his came or went, is no rival: to wait for him
 * would be to wait for as long as pods come.
 */
#ifndef SHARDSCHED_SHARD_RULES_LOCK_BACKOFF_H
#define SHARDSCHED_SHARD_RULES_LOCK_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

#include "store/base/span.h"

struct sched_rule;
struct sched;

struct lock_backoff {
	uint64_t lost_round; /* grows when we win */
	bool met;            /* in the transaction that is being answered */
	bool lost, heard;    /* since the last run */
	uint64_t began_ms, until_ms, quiet_ms, heard_ms;
};

/* What was decided together failed, as that is in the lock. */
void lock_backoff_conflict(struct sched *sched, struct sched_rule *group,
                           struct pl_span value);
/* The view brought that, by somebody else. */
void lock_backoff_heard(struct sched *sched, const struct sched_rule *group,
                        struct pl_span value);
/* What was decided together has ended; then it was begun. won: it stands, and was decided
 * under locks. */
void lock_backoff_batch_done(struct sched *sched, bool won, uint64_t began_ms);
/* It is now: answers and news come without a time. */
void lock_backoff_run(struct sched *sched);

/* Nothing is decided under locks now. */
bool lock_backoff_waits(const struct sched *sched);
/* When that is over if nothing is heard. UINT64_MAX: it is not so. */
uint64_t lock_backoff_deadline_ms(const struct sched *sched);

#endif
