#include "shardsched/shard/commit/rests.h"

#include "shardsched/shard/commit/calls.h"
#include "shardsched/shard/inner.h"
#include "shardsched/shard/tables/tables.h"

enum { REST_MS = 1000, MOST = 64 };

/* A gang's record is looked at anew before it is put again. */
bool rests_concern(const struct call *call)
{
	if (!call_commits(call) || call->placements > 0)
		return false;
	for (uint32_t i = 0; i < call->items; i++)
		if (call->item[i].id.kind == KEYS_GANG &&
		    (call->item[i].deletes || call->item[i].value.len > 0))
			return false;
	return true;
}

void rests_failed(struct sched *sched, const struct call *call)
{
	struct rests *rests = &sched->rests;

	rests->ms = sched->now_ms + REST_MS;
	if (call->nodes > 1 && (rests->most == 0 || call->nodes <= rests->most))
		rests->most = call->nodes / 2;
}

void rests_stood(struct sched *sched, const struct call *call)
{
	struct rests *rests = &sched->rests;

	if (rests->most == 0 || call->nodes < rests->most)
		return;
	rests->most = rests->most < MOST ? rests->most * 2 : 0;
}

bool rests_now(const struct sched *sched)
{
	return sched->now_ms < sched->rests.ms;
}

bool rests_full(const struct sched *sched, const struct call *call)
{
	return sched->rests.most > 0 && call->placements == 0 &&
	       call->nodes >= sched->rests.most;
}

void rests_run(struct sched *sched)
{
	if (sched->rests.ms == 0 || rests_now(sched))
		return;
	sched->rests.ms = 0;
	PL_LIST_EACH (link, &sched->holding)
		node_ready(sched, PL_LIST_ITEM(link, struct sched_node, holding));
}

uint64_t rests_deadline_ms(const struct sched *sched)
{
	return sched->rests.ms == 0 ? UINT64_MAX : sched->rests.ms;
}
