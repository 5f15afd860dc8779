#include <stdlib.h>

#include "coord/elect/elect_int.h"
#include "store/base/alloc.h"

enum { CALL_TIMEOUT_MS = 2000, CALLS_MAX = 64 };

struct elect_call {
	struct pl_list link;
	struct elect *owner;
	struct kv_call *handle;
	enum elect_action_type type;
	uint32_t seq;
	int64_t lease;
};

/* Reads the holder into e->incoming. A value that does not parse still means that the
 * role is taken. False: err says why. */
static bool read_holder(struct elect *e, struct pl_span value, struct pl_err *err)
{
	struct pl_err why = {0};

	e->incoming = (struct holder){.shard = "?"};
	if (holder_parse(value, &e->incoming, &why) == PL_OK)
		return true;
	pl_err_set(err, why.code, "%s: %s", e->key.at, why.msg);
	return false;
}

struct elect_key elect_key_of(struct elect *e, const struct kv_record *record,
                              int64_t revision, struct pl_err *err)
{
	e->incoming = (struct holder){0};
	if (record == NULL)
		return (struct elect_key){.revision = revision};
	if (!read_holder(e, record->value, err))
		e->err = err;
	return (struct elect_key){.revision = revision,
	                          .create_revision = record->create_revision,
	                          .lease = record->lease};
}

static const struct kv_record *first_record(const struct kv_get_result *get)
{
	return get->count == 0 ? NULL : &get->records[0];
}

/* The key as it was when the request was served. */
static struct elect_key answer_key(struct elect *e, const struct elect_call *call,
                                   const struct kv_result *result, struct pl_err *err)
{
	int64_t revision = result->header.revision;
	struct elect_key own = {revision, revision, call->lease};

	if (call->type == ELECT_DO_READ)
		return elect_key_of(e, first_record(&result->get), revision, err);
	if (!result->txn.succeeded)
		return elect_key_of(e, first_record(&result->txn.results[0].get),
		                    revision, err);
	if (call->type == ELECT_DO_DELETE)
		return elect_key_of(e, NULL, revision, err);
	return own;
}

static void on_done(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct elect_call *call = ctx;
	struct elect *e = call->owner;
	struct elect_event event = {.type = ELECT_EV_FAILED, .seq = call->seq};
	struct pl_err malformed;

	pl_list_del(&call->link);
	e->call_count--;
	if (!e->ending) {
		e->err = err;
		if (result != NULL) {
			event.type = ELECT_EV_ANSWER;
			event.key = answer_key(e, call, result, &malformed);
		} else {
			event.code = err->code;
		}
		elect_feed(e, event);
	}
	free(call);
	elect_rearm(e);
}

static enum pl_code start_request(struct elect *e, const struct kv_req *req,
                                  struct elect_call *call, struct pl_err *err)
{
	return kv_start(e->kv, req, CALL_TIMEOUT_MS, on_done, call, &call->handle, err);
}

static enum pl_code start_txn(struct elect *e, const struct kv_compare *compares,
                              size_t count, const struct kv_req *then,
                              struct elect_call *call, struct pl_err *err)
{
	struct kv_req otherwise = kv_op_get(kv_key(keys_span(&e->key)));
	struct kv_req req = {.op = KV_TXN,
	                     .txn = {.compares = compares,
	                             .compare_count = count,
	                             .then = then,
	                             .then_count = 1,
	                             .otherwise = &otherwise,
	                             .otherwise_count = 1}};

	return start_request(e, &req, call, err);
}

void elect_compares(const struct elect *e, int64_t epoch, int64_t lease,
                    struct kv_compare out[ELECT_COMPARES])
{
	struct pl_span key = keys_span(&e->key);

	out[0] = kv_if_create_rev(key, KV_EQ, epoch);
	out[1] = kv_if_lease(key, KV_EQ, lease);
}

static enum pl_code start_call(struct elect *e, const struct elect_action *action,
                               struct elect_call *call, struct pl_err *err)
{
	struct pl_span key = keys_span(&e->key);
	struct kv_req get = kv_op_get(kv_key(key));
	struct kv_req put = kv_op_put_leased(key, pl_buf_span(&e->value), action->lease);
	struct kv_req del = kv_op_delete(kv_key(key));
	struct kv_compare compares[ELECT_COMPARES] = {
		kv_if_create_rev(key, KV_EQ, 0),
		/* A shard whose record was removed or replaced can not lead any more. */
		kv_if_lease(keys_span(&e->shard_key), KV_EQ, action->lease),
	};

	if (action->type == ELECT_DO_READ)
		return start_request(e, &get, call, err);
	if (action->type == ELECT_DO_CLAIM)
		return start_txn(e, compares, ELECT_COMPARES, &put, call, err);
	elect_compares(e, action->epoch, action->lease, compares);
	return start_txn(e, compares, ELECT_COMPARES, &del, call, err);
}

/* A note before this request may have ended the session that it was to be sent for. */
static bool still_wanted(const struct elect *e, const struct elect_action *action)
{
	return e->core.op != ELECT_OP_NONE && e->core.seq == action->seq;
}

void elect_request(struct elect *e, const struct elect_action *action)
{
	struct elect_call *call = NULL;
	struct pl_err err = {.code = PL_NOMEM, .msg = "election"};

	if (!still_wanted(e, action))
		return;
	if (e->call_count == CALLS_MAX)
		pl_err_set(&err, PL_BUSY, "election: %d requests in flight", CALLS_MAX);
	else
		call = pl_malloc(sizeof *call);
	if (call != NULL) {
		*call = (struct elect_call){.owner = e,
		                            .type = action->type,
		                            .seq = action->seq,
		                            .lease = action->lease};
		if (start_call(e, action, call, &err) == PL_OK) {
			pl_list_add_tail(&e->calls, &call->link);
			e->call_count++;
			return;
		}
	}
	free(call);
	e->start_failed = true;
	e->failed_seq = action->seq;
	e->failure = err;
}

void elect_cancel(struct elect *e)
{
	PL_LIST_EACH (link, &e->calls)
		kv_cancel(e->kv, PL_LIST_ITEM(link, struct elect_call, link)->handle);
}
