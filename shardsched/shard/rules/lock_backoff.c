#include "shardsched/shard/rules/lock_backoff.h"

#include "shardsched/records/rule_term.h"
#include "shardsched/shard/inner.h"
#include "store/base/hash.h"

enum {
	TURN_MS = 200, /* the least length of a turn; up to as much again is drawn */
	QUIET_MIN_MS = 4,
	QUIET_MAX_MS = 150,
};

void lock_backoff_conflict(struct sched *sched, struct sched_rule *rule,
                           struct pl_span value)
{
	struct lock_backoff *lock_backoff = &sched->rules.lock_backoff;

	if (!rule_lock_decides(value))
		return;
	lock_backoff->met = true;
	rule->lost_round = lock_backoff->lost_round + 1;
}

void lock_backoff_heard(struct sched *sched, const struct sched_rule *rule,
                        struct pl_span value)
{
	struct lock_backoff *lock_backoff = &sched->rules.lock_backoff;

	lock_backoff->heard = lock_backoff->heard ||
	                      (rule->lost_round == lock_backoff->lost_round + 1 &&
	                       rule_lock_decides(value));
}

void lock_backoff_batch_done(struct sched *sched, bool won, uint64_t began_ms)
{
	struct lock_backoff *lock_backoff = &sched->rules.lock_backoff;

	lock_backoff->lost = lock_backoff->met;
	lock_backoff->began_ms = began_ms;
	lock_backoff->met = false;
	if (!won)
		return;
	lock_backoff->lost_round++;
	lock_backoff->until_ms = 0;
}

static uint64_t rest_ms(uint64_t took_ms)
{
	uint64_t ms = 3 * took_ms;

	if (ms < QUIET_MIN_MS)
		return QUIET_MIN_MS;
	return ms < QUIET_MAX_MS ? ms : QUIET_MAX_MS;
}

static uint64_t draw_turn_ms(const struct sched *sched)
{
	struct pl_hash_key key = {sched->opts.seed, sched->figures.batches};

	return TURN_MS + pl_hash_keyed(pl_span_str(sched->shard), key) % TURN_MS;
}

void lock_backoff_run(struct sched *sched)
{
	struct lock_backoff *lock_backoff = &sched->rules.lock_backoff;

	if (lock_backoff->lost) {
		lock_backoff->quiet_ms = rest_ms(sched->now_ms - lock_backoff->began_ms);
		lock_backoff->until_ms = sched->now_ms + draw_turn_ms(sched);
	}
	if (lock_backoff->lost || lock_backoff->heard)
		lock_backoff->heard_ms = sched->now_ms;
	lock_backoff->lost = lock_backoff->heard = false;
}

static uint64_t backoff_end_ms(const struct lock_backoff *lock_backoff)
{
	uint64_t rested_ms = lock_backoff->heard_ms + lock_backoff->quiet_ms;

	return rested_ms < lock_backoff->until_ms ? rested_ms : lock_backoff->until_ms;
}

bool lock_backoff_waits(const struct sched *sched)
{
	return sched->now_ms < backoff_end_ms(&sched->rules.lock_backoff);
}

uint64_t lock_backoff_deadline_ms(const struct sched *sched)
{
	return lock_backoff_waits(sched) ? backoff_end_ms(&sched->rules.lock_backoff)
	                                 : UINT64_MAX;
}
