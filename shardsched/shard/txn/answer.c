/*
 * What an answer means for a txn (its states stand in txn.h).
 *
 *	yes       what was assumed is true, at the revision of the answer
 *	no        everything that was sent waits again; the values that were read are
 *	          applied, and withdraw the decisions that conflicted. A txn without reads
 *	          is followed by a read
 *	unknown   the same request again, until it is yes or no. When it is fenced by then
 *	          it can not be applied any more, but may have been: the keys are read
 *	not done  the same request again, after a while
 */
#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/gangs/gang_large.h"
#include "shardsched/shard/pending_status.h"
#include "shardsched/shard/report.h"
#include "shardsched/shard/reservations/preemption.h"
#include "shardsched/shard/termination/termination.h"
#include "shardsched/shard/txn/batch.h"
#include "shardsched/shard/txn/cooldown.h"
#include "shardsched/shard/txn/inflight.h"

enum {
	RETRY_MS = 20,
	RETRY_MAX_MS = 2000,
	APART_MS = 1000,
	/* the size grows by this part of the maximum after a full txn that succeeded */
	GROW_PARTS = 16,
};

/* -- the batch size ---------------------------------------------------------------- */

static void batch_size_grow(struct sched *sched, const struct shard_txn *txn)
{
	uint32_t step = sched->opts.batch_size / GROW_PARTS + 1;

	if (txn->placements < sched->batch_size)
		return;
	sched->batch_size = sched->batch_size + step < sched->opts.batch_size
	                            ? sched->batch_size + step
	                            : sched->opts.batch_size;
}

static void batch_size_halve(struct sched *sched)
{
	if (sched->batch_size > 1)
		sched->batch_size /= 2;
}

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
static void txn_stands(struct sched *sched, const struct shard_txn *txn, int64_t revision)
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
	bool doomed = pod_is_victim(pod);

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
	/* its node has gone meanwhile, or it has to leave */
	if (pod->placed == SNAPSHOT_NONE || doomed)
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

static void txn_unsend(struct sched *sched, const struct shard_txn *txn)
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
	if (id.kind == KEYS_NODE || entry->node == NULL) { /* it was only compared */
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

/* What another list told, or an earlier generation of the fleet view, may be about a node
 * that has gone since, as the view knows. */
static void apply_deferred(struct sched *sched, const struct shard_txn *txn)
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
static void reconcile_entries(struct sched *sched, const struct shard_txn *txn)
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

static void txn_finish(struct sched *sched, struct shard_txn *txn)
{
	sched->answered = txn;
	apply_deferred(sched, txn);
	sched->answered = NULL;
	if (txn->batch)
		batch_ended(sched, txn);
	if (txn->kind == TXN_GANG)
		large_gang_txn_done(sched, txn);
	if (txn_commits(txn))
		rules_txn_unsent(sched, txn);
	reconcile_entries(sched, txn);
	txn_end(sched, txn);
}

static void retry_later(struct sched *sched, struct shard_txn *txn)
{
	unsigned shift = txn->attempts < 8 ? txn->attempts - 1 : 7;
	uint64_t wait_ms = (uint64_t)RETRY_MS << shift;

	txn->at_ms = sched->now_ms + (wait_ms < RETRY_MAX_MS ? wait_ms : RETRY_MAX_MS);
	txn_set_state(txn, TXN_RETRY);
}

/* The txn has changed nothing, as far as the shard still cares, and will not. */
static void txn_give_up(struct sched *sched, struct shard_txn *txn, bool after_backoff)
{
	txn_set_outcome(txn, TXN_NOT_APPLIED);
	if (after_backoff && cooldown_applies(txn))
		cooldown_start(sched, txn);
	txn_unsend(sched, txn);
	if (txn->kind == TXN_REGISTER)
		registration_failed(sched);
	for (uint32_t i = 0; after_backoff && i < txn->entries; i++) {
		struct keys_id id = txn->entry[i].id;
		struct sched_pod *pod =
			id.kind != KEYS_STATE
				? NULL
				: pod_find(sched, id.partition, id.scope, id.name);

		if (txn->entry[i].kind == ENTRY_TERMINATION)
			termination_pause(sched);
		if (pod == NULL || pod->stage != POD_ASSUMED)
			continue;
		pod_unassume(sched, pod);
		pod_retry(sched, pod, QUEUE_FAULT, true);
	}
	txn_finish(sched, txn);
}

static void txn_succeeded(struct sched *sched, struct shard_txn *txn, int64_t revision)
{
	if (txn->kind == TXN_REMOTE)
		remote_commit_ended(sched, txn, false);
	else if (!txn->batch)
		batch_size_grow(sched, txn);
	sched->clean_streak +=
		txn->kind == TXN_COMMIT && sched->clean_streak < UINT32_MAX;
	txn_set_outcome(txn, TXN_APPLIED);
	if (cooldown_applies(txn))
		cooldown_relax(sched, txn);
	txn_stands(sched, txn, revision);
	txn_finish(sched, txn);
}

static void txn_failed(struct sched *sched, struct shard_txn *txn,
                       const struct kv_result *result)
{
	bool conflict;

	txn_set_outcome(txn, TXN_NOT_APPLIED);
	txn_record_conflicts(sched, txn, result);
	txn_unsend(sched, txn);
	txn->failed_rev = result->header.revision;
	sched->answered = txn;
	conflict = apply_read(sched, txn, result, KEYS_STATE);
	conflict = apply_read(sched, txn, result, KEYS_ALLOC) || conflict;
	conflict = apply_read(sched, txn, result, KEYS_NODE) || conflict;
	apply_locks(sched, txn, result);
	sched->figures.txns_failed += txn_commits(txn);
	if (txn->kind == TXN_COMMIT)
		sched->clean_streak = 0;
	if (txn->kind == TXN_COMMIT && conflict && !txn->batch)
		batch_size_halve(sched);
	if (txn->kind == TXN_REMOTE)
		remote_commit_ended(sched, txn, conflict);
	txn_finish(sched, txn);
}

static void ask_outcome(struct shard_txn *txn)
{
	txn_set_outcome(txn, txn->outcome == TXN_UNKNOWN ? TXN_READS_OUTCOME
	                                                 : TXN_READS_CONFLICT);
	txn->req = (struct kv_req){.op = KV_TXN,
	                           .txn = {.then = txn->builder.otherwise,
	                                   .then_count = txn->builder.otherwises}};
}

/* The txn can not be applied any more; a read tells whether it was. */
static void read_outcome(struct sched *sched, struct shard_txn *txn)
{
	ask_outcome(txn);
	retry_later(sched, txn);
}

/* The txn is known to have failed; a read tells why. */
static void read_conflict(struct shard_txn *txn)
{
	ask_outcome(txn);
	txn_set_state(txn, TXN_NEW);
}

static bool is_outcome_wanted(const struct sched *sched, const struct shard_txn *txn)
{
	for (uint32_t i = 0; i < txn->entries; i++) {
		const struct keys_id *id = &txn->entry[i].id;

		if (txn_key_has_epoch(id->kind) && sched->partition[id->partition].owned)
			return true;
	}
	return txn->kind == TXN_REGISTER;
}

/* The txn was made under an epoch that is over. Sent again it would carry the fence of
 * the next epoch, and no compare would show that it is old. */
static bool is_txn_stale(const struct sched *sched, const struct shard_txn *txn)
{
	for (uint32_t i = 0; i < txn->entries; i++) {
		const struct keys_id *id = &txn->entry[i].id;

		if (txn_key_has_epoch(id->kind) &&
		    txn->entry[i].epoch != txn_epoch(sched, id->partition))
			return true;
	}
	return txn->rewound;
}

/* The txn is not sent again. Its fence holds no longer, so a read tells whether it was
 * applied, as long as any of its partitions is still owned. */
static void txn_drop(struct sched *sched, struct shard_txn *txn)
{
	if (!txn_is_unknown(txn) || !is_outcome_wanted(sched, txn))
		txn_give_up(sched, txn, false);
	else if (!txn_is_reading(txn))
		read_outcome(sched, txn);
	else
		retry_later(sched, txn);
}

void txn_drop_stale(struct sched *sched)
{
	for (unsigned i = 0; i < SCHED_TXNS; i++) {
		struct shard_txn *txn = &sched->txn[i];

		if (txn->kind != TXN_READ && txn_is_posted(txn) &&
		    txn->state != TXN_SENT && is_txn_stale(sched, txn))
			txn_drop(sched, txn);
	}
}

static void txn_erred(struct sched *sched, struct shard_txn *txn,
                      const struct pl_err *err)
{
	switch (err->code) {
	case PL_UNKNOWN:
		sched->figures.txns_unknown++;
		if (!txn_is_reading(txn))
			txn_set_outcome(txn, TXN_UNKNOWN);
		break;
	case PL_FENCED:
		sched->figures.txns_fenced++;
		txn_record_conflict(sched, txn, CONFLICT_FENCED);
		if (!txn_is_unknown(txn)) {
			txn_give_up(sched, txn, true);
			return;
		}
		if (!txn_is_reading(txn)) {
			read_outcome(sched, txn);
			return;
		}
		break;
	case PL_LIMIT:
	case PL_INVALID: /* the store would refuse it the next time, too */
		if (!txn_is_unknown(txn) && txn->placements > 1) {
			if (!txn->batch)
				batch_size_halve(sched);
			else
				batch_too_large(sched);
			txn_give_up(sched, txn, false);
			return;
		}
		report_trouble(sched, err);
		if (!txn_is_unknown(txn)) {
			txn_give_up(sched, txn, true);
			return;
		}
		if (!txn_is_reading(txn)) { /* the store would refuse it later, too */
			read_outcome(sched, txn);
			return;
		}
		break;
	case PL_BUSY:
		break;
	default:
		report_trouble(sched, err);
		break;
	}
	if (is_txn_stale(sched, txn))
		txn_drop(sched, txn);
	else
		retry_later(sched, txn);
}

static void txn_answered(struct sched *sched, struct shard_txn *txn,
                         const struct kv_result *result)
{
	struct kv_result read = *result;

	/* the read is judged as if the txn had failed just now */
	if (txn_is_reading(txn)) {
		read.txn.succeeded = false;
		txn_failed(sched, txn, &read);
	} else if (result->txn.succeeded) {
		txn_succeeded(sched, txn, result->header.revision);
	} else if (txn->without_reads) {
		read_conflict(txn);
	} else {
		txn_failed(sched, txn, result);
	}
}

void sched_answer(struct sched *sched, uint32_t txn, const struct kv_result *result,
                  const struct pl_err *err)
{
	struct shard_txn *it = &sched->txn[txn];

	PL_ASSERT(txn < SCHED_TXNS && it->state == TXN_SENT);
	PL_ASSERT((result == NULL) != (err == NULL));
	if (it->kind == TXN_READ) {
		spec_reads_answer(sched, it, result, err);
		return;
	}
	if (it->kind == TXN_DIGEST) {
		own_digest_answer(sched, it, result);
		return;
	}
	sched->figures.txns += txn_commits(it) && result != NULL && !txn_is_reading(it);
	if (result != NULL)
		txn_answered(sched, it, result);
	else
		txn_erred(sched, it, err);
}
