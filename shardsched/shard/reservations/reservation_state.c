/*
 * The nomination that a waiting pod's state names. It is written with the reservation
 * (preemption_txn.c) and taken back with it, here; any other state that the pod's owner
 * writes names the nomination as it is then.
 *
 * No decision relies on it, so it never keeps anything else from being written: such
 * states go along as far as there is room beside what a transaction must have. Pods that
 * are left out, and pods whose nomination was ended by others, are reported by their
 * owner right after (pending_status.c).
 */
#include <stdio.h>

#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/pending_status.h"
#include "shardsched/shard/reservations/reservation.h"
#include "shardsched/shard/txn/commit.h"
#include "shardsched/shard/txn/inflight.h"
#include "store/keys/partition.h"

enum {
	MESSAGE_SIZE = 640,
	TELLS_AT_ONCE = 4, /* the most in a txn that is made for something else */
};

/* The nomination that is in the store and is to stay. */
static const struct sched_reservation *standing_reservation(const struct sched_pod *pod)
{
	const struct sched_reservation *reservation =
		pod->nominated == NULL ? NULL : reservation_of_pod(pod->nominated, pod);

	return reservation == NULL || reservation->state != RESERVATION_STANDS ||
	                       reservation->unwanted || reservation->overdue
	               ? NULL
	               : reservation;
}

static bool state_agrees(const struct sched_pod *pod)
{
	return pod->phase == STATE_PENDING && pod->at[1] != 0;
}

/* False: there can be no such node. */
static bool node_partition(const struct sched *sched, const uint32_t key[2],
                           uint32_t *out)
{
	return partition_of_node(sched_text(sched, key[0]), sched_text(sched, key[1]),
	                         sched->opts.partitions, out, NULL) == PL_OK;
}

/* The node's reservations are known, or the node is known not to exist. */
static bool is_node_known(const struct sched *sched, const uint32_t key[2])
{
	const struct sched_node *node = node_by_key(sched, key);
	uint32_t partition;

	if (node != NULL && node->rev[FACT_ALLOC] != 0)
		return true;
	if (!node_partition(sched, key, &partition))
		return true;
	return (sched->partition[partition].owned && sched->partition[partition].open) ||
	       remote_knows(sched, partition);
}

void nomination_state(const struct sched *sched, const struct sched_pod *pod,
                      struct pod_state *out)
{
	const uint32_t *key = NULL;

	if (standing_reservation(pod) != NULL)
		key = pod->nominated->key;
	else if (state_agrees(pod) && !is_node_known(sched, pod->at))
		key = pod->at;
	if (key == NULL)
		return;
	out->nominated_cluster = sched_text(sched, key[0]);
	out->nominated_node = sched_text(sched, key[1]);
}

bool nomination_is_reported(const struct sched *sched, const struct sched_pod *pod)
{
	struct pod_state is = {0};

	if (pod->nominated == NULL && !state_agrees(pod))
		return true;
	nomination_state(sched, pod, &is);
	if (!state_agrees(pod))
		return is.nominated_node.len == 0;
	return pl_span_eq(is.nominated_node, sched_text(sched, pod->at[1])) &&
	       pl_span_eq(is.nominated_cluster, sched_text(sched, pod->at[0]));
}

/* The pod waits, and its state is this shard's to write. */
static bool may_be_reported(const struct sched *sched, const struct sched_pod *pod)
{
	const struct sched_partition *part = &sched->partition[pod->key[0]];

	return (pod->stage == POD_QUEUED || pod->stage == POD_IDLE) &&
	       pod->linked != LINKED_TERMINATING && /* else its keys are deleted */
	       (pod->flags & (POD_BAD_STATE | POD_RESET | POD_DELETED)) == 0 &&
	       part->owned && part->open && !part->quiet;
}

/* No node is known that reserves for the pod, and none is in a txn. */
static bool is_uncertain(const struct sched *sched, const struct sched_pod *pod)
{
	const struct sched_node *node;

	if (!state_agrees(pod) || pod->txn != 0 || !may_be_reported(sched, pod))
		return false;
	node = node_by_key(sched, pod->at);
	return node == NULL || reservation_of_pod(node, pod) == NULL;
}

bool nomination_is_owed(const struct sched *sched, const struct sched_pod *pod)
{
	return is_uncertain(sched, pod) && is_node_known(sched, pod->at);
}

bool nomination_is_unconfirmed(const struct sched *sched, const struct sched_pod *pod)
{
	return is_uncertain(sched, pod) && !is_node_known(sched, pod->at);
}

bool nomination_lists_remote(struct sched *sched, const struct sched_pod *pod)
{
	uint32_t partition;

	if (!nomination_is_unconfirmed(sched, pod) ||
	    !node_partition(sched, pod->at, &partition) ||
	    sched->partition[partition].owned)
		return false;
	remote_list_require(sched, partition);
	return true;
}

void nomination_ended_text(const struct sched *sched, const uint32_t node[2], char *out,
                           size_t size)
{
	(void)snprintf(out, size, "the room that was reserved on %.*s/%.*s is released",
	               PL_SPAN_ARG(sched_text(sched, node[0])),
	               PL_SPAN_ARG(sched_text(sched, node[1])));
}

/* -- with the release -------------------------------------------------------- */

/* The pod's state has to say that the nomination is gone. */
static bool is_to_be_reported(const struct sched *sched, const struct sched_node *node,
                              const struct sched_reservation *reservation)
{
	const struct sched_pod *pod = reservation->pod;

	return pod != NULL && !reservation->taken && state_agrees(pod) &&
	       pod->at[0] == node->key[0] && pod->at[1] == node->key[1] &&
	       may_be_reported(sched, pod);
}

static enum pl_code print_state(struct sched *sched, struct shard_txn *txn,
                                const struct sched_node *node, struct sched_pod *pod,
                                struct pl_span *out, struct pl_err *err)
{
	char message[MESSAGE_SIZE];
	char uid[UUID_TEXT_LEN];
	struct pod_state state = {
		.phase = STATE_PENDING,
		.ask = (enum state_ask)pod->ask,
		.awaits_finalizers = pod->awaits,
		.uid = pod_uid_text(sched, pod, uid),
		.shard = pl_span_str(sched->shard),
		.epoch = txn_epoch(sched, pod->key[0]),
		.attempts = pod->attempts + pod_attempts(pod),
		.reason = PL_SPAN_LIT("nomination.ended"),
		.since_ms = pod->since_ms,
	};
	enum pl_code code;

	nomination_ended_text(sched, node->key, message, sizeof message);
	state.message = pl_span_str(message);
	pending_status_lend(sched, pod, &state);
	nomination_state(sched, pod, &state); /* the pod may be nominated again by now */
	pl_buf_clear(&sched->buf, sched->buf.cap);
	code = state_print(&state, &sched->buf, err);
	if (code != PL_OK)
		return code;
	*out = pl_arena_dup(&txn->arena, pl_buf_span(&sched->buf));
	return out->at == NULL ? pl_err_set(err, PL_NOMEM, "write a state") : PL_OK;
}

static enum pl_code report_pod(struct sched *sched, struct shard_txn *txn,
                               const struct sched_node *node, struct sched_pod *pod,
                               struct pl_err *err)
{
	struct builder_decision decided = txn_decided(sched, pod);
	enum pl_code code = print_state(sched, txn, node, pod, &decided.state, err);

	if (code != PL_OK)
		return code;
	if (!builder_put_state(&txn->builder, &decided))
		return txn->builder.code == PL_OK ? PL_BUSY : txn->builder.code;
	pod->reported_s = 0; /* so that its status is written soon */
	txn_add(txn, &(struct txn_entry){.kind = ENTRY_STATUS,
	                                 .pod = pod,
	                                 .value = decided.state,
	                                 .since_ms = pod->since_ms,
	                                 .ask = pod->ask,
	                                 .compared = true});
	return PL_OK;
}

static bool is_in_txn(const struct shard_txn *txn, const struct sched_pod *pod)
{
	for (uint32_t i = 0; i < txn->entries; i++)
		if (txn->entry[i].pod == pod)
			return true;
	return false;
}

/* Entries that must be written go first. Pods that are committed whole, in a batch or a
 * gang's step, are counted to the last operation. */
static bool txn_takes_more(const struct shard_txn *txn)
{
	uint32_t reported = 0;

	if (txn->batch || (txn->kind != TXN_COMMIT && txn->kind != TXN_REMOTE))
		return false;
	for (uint32_t i = 0; i < txn->entries; i++)
		reported += txn->entry[i].kind == ENTRY_STATUS;
	return reported < TELLS_AT_ONCE &&
	       txn->entries - txn->extra_entries + 1 + COMMIT_NODE_ENTRIES <=
	               txn->entry_cap;
}

enum pl_code nominations_report(struct sched *sched, struct shard_txn *txn,
                                struct sched_node *node, struct pl_err *err)
{
	enum pl_code code = PL_OK;

	for (uint32_t i = 0; i < node->reservations && code == PL_OK; i++) {
		const struct sched_reservation *reservation = &node->reservation[i];

		if (!reservation_is_out(reservation) ||
		    !is_to_be_reported(sched, node, reservation) ||
		    reservation->pod->txn != 0 || is_in_txn(txn, reservation->pod))
			continue;
		if (!txn_takes_more(txn))
			return PL_OK;
		code = report_pod(sched, txn, node, reservation->pod, err);
	}
	return code == PL_BUSY ? PL_OK : code;
}
