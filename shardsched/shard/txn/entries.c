/* The meaning of an answer for the entries of a txn (entries.h). */
#include "shardsched/shard/txn/entries.h"

#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/gangs/gang_large.h"
#include "shardsched/shard/metrics/record.h"
#include "shardsched/shard/pending_status.h"
#include "shardsched/shard/report.h"
#include "shardsched/shard/reservations/preemption.h"
#include "shardsched/shard/termination/termination.h"
#include "shardsched/shard/txn/inflight.h"

enum { APART_MS = 1000 }; /* so long a node that conflicted is committed alone */

/* -- yes --------------------------------------------------------------------------- */

static void alloc_stands(struct sched *sched, struct sched_node *node, int64_t revision)
{
	node->txn = 0;
	preemption_applied(sched, node);
	if (node->reset) {
		preemption_keep(sched, node);
		node->reset = false;
		return;
	}
	node_set_alloc_own(node);
	node->full = false;
	node->rev[FACT_ALLOC] = revision;
	node->seen[FACT_ALLOC] =
		sched->partition[node->partition].generation[SCHED_ALLOCS];
	node->generation++;
	node->left += node->leaves;
	reservations_sent(sched, node);
	preemption_keep(sched, node);
	node->alloc_used = node->used;
	node->alone_ms = 0;
	node->refusals = 0;
}

static void state_stands(struct sched *sched, struct sched_pod *pod,
                         enum state_phase phase, int64_t since_ms, int64_t revision)
{
	pod->rev[FACT_STATE] = revision;
	pod->seen[FACT_STATE] = sched->partition[pod->key[0]].generation[SCHED_SCHEDULES];
	pod->phase = (uint8_t)phase;
	pod->since_ms = since_ms;
}

static void pod_bound(struct sched *sched, const struct txn_entry *entry,
                      int64_t revision)
{
	struct sched_pod *pod = entry->pod;
	struct sched_node *node = entry->node;
	uint32_t i = node->reset ? UINT32_MAX : alloc_entry_find(node, pod);

	PL_ASSERT(pod->stage == POD_COMMITTING);
	sched->figures.placed++;
	record_bound(sched, pod);
	pod->txn = 0;
	pod_set_stage(pod, POD_IDLE);
	if (i != UINT32_MAX)
		node->listed[i].sent = false;
	else
		pod_set_node(sched, pod, NULL);
	if ((pod->flags & POD_RESET) == 0) {
		pod_dequeue(sched, pod);
		pod->conflicts = 0;
		state_stands(sched, pod, STATE_BOUND, sched->wall_ms, revision);
		pod_set_at(sched, pod, node->key[0], node->key[1]);
		pod->ask = STATE_ASK_NONE; /* as was written */
	}
	pod->flags &= (uint16_t)~POD_RESET;
}

/* The pod is in no txn any more. It may have been decided meanwhile. */
static void status_ended(struct sched *sched, struct sched_pod *pod)
{
	pod->txn = 0;
	pod->flags &= (uint16_t)~POD_RESET;
	if (pod->stage == POD_ASSUMED)
		node_set_ready(sched, pod->node);
}

static void status_stands(struct sched *sched, const struct txn_entry *entry,
                          int64_t revision)
{
	struct sched_pod *pod = entry->pod;

	if ((pod->flags & POD_RESET) == 0) {
		state_stands(sched, pod, STATE_PENDING, entry->since_ms, revision);
		pod->ask = entry->ask & 15U;
		cache_apply_own_state(sched, pod, entry->value);
	}
	status_ended(sched, pod);
}

/* The entry compared or put a key that is neither a pod's nor a node's. */
static void condition_stands(struct sched *sched, const struct shard_txn *txn,
                             const struct txn_entry *entry, int64_t revision)
{
	if (entry->id.kind == KEYS_GANG)
		large_gang_record_applied(sched, entry, revision);
	else if (disruption_concerns(entry->id.kind))
		disruption_txn_applied(sched, entry, revision);
	else if (!txn_key_has_partition(entry->id.kind))
		rules_txn_applied(sched, txn, entry, revision);
}

static void pod_stands(struct sched *sched, const struct txn_entry *entry,
                       int64_t revision)
{
	switch (entry->kind) {
	case ENTRY_PLACEMENT:
		pod_bound(sched, entry, revision);
		return;
	case ENTRY_TERMINATION:
		termination_stands(sched, entry, revision);
		return;
	case ENTRY_STATUS:
		status_stands(sched, entry, revision);
		return;
	case ENTRY_CONDITION:
	case ENTRY_READ:
	case ENTRY_ALLOC:
	case ENTRY_NODE:
		return;
	}
}

/* Pods come first: what their nodes hold afterwards follows from the allocs. */
void entries_stand(struct sched *sched, const struct shard_txn *txn, int64_t revision)
{
	for (uint32_t i = 0; i < txn->entries; i++)
		pod_stands(sched, &txn->entry[i], revision);
	for (uint32_t i = 0; i < txn->entries; i++) {
		const struct txn_entry *entry = &txn->entry[i];

		if (entry->kind == ENTRY_ALLOC)
			alloc_stands(sched, entry->node, revision);
		else if (entry->kind == ENTRY_CONDITION)
			condition_stands(sched, txn, entry, revision);
	}
}

/* -- no ---------------------------------------------------------------------------- */

/* The pod waits at its node again, as it did before it was sent. */
static void unsend_placement(struct sched *sched, const struct txn_entry *entry)
{
	struct sched_pod *pod = entry->pod;
	struct sched_node *node = entry->node;
	uint32_t i = node->reset ? UINT32_MAX : alloc_entry_find(node, pod);
	bool victim = pod_is_victim(pod);

	pod->txn = 0;
	PL_ASSERT(pod->stage == POD_COMMITTING);
	pod->placed = i == UINT32_MAX ? SNAPSHOT_NONE : alloc_entry_del(sched, node, i);
	if (pod_is_loose(pod)) {
		pod->flags &= (uint16_t)~POD_RESET;
		if (pod->placed != SNAPSHOT_NONE) {
			snapshot_pod_remove(&sched->snapshot, pod->placed);
			emit_queue_event(sched, QUEUE_EV_POD_REMOVED, node->slot);
		}
		pod->placed = SNAPSHOT_NONE;
		pod_set_node(sched, pod, NULL);
		pod_set_stage(pod, POD_IDLE);
		return;
	}
	node_add_waiting(sched, node, pod);
	/* The node has gone meanwhile, or the pod has to leave. */
	if (pod->placed == SNAPSHOT_NONE || victim)
		pod_conflicted(sched, pod);
}

static void unsend_node(struct sched *sched, const struct txn_entry *entry)
{
	struct sched_node *node = entry->node;

	node->txn = 0;
	if (entry->kind == ENTRY_ALLOC) {
		preemption_fail(sched, node);
		if (!node->reset)
			reservations_unsend(sched, node);
	}
	node->reset = false;
}

static void unsend_pod(struct sched *sched, const struct txn_entry *entry)
{
	switch (entry->kind) {
	case ENTRY_PLACEMENT:
		unsend_placement(sched, entry);
		return;
	case ENTRY_TERMINATION:
		termination_unsent(sched, entry);
		return;
	case ENTRY_STATUS:
		status_ended(sched, entry->pod);
		return;
	case ENTRY_CONDITION:
	case ENTRY_READ:
	case ENTRY_ALLOC:
	case ENTRY_NODE:
		return;
	}
}

void entries_unsend(struct sched *sched, const struct shard_txn *txn)
{
	for (uint32_t i = 0; i < txn->entries; i++)
		unsend_pod(sched, &txn->entry[i]);
	for (uint32_t i = 0; i < txn->entries; i++) {
		const struct txn_entry *entry = &txn->entry[i];

		if (disruption_concerns(entry->id.kind))
			disruption_unsend(sched, entry);
		else if (entry->kind == ENTRY_ALLOC || entry->kind == ENTRY_NODE)
			unsend_node(sched, entry);
	}
}

static void apply_record(struct sched *sched, const struct keys_id *id,
                         const struct kv_record *record, int64_t revision)
{
	const struct kv_record gone = {.mod_revision = revision};

	if (!cache_follows(sched, id) ||
	    (record != NULL && cache_is_outdated(sched, id, record)))
		return;
	if (!cache_apply(sched, id, record == NULL ? &gone : record, record == NULL))
		cache_missed(sched, id);
}

static void apply_found(struct sched *sched, const struct shard_txn *txn,
                        const struct txn_entry *entry, const struct builder_found *found,
                        int64_t revision)
{
	struct keys_id id = entry->id;
	struct sched_node *node;
	struct sched_pod *pod;

	if (id.kind == KEYS_STATE) {
		pod = pod_find(sched, id.partition, id.scope, id.name);
		if (found->has_other_keys && pod != NULL)
			pod->flags |= POD_NAME_CLASH;
		sched->figures.placed += txn_commits(txn) &&
		                         entry->kind == ENTRY_PLACEMENT &&
		                         found->verdict == BUILDER_OURS;
		apply_record(sched, &id, found->state, revision);
		id.kind = KEYS_SPEC;
		apply_record(sched, &id, found->spec, revision);
		return;
	}
	node = node_find(sched, id.scope, id.name);
	if (id.kind == KEYS_NODE || entry->node == NULL) { /* the key was only compared */
		apply_record(sched, &id, found->record, revision);
		return;
	}
	if (node != NULL && found->verdict != BUILDER_OURS) {
		node->alone_ms = sched->now_ms + APART_MS;
		if (node->scope == NODE_REMOTE)
			remote_commit_refused(sched, node,
			                      (enum conflict_cause)entry->cause);
	}
	apply_record(sched, &id, found->alloc, revision);
	id.kind = KEYS_NODE;
	if (found->node == NULL)
		apply_record(sched, &id, NULL, revision);
}

/* Applies the values that were read. True: another writer had changed a key. */
static bool apply_read(struct sched *sched, const struct shard_txn *txn,
                       const struct kv_result *result, enum keys_kind kind)
{
	bool conflict = false;

	for (uint32_t i = 0; i < txn->entries; i++) {
		const struct txn_entry *entry = &txn->entry[i];
		struct builder_found found;

		if (entry->id.kind != kind ||
		    !builder_answer(&txn->builder, result, i, &found) ||
		    found.verdict == BUILDER_SAME)
			continue;
		conflict = conflict || found.verdict != BUILDER_OURS;
		apply_found(sched, txn, entry, &found, result->header.revision);
	}
	return conflict;
}

/* Applies the values of registries, locks, gangs' records and budgets. */
static void apply_locks(struct sched *sched, const struct shard_txn *txn,
                        const struct kv_result *result)
{
	for (uint32_t i = 0; i < txn->entries; i++) {
		const struct txn_entry *entry = &txn->entry[i];
		struct builder_found found;

		if (txn_key_has_partition(entry->id.kind) ||
		    !builder_answer(&txn->builder, result, i, &found))
			continue;
		if (entry->id.kind == KEYS_GANG)
			large_gang_record_failed(sched, entry, &found,
			                         result->header.revision);
		else if (disruption_concerns(entry->id.kind))
			disruption_txn_failed(sched, entry, &found,
			                      result->header.revision);
		else
			rules_txn_failed(sched, entry, &found, result->header.revision);
	}
}

bool entries_apply_read(struct sched *sched, const struct shard_txn *txn,
                        const struct kv_result *result)
{
	bool conflict = apply_read(sched, txn, result, KEYS_STATE);

	conflict = apply_read(sched, txn, result, KEYS_ALLOC) || conflict;
	conflict = apply_read(sched, txn, result, KEYS_NODE) || conflict;
	apply_locks(sched, txn, result);
	return conflict;
}

/* -- after the answer -------------------------------------------------------------- */

/* A remote node that the answer has shown to be gone is there again if the event is
 * newer. An older event is about the node that is gone. */
static bool deferred_concerns(const struct sched *sched, const struct shard_txn *txn,
                              const struct keys_id *id,
                              const struct deferred_event *deferred)
{
	if (cache_follows(sched, id))
		return true;
	return (id->kind == KEYS_NODE || id->kind == KEYS_ALLOC) && !deferred->gone &&
	       remote_follows(sched, id->partition) && txn->failed_rev != 0 &&
	       deferred->record.mod_revision > txn->failed_rev;
}

/* An event of another list, or of an earlier generation of the view, may be about a node
 * that has gone since, as the view knows. */
void entries_apply_deferred(struct sched *sched, const struct shard_txn *txn)
{
	for (const struct deferred_event *deferred = txn->deferred; deferred != NULL;
	     deferred = deferred->next) {
		struct keys_id id;

		sched->catching_up = deferred->viewed &&
		                     deferred->generation == sched->fleet_view.generation;
		if (keys_parse(deferred->record.key, &id, NULL) == PL_OK &&
		    deferred_concerns(sched, txn, &id, deferred) &&
		    !cache_apply(sched, &id, &deferred->record, deferred->gone))
			cache_missed(sched, &id);
	}
	sched->catching_up = false;
}

/* A pod whose status was not written is tried again, so that it gets one. */
static void owe_status(struct sched *sched, const struct shard_txn *txn,
                       const struct keys_id *id)
{
	struct sched_pod *pod = pod_find(sched, id->partition, id->scope, id->name);

	if (pod != NULL) /* a reservation for the pod may have ended meanwhile */
		pending_status_owe(sched, pod);
	if (txn->kind == TXN_STATUS && pod != NULL && pod_gang(pod) != NULL &&
	    txn->outcome != TXN_APPLIED)
		pod->gang_reported = 0;
	if (txn->kind == TXN_STATUS && pod != NULL && pod->stage == POD_QUEUED &&
	    pod->rev[FACT_STATE] == 0 &&
	    (pod->queue.place == QUEUE_BACKOFF || pod->queue.place == QUEUE_WAITING))
		queue_activate(queue_of_class(sched, pod->queue.class), &pod->queue,
		               sched->now_ms);
}

/* Another pod may have come under the name meanwhile. */
static void recheck_incarnation(struct sched *sched, const struct shard_txn *txn,
                                const struct keys_id *id)
{
	struct sched_pod *pod =
		txn->unconfirmed == INT64_MAX
			? NULL
			: pod_find(sched, id->partition, id->scope, id->name);

	if (pod != NULL && pod->relisted && pod->listed > 0)
		spec_reads_recheck(sched, pod, txn->unconfirmed);
}

/* Derives what follows for the pods and nodes of the txn. */
void entries_reconcile(struct sched *sched, const struct shard_txn *txn)
{
	for (uint32_t i = 0; i < txn->entries; i++) {
		struct keys_id id = txn->entry[i].id;
		struct sched_node *node;
		struct sched_pod *pod;

		if (id.kind == KEYS_STATE) {
			pod = pod_find(sched, id.partition, id.scope, id.name);
			if (pod != NULL)
				pod_reconcile(sched, pod);
			recheck_incarnation(sched, txn, &id);
			owe_status(sched, txn, &id);
			continue;
		}
		if (id.kind != KEYS_ALLOC)
			continue;
		node = node_find(sched, id.scope, id.name);
		if (node == NULL)
			continue;
		node_reconcile(sched, node);
		node_set_ready(sched, node);
		node_tidy(sched, node);
	}
}
