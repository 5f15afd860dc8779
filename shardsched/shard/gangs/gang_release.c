/* Gangs' holds that are given back, by the owners of their nodes. */
#include "shardsched/shard/gangs/gang_large.h"
#include "shardsched/shard/gangs/records.h"
#include "shardsched/shard/room/holds.h"
#include "shardsched/shard/tables/tables.h"

enum { LONE_MS = 2000 };

/* By the nodes' owner; what has no record, only if it has none for a while. */
static void release_of(struct sched *sched, const struct gang_known *known)
{
	struct gang_step step = {.known = known};

	PL_LIST_EACH (link, &sched->holding) {
		struct sched_node *node = PL_LIST_ITEM(link, struct sched_node, holding);
		const struct sched_hold *hold = hold_of_gang(node, known->key);

		if (hold == NULL || hold->planned || node->call != 0 ||
		    !node_is_home(sched, node) ||
		    (known->rev == 0 &&
		     (hold->lone_ms == 0 || sched->now_ms < hold->lone_ms)))
			continue;
		(void)step_bind(sched, &step, node, NULL, 0);
		if (step.full)
			break;
	}
	step_end(sched, &step);
}

/* Nobody has had it for a while. */
static bool is_lone(const struct sched *sched, struct sched_hold *hold)
{
	if (hold->kind != ALLOC_HOLD_GANG || hold->planned ||
	    records_has(sched, hold->key)) {
		hold->lone_ms = 0;
		return false;
	}
	if (hold->lone_ms == 0)
		hold->lone_ms = sched->now_ms + LONE_MS;
	return sched->now_ms >= hold->lone_ms;
}

static struct gang_known *lone_one(struct sched *sched)
{
	struct gang_known *known;

	PL_LIST_EACH (link, &sched->holding) {
		struct sched_node *node = PL_LIST_ITEM(link, struct sched_node, holding);

		for (uint32_t i = 0; i < node->holds; i++) {
			if (!is_lone(sched, &node->hold[i]) || node->call != 0 ||
			    !node_is_home(sched, node))
				continue;
			known = records_get(sched, node->hold[i].key);
			if (known != NULL) /* else no gang has such a name */
				return known;
		}
	}
	return NULL;
}

void large_release(struct sched *sched)
{
	struct gang_known *known;

	PL_LIST_EACH (link, &sched->records.standing) {
		known = PL_LIST_ITEM(link, struct gang_known, link);
		if (known->garbled || known->phase == GANG_PHASE_ABORTING)
			release_of(sched, known);
	}
	known = sched->records.listed ? lone_one(sched) : NULL;
	if (known != NULL)
		release_of(sched, known);
}
