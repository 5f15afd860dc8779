/*
 * Why a pod that fits nowhere waits, written into its state. A status is written after
 * the first attempt and then at most every STATUS_EVERY_S, in one txn at a time with a
 * bounded number of pods. A pod whose status does not fit in now gets it after another
 * attempt, which comes soon if the pod has no status yet.
 */
#include "shardsched/shard/pending_status.h"

#include <stdio.h>
#include <stdlib.h>

#include "shardsched/plugins/plugins.h"
#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/inner.h"
#include "shardsched/shard/reservations/reservation.h"
#include "shardsched/shard/txn/inflight.h"
#include "store/base/alloc.h"

enum {
	STATUS_EVERY_S = 30,
	STATUS_PAUSE_MS = 100,
	LOOK_PAUSE_MS = 1000,
	REASONS_MAX = 4, /* reasons in a message */
	MESSAGE_SIZE = 384,
};

struct pending_reason {
	struct sched_pod *pod;
	uint32_t reason;
	bool room; /* says only that no room is reserved for the pod any more */
	char message[MESSAGE_SIZE];
};

struct pending_status {
	struct pending_reason why[SCHED_STATUSES_MAX]; /* statuses to be written */
	uint32_t count;
	uint64_t at_ms; /* when the next txn may be made */
	/* A pod is owed a status that was not added, for want of room, or because the
	 * reservations of its node are not known. All pods are scanned for it when that
	 * changes. */
	bool no_room, room_unknown;
	bool scan_due;
	uint64_t scan_ms; /* no scan before */
	struct pl_buf text;
};

enum pl_code pending_status_new(struct sched *sched, struct pl_err *err)
{
	sched->pending_status = pl_calloc(1, sizeof *sched->pending_status);
	if (sched->pending_status == NULL)
		return pl_err_set(err, PL_NOMEM, "keep pending statuses");
	pl_buf_init(&sched->pending_status->text, STATE_MESSAGE_MAX);
	return PL_OK;
}

void pending_status_free(struct sched *sched)
{
	if (sched->pending_status == NULL)
		return;
	pl_buf_done(&sched->pending_status->text);
	free(sched->pending_status);
	sched->pending_status = NULL;
}

void pending_status_forget(struct sched *sched, struct sched_pod *pod)
{
	struct pending_status *pending_status = sched->pending_status;

	if (pending_status == NULL)
		return;
	for (uint32_t i = 0; i < pending_status->count; i++)
		if (pending_status->why[i].pod == pod)
			pending_status->why[i--] =
				pending_status->why[--pending_status->count];
}

static struct pl_span reason_name(const struct pending_reason *why)
{
	return why->room ? PL_SPAN_LIT("nomination.ended")
	                 : pl_span_str(reason_word(why->reason));
}

void pending_status_lend(struct sched *sched, struct sched_pod *pod,
                         struct pod_state *out)
{
	const struct pending_status *pending_status = sched->pending_status;

	for (uint32_t i = 0; i < pending_status->count; i++) {
		if (pending_status->why[i].pod != pod)
			continue;
		out->reason = reason_name(&pending_status->why[i]);
		out->message = pl_span_str(pending_status->why[i].message);
	}
}

/* -- reasons ----------------------------------------------------------------------- */

/* The plugin's reason for the first node that it refused. */
static bool explain_first_refused(struct sched *sched, unsigned plugin,
                                  struct verdict *say)
{
	struct pl_bitset set;
	size_t slot;

	if (pl_bitset_make(&sched->arena, sched->snapshot.capacity, &set) != PL_OK)
		return false;
	cycle_refused(sched->cycle, plugin, set);
	slot = pl_bitset_next(set, 0);
	if (slot >= set.bits)
		return false;
	verdict_clear(say);
	cycle_why(sched->cycle, (uint32_t)slot, say);
	return say->count > 0;
}

static void add_message(struct sched *sched, struct pending_reason *why, uint32_t nodes,
                        const struct reason *reason)
{
	struct pl_buf *text = &sched->pending_status->text;
	size_t len = strlen(why->message);

	pl_buf_clear(text, text->cap);
	if (reason_print(&sched->model.strings, reason, text) != PL_OK)
		return;
	if (nodes > 0)
		(void)snprintf(why->message + len, MESSAGE_SIZE - len,
		               "%s%u node%s: %.*s", len == 0 ? "" : "; ", nodes,
		               nodes == 1 ? "" : "s", PL_SPAN_ARG(pl_buf_span(text)));
	else
		(void)snprintf(why->message + len, MESSAGE_SIZE - len, "%s%.*s",
		               len == 0 ? "" : "; ", PL_SPAN_ARG(pl_buf_span(text)));
}

/* The plugin in `left` that refused most nodes; PLUGINS_MAX: none is left. */
static unsigned next_plugin(const struct cycle_outcome *outcome, uint64_t left)
{
	unsigned best = PLUGINS_MAX;

	for (unsigned i = 0; i < PLUGINS_MAX; i++)
		if ((left >> i & 1) != 0 && outcome->refused[i] > 0 &&
		    (best == PLUGINS_MAX || outcome->refused[i] > outcome->refused[best]))
			best = i;
	return best;
}

static void explain(struct sched *sched, const struct cycle_outcome *outcome,
                    struct pending_reason *why)
{
	uint64_t left = outcome->refused_by;

	pl_arena_reset(&sched->arena);
	why->message[0] = 0;
	why->reason = REASON_NONE;
	if (outcome->pre.code != VERDICT_SUCCESS && outcome->pre.count > 0) {
		why->reason = outcome->pre.reason[0].code;
		add_message(sched, why, 0, &outcome->pre.reason[0]);
	}
	for (unsigned n = 0; n < REASONS_MAX; n++) {
		unsigned plugin = next_plugin(outcome, left);
		struct verdict say;

		if (plugin == PLUGINS_MAX)
			break;
		left &= ~(UINT64_C(1) << plugin);
		if (!explain_first_refused(sched, plugin, &say))
			continue;
		if (why->reason == REASON_NONE)
			why->reason = say.reason[0].code;
		add_message(sched, why, outcome->refused[plugin], &say.reason[0]);
	}
	if (why->message[0] == 0)
		(void)snprintf(why->message, MESSAGE_SIZE, "no nodes");
}

/* -- statuses that wait ------------------------------------------------------------ */

static bool is_status_due(const struct sched *sched, const struct sched_pod *pod)
{
	return sched->pending_status->count < sched->opts.statuses && pod->txn == 0 &&
	       (pod->rev[FACT_STATE] == 0 || pod->reported_s == 0 ||
	        !nomination_is_reported(sched, pod) ||
	        sched->now_ms / 1000 >= (uint64_t)pod->reported_s + STATUS_EVERY_S);
}

/* A pod without a status has to get one. */
bool pending_status_has_room(const struct sched *sched, const struct sched_pod *pod)
{
	return pod->rev[FACT_STATE] != 0 ||
	       (sched->pending_status->count < sched->opts.statuses && pod->txn == 0);
}

uint32_t pending_status_add(struct sched *sched, struct sched_pod *pod,
                            const struct cycle_outcome *outcome)
{
	struct pending_status *pending_status = sched->pending_status;
	struct pending_reason *why;

	if (outcome->pre.code == VERDICT_SUCCESS && !is_status_due(sched, pod))
		return REASON_NONE;
	pending_status_forget(sched, pod);
	if (!is_status_due(sched, pod))
		return outcome->pre.count == 0 ? (uint32_t)REASON_NONE
		                               : outcome->pre.reason[0].code;
	why = &pending_status->why[pending_status->count++];
	why->pod = pod;
	why->room = false;
	explain(sched, outcome, why);
	return why->reason;
}

bool pending_status_set(struct sched *sched, struct sched_pod *pod, uint32_t reason,
                        const char *message)
{
	struct pending_reason *why;

	pending_status_forget(sched, pod);
	if (!is_status_due(sched, pod))
		return false;
	why = &sched->pending_status->why[sched->pending_status->count++];
	why->pod = pod;
	why->room = false;
	why->reason = reason;
	(void)snprintf(why->message, sizeof why->message, "%s", message);
	return true;
}

static struct pending_reason *reason_of_pod(struct pending_status *pending_status,
                                            const struct sched_pod *pod)
{
	for (uint32_t i = 0; i < pending_status->count; i++)
		if (pending_status->why[i].pod == pod)
			return &pending_status->why[i];
	return NULL;
}

void pending_status_owe(struct sched *sched, struct sched_pod *pod)
{
	struct pending_status *pending_status = sched->pending_status;
	struct pending_reason *why;

	if (pending_status == NULL)
		return;
	pending_status->room_unknown =
		pending_status->room_unknown || nomination_is_unconfirmed(sched, pod);
	if (!nomination_is_owed(sched, pod) || reason_of_pod(pending_status, pod) != NULL)
		return;
	if (pending_status->count == sched->opts.statuses) {
		pending_status->no_room = true;
		return;
	}
	why = &pending_status->why[pending_status->count++];
	why->pod = pod;
	why->reason = REASON_NONE;
	why->room = true;
	nomination_ended_text(sched, pod->at, why->message, sizeof why->message);
}

void pending_status_recheck(struct sched *sched)
{
	if (sched->pending_status != NULL && sched->pending_status->room_unknown)
		sched->pending_status->scan_due = true;
}

static bool is_scan_due(const struct sched *sched)
{
	const struct pending_status *pending_status = sched->pending_status;

	return pending_status->scan_due ||
	       (pending_status->no_room && pending_status->count < sched->opts.statuses);
}

/* Pods that are never tried, or not soon, have no other way to get the status. */
static void owe_all(struct sched *sched)
{
	struct pending_status *pending_status = sched->pending_status;

	if (!is_scan_due(sched) || sched->now_ms < pending_status->scan_ms)
		return;
	pending_status->scan_ms = sched->now_ms + LOOK_PAUSE_MS;
	pending_status->scan_due = pending_status->no_room =
		pending_status->room_unknown = false;
	for (uint32_t i = 0; i < sched->opts.partitions; i++) {
		struct sched_partition *part = &sched->partition[i];

		if (!part->owned || !part->open)
			continue;
		PODS_OF_EACH(pod, sched, i)
		pending_status_owe(sched, pod);
	}
}

uint32_t pending_status_explain(struct sched *sched, const struct cycle_outcome *outcome,
                                char *out, size_t size)
{
	struct pending_reason why;

	explain(sched, outcome, &why);
	(void)snprintf(out, size, "%s", why.message);
	return why.reason;
}

static bool put_status(struct sched *sched, struct shard_txn *txn,
                       const struct pending_reason *why)
{
	struct sched_pod *pod = why->pod;
	int64_t since_ms = pod->phase == STATE_PENDING ? pod->since_ms : sched->wall_ms;
	char uid[UUID_TEXT_LEN];
	struct pod_state state = {
		.phase = STATE_PENDING,
		.uid = pod_uid_text(sched, pod, uid),
		.shard = pl_span_str(sched->shard),
		.epoch = sched->partition[pod->key[0]].epoch,
		.attempts = pod->attempts + pod_attempts(pod),
		.ask = why->room || pod->awaits ? (enum state_ask)pod->ask
	                                        : STATE_ASK_NONE,
		.awaits_finalizers = pod->awaits,
		.reason = reason_name(why),
		.message = pl_span_str(why->message),
		.since_ms = since_ms,
	};
	struct builder_decision decided = txn_decided(sched, pod);

	nomination_state(sched, pod, &state);
	pl_buf_clear(&sched->buf, sched->buf.cap);
	if (state_print(&state, &sched->buf, NULL) != PL_OK)
		return true; /* the state can not be printed: nothing to write */
	decided.state = pl_arena_dup(&txn->arena, pl_buf_span(&sched->buf));
	if (decided.state.at == NULL || !builder_put_state(&txn->builder, &decided))
		return false;
	txn_add(txn, &(struct txn_entry){.kind = ENTRY_STATUS,
	                                 .pod = pod,
	                                 .value = decided.state,
	                                 .ask = (uint8_t)state.ask,
	                                 .since_ms = since_ms});
	pod->txn = txn_number(sched, txn);
	/* The next attempt writes the actual reason. */
	pod->reported_s = why->room ? 0 : (uint32_t)(sched->now_ms / 1000);
	return true;
}

static bool is_due(struct sched *sched, const struct pending_reason *why)
{
	struct pending_status *pending_status = sched->pending_status;

	if (why->room) {
		pending_status->room_unknown = pending_status->room_unknown ||
		                               nomination_is_unconfirmed(sched, why->pod);
		return nomination_is_owed(sched, why->pod);
	}
	return why->pod->stage == POD_QUEUED && why->pod->txn == 0;
}

void pending_status_run(struct sched *sched)
{
	struct pending_status *pending_status = sched->pending_status;
	enum pl_code code;
	struct shard_txn *txn;
	uint32_t done = 0;

	owe_all(sched);
	if (pending_status->count == 0 || sched->now_ms < pending_status->at_ms)
		return;
	txn = txn_begin(sched, TXN_STATUS);
	if (txn == NULL)
		return;
	pending_status->at_ms = sched->now_ms + STATUS_PAUSE_MS;
	code = txn_reserve(txn, sched->opts.statuses);
	while (code == PL_OK && done < pending_status->count &&
	       (!is_due(sched, &pending_status->why[done]) ||
	        put_status(sched, txn, &pending_status->why[done])))
		done++;
	pending_status->count -= done;
	memmove(pending_status->why, pending_status->why + done,
	        pending_status->count * sizeof *pending_status->why);
	if (txn->entries == 0)
		txn_end(sched, txn);
	else
		txn_post(sched, txn);
}

uint64_t pending_status_deadline_ms(const struct sched *sched)
{
	const struct pending_status *pending_status = sched->pending_status;
	uint64_t scan_ms = is_scan_due(sched) ? pending_status->scan_ms : UINT64_MAX;

	if (pending_status->count == 0 ||
	    txn_is_posted(&sched->txn[SCHED_INFLIGHT_MAX]) ||
	    scan_ms < pending_status->at_ms)
		return scan_ms;
	return pending_status->at_ms;
}
