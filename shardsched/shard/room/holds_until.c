/*
 * Deadlines of nominations.
 *
 * Who owns a nominated pod renews its hold in time, while the pod waits; who owns the
 * node ends one that has not been renewed, so that no room is kept for ever for somebody
 * whose owner does not see it, or makes no sense of it.
 *
 *	written       until: HOLD_MS from now
 *	  |  HOLD_RENEW_MS before it, by the pod's owner: written anew
 *	until
 *	  |  HOLD_GRACE_MS later, by the node's owner: it goes
 *
 * The deadline is of another's clock. It is only asked how far off it is when it is first
 * seen, at most HOLD_MS and at least nothing; from there on the monotonic clock counts.
 * So however much the clocks disagree, a hold stands for HOLD_GRACE_MS after it was
 * renewed, which is twice as long as it takes until it is again, and ends after the sum
 * of both if it is not.
 */
#include "shardsched/shard/room/holds.h"
#include "shardsched/shard/tables/tables.h"

/* Its pod waits, and is ours. */
static bool is_kept(const struct sched *sched, const struct sched_hold *hold)
{
	const struct sched_pod *pod = hold->pod;
	const struct sched_partition *part;

	if (pod == NULL || hold->planned || hold_goes(hold))
		return false;
	part = &sched->partition[pod->key[0]];
	return part->owned && part->open && !part->quiet &&
	       (pod->flags & (POD_BAD_SPEC | POD_BAD_STATE)) == 0;
}

static uint64_t renew_ms(const struct sched_hold *hold)
{
	const uint64_t before_ms = HOLD_GRACE_MS + HOLD_RENEW_MS;

	return hold->over_ms > before_ms ? hold->over_ms - before_ms : 1;
}

/* When it is due for something, of us; UINT64_MAX: it is already, or never. */
static uint64_t due_ms(const struct sched *sched, const struct sched_node *node,
                       const struct sched_hold *hold)
{
	if (hold->kind != ALLOC_HOLD_NOMINATED || hold->planned || hold_goes(hold))
		return UINT64_MAX;
	if (hold->over_ms == 0)
		return 0;
	if (is_kept(sched, hold))
		return hold->due ? UINT64_MAX : renew_ms(hold);
	return node_is_home(sched, node) ? hold->over_ms : UINT64_MAX;
}

void hold_watch(struct sched *sched, const struct sched_node *node,
                const struct sched_hold *hold)
{
	uint64_t at_ms = due_ms(sched, node, hold);

	if (at_ms < sched->holds_ms)
		sched->holds_ms = at_ms;
}

/* Only in a turn, when it is known what time it is. */
static void date(const struct sched *sched, struct sched_hold *hold)
{
	int64_t left_ms = hold->until_ms - sched->wall_ms;

	if (left_ms < 0)
		left_ms = 0;
	else if (left_ms > HOLD_MS)
		left_ms = HOLD_MS;
	hold->over_ms = sched->now_ms + (uint64_t)left_ms + HOLD_GRACE_MS;
}

static void look(struct sched *sched, struct sched_node *node, struct sched_hold *hold)
{
	uint64_t at_ms = due_ms(sched, node, hold);

	if (at_ms == 0) {
		date(sched, hold);
		at_ms = due_ms(sched, node, hold);
	}
	if (at_ms > sched->now_ms) {
		hold_watch(sched, node, hold);
		return;
	}
	if (is_kept(sched, hold)) {
		hold->due = true;
		node_ready(sched, node);
		return;
	}
	hold->overdue = true;
	sched->figures.lapsed++;
	hold_leaves(sched, node, hold);
}

void holds_run(struct sched *sched)
{
	if (sched->now_ms < sched->holds_ms)
		return;
	sched->holds_ms = UINT64_MAX;
	PL_LIST_EACH (link, &sched->holding) {
		struct sched_node *node = PL_LIST_ITEM(link, struct sched_node, holding);

		for (uint32_t i = 0; i < node->holds; i++)
			look(sched, node, &node->hold[i]);
	}
}

uint64_t holds_deadline_ms(const struct sched *sched)
{
	return sched->holds_ms;
}

bool hold_renews(const struct sched *sched, const struct sched_hold *hold)
{
	return hold->due && is_kept(sched, hold);
}

void hold_renew(const struct sched *sched, struct sched_hold *hold)
{
	hold->until_next = sched->wall_ms + HOLD_MS;
}

void hold_renewed(struct sched *sched, struct sched_hold *hold)
{
	hold->until_ms = hold->until_next;
	hold->until_next = 0;
	hold->over_ms = 0;
	hold->due = false;
	sched->holds_ms = 0;
	sched->figures.renewed++;
}
