/* Claims, releases and reads: the requests, and what their answers say. */
#include <stdlib.h>

#include "coord/claims/claims_int.h"
#include "store/base/alloc.h"
#include "store/kv/calls.h"

enum { CALL_TIMEOUT_MS = 3000 };

struct claims_call {
	struct pl_list link;
	struct claims *owner;
	struct kv_call *handle;
	enum claims_action_type type;
	uint32_t partition;
	uint32_t seq;
	int64_t lease;
	bool dropped;
};

static enum pl_code owner_key(uint32_t partition, struct keys_text *out,
                              struct pl_err *err)
{
	struct keys_id id = {.kind = KEYS_OWNER, .partition = partition};

	return keys_build(&id, out, err);
}

/* Feeds the answer of a read, or of a transaction whose compares did not hold. */
static bool feed_found(struct claims *claims, struct claims_event event,
                       const struct kv_result *get)
{
	const struct kv_record *record = get->get.records;

	if (get->op != KV_GET || get->get.count > 1 ||
	    (get->get.count == 1 && record->create_revision <= 0))
		return false;
	event.type = CLAIMS_EV_FOUND;
	return claims_fact(claims, event, get->get.count == 0 ? NULL : record);
}

/* False: the answer makes no sense, or there was no memory to read it. */
static bool feed_answer(const struct claims_call *call, struct claims_event event,
                        const struct kv_result *result)
{
	struct claims *claims = call->owner;
	const struct kv_txn_result *txn = &result->txn;

	event.revision = result->header.revision;
	if (event.revision <= 0)
		return false;
	if (call->type == CLAIMS_DO_READ)
		return feed_found(claims, event, result);
	if (!txn->succeeded)
		return txn->count == 1 && feed_found(claims, event, &txn->results[0]);
	if (call->type == CLAIMS_DO_CLAIM) {
		struct kv_record record = {.value = pl_buf_span(&claims->value),
		                           .create_revision = event.revision,
		                           .lease = call->lease};

		event.type = CLAIMS_EV_CLAIMED;
		return claims_fact(claims, event, &record);
	}
	event.type = CLAIMS_EV_RELEASED;
	return claims_fact(claims, event, NULL);
}

static void feed_failure(struct claims *claims, struct claims_event event,
                         const struct pl_err *err)
{
	event.type = err->code == PL_UNKNOWN ? CLAIMS_EV_UNKNOWN : CLAIMS_EV_FAILED;
	claims_feed(claims, event);
	claims_trouble(claims, err);
}

static void on_done(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct claims_call *call = ctx;
	struct claims_call was = *call;
	struct claims *claims = was.owner;
	struct claims_event event = {.partition = was.partition, .seq = was.seq};
	struct pl_err unread = {.code = PL_OK};

	pl_list_del(&call->link);
	free(call);
	if (claims->stopping) {
		claims_maybe_finish(claims);
		return;
	}
	if (was.dropped)
		return;
	if (result != NULL && !feed_answer(&was, event, result)) {
		(void)pl_err_set(&unread, PL_UNKNOWN,
		                 "partition %u: the answer can not be read",
		                 was.partition);
		err = &unread;
	}
	if (err != NULL)
		feed_failure(claims, event, err);
	claims_pump(claims);
}

static enum pl_code start_claim(struct claims *claims, struct pl_span key,
                                struct claims_call *call, struct pl_err *err)
{
	int64_t lease = call->lease;
	struct kv_compare compares[] = {
		kv_if_create_rev(key, KV_EQ, 0),
		/* A shard whose record was removed or replaced can claim nothing any
		 * more. */
		kv_if_lease(keys_span(&claims->shard_key), KV_EQ, lease),
	};
	struct kv_req put = kv_op_put_leased(key, pl_buf_span(&claims->value), lease);
	struct kv_req get = kv_op_get(kv_key(key));
	struct kv_txn txn = {.compares = compares,
	                     .compare_count = 2,
	                     .then = &put,
	                     .then_count = 1,
	                     .otherwise = &get,
	                     .otherwise_count = 1};

	return kv_txn(claims->kv, &txn, CALL_TIMEOUT_MS, on_done, call, &call->handle,
	              err);
}

static enum pl_code start_release(struct claims *claims, struct pl_span key,
                                  const struct claims_action *action,
                                  struct claims_call *call, struct pl_err *err)
{
	struct kv_compare compares[] = {
		kv_if_create_rev(key, KV_EQ, action->epoch),
		kv_if_lease(key, KV_EQ, action->lease),
	};
	struct kv_req del = kv_op_delete(kv_key(key));
	struct kv_req get = kv_op_get(kv_key(key));
	struct kv_txn txn = {.compares = compares,
	                     .compare_count = 2,
	                     .then = &del,
	                     .then_count = 1,
	                     .otherwise = &get,
	                     .otherwise_count = 1};

	return kv_txn(claims->kv, &txn, CALL_TIMEOUT_MS, on_done, call, &call->handle,
	              err);
}

static enum pl_code start_request(struct claims *claims,
                                  const struct claims_action *action,
                                  struct claims_call *call, struct pl_err *err)
{
	struct keys_text key;
	struct kv_get get;
	enum pl_code code = owner_key(action->partition, &key, err);

	if (code != PL_OK)
		return code;
	if (action->type == CLAIMS_DO_CLAIM)
		return start_claim(claims, keys_span(&key), call, err);
	if (action->type == CLAIMS_DO_RELEASE)
		return start_release(claims, keys_span(&key), action, call, err);
	get = (struct kv_get){.keys = kv_key(keys_span(&key))};
	return kv_get(claims->kv, &get, CALL_TIMEOUT_MS, on_done, call, &call->handle,
	              err);
}

void claims_request(struct claims *claims, const struct claims_action *action)
{
	struct claims_event event = {.partition = action->partition, .seq = action->seq};
	struct claims_call *call = pl_calloc(1, sizeof *call);
	struct pl_err err = {.code = PL_NOMEM, .msg = "claim"};

	if (call != NULL) {
		call->owner = claims;
		call->type = action->type;
		call->partition = action->partition;
		call->seq = action->seq;
		call->lease = action->lease;
		if (start_request(claims, action, call, &err) == PL_OK) {
			pl_list_add_tail(&claims->calls, &call->link);
			return;
		}
	}
	free(call);
	feed_failure(claims, event, &err);
}

void claims_drop_calls(struct claims *claims)
{
	PL_LIST_EACH (link, &claims->calls) {
		struct claims_call *call = PL_LIST_ITEM(link, struct claims_call, link);

		if (call->dropped)
			continue;
		call->dropped = true;
		kv_cancel(claims->kv, call->handle);
	}
}
