/* Ends the txns of large gangs: what was applied, and what has to be done again. */
#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/gangs/gang_large.h"
#include "shardsched/shard/gangs/gang_records.h"
#include "shardsched/shard/reservations/reservation.h"

enum {
	AGAIN_MS = 50, /* after the record could not be put */
	SOON_MS = 5,   /* the same, since another shard was there under the same rules */
};

static struct gang_record_entry *record_of_entry(const struct sched *sched,
                                                 const struct txn_entry *entry)
{
	const uint32_t key[2] = {strings_find(&sched->model.strings, entry->id.scope),
	                         strings_find(&sched->model.strings, entry->id.name)};

	return key[0] == 0 || key[1] == 0 ? NULL : gang_records_find(sched, key);
}

static void redecide_pod(struct sched *sched, const struct txn_entry *entry)
{
	struct sched_pod *pod =
		pod_find(sched, entry->id.partition, entry->id.scope, entry->id.name);

	if (pod != NULL && pod->stage == POD_ASSUMED && pod->txn == 0)
		pod_redecide(sched, pod);
}

static bool is_node_planned(const struct gang_work *work, const struct sched_node *node)
{
	for (uint32_t i = 0; i < work->plan.nodes; i++)
		if (work->plan.node[i].key[0] == node->key[0] &&
		    work->plan.node[i].key[1] == node->key[1])
			return true;
	return false;
}

/* A reservation that was not put may not be wanted any more: it may belong to a plan that
 * was given up while it was in the txn, and the gang may have another one by now. */
static void replan_node(struct sched *sched, const struct txn_entry *entry,
                        const struct gang_record_entry *known)
{
	struct sched_node *node = node_find(sched, entry->id.scope, entry->id.name);
	const struct gang_work *work = known == NULL ? NULL : known->work;

	if (node == NULL ||
	    (work != NULL && gang_work_is_own(work) && !gang_work_is_given_up(work) &&
	     known->rev != 0 && is_node_planned(work, node)))
		return;
	if (known == NULL)
		reservations_unplan_gangs(sched, node);
	else
		reservation_unplan_gang(sched, node, known->key);
}

void large_gang_txn_done(struct sched *sched, const struct shard_txn *txn)
{
	struct gang_record_entry *known = record_of_entry(sched, &txn->entry[0]);
	bool record = txn->entry[0].value.len > 0 || txn->entry[0].deletes;

	large_gangs_set_due(sched);
	for (uint32_t i = 0; i < txn->entries && txn->outcome != TXN_APPLIED; i++) {
		if (txn->entry[i].id.kind == KEYS_STATE)
			redecide_pod(sched, &txn->entry[i]);
		else if (txn->entry[i].id.kind == KEYS_ALLOC)
			replan_node(sched, &txn->entry[i], known);
	}
	if (!record || known == NULL || known->work == NULL)
		return;
	if (txn->outcome != TXN_APPLIED)
		known->work->retry_ms =
			sched->now_ms + (known->work->waits ? SOON_MS : AGAIN_MS);
	known->work->putting = known->work->waits = false;
}

void large_gang_record_applied(struct sched *sched, const struct txn_entry *entry,
                               int64_t revision)
{
	const struct kv_record record = {.value = entry->value, .mod_revision = revision};

	if (entry->value.len > 0 || entry->deletes)
		(void)!gang_records_apply(sched, &entry->id, &record, entry->deletes);
}

void large_gang_record_failed(struct sched *sched, const struct txn_entry *entry,
                              const struct builder_found *found, int64_t revision)
{
	const struct kv_record gone = {.mod_revision = revision};
	const struct kv_record *is = found->record == NULL ? &gone : found->record;

	if (found->verdict != BUILDER_SAME)
		(void)!gang_records_apply(sched, &entry->id, is, found->record == NULL);
}
