#include "store/kv/rewrite.h"

/*
 * Each function copies an array flat into the arena and then replaces what its elements
 * point to. The recursion is as deep as the caller nested its transaction.
 */

static void *dup_array(struct pl_arena *arena, const void *at, size_t count, size_t size)
{
	void *copy;

	if (count > SIZE_MAX / size)
		return NULL;
	copy = pl_arena_alloc(arena, count * size);
	if (copy != NULL && count != 0)
		memcpy(copy, at, count * size);
	return copy;
}

static enum pl_code rewrite_compares(const struct kv_rewrite *rewrite, struct kv_txn *txn)
{
	struct kv_compare *copy = dup_array(rewrite->arena, txn->compares,
	                                    txn->compare_count, sizeof *copy);
	enum pl_code code = copy == NULL ? PL_NOMEM : PL_OK;

	for (size_t i = 0; i < txn->compare_count && code == PL_OK; i++) {
		code = rewrite->keys(rewrite, &copy[i].keys);
		if (code == PL_OK && copy[i].target == KV_VALUE)
			code = rewrite->value(rewrite, &copy[i].value);
	}
	txn->compares = copy;
	return code;
}

static enum pl_code rewrite_req(const struct kv_rewrite *rewrite, struct kv_req *req);

static enum pl_code
rewrite_ops(const struct kv_rewrite *rewrite, /* NOLINT(misc-no-recursion) */
            const struct kv_req **ops, size_t count)
{
	struct kv_req *copy = dup_array(rewrite->arena, *ops, count, sizeof *copy);
	enum pl_code code = copy == NULL ? PL_NOMEM : PL_OK;

	for (size_t i = 0; i < count && code == PL_OK; i++)
		code = rewrite_req(rewrite, &copy[i]);
	*ops = copy;
	return code;
}

static enum pl_code
rewrite_txn(const struct kv_rewrite *rewrite, /* NOLINT(misc-no-recursion) */
            struct kv_txn *txn)
{
	enum pl_code code = rewrite_compares(rewrite, txn);

	if (code == PL_OK)
		code = rewrite_ops(rewrite, &txn->then, txn->then_count);
	if (code == PL_OK)
		code = rewrite_ops(rewrite, &txn->otherwise, txn->otherwise_count);
	return code;
}

static enum pl_code
rewrite_req(const struct kv_rewrite *rewrite, /* NOLINT(misc-no-recursion) */
            struct kv_req *req)
{
	enum pl_code code;

	switch (req->op) {
	case KV_GET:
		return rewrite->keys(rewrite, &req->get.keys);
	case KV_PUT:
		code = rewrite->key(rewrite, &req->put.key);
		return code != PL_OK ? code : rewrite->value(rewrite, &req->put.value);
	case KV_DELETE:
		return rewrite->keys(rewrite, &req->del.keys);
	case KV_TXN:
		return rewrite_txn(rewrite, &req->txn);
	case KV_COMPACT:
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

enum pl_code kv_rewrite_req(const struct kv_rewrite *rewrite, const struct kv_req *req,
                            struct kv_req *out)
{
	struct kv_req copy = *req;
	enum pl_code code = rewrite_req(rewrite, &copy);

	if (code == PL_OK)
		*out = copy;
	return code;
}

static enum pl_code rewrite_record(const struct kv_rewrite *rewrite,
                                   struct kv_record *record)
{
	enum pl_code code = rewrite->key(rewrite, &record->key);

	return code != PL_OK ? code : rewrite->value(rewrite, &record->value);
}

static enum pl_code rewrite_records(const struct kv_rewrite *rewrite,
                                    const struct kv_record **records, size_t count)
{
	struct kv_record *copy = dup_array(rewrite->arena, *records, count, sizeof *copy);
	enum pl_code code = copy == NULL ? PL_NOMEM : PL_OK;

	for (size_t i = 0; i < count && code == PL_OK; i++)
		code = rewrite_record(rewrite, &copy[i]);
	*records = copy;
	return code;
}

static enum pl_code rewrite_prev(const struct kv_rewrite *rewrite,
                                 const struct kv_record **prev)
{
	return *prev == NULL ? PL_OK : rewrite_records(rewrite, prev, 1);
}

static enum pl_code rewrite_lease_keys(const struct kv_rewrite *rewrite,
                                       struct kv_lease_result *lease)
{
	struct pl_span *copy =
		dup_array(rewrite->arena, lease->keys, lease->key_count, sizeof *copy);
	enum pl_code code = copy == NULL ? PL_NOMEM : PL_OK;
	size_t kept = 0;

	for (size_t i = 0; i < lease->key_count && code == PL_OK; i++) {
		if (rewrite->lease_key != NULL && !rewrite->lease_key(rewrite, copy[i]))
			continue;
		copy[kept] = copy[i];
		code = rewrite->key(rewrite, &copy[kept++]);
	}
	lease->keys = copy;
	lease->key_count = kept;
	return code;
}

static enum pl_code rewrite_status(const struct kv_rewrite *rewrite,
                                   struct kv_status_result *status)
{
	struct pl_span text;

	if (status->version == NULL)
		return PL_OK;
	text = pl_arena_dup(rewrite->arena, pl_span_str(status->version));
	status->version = (const char *)text.at; /* pl_arena_dup ends it with a NUL */
	return text.at == NULL ? PL_NOMEM : PL_OK;
}

static enum pl_code rewrite_result(const struct kv_rewrite *rewrite,
                                   struct kv_result *result);

static enum pl_code
rewrite_results(const struct kv_rewrite *rewrite, /* NOLINT(misc-no-recursion) */
                struct kv_txn_result *txn)
{
	struct kv_result *copy =
		dup_array(rewrite->arena, txn->results, txn->count, sizeof *copy);
	enum pl_code code = copy == NULL ? PL_NOMEM : PL_OK;

	for (size_t i = 0; i < txn->count && code == PL_OK; i++)
		code = rewrite_result(rewrite, &copy[i]);
	txn->results = copy;
	return code;
}

static enum pl_code
rewrite_result(const struct kv_rewrite *rewrite, /* NOLINT(misc-no-recursion) */
               struct kv_result *result)
{
	switch (result->op) {
	case KV_GET:
		return rewrite_records(rewrite, &result->get.records, result->get.count);
	case KV_PUT:
		return rewrite_prev(rewrite, &result->put.prev);
	case KV_DELETE:
		return rewrite_records(rewrite, &result->del.prev,
		                       result->del.prev_count);
	case KV_TXN:
		return rewrite_results(rewrite, &result->txn);
	case KV_LEASE_TTL:
		return rewrite_lease_keys(rewrite, &result->lease);
	case KV_LEASE_GRANT:
	case KV_LEASE_REVOKE:
	case KV_LEASE_KEEP:
		result->lease.keys = NULL;
		result->lease.key_count = 0;
		break;
	case KV_STATUS:
		return rewrite_status(rewrite, &result->status);
	case KV_COMPACT:
	case KV_OP_COUNT:
		break;
	}
	return PL_OK;
}

enum pl_code kv_rewrite_result(const struct kv_rewrite *rewrite,
                               const struct kv_result *result, struct kv_result *out)
{
	struct kv_result copy = *result;
	enum pl_code code = rewrite_result(rewrite, &copy);

	if (code == PL_OK)
		*out = copy;
	return code;
}

enum pl_code kv_rewrite_note(const struct kv_rewrite *rewrite,
                             const struct kv_watch_note *note, struct kv_watch_note *out)
{
	struct kv_event *events =
		dup_array(rewrite->arena, note->events, note->count, sizeof *events);
	enum pl_code code = events == NULL ? PL_NOMEM : PL_OK;

	for (size_t i = 0; i < note->count && code == PL_OK; i++) {
		code = rewrite_record(rewrite, &events[i].record);
		if (code == PL_OK)
			code = rewrite_prev(rewrite, &events[i].prev);
	}
	if (code != PL_OK)
		return code;
	*out = *note;
	out->events = events;
	return PL_OK;
}

static enum pl_code copy_span(const struct kv_rewrite *rewrite, struct pl_span *span)
{
	struct pl_span copy = pl_arena_dup(rewrite->arena, *span);

	if (copy.at == NULL)
		return PL_NOMEM;
	*span = copy;
	return PL_OK;
}

static enum pl_code copy_keys(const struct kv_rewrite *rewrite, struct kv_keys *keys)
{
	enum pl_code code = copy_span(rewrite, &keys->from);

	if (code != PL_OK || keys->kind == KV_RANGE)
		return code != PL_OK ? code : copy_span(rewrite, &keys->to);
	keys->to = pl_span(NULL, 0); /* has no meaning here and may hold anything */
	return PL_OK;
}

static struct kv_rewrite copy_rewrite(struct pl_arena *arena)
{
	return (struct kv_rewrite){
		.arena = arena, .key = copy_span, .keys = copy_keys, .value = copy_span};
}

enum pl_code kv_req_copy(struct pl_arena *arena, const struct kv_req *req,
                         struct kv_req *out)
{
	struct kv_rewrite rewrite = copy_rewrite(arena);

	return kv_rewrite_req(&rewrite, req, out);
}

enum pl_code kv_result_copy(struct pl_arena *arena, const struct kv_result *result,
                            struct kv_result *out)
{
	struct kv_rewrite rewrite = copy_rewrite(arena);

	return kv_rewrite_result(&rewrite, result, out);
}

enum pl_code kv_watch_req_copy(struct pl_arena *arena, const struct kv_watch_req *req,
                               struct kv_watch_req *out)
{
	struct kv_rewrite rewrite = copy_rewrite(arena);
	struct kv_watch_req copy = *req;
	enum pl_code code = copy_keys(&rewrite, &copy.keys);

	if (code == PL_OK)
		*out = copy;
	return code;
}

enum pl_code kv_note_copy(struct pl_arena *arena, const struct kv_watch_note *note,
                          struct kv_watch_note *out)
{
	struct kv_rewrite rewrite = copy_rewrite(arena);
	struct kv_watch_note copy;
	enum pl_code code = kv_rewrite_note(&rewrite, note, &copy);

	if (code != PL_OK)
		return code;
	if (note->err != NULL) {
		copy.err = dup_array(arena, note->err, 1, sizeof *note->err);
		if (copy.err == NULL)
			return PL_NOMEM;
	}
	*out = copy;
	return PL_OK;
}

enum pl_code kv_record_copy(struct pl_arena *arena, const struct kv_record *record,
                            struct kv_record *out)
{
	struct kv_rewrite rewrite = copy_rewrite(arena);
	struct kv_record copy = *record;
	enum pl_code code = rewrite_record(&rewrite, &copy);

	if (code == PL_OK)
		*out = copy;
	return code;
}

enum pl_code kv_event_copy(struct pl_arena *arena, const struct kv_event *event,
                           struct kv_event *out)
{
	struct kv_rewrite rewrite = copy_rewrite(arena);
	struct kv_event copy = *event;
	enum pl_code code = rewrite_record(&rewrite, &copy.record);

	if (code == PL_OK)
		code = rewrite_prev(&rewrite, &copy.prev);
	if (code == PL_OK)
		*out = copy;
	return code;
}
