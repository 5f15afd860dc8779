/*
 * Each slot has some pods at a time:
 *
 *	READ --pointer--> READ where it leads --spec--> DELETE or WRITE --> reported
 *	  |                                              |   ^
 *	  +--nothing--> reported                         +---+ newer: READ again
 *
 * First all pods that have to be read are read in one transaction, with the budgets of
 * their namespaces; then all are written in another one. A pod that was deleted and
 * created again meanwhile is read again from the start.
 */
#include "coord/service/submit/pod_request.h"

#include <stdlib.h>

#include "coord/service/submit/pod_request_int.h"
#include "shardsched/records/pod_location.h"
#include "store/base/alloc.h"
#include "store/keys/partition.h"
#include "store/kv/calls.h"

enum { SLOTS_DEFAULT = 8, TRIES_MAX = 32, CHUNK = 64 << 10, ROOM_MAX = 64 << 20 };

void pod_requests_unlabel(struct pod_requests *requests, struct request_entry *entry)
{
	model_unref(&requests->model, MODEL_LABELS, entry->labels);
	entry->labels = NULL;
	entry->disturbs = false;
}

static void slot_forget(struct pod_requests *requests, struct request_slot *slot)
{
	for (unsigned i = 0; i < slot->count; i++)
		pod_requests_unlabel(requests, &slot->entry[i]);
	slot->count = slot->left = 0;
}

static void requests_free(struct pod_requests *requests)
{
	for (unsigned i = 0; i < requests->slots; i++) {
		slot_forget(requests, &requests->slot[i]);
		evict_budgets_done(&requests->slot[i].budgets);
		pl_arena_done(&requests->slot[i].arena);
	}
	pl_buf_done(&requests->buf);
	model_done(&requests->model);
	free(requests);
}

void pod_requests_fail(struct pod_requests *requests, const struct pl_err *err)
{
	if (requests->failed.code != PL_OK)
		return;
	requests->failed = *err;
	bulk_cancel(requests->writer, err);
}

void pod_requests_fail_with(struct pod_requests *requests, enum pl_code code)
{
	struct pl_err err = {0};

	(void)pl_err_set(&err, code, "change pods: %s", pl_code_name(code));
	pod_requests_fail(requests, &err);
}

void pod_requests_report(struct pod_requests *requests, struct request_slot *slot,
                         struct request_entry *entry, enum pod_request_outcome outcome,
                         const char *why)
{
	entry->stage = STAGE_REPORTED;
	entry->request.at = entry->at;
	slot->left--;
	requests->opts.report(requests->opts.ctx, &entry->request, outcome, why);
}

/* -- the next pods ----------------------------------------------------------------- */

static bool look_ahead(struct pod_requests *requests)
{
	struct pl_err err = {0};
	enum pl_code code;

	if (requests->has_carried)
		return true;
	if (requests->exhausted || requests->failed.code != PL_OK)
		return false;
	code = requests->opts.next(requests->opts.ctx, &requests->carried, &err);
	requests->has_carried = code == PL_OK;
	requests->exhausted = code != PL_OK;
	if (code != PL_OK && code != PL_NOTFOUND)
		pod_requests_fail(requests, &err);
	return code == PL_OK;
}

/* A key may occur only once in a transaction. */
static bool has_pod(const struct request_slot *slot, const struct pod_request *request)
{
	for (unsigned i = 0; i < slot->count; i++)
		if (pl_span_eq(slot->entry[i].request.name, request->name) &&
		    pl_span_eq(slot->entry[i].request.namespace, request->namespace))
			return true;
	return false;
}

static enum pl_code add_entry(struct pod_requests *requests, struct request_slot *slot,
                              struct pl_err *err)
{
	struct request_entry *entry = &slot->entry[slot->count];
	struct pod_request request = requests->carried;
	enum pl_code code;

	*entry = (struct request_entry){.stage = STAGE_READ};
	request.namespace = pl_arena_dup(&slot->arena, request.namespace);
	request.name = pl_arena_dup(&slot->arena, request.name);
	if (request.namespace.at == NULL || request.name.at == NULL)
		return pl_err_set(err, PL_NOMEM, "keep a pod's name");
	entry->request = request;
	code = partition_of_pod(request.namespace, request.name,
	                        requests->opts.partitions, &entry->named, err);
	entry->at = request.at == POD_REQUEST_BY_NAME ? entry->named : request.at;
	if (code != PL_OK)
		return code;
	slot->count++;
	slot->left++;
	requests->has_carried = false;
	if (request_asks_budgets(&request) &&
	    !evict_budgets_namespace(&slot->budgets, request.namespace))
		PL_UNREACHABLE("a namespace for which there was room");
	return PL_OK;
}

/* Whether there is room for the budgets of its namespace. */
static bool has_room(struct request_slot *slot, const struct pod_request *request)
{
	struct pl_span namespace = request->namespace;

	if (!request_asks_budgets(request) ||
	    slot->budgets.namespaces < EVICT_BUDGETS_NAMESPACES_MAX)
		return true;
	for (uint32_t i = 0; i < slot->budgets.namespaces; i++)
		if (pl_span_eq(slot->budgets.namespace[i], namespace))
			return true;
	return false;
}

static void refill_slot(struct pod_requests *requests, struct request_slot *slot)
{
	struct pl_err err = {0};

	slot_forget(requests, slot);
	evict_budgets_clear(&slot->budgets);
	pl_arena_reset(&slot->arena);
	while (slot->count < POD_REQUEST_BATCH_MAX && look_ahead(requests) &&
	       !has_pod(slot, &requests->carried) && has_room(slot, &requests->carried))
		if (add_entry(requests, slot, &err) != PL_OK) {
			pod_requests_fail(requests, &err);
			return;
		}
}

/* -- requests ---------------------------------------------------------------------- */

static bool make_read(const struct request_entry *entry, struct pl_arena *arena,
                      struct kv_req *op)
{
	struct keys_id id = {.kind = KEYS_SPEC,
	                     .partition = entry->at,
	                     .scope = entry->request.namespace,
	                     .name = entry->request.name};
	struct pl_span kept = {0};
	struct keys_text prefix;

	if (keys_prefix(&id, 4, &prefix, NULL) == PL_OK)
		kept = pl_arena_dup(arena, keys_span(&prefix));
	*op = kv_op_get(kv_prefix(kept));
	return kept.at != NULL;
}

/* Reads the pods that have to be read; *count is 0 if there are none. */
static bool make_reads(struct pod_requests *requests, struct request_slot *slot,
                       struct pl_arena *arena, struct kv_req *req, unsigned *count)
{
	struct kv_req *op = pl_arena_zalloc(
		arena, POD_REQUEST_BATCH_MAX + EVICT_BUDGETS_OPS_MAX, sizeof *op);
	uint32_t budgets = evict_budgets_op_count(&slot->budgets);
	uint64_t most = kv_limits(requests->kv).txn_ops;

	most = most > budgets + 1 ? most - budgets : most;
	*count = 0;
	for (unsigned i = 0; op != NULL && i < slot->count; i++) {
		struct request_entry *entry = &slot->entry[i];

		entry->asked = entry->stage == STAGE_READ && (most == 0 || *count < most);
		if (!entry->asked)
			continue;
		if (!make_read(entry, arena, &op[*count]))
			return false;
		++*count;
	}
	if (op == NULL || evict_budgets_ops(&slot->budgets, arena, op + *count) != PL_OK)
		return false;
	*req = (struct kv_req){.op = KV_TXN,
	                       .txn = {.then = op, .then_count = *count + budgets}};
	return true;
}

static bool add_to_txn(struct request_slot *slot, const struct request_entry *entry)
{
	struct builder_decision decided = {
		.pod = {.partition = entry->at,
	                .namespace = entry->request.namespace,
	                .name = entry->request.name},
		.spec_rev = entry->spec_rev,
		.state_rev = entry->state_rev,
		.state = entry->state,
		.has_other_keys = entry->has_other_keys,
	};

	return entry->stage == STAGE_WRITE
	               ? builder_put_state(&slot->builder, &decided)
	               : builder_delete_pod(&slot->builder, &decided, entry->named);
}

/* Reports the pods that a budget protects at present, and leaves them out. */
static void withhold_protected(struct pod_requests *requests, struct request_slot *slot)
{
	struct pl_err err = {0};
	enum pl_code code = PL_OK;

	evict_budgets_release(&slot->budgets);
	for (unsigned i = 0; i < slot->count && code == PL_OK; i++) {
		struct request_entry *entry = &slot->entry[i];
		const struct evict_budget *budget;

		if (entry->stage != STAGE_WRITE || !entry->disturbs)
			continue;
		budget =
			evict_budgets_against(&slot->budgets, entry->request.namespace,
		                              entry->labels, requests->opts.past_budgets);
		if (budget == NULL) {
			code = evict_budgets_disrupt(
				&slot->budgets, entry->request.namespace, entry->labels,
				entry->request.name, entry->state_rev, &err);
			continue;
		}
		pod_requests_report(requests, slot, entry, POD_REQUEST_WITHHELD,
		                    pl_arena_printf(&slot->arena,
		                                    PL_SPAN_FMT "/" PL_SPAN_FMT,
		                                    PL_SPAN_ARG(budget->namespace),
		                                    PL_SPAN_ARG(budget->name)));
	}
	if (code != PL_OK)
		pod_requests_fail(requests, &err);
}

/* Adds at most this many pods, and their budgets. */
static bool add_writes(struct pod_requests *requests, struct request_slot *slot,
                       struct pl_arena *arena, unsigned most)
{
	struct pl_err err = {0};
	bool room = true;
	unsigned asked = 0;

	builder_begin(&slot->builder, arena, kv_limits(requests->kv));
	evict_budgets_release(&slot->budgets);
	for (unsigned i = 0; i < slot->count; i++) {
		struct request_entry *entry = &slot->entry[i];

		entry->asked = false;
		if (entry->stage == STAGE_REPORTED || !room || asked == most)
			continue;
		room = add_to_txn(slot, entry);
		entry->asked = room;
		asked += room;
		if (room && entry->stage == STAGE_WRITE && entry->disturbs &&
		    evict_budgets_disrupt(&slot->budgets, entry->request.namespace,
		                          entry->labels, entry->request.name,
		                          entry->state_rev, &err) != PL_OK)
			return false;
	}
	return evict_budgets_build(&slot->budgets, &slot->builder);
}

static bool make_write(struct pod_requests *requests, struct request_slot *slot,
                       struct pl_arena *arena, struct kv_req *req)
{
	unsigned most = slot->left;

	while (!add_writes(requests, slot, arena, most)) {
		if (slot->builder.code != PL_OK || most == 1)
			return false;
		most /= 2;
	}
	if (slot->builder.code != PL_OK)
		return false;
	builder_req(&slot->builder, req);
	return true;
}

static bool make_request(struct pod_requests *requests, struct request_slot *slot,
                         struct pl_arena *arena, struct kv_req *req)
{
	unsigned count = 0;
	bool made = make_reads(requests, slot, arena, req, &count);

	slot->reading = count > 0;
	return made && count == 0 ? make_write(requests, slot, arena, req) : made;
}

static bool has_unread(const struct request_slot *slot)
{
	for (unsigned i = 0; i < slot->count; i++)
		if (slot->entry[i].stage == STAGE_READ)
			return true;
	return false;
}

static bool on_next(void *ctx, unsigned number, struct pl_arena *arena,
                    struct kv_req *req)
{
	struct pod_requests *requests = ctx;
	struct request_slot *slot = &requests->slot[number];
	bool made;

	do {
		if (slot->left == 0)
			refill_slot(requests, slot);
		if (requests->failed.code == PL_OK && !has_unread(slot))
			withhold_protected(requests, slot);
		if (requests->failed.code != PL_OK)
			return false;
	} while (slot->left == 0 && slot->count > 0);
	if (slot->left == 0)
		return false;
	made = make_request(requests, slot, arena, req);
	if (!made)
		pod_requests_fail_with(
			requests, slot->builder.code == PL_LIMIT ? PL_LIMIT : PL_NOMEM);
	return made;
}

/* -- answers ----------------------------------------------------------------------- */

static void apply_written(struct pod_requests *requests, struct request_slot *slot,
                          struct request_entry *entry, const struct builder_found *found)
{
	bool deleting = entry->stage == STAGE_DELETE;

	if (found->verdict == BUILDER_OURS ||
	    (deleting && found->verdict == BUILDER_GONE)) {
		pod_requests_report(requests, slot, entry,
		                    deleting ? POD_REQUEST_GONE : POD_REQUEST_ACCEPTED,
		                    NULL);
	} else if (found->verdict != BUILDER_SAME) {
		entry->at = entry->named;
		entry->stage = STAGE_READ;
	}
}

static void retry_entry(struct pod_requests *requests, struct request_slot *slot,
                        struct request_entry *entry)
{
	if (entry->stage != STAGE_REPORTED && ++entry->tries > TRIES_MAX)
		pod_requests_report(requests, slot, entry, POD_REQUEST_MALFORMED,
		                    "other clients keep changing it");
}

/* Takes the budgets that were read with the pods, or before them if not all could be
 * read at once. */
static void read_budgets(struct pod_requests *requests, struct request_slot *slot,
                         const struct kv_result *result)
{
	const struct kv_txn_result *txn = &result->txn;
	size_t from = txn->count - evict_budgets_op_count(&slot->budgets);
	struct pl_err err = {0};

	evict_budgets_forget(&slot->budgets);
	for (size_t i = from; i < txn->count; i++)
		if (evict_budgets_read(&slot->budgets, &txn->results[i].get, &err) !=
		    PL_OK)
			pod_requests_fail(requests, &err);
}

/* Pods that were not written are read again, together with their budgets. */
static void reread_entries(struct request_slot *slot)
{
	for (unsigned i = 0; i < slot->count; i++)
		if (slot->entry[i].stage == STAGE_WRITE && slot->entry[i].disturbs)
			slot->entry[i].stage = STAGE_READ;
}

static void on_answer(void *ctx, unsigned number, const struct kv_result *result,
                      bool resent)
{
	struct pod_requests *requests = ctx;
	struct request_slot *slot = &requests->slot[number];
	unsigned at = 0;

	(void)resent;
	for (unsigned i = 0; i < slot->count; i++) {
		struct request_entry *entry = &slot->entry[i];
		struct builder_found found;

		if (!entry->asked)
			continue;
		entry->asked = false;
		if (slot->reading)
			pod_requests_apply_read(requests, slot, entry,
			                        &result->txn.results[at].get);
		else if (builder_answer(&slot->builder, result, at, &found))
			apply_written(requests, slot, entry, &found);
		else
			pod_requests_fail_with(requests, PL_PROTO);
		retry_entry(requests, slot, entry);
		at++;
	}
	if (slot->reading)
		read_budgets(requests, slot, result);
	else if (!result->txn.succeeded || slot->left > 0)
		reread_entries(slot);
}

/* -- life -------------------------------------------------------------------------- */

static void on_done(void *ctx, const struct pl_err *err)
{
	struct pod_requests *requests = ctx;
	struct pod_request_opts opts = requests->opts;

	requests_free(requests);
	opts.done(opts.ctx, err);
}

enum pl_code pod_requests_open(struct kv *kv, const struct pod_request_opts *opts,
                               struct pod_requests **out, struct pl_err *err)
{
	unsigned slots = opts->slots == 0 ? SLOTS_DEFAULT : opts->slots;
	struct bulk_opts writer = {.slots = slots,
	                           .timeout_ms = opts->timeout_ms,
	                           .patience_ms = opts->patience_ms,
	                           .next = on_next,
	                           .answer = on_answer,
	                           .done = on_done};
	struct pod_requests *requests =
		pl_calloc(1, sizeof *requests + slots * sizeof requests->slot[0]);
	enum pl_code code;

	if (requests == NULL)
		return pl_err_set(err, PL_NOMEM, "change pods");
	requests->kv = kv;
	requests->opts = *opts;
	requests->slots = slots;
	pl_buf_init(&requests->buf, STATE_BYTES_MAX);
	model_init(&requests->model);
	for (unsigned i = 0; i < slots; i++) {
		pl_arena_init(&requests->slot[i].arena, CHUNK, ROOM_MAX);
		evict_budgets_init(&requests->slot[i].budgets, &requests->model);
	}
	writer.ctx = requests;
	code = bulk_open(kv, &writer, &requests->writer, err);
	if (code == PL_OK)
		*out = requests;
	else
		requests_free(requests);
	return code;
}

void pod_requests_cancel(struct pod_requests *requests)
{
	bulk_cancel(requests->writer, NULL);
}
