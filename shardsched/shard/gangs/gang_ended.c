/* What became of the calls of large gangs. */
#include "shardsched/shard/gangs/gang_large.h"
#include "shardsched/shard/gangs/records.h"
#include "shardsched/shard/room/holds.h"
#include "shardsched/shard/tables/tables.h"

enum {
	AGAIN_MS = 50, /* after the record could not be put */
	SOON_MS = 5,   /* likewise, since others were there under the same rules */
};

static struct gang_known *known_of(const struct sched *sched,
                                   const struct call_item *item)
{
	const uint32_t key[2] = {strings_find(&sched->model.strings, item->id.scope),
	                         strings_find(&sched->model.strings, item->id.name)};

	return key[0] == 0 || key[1] == 0 ? NULL : records_find(sched, key);
}

static void redo(struct sched *sched, const struct call_item *item)
{
	struct sched_pod *pod =
		pod_find(sched, item->id.partition, item->id.scope, item->id.name);

	if (pod != NULL && pod->place == POD_WAITS && pod->call == 0)
		pod_redo(sched, pod);
}

static bool is_planned(const struct gang_work *work, const struct sched_node *node)
{
	for (uint32_t i = 0; i < work->plan.nodes; i++)
		if (work->plan.node[i].key[0] == node->key[0] &&
		    work->plan.node[i].key[1] == node->key[1])
			return true;
	return false;
}

/* What could not be put may not be wanted any more: it may be of a plan that was given up
 * while it was in the call, for which there is another one by now. */
static void replan(struct sched *sched, const struct call_item *item,
                   const struct gang_known *known)
{
	struct sched_node *node = node_find(sched, item->id.scope, item->id.name);
	const struct gang_work *work = known == NULL ? NULL : known->work;

	if (node == NULL || (work != NULL && work->ours && !work->failed &&
	                     known->rev != 0 && is_planned(work, node)))
		return;
	if (known == NULL)
		holds_unplan_gangs(sched, node);
	else
		hold_unplan_gang(sched, node, known->key);
}

void large_ended(struct sched *sched, const struct call *call)
{
	struct gang_known *known = known_of(sched, &call->item[0]);
	bool record = call->item[0].value.len > 0 || call->item[0].deletes;

	large_due(sched);
	for (uint32_t i = 0; i < call->items && !call->stood; i++) {
		if (call->item[i].id.kind == KEYS_STATE)
			redo(sched, &call->item[i]);
		else if (call->item[i].id.kind == KEYS_ALLOC)
			replan(sched, &call->item[i], known);
	}
	if (!record || known == NULL || known->work == NULL)
		return;
	if (!call->stood)
		known->work->retry_ms =
			sched->now_ms + (known->work->waits ? SOON_MS : AGAIN_MS);
	known->work->putting = known->work->waits = false;
}

void large_stands(struct sched *sched, const struct call_item *item, int64_t revision)
{
	const struct kv_record record = {.value = item->value, .mod_revision = revision};

	if (item->value.len > 0 || item->deletes)
		(void)!records_take(sched, &item->id, &record, item->deletes);
}

void large_failed(struct sched *sched, const struct call_item *item,
                  const struct book_found *found, int64_t revision)
{
	const struct kv_record gone = {.mod_revision = revision};
	const struct kv_record *is = found->record == NULL ? &gone : found->record;

	if (found->verdict != BOOK_SAME)
		(void)!records_take(sched, &item->id, is, found->record == NULL);
}
