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
#include "coord/submit/pod_request.h"

#include <stdlib.h>

#include "coord/bulk/bulk_writer.h"
#include "coord/submit/evict_budgets.h"
#include "coord/submit/leaving.h"
#include "shardsched/records/pod_location.h"
#include "shardsched/records/txn_builder.h"
#include "store/base/alloc.h"
#include "store/keys/partition.h"
#include "store/kv/calls.h"

enum { SLOTS_DEFAULT = 8, TRIES_MAX = 32, CHUNK = 64 << 10, ROOM_MAX = 64 << 20 };

enum request_stage { STAGE_READ, STAGE_DELETE, STAGE_WRITE, STAGE_REPORTED };

struct request_entry {
	enum request_stage stage;
	bool asked;          /* it is in the transaction in flight */
	bool has_other_keys; /* other keys exist below its name */
	struct pod_request request;
	uint32_t named, at; /* partitions: of its name, and where it is read */
	int64_t spec_rev, state_rev;
	struct pl_span state; /* the new state */
	unsigned tries;
	/* The pod runs and nothing has asked it to go before: its budgets are used. */
	bool disturbs;
	const struct labels *labels; /* holds a reference */
};

struct request_slot {
	struct request_entry entry[POD_REQUEST_BATCH_MAX];
	unsigned count, left;
	bool reading;
	struct pl_arena arena; /* for the slot's pods */
	struct txn_builder builder;
	struct evict_budgets budgets;
};

struct pod_requests {
	struct kv *kv;
	struct pod_request_opts opts;
	struct bulk_writer *writer;
	struct pod_request carried;
	bool has_carried, exhausted;
	struct pl_err failed;
	struct pl_buf buf;
	struct model model; /* for labels and budgets */
	unsigned slots;
	struct request_slot slot[];
};

static void entry_unlabel(struct pod_requests *requests, struct request_entry *entry)
{
	model_unref(&requests->model, MODEL_LABELS, entry->labels);
	entry->labels = NULL;
	entry->disturbs = false;
}

static void slot_forget(struct pod_requests *requests, struct request_slot *slot)
{
	for (unsigned i = 0; i < slot->count; i++)
		entry_unlabel(requests, &slot->entry[i]);
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

static void requests_fail(struct pod_requests *requests, const struct pl_err *err)
{
	if (requests->failed.code != PL_OK)
		return;
	requests->failed = *err;
	bulk_cancel(requests->writer, err);
}

static void fail_with(struct pod_requests *requests, enum pl_code code)
{
	struct pl_err err = {0};

	(void)pl_err_set(&err, code, "speak of pods: %s", pl_code_name(code));
	requests_fail(requests, &err);
}

static void report_outcome(struct pod_requests *requests, struct request_slot *slot,
                           struct request_entry *entry, enum pod_request_outcome outcome,
                           const char *why)
{
	entry->stage = STAGE_REPORTED;
	entry->request.at = entry->at;
	slot->left--;
	requests->opts.told(requests->opts.ctx, &entry->request, outcome, why);
}

/* -- which pods ------------------------------------------------------------------------
 */

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
		requests_fail(requests, &err);
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
	if (request.verb == POD_REQUEST_EVICT &&
	    !evict_budgets_namespace(&slot->budgets, request.namespace))
		PL_UNREACHABLE("a namespace for which there was room");
	return PL_OK;
}

/* Whether there is room for the budgets of its namespace. */
static bool has_room(struct request_slot *slot, const struct pod_request *request)
{
	bool known = request->verb != POD_REQUEST_EVICT ||
	             slot->budgets.namespaces < EVICT_BUDGETS_NAMESPACES_MAX;

	for (uint32_t i = 0; i < slot->budgets.namespaces; i++)
		known = known ||
		        pl_span_eq(slot->budgets.namespace[i], request -> namespace);
	return known;
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
			requests_fail(requests, &err);
			return;
		}
}

/* -- requests --------------------------------------------------------------------------
 */

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
		const struct evict_budget *ward;

		if (entry->stage != STAGE_WRITE || !entry->disturbs)
			continue;
		ward = evict_budgets_against(&slot->budgets, entry->request.namespace,
		                             entry->labels, requests->opts.past_budgets);
		if (ward == NULL) {
			code = evict_budgets_disrupt(
				&slot->budgets, entry->request.namespace, entry->labels,
				entry->request.name, entry->state_rev, &err);
			continue;
		}
		report_outcome(requests, slot, entry, POD_REQUEST_WITHHELD,
		               pl_arena_printf(&slot->arena, PL_SPAN_FMT "/" PL_SPAN_FMT,
		                               PL_SPAN_ARG(ward->namespace),
		                               PL_SPAN_ARG(ward->name)));
	}
	if (code != PL_OK)
		requests_fail(requests, &err);
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
		fail_with(requests, slot->builder.code == PL_LIMIT ? PL_LIMIT : PL_NOMEM);
	return made;
}

/* -- what is to be done ----------------------------------------------------------------
 */

static const char *const done_by[] = {[POD_REQUEST_DELETE] = "deleted",
                                      [POD_REQUEST_EVICT] = "evicted",
                                      [POD_REQUEST_ENDED] = ""};

/* Whether the state has what is requested already. */
static bool is_done_already(const struct pod_request *request,
                            const struct pod_state *state)
{
	bool waits = request->ended == STATE_ENDED_NOT || state->ended != STATE_ENDED_NOT;

	switch (request->verb) {
	case POD_REQUEST_DELETE:
		return waits && state_is_leaving(state);
	case POD_REQUEST_EVICT:
		return waits && (state->ask != STATE_ASK_NONE ||
		                 state->phase == STATE_TERMINATING);
	case POD_REQUEST_ENDED:
		return state->ended != STATE_ENDED_NOT;
	}
	PL_UNREACHABLE("verb");
}

static enum pl_code change_state(struct pod_requests *requests, struct request_slot *slot,
                                 struct request_entry *entry, struct pod_state *state,
                                 struct pl_err *err)
{
	const struct pod_request *request = &entry->request;
	enum pl_code code;

	if (request->verb == POD_REQUEST_DELETE) {
		state->ask = STATE_ASK_DELETE;
	} else if (request->verb == POD_REQUEST_EVICT && state->phase == STATE_BOUND &&
	           state->ask == STATE_ASK_NONE) {
		state->ask = STATE_ASK_EVICT;
		entry->disturbs =
			entry->labels != NULL && state->ended == STATE_ENDED_NOT;
	}
	if (request->ended != STATE_ENDED_NOT && state->ended == STATE_ENDED_NOT)
		state->ended = request->ended;
	if (request->verb != POD_REQUEST_ENDED) {
		const char *message =
			pl_arena_printf(&slot->arena, "%s by %.120s",
		                        done_by[request->verb], requests->opts.who);

		if (message == NULL)
			return pl_err_set(err, PL_NOMEM, "ask a pod to go");
		state->reason = request->reason.len > 0
		                        ? request->reason
		                        : pl_span_str(done_by[request->verb]);
		state->message = pl_span_str(message);
	}
	pl_buf_clear(&requests->buf, SIZE_MAX);
	code = state_print(state, &requests->buf, err);
	if (code != PL_OK)
		return code;
	entry->state = pl_arena_dup(&slot->arena, pl_buf_span(&requests->buf));
	entry->stage = STAGE_WRITE;
	return entry->state.at == NULL ? pl_err_set(err, PL_NOMEM, "keep a state")
	                               : PL_OK;
}

static bool is_elsewhere(const struct pod_request *request, const struct pod_state *state)
{
	return request->node.len > 0 && (!pl_span_eq(request->node, state->node) ||
	                                 !pl_span_eq(request->cluster, state->cluster));
}

static void judge_state(struct pod_requests *requests, struct request_slot *slot,
                        struct request_entry *entry, const struct kv_record *record)
{
	struct pl_err err = {0};
	struct pod_state state;
	enum pl_code code = state_parse(record->value, &slot->arena, &state, &err);
	bool placed = code == PL_OK && state_has_place(&state);

	if (code == PL_OK && !placed && entry->request.verb == POD_REQUEST_DELETE)
		return;
	if (code == PL_OK && (!placed || is_elsewhere(&entry->request, &state))) {
		report_outcome(requests, slot, entry, POD_REQUEST_SKIPPED, NULL);
		return;
	}
	if (code == PL_OK && is_done_already(&entry->request, &state)) {
		report_outcome(requests, slot, entry, POD_REQUEST_ALREADY, NULL);
		return;
	}
	if (code == PL_OK)
		code = change_state(requests, slot, entry, &state, &err);
	if (code == PL_NOMEM)
		requests_fail(requests, &err);
	else if (code != PL_OK)
		report_outcome(requests, slot, entry, POD_REQUEST_MALFORMED, err.msg);
}

/* Decides about a pod. A state that does not parse may hold a place, so it is left to
 * fsck. */
static void judge_pod(struct pod_requests *requests, struct request_slot *slot,
                      struct request_entry *entry, const struct kv_record *spec,
                      const struct kv_record *record)
{
	entry->spec_rev = spec == NULL ? 0 : spec->mod_revision;
	entry->state_rev = record == NULL ? 0 : record->mod_revision;
	entry->stage = STAGE_DELETE;
	if (record != NULL)
		judge_state(requests, slot, entry, record);
	else if (entry->request.verb != POD_REQUEST_DELETE)
		report_outcome(requests, slot, entry, POD_REQUEST_SKIPPED, NULL);
}

static const struct kv_record *find_record(const struct kv_get_result *get,
                                           enum keys_kind kind)
{
	for (size_t i = 0; i < get->count; i++) {
		struct keys_id id;

		if (keys_parse(get->records[i].key, &id, NULL) == PL_OK &&
		    id.kind == kind)
			return &get->records[i];
	}
	return NULL;
}

static bool is_crowded(const struct kv_get_result *get)
{
	struct keys_id id;

	for (size_t i = 0; i < get->count; i++)
		if (keys_parse(get->records[i].key, &id, NULL) != PL_OK)
			return true;
	return false;
}

/* Reads the labels that budgets select by. A pod that does not parse is covered by no
 * budget, nor is one whose spec was overwritten with another pod's. */
static void read_labels(struct pod_requests *requests, struct request_slot *slot,
                        struct request_entry *entry, const struct kv_record *spec)
{
	struct pl_err err = {0};
	struct reader reader;
	struct maker maker;
	struct pl_json root, meta;
	struct draft_pairs pairs;
	bool own;

	entry_unlabel(requests, entry);
	if (entry->request.verb != POD_REQUEST_EVICT || spec == NULL)
		return;
	root = reader_init(&reader, &slot->arena, spec->value, &err);
	meta = reader_object(&reader, root, "metadata");
	pairs = reader_pairs(&reader, meta, "labels");
	own = pl_span_eq(reader_text(&reader, meta, "name"), entry->request.name) &&
	      pl_span_eq(reader_text(&reader, meta, "namespace"),
	                 entry->request.namespace);
	maker_init(&maker, &requests->model, &slot->arena);
	if (reader.code == PL_OK && own)
		entry->labels = labels_make(&maker, pairs);
	if (reader.code == PL_NOMEM || maker.code != PL_OK)
		fail_with(requests, PL_NOMEM);
}

static void apply_read(struct pod_requests *requests, struct request_slot *slot,
                       struct request_entry *entry, const struct kv_get_result *get)
{
	const struct kv_record *spec = find_record(get, KEYS_SPEC);
	const struct kv_record *state = find_record(get, KEYS_STATE);
	struct pl_err err = {0};
	bool is_pointer = false;
	uint32_t at = entry->at;

	entry->has_other_keys = is_crowded(get);
	if (spec != NULL && pointer_parse(spec->value, &is_pointer, &at, &err) != PL_OK) {
		report_outcome(requests, slot, entry, POD_REQUEST_MALFORMED, err.msg);
		return;
	}
	if (is_pointer && entry->at == entry->named && at != entry->at &&
	    at < requests->opts.partitions)
		entry->at = at; /* read again there */
	else if (is_pointer)
		report_outcome(requests, slot, entry, POD_REQUEST_MALFORMED,
		               "its pointer leads nowhere");
	else if (spec == NULL && state == NULL && entry->at == entry->named)
		report_outcome(requests, slot, entry, POD_REQUEST_ABSENT, NULL);
	else if (spec == NULL && state == NULL)
		entry->at = entry->named; /* deleted meanwhile */
	else {
		read_labels(requests, slot, entry, spec);
		judge_pod(requests, slot, entry, spec, state);
	}
}

/* -- answers ---------------------------------------------------------------------------
 */

static void apply_written(struct pod_requests *requests, struct request_slot *slot,
                          struct request_entry *entry, const struct builder_found *found)
{
	bool deleting = entry->stage == STAGE_DELETE;

	if (found->verdict == BUILDER_OURS ||
	    (deleting && found->verdict == BUILDER_GONE)) {
		report_outcome(requests, slot, entry,
		               deleting ? POD_REQUEST_GONE : POD_REQUEST_ACCEPTED, NULL);
	} else if (found->verdict != BUILDER_SAME) {
		entry->at = entry->named;
		entry->stage = STAGE_READ;
	}
}

static void retry_entry(struct pod_requests *requests, struct request_slot *slot,
                        struct request_entry *entry)
{
	if (entry->stage != STAGE_REPORTED && ++entry->tries > TRIES_MAX)
		report_outcome(requests, slot, entry, POD_REQUEST_MALFORMED,
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
			requests_fail(requests, &err);
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
			apply_read(requests, slot, entry, &result->txn.results[at].get);
		else if (builder_answer(&slot->builder, result, at, &found))
			apply_written(requests, slot, entry, &found);
		else
			fail_with(requests, PL_PROTO);
		retry_entry(requests, slot, entry);
		at++;
	}
	if (slot->reading)
		read_budgets(requests, slot, result);
	else if (!result->txn.succeeded || slot->left > 0)
		reread_entries(slot);
}

/* -- life ------------------------------------------------------------------------------
 */

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
		return pl_err_set(err, PL_NOMEM, "speak of pods");
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
