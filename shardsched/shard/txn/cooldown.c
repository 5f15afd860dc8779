#include "shardsched/shard/txn/cooldown.h"

#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/inner.h"
#include "shardsched/shard/txn/inflight.h"

enum { COOLDOWN_MS = 1000, NODES_MAX = 64 };

/* The record of a gang is read again before it is put again, so its txns need no
 * pause. */
bool cooldown_applies(const struct shard_txn *txn)
{
	if (!txn_commits(txn) || txn->placements > 0)
		return false;
	for (uint32_t i = 0; i < txn->entries; i++)
		if (txn->entry[i].id.kind == KEYS_GANG &&
		    (txn->entry[i].deletes || txn->entry[i].value.len > 0))
			return false;
	return true;
}

void cooldown_start(struct sched *sched, const struct shard_txn *txn)
{
	struct cooldown *cooldown = &sched->cooldown;

	cooldown->until_ms = sched->now_ms + COOLDOWN_MS;
	if (txn->nodes > 1 &&
	    (cooldown->nodes_max == 0 || txn->nodes <= cooldown->nodes_max))
		cooldown->nodes_max = txn->nodes / 2;
}

void cooldown_relax(struct sched *sched, const struct shard_txn *txn)
{
	struct cooldown *cooldown = &sched->cooldown;

	if (cooldown->nodes_max == 0 || txn->nodes < cooldown->nodes_max)
		return;
	cooldown->nodes_max =
		cooldown->nodes_max < NODES_MAX ? cooldown->nodes_max * 2 : 0;
}

bool cooldown_is_on(const struct sched *sched)
{
	return sched->now_ms < sched->cooldown.until_ms;
}

bool cooldown_is_full(const struct sched *sched, const struct shard_txn *txn)
{
	return sched->cooldown.nodes_max > 0 && txn->placements == 0 &&
	       txn->nodes >= sched->cooldown.nodes_max;
}

void cooldown_run(struct sched *sched)
{
	if (sched->cooldown.until_ms == 0 || cooldown_is_on(sched))
		return;
	sched->cooldown.until_ms = 0;
	PL_LIST_EACH (link, &sched->reserving)
		node_set_ready(sched, PL_LIST_ITEM(link, struct sched_node, reserving));
}

uint64_t cooldown_deadline_ms(const struct sched *sched)
{
	return sched->cooldown.until_ms == 0 ? UINT64_MAX : sched->cooldown.until_ms;
}
