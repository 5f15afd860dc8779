#include "tests/support/store/memkv/model.h"

#include "store/kv/keys.h"
#include "store/kv/overlap.h"
#include "tests/harness/t.h"

const struct pl_span model_key[MODEL_KEYS] = {
	{(const uint8_t *)"\0", 1},
	{(const uint8_t *)"a", 1},
	{(const uint8_t *)"a\0", 2},
	{(const uint8_t *)"aa", 2},
	{(const uint8_t *)"aab", 3},
	{(const uint8_t *)"ab", 2},
	{(const uint8_t *)"b", 1},
	{(const uint8_t *)"b\xff", 2},
	{(const uint8_t *)"b\xff"
                          "c",
         3},
	{(const uint8_t *)"c", 1},
	{(const uint8_t *)"\xff", 1},
	{(const uint8_t *)"\xff\xff", 2},
};

/* The execution of one request: the state before it, and the state that it makes. */
struct model_work {
	struct model *model;
	const struct model_state *before;
	struct model_state now;
	struct model_event event[MODEL_EVENTS];
	unsigned events;
};

void model_init(struct model *model)
{
	memset(model, 0, sizeof *model);
	model->revision = 1;
	model->compacted = -1;
}

static struct pl_span value_of(const struct model_record *record)
{
	return pl_span_str(record->value);
}

static void record_check(unsigned key, const struct model_record *want, bool keys_only,
                         const struct kv_record *record)
{
	T_TRUE(pl_span_eq(record->key, model_key[key]));
	T_TRUE(pl_span_eq(record->value, keys_only ? pl_span(NULL, 0) : value_of(want)));
	T_EQ(record->version, want->version);
	T_EQ(record->create_revision, want->create);
	T_EQ(record->mod_revision, want->mod);
	T_EQ(record->lease, want->lease);
}

/* -- what is expected of each operation, and what it does -------------- */

static void add_change(struct model_work *work, unsigned key,
                       const struct model_record *after)
{
	struct model_event *event = &work->event[work->events++];

	T_TRUE(work->events <= MODEL_EVENTS);
	*event = (struct model_event){
		.key = key, .is_delete = after->version == 0, .after = *after};
	event->after.mod = work->model->revision + 1;
	work->now.record[key] = event->after;
}

static unsigned key_index(struct pl_span name)
{
	for (unsigned key = 0; key < MODEL_KEYS; key++)
		if (pl_span_eq(model_key[key], name))
			return key;
	t_fail(__FILE__, __LINE__, "a key that the model does not have");
}

static void get_check(struct model_work *work, const struct kv_get *get,
                      const struct kv_get_result *result)
{
	const struct model_state *state =
		get->revision == 0 ? &work->now : &work->model->state[get->revision];
	int64_t total = 0;
	size_t shown = 0;

	for (unsigned key = 0; key < MODEL_KEYS; key++) {
		const struct model_record *record = &state->record[key];

		if (record->version == 0 || !kv_key_in(get->keys, model_key[key]))
			continue;
		total++;
		if (get->count_only || (get->limit > 0 && total > get->limit))
			continue;
		T_TRUE(shown < result->count);
		record_check(key, record, get->keys_only, &result->records[shown++]);
	}
	T_EQ(result->count, shown);
	T_EQ(result->total, total);
	T_EQ(result->more, !get->count_only && (int64_t)shown < total);
}

static void put_check(struct model_work *work, const struct kv_put *put,
                      const struct kv_put_result *result)
{
	unsigned key = key_index(put->key);
	struct model_record before = work->now.record[key];
	struct model_record after = {
		.version = before.version + 1,
		.create = before.version == 0 ? work->model->revision + 1 : before.create,
		.lease = put->keep_lease ? before.lease : put->lease,
	};

	if (put->want_prev && before.version != 0)
		record_check(key, &before, false, result->prev);
	else
		T_TRUE(result->prev == NULL);
	if (put->keep_value)
		memcpy(after.value, before.value, sizeof after.value);
	else
		memcpy(after.value, put->value.at, put->value.len);
	add_change(work, key, &after);
}

static void delete_check(struct model_work *work, const struct kv_delete *del,
                         const struct kv_delete_result *result)
{
	struct model_record gone = {0};
	size_t count = 0;

	for (unsigned key = 0; key < MODEL_KEYS; key++) {
		struct model_record before = work->now.record[key];

		if (before.version == 0 || !kv_key_in(del->keys, model_key[key]))
			continue;
		if (del->want_prev) {
			T_TRUE(count < result->prev_count);
			record_check(key, &before, false, &result->prev[count]);
		}
		count++;
		add_change(work, key, &gone);
	}
	T_EQ(result->deleted, count);
	T_EQ(result->prev_count, del->want_prev ? count : 0);
}

static int order_of(const struct kv_compare *compare, const struct model_record *record)
{
	int64_t number = 0;

	switch (compare->target) {
	case KV_VALUE:
		return pl_span_cmp(value_of(record), compare->value);
	case KV_VERSION:
		number = record->version;
		break;
	case KV_CREATE_REV:
		number = record->create;
		break;
	case KV_MOD_REV:
		number = record->mod;
		break;
	case KV_LEASE:
		number = record->lease;
		break;
	}
	return number < compare->number ? -1 : number > compare->number;
}

static bool related(const struct kv_compare *compare, const struct model_record *record)
{
	int order = order_of(compare, record);

	return (compare->relation == KV_EQ && order == 0) ||
	       (compare->relation == KV_NE && order != 0) ||
	       (compare->relation == KV_LT && order < 0) ||
	       (compare->relation == KV_GT && order > 0);
}

static bool compares_hold(const struct model_state *state, const struct kv_txn *txn)
{
	struct model_record none = {0};

	for (size_t i = 0; i < txn->compare_count; i++) {
		const struct kv_compare *compare = &txn->compares[i];
		bool any = false;

		for (unsigned key = 0; key < MODEL_KEYS; key++) {
			const struct model_record *record = &state->record[key];

			if (record->version == 0 ||
			    !kv_key_in(compare->keys, model_key[key]))
				continue;
			any = true;
			if (!related(compare, record))
				return false;
		}
		if (!any && (compare->target == KV_VALUE || !related(compare, &none)))
			return false;
	}
	return true;
}

static const struct kv_req *list_of(const struct kv_txn *txn, bool holds, size_t *count)
{
	*count = holds ? txn->then_count : txn->otherwise_count;
	return holds ? txn->then : txn->otherwise;
}

static bool has_lease(const struct model *model, int64_t id)
{
	return id > 0 && id <= MODEL_LEASES && model->lease[id - 1].there;
}

static enum pl_code put_code(const struct model *model, const struct model_state *state,
                             const struct kv_put *put, bool in_txn)
{
	bool lost = put->lease != 0 && !has_lease(model, put->lease);
	bool missing = (put->keep_value || put->keep_lease) &&
	               state->record[key_index(put->key)].version == 0;

	if (in_txn && missing)
		return PL_NOTFOUND;
	if (lost)
		return PL_NOLEASE;
	return missing ? PL_NOTFOUND : PL_OK;
}

static enum pl_code get_code(const struct model *model, const struct kv_get *get)
{
	if (get->revision > model->revision)
		return PL_FUTURE;
	return get->revision != 0 && get->revision < model->compacted ? PL_COMPACTED
	                                                              : PL_OK;
}

/* NOLINTBEGIN(misc-no-recursion): as deep as the requests that the tests make. */

/* Checks the operations that will run, puts before gets. */
static enum pl_code txn_code(const struct model *model, const struct model_state *state,
                             const struct kv_txn *txn, enum kv_op kind)
{
	size_t count;
	const struct kv_req *ops = list_of(txn, compares_hold(state, txn), &count);
	enum pl_code code = PL_OK;

	for (size_t i = 0; i < count && code == PL_OK; i++) {
		if (ops[i].op == KV_TXN)
			code = txn_code(model, state, &ops[i].txn, kind);
		else if (ops[i].op == KV_PUT && kind == KV_PUT)
			code = put_code(model, state, &ops[i].put, true);
		else if (ops[i].op == KV_GET && kind == KV_GET)
			code = get_code(model, &ops[i].get);
	}
	return code;
}

static void op_check(struct model_work *work, const struct kv_req *req,
                     const struct kv_result *result)
{
	size_t count;
	const struct kv_req *ops;
	bool holds;

	T_EQ(result->op, req->op);
	if (req->op == KV_GET)
		get_check(work, &req->get, &result->get);
	if (req->op == KV_PUT)
		put_check(work, &req->put, &result->put);
	if (req->op == KV_DELETE)
		delete_check(work, &req->del, &result->del);
	if (req->op != KV_TXN)
		return;
	holds = compares_hold(work->before, &req->txn);
	ops = list_of(&req->txn, holds, &count);
	T_EQ(result->txn.succeeded, holds);
	T_EQ(result->txn.count, count);
	for (size_t i = 0; i < count; i++)
		op_check(work, &ops[i], &result->txn.results[i]);
}

/* NOLINTEND(misc-no-recursion) */

static void commit_work(struct model *model, const struct model_work *work)
{
	if (work->events == 0)
		return;
	model->revision++;
	T_TRUE(model->revision < MODEL_REVISIONS);
	model->state[model->revision] = work->now;
	memcpy(model->event[model->revision], work->event, sizeof work->event);
	model->events[model->revision] = work->events;
}

static void begin_work(struct model *model, struct model_work *work)
{
	work->model = model;
	work->before = &model->state[model->revision];
	work->now = *work->before;
	work->events = 0;
}

/* -- leases ------------------------------------------------------------ */

static void lease_gone(struct model *model, int64_t id)
{
	struct model_record gone = {0};
	struct model_work work;

	begin_work(model, &work);
	for (unsigned key = 0; key < MODEL_KEYS; key++)
		if (work.now.record[key].version != 0 && work.now.record[key].lease == id)
			add_change(&work, key, &gone);
	commit_work(model, &work);
	model->lease[id - 1].there = false;
}

static void lease_check(struct model *model, const struct kv_req *req, enum pl_code code,
                        const struct kv_result *result)
{
	const struct kv_lease_result *got = &result->lease;
	int64_t id = req->lease.id;
	struct model_lease *lease = &model->lease[id - 1];
	size_t keys = 0;

	if (req->op == KV_LEASE_GRANT) {
		T_EQ(code, lease->there ? PL_EXISTS : PL_OK);
		if (code != PL_OK)
			return;
		*lease = (struct model_lease){
			.there = true, .ttl_s = got->ttl_s, .seq = model->lease_seq++};
		T_EQ(got->ttl_s, req->lease.ttl_s < 2 ? 2 : req->lease.ttl_s);
	} else {
		T_EQ(code, lease->there ? PL_OK : PL_NOLEASE);
		if (code != PL_OK)
			return;
	}
	T_EQ(got->id, id);
	if (req->op == KV_LEASE_REVOKE)
		lease_gone(model, id);
	if (req->op == KV_LEASE_KEEP)
		T_EQ(got->ttl_s, lease->ttl_s);
	if (req->op == KV_LEASE_TTL) {
		T_EQ(got->granted_s, lease->ttl_s);
		T_EQ(got->ttl_s, (lease->expiry_ms - model->now_ms) / 1000);
		for (unsigned key = 0; key < MODEL_KEYS; key++)
			if (model->state[model->revision].record[key].version != 0 &&
			    model->state[model->revision].record[key].lease == id)
				T_TRUE(pl_span_eq(got->keys[keys++], model_key[key]));
		T_EQ(got->key_count, keys);
		return;
	}
	lease->expiry_ms = model->now_ms + (uint64_t)lease->ttl_s * 1000;
}

void model_advance(struct model *model, uint64_t now_ms)
{
	for (;;) {
		const struct model_lease *first = NULL;

		for (unsigned i = 0; i < MODEL_LEASES; i++) {
			const struct model_lease *lease = &model->lease[i];

			if (lease->there && lease->expiry_ms <= now_ms &&
			    (first == NULL || lease->expiry_ms < first->expiry_ms ||
			     (lease->expiry_ms == first->expiry_ms &&
			      lease->seq < first->seq)))
				first = lease;
		}
		if (first == NULL)
			break;
		lease_gone(model, first - model->lease + 1);
	}
	model->now_ms = now_ms;
}

/* -- requests ---------------------------------------------------------- */

static enum pl_code expected_code(const struct model *model, const struct kv_req *req)
{
	const struct model_state *state = &model->state[model->revision];
	enum pl_code code;

	switch (req->op) {
	case KV_GET:
		return get_code(model, &req->get);
	case KV_PUT:
		return put_code(model, state, &req->put, false);
	case KV_TXN:
		code = kv_overlap_check(&req->txn, NULL);
		if (code == PL_OK)
			code = txn_code(model, state, &req->txn, KV_PUT);
		return code != PL_OK ? code : txn_code(model, state, &req->txn, KV_GET);
	case KV_COMPACT:
		if (req->compact.revision <= model->compacted)
			return PL_COMPACTED;
		return req->compact.revision > model->revision ? PL_FUTURE : PL_OK;
	case KV_DELETE:
	case KV_LEASE_GRANT:
	case KV_LEASE_REVOKE:
	case KV_LEASE_KEEP:
	case KV_LEASE_TTL:
	case KV_STATUS:
	case KV_OP_COUNT:
		break;
	}
	return PL_OK;
}

void model_check(struct model *model, const struct kv_req *req, enum pl_code code,
                 const struct kv_result *result)
{
	struct model_work work;

	if (req->op >= KV_LEASE_GRANT && req->op <= KV_LEASE_TTL) {
		lease_check(model, req, code, result);
	} else {
		T_EQ(code, expected_code(model, req));
		if (code == PL_OK && req->op == KV_COMPACT) {
			model->compacted = req->compact.revision;
		} else if (code == PL_OK) {
			begin_work(model, &work);
			op_check(&work, req, result);
			commit_work(model, &work);
		}
	}
	if (code == PL_OK)
		T_EQ(result->header.revision, model->revision);
}

/* -- watches ----------------------------------------------------------- */

static bool watch_wants(const struct kv_watch_req *req, const struct model_event *event)
{
	return kv_key_in(req->keys, model_key[event->key]) &&
	       !(event->is_delete ? req->no_deletes : req->no_puts);
}

/* Compaction removes deletions at the compacted revision itself. */
static bool was_compacted(const struct model_event *event, int64_t revision,
                          int64_t compacted)
{
	return revision == compacted && event->is_delete;
}

bool model_note_wanted(const struct model *model, const struct kv_watch_req *req,
                       int64_t revision)
{
	for (unsigned i = 0; i < model->events[revision]; i++)
		if (watch_wants(req, &model->event[revision][i]))
			return true;
	return false;
}

void model_note_check(const struct model *model, const struct kv_watch_req *req,
                      int64_t revision, int64_t compacted,
                      const struct kv_watch_note *note)
{
	size_t at = 0;

	T_EQ(note->what, KV_WATCH_EVENTS);
	T_EQ(note->revision, revision);
	for (unsigned i = 0; i < model->events[revision]; i++) {
		const struct model_event *want = &model->event[revision][i];
		const struct model_record *prev =
			&model->state[revision - 1].record[want->key];
		const struct kv_event *event;

		if (!watch_wants(req, want) || was_compacted(want, revision, compacted))
			continue;
		T_TRUE(at < note->count);
		event = &note->events[at++];
		T_EQ(event->is_delete, want->is_delete);
		record_check(want->key, &want->after, false, &event->record);
		if (req->want_prev && prev->version != 0 && revision - 1 >= compacted)
			record_check(want->key, prev, false, event->prev);
		else
			T_TRUE(event->prev == NULL);
	}
	T_EQ(at, note->count);
}
