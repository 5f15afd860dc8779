#include "shardsched/shard/groups/rivals.h"

#include "shardsched/ledger/group.h"
#include "shardsched/shard/inner.h"
#include "store/base/hash.h"

enum {
	TURN_MS = 200, /* and up to as much again */
	QUIET_MIN_MS = 4,
	QUIET_MAX_MS = 150,
};

void rivals_met(struct sched *sched, struct group *group, struct pl_span value)
{
	struct rivals *rivals = &sched->groups.rivals;

	if (!group_value_decides(value))
		return;
	rivals->met = true;
	group->contest = rivals->contest + 1;
}

void rivals_heard(struct sched *sched, const struct group *group, struct pl_span value)
{
	struct rivals *rivals = &sched->groups.rivals;

	rivals->heard = rivals->heard || (group->contest == rivals->contest + 1 &&
	                                  group_value_decides(value));
}

void rivals_settled(struct sched *sched, bool won, uint64_t began_ms)
{
	struct rivals *rivals = &sched->groups.rivals;

	rivals->lost = rivals->met;
	rivals->began_ms = began_ms;
	rivals->met = false;
	if (!won)
		return;
	rivals->contest++;
	rivals->until_ms = 0;
}

static uint64_t quiet_ms(uint64_t took_ms)
{
	uint64_t ms = 3 * took_ms;

	if (ms < QUIET_MIN_MS)
		return QUIET_MIN_MS;
	return ms < QUIET_MAX_MS ? ms : QUIET_MAX_MS;
}

static uint64_t turn_ms(const struct sched *sched)
{
	struct pl_hash_key key = {sched->opts.seed, sched->figures.bundles};

	return TURN_MS + pl_hash_keyed(pl_span_str(sched->shard), key) % TURN_MS;
}

void rivals_run(struct sched *sched)
{
	struct rivals *rivals = &sched->groups.rivals;

	if (rivals->lost) {
		rivals->quiet_ms = quiet_ms(sched->now_ms - rivals->began_ms);
		rivals->until_ms = sched->now_ms + turn_ms(sched);
	}
	if (rivals->lost || rivals->heard)
		rivals->heard_ms = sched->now_ms;
	rivals->lost = rivals->heard = false;
}

static uint64_t over_ms(const struct rivals *rivals)
{
	uint64_t rested_ms = rivals->heard_ms + rivals->quiet_ms;

	return rested_ms < rivals->until_ms ? rested_ms : rivals->until_ms;
}

bool rivals_wait(const struct sched *sched)
{
	return sched->now_ms < over_ms(&sched->groups.rivals);
}

uint64_t rivals_deadline_ms(const struct sched *sched)
{
	return rivals_wait(sched) ? over_ms(&sched->groups.rivals) : UINT64_MAX;
}
