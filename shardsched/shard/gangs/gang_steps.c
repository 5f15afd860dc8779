/*
 * The txns of large gangs. Each compares the gang's record, so a step whose outcome is
 * not known in one phase cannot happen in the next.
 */
#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/gangs/gang_large.h"
#include "shardsched/shard/gangs/gang_records.h"
#include "shardsched/shard/metrics/record.h"
#include "shardsched/shard/report.h"
#include "shardsched/shard/reservations/reservation.h"
#include "shardsched/shard/txn/commit.h"
#include "shardsched/shard/txn/inflight.h"

enum { OPS_DEFAULT = 128, MORE_ITEMS = 8 };

/* Every put has a compare. */
static struct shard_txn *step_txn_begin(struct sched *sched)
{
	uint32_t ops = sched->limits.txn_ops == 0 ? OPS_DEFAULT : sched->limits.txn_ops;
	struct shard_txn *txn = txn_begin(sched, TXN_GANG);

	if (txn == NULL)
		return NULL;
	if (txn_reserve(txn, ops + MORE_ITEMS) == PL_OK)
		return txn;
	txn_end(sched, txn);
	return NULL;
}

/* -- the record -------------------------------------------------------------- */

static enum pl_code put_record_entry(struct shard_txn *txn,
                                     const struct gang_record_entry *known,
                                     struct pl_span key, struct pl_span value)
{
	struct txn_entry entry = {.compared = true, .deletes = value.len == 0};
	bool fits;

	if (entry.deletes) {
		fits = builder_delete(&txn->builder, key, known->rev);
	} else {
		entry.value = pl_arena_dup(&txn->arena, value);
		if (entry.value.at == NULL)
			return PL_NOMEM;
		fits = builder_put(&txn->builder, key, known->rev, entry.value);
	}
	if (!fits)
		return txn->builder.code == PL_OK ? PL_BUSY : txn->builder.code;
	return txn_add_key(txn, &entry, key);
}

bool gang_step_record(struct sched *sched, struct gang_work *work, struct pl_span value,
                      bool bind)
{
	struct shard_txn *txn = step_txn_begin(sched);
	struct keys_text text;
	struct pl_err err = {0};
	enum pl_code code;

	if (txn == NULL)
		return false;
	code = put_record_entry(txn, work->known,
	                        gang_records_key(sched, work->known->key, &text), value);
	if (code == PL_OK && bind)
		code = rules_expect_registries(sched, txn, work->known->key[0]);
	if (code == PL_OK && bind)
		code = rules_gathered_put(sched, txn);
	if (code == PL_OK) {
		txn_post(sched, txn);
		work->putting = true;
		return true;
	}
	txn_end(sched, txn);
	pl_err_set(&err, code, "write a gang's record");
	report_trouble(sched, &err);
	return false;
}

/* -- steps ------------------------------------------------------------------- */

/* Adds the compares that all steps have. */
static bool step_ready(struct sched *sched, struct gang_step *step)
{
	const struct gang_record_entry *known = step->known;
	struct keys_text text;
	struct pl_span key;

	if (step->txn != NULL)
		return true;
	step->txn = step_txn_begin(sched);
	if (step->txn == NULL) {
		step->full = true;
		return false;
	}
	key = gang_records_key(sched, known->key, &text);
	if (builder_expect(&step->txn->builder, key, known->rev) &&
	    txn_add_key(step->txn, &(struct txn_entry){.compared = true}, key) == PL_OK)
		return true;
	txn_end(sched, step->txn);
	step->txn = NULL;
	step->full = true;
	return false;
}

void gang_step_end(struct sched *sched, struct gang_step *step)
{
	if (step->txn == NULL)
		return;
	if (step->txn->entries > 1)
		txn_post(sched, step->txn);
	else
		txn_end(sched, step->txn);
	step->txn = NULL;
}

static bool is_alone_in_txn(const struct gang_step *step)
{
	return step->txn->entries == 1;
}

/* Sends the txn, to make room in another one. */
static bool step_next_txn(struct sched *sched, struct gang_step *step)
{
	gang_step_end(sched, step);
	return step_ready(sched, step);
}

static bool is_node_free(const struct sched *sched, const struct sched_node *node)
{
	return node->txn == 0 && node->batched == 0 && node->waiting_count == 0 &&
	       node->slot != SNAPSHOT_NONE && node_may_write(sched, node);
}

static enum gang_step_result step_failed(struct sched *sched, enum pl_code code)
{
	struct pl_err err = {0};

	if (code == PL_BUSY || code == PL_LIMIT)
		return GANG_STEP_NEVER;
	pl_err_set(&err, code, "a step of a gang");
	report_trouble(sched, &err);
	return GANG_STEP_LATER;
}

/* All entries of the node, or none. */
static enum pl_code put_node(struct sched *sched, struct shard_txn *txn,
                             struct sched_node *node, struct sched_pod *const *pod,
                             uint32_t pods)
{
	struct txn_builder was = txn->builder;
	uint32_t entries = txn->entries;
	struct pl_err err = {0};
	enum pl_code code = commit_put(sched, txn, node, COMMIT_ALL, &err);

	for (uint32_t i = 0; i < pods && code == PL_OK; i++)
		code = rules_put_locks(sched, txn, pod[i]->spec, false);
	if (code == PL_OK) {
		commit_seal(sched, txn, entries);
		return PL_OK;
	}
	commit_undo(sched, txn, entries);
	txn->builder = was;
	return code;
}

static uint32_t count_ports(const struct sched_node *node)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < node->count; i++)
		if (alloc_entry_is_known(&node->listed[i]))
			count += node->listed[i].pod->spec->template->ports.count;
	return count;
}

/* So that the gang goes elsewhere, if it can. Other pods are kept away from the node,
 * too, and the gang comes back to it first, so this is done every other time only. */
static void close_for_a_while(struct sched *sched, struct sched_node *node)
{
	node->gang_full = !node->gang_full;
	node->full = node->gang_full;
	if (node->full)
		schedule_repair(sched);
}

enum gang_step_result gang_step_reserve(struct sched *sched, struct gang_step *step,
                                        struct sched_node *node,
                                        const struct gang_step_need *need)
{
	enum pl_code code;

	if (!is_node_free(sched, node) || !step_ready(sched, step))
		return GANG_STEP_LATER;
	for (;;) {
		if (cooldown_is_full(sched, step->txn) && !step_next_txn(sched, step))
			return GANG_STEP_LATER;
		reservation_send_gang(sched, node,
		                      reservation_of_gang(node, step->known->key));
		/* the members are to be listed there in the end */
		step->txn->spare_bytes = need->bytes;
		code = node->used.pods > ALLOC_PODS_MAX ||
		                       count_ports(node) + need->ports > ALLOC_PORTS_MAX
		               ? PL_LIMIT
		               : put_node(sched, step->txn, node, NULL, 0);
		step->txn->spare_bytes = 0;
		if (code == PL_OK)
			return GANG_STEP_DONE;
		reservations_unsend(sched, node);
		if (code == PL_LIMIT)
			close_for_a_while(sched, node);
		if (code != PL_BUSY || is_alone_in_txn(step))
			return step_failed(sched, code);
		if (!step_next_txn(sched, step))
			return GANG_STEP_LATER;
	}
}

/* -- from a reservation to pods ---------------------------------------------- */

static bool assume_member(struct sched *sched, struct sched_node *node,
                          struct sched_pod *pod)
{
	const struct pod_on_node on = {
		.spec = pod->spec, .name = pod->key[2], .uid = pod_uid(sched, pod)};
	struct pl_err err = {0};

	if (snapshot_pod_add(&sched->snapshot, node->slot, &on, &pod->placed, &err) !=
	    PL_OK) {
		pod->placed = SNAPSHOT_NONE;
		report_trouble(sched, &err);
		return false;
	}
	sched->figures.decided++;
	record_assumed(sched, pod);
	emit_queue_event(sched, QUEUE_EV_POD_ADDED, node->slot);
	pod_unlink(sched, pod);
	node_add_waiting(sched, node, pod);
	return true;
}

/* The rest of the reservation when only the first pods go. */
static enum pl_code shrink_to_rest(struct sched *sched,
                                   struct sched_reservation *reservation,
                                   struct sched_pod *const *pod, uint32_t pods,
                                   uint32_t first)
{
	const struct spec **spec;
	struct node_reservation rest;
	enum pl_code code;

	if (first == pods) {
		reservation_take_gang(sched, reservation);
		return PL_OK;
	}
	pl_arena_reset(&sched->gangs.arena);
	spec = pl_arena_zalloc(&sched->gangs.arena, pods, sizeof(void *));
	if (spec == NULL)
		return PL_NOMEM;
	for (uint32_t i = first; i < pods; i++)
		spec[i - first] = pod[i]->spec;
	code = reservation_amounts(sched, spec, pods - first, &rest);
	if (code == PL_OK)
		reservation_shrink_gang(reservation, &rest);
	return code;
}

static enum pl_code bind_first_pods(struct sched *sched, struct gang_step *step,
                                    struct sched_node *node, struct sched_pod *const *pod,
                                    uint32_t pods, uint32_t first)
{
	struct sched_reservation *reservation =
		reservation_of_gang(node, step->known->key);
	enum pl_code code = shrink_to_rest(sched, reservation, pod, pods, first);

	for (uint32_t i = 0; i < first && code == PL_OK; i++)
		if (!assume_member(sched, node, pod[i]))
			code = PL_NOMEM;
	if (code == PL_OK)
		code = put_node(sched, step->txn, node, pod, first);
	/* If the txn fails, a pod without a class may have one by then. */
	for (uint32_t i = 0; i < first && code == PL_OK; i++)
		pod[i]->flags &= (uint16_t)~POD_REFUSED;
	if (code == PL_OK)
		return PL_OK;
	for (uint32_t i = 0; i < first; i++)
		if (pod[i]->stage == POD_ASSUMED)
			pod_unassume(sched, pod[i]);
	reservation_untake_gang(sched, node, reservation_of_gang(node, step->known->key));
	return code;
}

enum gang_step_result gang_step_bind(struct sched *sched, struct gang_step *step,
                                     struct sched_node *node,
                                     struct sched_pod *const *pod, uint32_t pods)
{
	uint32_t first = pods < sched->batch_size ? pods : sched->batch_size;
	enum pl_code code;

	if (!is_node_free(sched, node) || !step_ready(sched, step))
		return GANG_STEP_LATER;
	for (;;) {
		if (cooldown_is_full(sched, step->txn) && !step_next_txn(sched, step))
			return GANG_STEP_LATER;
		if (step->txn->placements > 0 &&
		    step->txn->placements + first > sched->batch_size &&
		    !step_next_txn(sched, step))
			return GANG_STEP_LATER;
		code = bind_first_pods(sched, step, node, pod, pods, first);
		if (code == PL_OK)
			return GANG_STEP_DONE;
		if ((code != PL_BUSY && code != PL_LIMIT) ||
		    (is_alone_in_txn(step) && first <= 1))
			return step_failed(sched, code);
		if (is_alone_in_txn(step))
			first /= 2;
		else if (!step_next_txn(sched, step))
			return GANG_STEP_LATER;
	}
}
