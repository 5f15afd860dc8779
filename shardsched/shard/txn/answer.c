/*
 * The meaning of an answer for a txn (its states stand in txn.h).
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
#include "shardsched/shard/metrics/record.h"
#include "shardsched/shard/report.h"
#include "shardsched/shard/termination/termination.h"
#include "shardsched/shard/txn/batch.h"
#include "shardsched/shard/txn/cooldown.h"
#include "shardsched/shard/txn/entries.h"
#include "shardsched/shard/txn/inflight.h"
#include "store/base/backoff.h"

enum {
	RETRY_MS = 20,
	RETRY_MAX_MS = 2000,
	/* The size grows by this part of the maximum after a full txn that succeeded */
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

/* -- outcomes ------------------------------------------------------------------- */

static void txn_finish(struct sched *sched, struct shard_txn *txn)
{
	sched->answered = txn;
	entries_apply_deferred(sched, txn);
	sched->answered = NULL;
	if (txn->batch)
		batch_ended(sched, txn);
	if (txn->kind == TXN_GANG)
		large_gang_txn_done(sched, txn);
	if (txn_commits(txn))
		rules_txn_unsent(sched, txn);
	entries_reconcile(sched, txn);
	txn_end(sched, txn);
}

static void retry_later(struct sched *sched, struct shard_txn *txn)
{
	txn->at_ms =
		sched->now_ms + pl_doubled_ms(txn->attempts - 1, RETRY_MS, RETRY_MAX_MS);
	txn_set_state(txn, TXN_RETRY);
}

/* The txn has changed nothing, as far as the shard still cares, and will not. */
static void txn_give_up(struct sched *sched, struct shard_txn *txn, bool after_backoff)
{
	txn_set_outcome(txn, TXN_NOT_APPLIED);
	if (after_backoff && cooldown_applies(txn))
		cooldown_start(sched, txn);
	entries_unsend(sched, txn);
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
	record_commit(sched, txn, SCHED_COMMIT_APPLIED);
	if (cooldown_applies(txn))
		cooldown_relax(sched, txn);
	entries_stand(sched, txn, revision);
	txn_finish(sched, txn);
}

static void txn_failed(struct sched *sched, struct shard_txn *txn,
                       const struct kv_result *result)
{
	bool conflict;

	txn_set_outcome(txn, TXN_NOT_APPLIED);
	txn_record_conflicts(sched, txn, result);
	entries_unsend(sched, txn);
	txn->failed_rev = result->header.revision;
	sched->answered = txn;
	conflict = entries_apply_read(sched, txn, result);
	sched->figures.txns_failed += txn_commits(txn);
	record_commit(sched, txn, SCHED_COMMIT_CONFLICT);
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
		record_commit(sched, txn, SCHED_COMMIT_UNKNOWN);
		if (!txn_is_reading(txn))
			txn_set_outcome(txn, TXN_UNKNOWN);
		break;
	case PL_FENCED:
		sched->figures.txns_fenced++;
		record_commit(sched, txn, SCHED_COMMIT_FENCED);
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
	case PL_INVALID:
		record_commit(sched, txn, SCHED_COMMIT_REFUSED);
		/* the store would refuse it the next time, too */
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
		record_commit(sched, txn, SCHED_COMMIT_REFUSED);
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

	/* The read is judged as if the txn had failed just now */
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
