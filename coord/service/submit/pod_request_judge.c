#include "coord/service/submit/finalizers.h"
#include "coord/service/submit/leaving.h"
#include "coord/service/submit/pod_request_int.h"
#include "shardsched/records/pod_location.h"

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

static enum pl_code put_state(struct pod_requests *requests, struct request_slot *slot,
                              struct request_entry *entry, const struct pod_state *state,
                              struct pl_err *err)
{
	enum pl_code code;

	pl_buf_clear(&requests->buf, SIZE_MAX);
	code = state_print(state, &requests->buf, err);
	if (code != PL_OK)
		return code;
	entry->state = pl_arena_dup(&slot->arena, pl_buf_span(&requests->buf));
	entry->stage = STAGE_WRITE;
	return entry->state.at == NULL ? pl_err_set(err, PL_NOMEM, "keep a state")
	                               : PL_OK;
}

static enum pl_code put_reason(struct pod_requests *requests, struct request_slot *slot,
                               const struct pod_request *request, struct pod_state *state,
                               struct pl_err *err)
{
	const char *word = request_asks_budgets(request) ? "evicted" : "deleted";
	const char *message =
		pl_arena_printf(&slot->arena, "%s by %.120s", word, requests->opts.who);

	if (message == NULL)
		return pl_err_set(err, PL_NOMEM, "write a message");
	state->reason = request->reason.len > 0 ? request->reason : pl_span_str(word);
	state->message = pl_span_str(message);
	return PL_OK;
}

static enum pl_code change_state(struct pod_requests *requests, struct request_slot *slot,
                                 struct request_entry *entry, struct pl_span spec,
                                 struct pod_state *state, struct pl_err *err)
{
	const struct pod_request *request = &entry->request;
	enum pl_code code = PL_OK;
	/* A pod that was asked to go before has used its budgets then. */
	bool stays = state->phase == STATE_BOUND && state->ask == STATE_ASK_NONE;

	entry->disturbs = request_asks_budgets(request) && stays &&
	                  entry->labels != NULL && state->ended == STATE_ENDED_NOT;
	if (request->verb == POD_REQUEST_DELETE) {
		state->ask = STATE_ASK_DELETE;
		state->awaits_finalizers = has_finalizers(spec);
	} else if (request->verb == POD_REQUEST_EVICT && stays) {
		state->ask = STATE_ASK_EVICT;
	}
	if (request->ended != STATE_ENDED_NOT && state->ended == STATE_ENDED_NOT)
		state->ended = request->ended;
	if (request->verb != POD_REQUEST_ENDED)
		code = put_reason(requests, slot, request, state, err);
	return code == PL_OK ? put_state(requests, slot, entry, state, err) : code;
}

static struct pl_span uid_of(struct request_slot *slot, struct pl_span spec)
{
	struct pl_err err = {0};
	struct reader reader;
	struct pl_json root = reader_init(&reader, &slot->arena, spec, &err);
	struct pl_span uid =
		reader_text(&reader, reader_object(&reader, root, "metadata"), "uid");

	return reader.code == PL_OK ? uid : (struct pl_span){0};
}

/* The deletion of a pod without a place, which finalizers hold. state: as it stands; phase
 * Pending and nothing else if there is none. */
static void await_finalizers(struct pod_requests *requests, struct request_slot *slot,
                             struct request_entry *entry, struct pl_span spec,
                             struct pod_state *state)
{
	struct pl_err err = {0};
	enum pl_code code;

	if (state->awaits_finalizers) {
		pod_requests_report(requests, slot, entry, POD_REQUEST_ALREADY, NULL);
		return;
	}
	if (entry->state_rev == 0) {
		state->uid = uid_of(slot, spec);
		state->since_ms = requests->opts.wall_ms;
	}
	state->ask = STATE_ASK_DELETE;
	state->awaits_finalizers = true;
	state->nominated_cluster = state->nominated_node = (struct pl_span){0};
	code = put_reason(requests, slot, &entry->request, state, &err);
	if (code == PL_OK)
		code = put_state(requests, slot, entry, state, &err);
	if (code == PL_NOMEM)
		pod_requests_fail(requests, &err);
	else if (code != PL_OK)
		pod_requests_report(requests, slot, entry, POD_REQUEST_MALFORMED,
		                    err.msg);
}

static bool is_elsewhere(const struct pod_request *request, const struct pod_state *state)
{
	return request->node.len > 0 && (!pl_span_eq(request->node, state->node) ||
	                                 !pl_span_eq(request->cluster, state->cluster));
}

static void judge_state(struct pod_requests *requests, struct request_slot *slot,
                        struct request_entry *entry, struct pl_span spec,
                        const struct kv_record *record)
{
	struct pl_err err = {0};
	struct pod_state state;
	enum pl_code code = state_parse(record->value, &slot->arena, &state, &err);
	bool placed = code == PL_OK && state_has_place(&state);

	if (code == PL_OK && !placed && entry->request.verb == POD_REQUEST_DELETE) {
		if (has_finalizers(spec))
			await_finalizers(requests, slot, entry, spec, &state);
		return;
	}
	if (code == PL_OK && (!placed || is_elsewhere(&entry->request, &state))) {
		pod_requests_report(requests, slot, entry, POD_REQUEST_SKIPPED, NULL);
		return;
	}
	if (code == PL_OK && is_done_already(&entry->request, &state)) {
		pod_requests_report(requests, slot, entry, POD_REQUEST_ALREADY, NULL);
		return;
	}
	if (code == PL_OK)
		code = change_state(requests, slot, entry, spec, &state, &err);
	if (code == PL_NOMEM)
		pod_requests_fail(requests, &err);
	else if (code != PL_OK)
		pod_requests_report(requests, slot, entry, POD_REQUEST_MALFORMED,
		                    err.msg);
}

/* Decides about a pod. A state that does not parse may hold a place, so it is left to
 * fsck. */
static void judge_pod(struct pod_requests *requests, struct request_slot *slot,
                      struct request_entry *entry, const struct kv_record *spec,
                      const struct kv_record *record)
{
	struct pl_span value = spec == NULL ? (struct pl_span){0} : spec->value;
	struct pod_state none = {.phase = STATE_PENDING};

	entry->spec_rev = spec == NULL ? 0 : spec->mod_revision;
	entry->state_rev = record == NULL ? 0 : record->mod_revision;
	entry->stage = STAGE_DELETE;
	if (record != NULL)
		judge_state(requests, slot, entry, value, record);
	else if (entry->request.verb != POD_REQUEST_DELETE)
		pod_requests_report(requests, slot, entry, POD_REQUEST_SKIPPED, NULL);
	else if (has_finalizers(value))
		await_finalizers(requests, slot, entry, value, &none);
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

static bool has_other_keys(const struct kv_get_result *get)
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

	pod_requests_unlabel(requests, entry);
	if (!request_asks_budgets(&entry->request) || spec == NULL)
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
		pod_requests_fail_with(requests, PL_NOMEM);
}

/* NULL: it holds. PL_NOMEM: it is not known. */
static const char *failed_precondition(struct request_slot *slot,
                                       const struct request_entry *entry,
                                       const struct kv_record *spec,
                                       const struct kv_record *state, enum pl_code *code)
{
	const struct pod_request *request = &entry->request;
	int64_t spec_rev = spec == NULL ? 0 : spec->mod_revision;
	int64_t state_rev = state == NULL ? 0 : state->mod_revision;
	struct pl_err err = {0};
	struct reader reader = {.code = PL_OK};
	struct pl_span uid = {0};
	struct pl_json root;

	if (request->uid.len > 0 && spec != NULL) {
		root = reader_init(&reader, &slot->arena, spec->value, &err);
		uid = reader_text(&reader, reader_object(&reader, root, "metadata"),
		                  "uid");
	}
	*code = reader.code == PL_NOMEM ? PL_NOMEM : PL_OK;
	if (request->uid.len > 0 && !pl_span_eq(uid, request->uid))
		return "its uid is another one";
	if (request->version != 0 &&
	    request->version != (spec_rev > state_rev ? spec_rev : state_rev))
		return "it has changed since";
	return NULL;
}

/* False: the pod is not the one that the request means. */
static bool check_preconditions(struct pod_requests *requests, struct request_slot *slot,
                                struct request_entry *entry, const struct kv_record *spec,
                                const struct kv_record *state)
{
	enum pl_code code;
	const char *why = failed_precondition(slot, entry, spec, state, &code);

	if (code != PL_OK)
		pod_requests_fail_with(requests, code);
	else if (why != NULL)
		pod_requests_report(requests, slot, entry, POD_REQUEST_CHANGED, why);
	return code == PL_OK && why == NULL;
}

void pod_requests_apply_read(struct pod_requests *requests, struct request_slot *slot,
                             struct request_entry *entry, const struct kv_get_result *get)
{
	const struct kv_record *spec = find_record(get, KEYS_SPEC);
	const struct kv_record *state = find_record(get, KEYS_STATE);
	struct pl_err err = {0};
	bool is_pointer = false;
	uint32_t at = entry->at;

	entry->has_other_keys = has_other_keys(get);
	if (spec != NULL && pointer_parse(spec->value, &is_pointer, &at, &err) != PL_OK) {
		pod_requests_report(requests, slot, entry, POD_REQUEST_MALFORMED,
		                    err.msg);
		return;
	}
	if (is_pointer && entry->at == entry->named && at != entry->at &&
	    at < requests->opts.partitions)
		entry->at = at; /* read again there */
	else if (is_pointer)
		pod_requests_report(requests, slot, entry, POD_REQUEST_MALFORMED,
		                    "its pointer leads nowhere");
	else if (spec == NULL && state == NULL && entry->at == entry->named)
		pod_requests_report(requests, slot, entry, POD_REQUEST_ABSENT, NULL);
	else if (spec == NULL && state == NULL)
		entry->at = entry->named; /* deleted meanwhile */
	else if (check_preconditions(requests, slot, entry, spec, state)) {
		read_labels(requests, slot, entry, spec);
		judge_pod(requests, slot, entry, spec, state);
	}
}
