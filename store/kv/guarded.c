#include "store/kv/guarded.h"

#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/kv/calls.h"
#include "store/kv/check.h"
#include "store/kv/wrapper.h"

/*
 * A write that needs fences goes inside a transaction:
 *
 *	if every fence holds then [the write as it was] otherwise [get each fence]
 *
 * So a broken fence can be told from a failed compare of the write's own, the write's
 * list otherwise is fenced as well, and the answer to the write is a part of the answer
 * to the transaction. The price is one level of nesting (KV_TXN_DEPTH_MAX) and two
 * compares a fence.
 */

enum {
	FENCE_COMPARES = 2,
	FENCE_BYTES = 256, /* on the wire: about three times its key */
	ROOM_PART = 4,     /* at most 1 / 4 of a limit is kept back */
};

struct guarded {
	struct kv_wrapper wrapper;
	struct guard guard;
	struct guarded_metrics metrics;
};

struct guarded_call {
	struct guarded *owner;
	struct kv_call *inner;
	kv_done_fn *done;
	void *ctx;
	enum kv_op op;
	bool ended;         /* fenced() is being called, and done is next */
	size_t fence_count; /* 0: the request was passed on unchanged */
	struct guard_fence fence[];
};

struct guard_fences {
	struct guarded *owner;
	bool anchored;            /* any one fence is needed */
	struct guard_fence spare; /* used if there is no other; create_revision 0: none */
	size_t count;
	struct guard_fence at[GUARD_FENCES_MAX];
};

static struct guarded *guarded_of(struct kv *kv)
{
	return PL_CONTAINER_OF(kv, struct guarded, wrapper.kv);
}

static bool same_fence(const struct guard_fence *a, const struct guard_fence *b)
{
	return a->create_revision == b->create_revision && a->lease == b->lease &&
	       pl_span_eq(keys_span(&a->key), keys_span(&b->key));
}

static enum pl_code fences_add(struct guard_fences *fences,
                               const struct guard_fence *fence, struct pl_err *err)
{
	/* The search begins at the last fence, because writes of one partition stand
	 * together. */
	for (size_t i = fences->count; i-- > 0;)
		if (same_fence(&fences->at[i], fence))
			return PL_OK;
	if (fences->count == GUARD_FENCES_MAX)
		return pl_err_set(err, PL_LIMIT, "more than %d fences in one transaction",
		                  (int)GUARD_FENCES_MAX);
	fences->at[fences->count++] = *fence;
	return PL_OK;
}

static enum pl_code refuse_write(struct guard_fences *fences, struct pl_span key,
                                 struct pl_err *err)
{
	int len = key.len < 64 ? (int)key.len : 64;

	fences->owner->metrics.refused++;
	return pl_err_set(err, PL_FENCED, "%.*s belongs to another owner", len,
	                  (const char *)key.at);
}

static enum pl_code add_need(struct guard_fences *fences, const struct kv_keys *written,
                             struct pl_err *err)
{
	struct guarded *g = fences->owner;
	struct guard_fence fence = {0};

	switch (g->guard.need(g->guard.ctx, written, &fence)) {
	case GUARD_FREE:
		return PL_OK;
	case GUARD_FENCE:
		return fences_add(fences, &fence, err);
	case GUARD_ANCHOR:
		fences->anchored = true;
		if (fence.create_revision != 0)
			fences->spare = fence;
		return PL_OK;
	case GUARD_REFUSE:
		return refuse_write(fences, written->from, err);
	}
	PL_UNREACHABLE("need of a fence");
}

static enum pl_code list_needs(struct guard_fences *fences, const struct kv_req *ops,
                               size_t count, struct pl_err *err);

/* The request has passed kv_check_req, which bounds its depth. */
static enum pl_code req_needs(struct guard_fences *fences, /* NOLINT(misc-no-recursion) */
                              const struct kv_req *req, struct pl_err *err)
{
	struct kv_keys written;
	enum pl_code code;

	switch (req->op) {
	case KV_PUT:
		written = kv_key(req->put.key);
		return add_need(fences, &written, err);
	case KV_DELETE:
		return add_need(fences, &req->del.keys, err);
	case KV_TXN:
		code = list_needs(fences, req->txn.then, req->txn.then_count, err);
		if (code != PL_OK)
			return code;
		return list_needs(fences, req->txn.otherwise, req->txn.otherwise_count,
		                  err);
	case KV_GET:
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

static enum pl_code
list_needs(struct guard_fences *fences, /* NOLINT(misc-no-recursion) */
           const struct kv_req *ops, size_t count, struct pl_err *err)
{
	enum pl_code code = PL_OK;

	for (size_t i = 0; i < count && code == PL_OK; i++)
		code = req_needs(fences, &ops[i], err);
	return code;
}

static bool fence_holds(const struct guard_fence *fence, const struct kv_result *got)
{
	const struct kv_record *record = got->get.records;

	return got->op == KV_GET && got->get.count == 1 &&
	       record->create_revision == fence->create_revision &&
	       record->lease == fence->lease;
}

/* Some fence did not hold. If the answer does not show which, all of them are taken for
 * broken: giving up too much is harmless. */
static void report_fenced(const struct guarded_call *call,
                          const struct kv_txn_result *txn)
{
	const struct guard *guard = &call->owner->guard;
	bool shown = false;

	for (size_t i = 0; i < call->fence_count && txn->count == call->fence_count; i++)
		shown = shown || !fence_holds(&call->fence[i], &txn->results[i]);
	for (size_t i = 0; i < call->fence_count; i++)
		if (!shown || !fence_holds(&call->fence[i], &txn->results[i]))
			guard->fenced(guard->ctx, &call->fence[i]);
}

static void finish_fenced(struct guarded_call *call, const struct kv_txn_result *txn)
{
	struct pl_err err;

	call->ended = true;
	call->owner->metrics.fenced++;
	(void)pl_err_set(&err, PL_FENCED, "%s: %s has changed", kv_op_name(call->op),
	                 call->fence[0].key.at);
	if (call->fence_count > 1)
		(void)pl_err_set(&err, PL_FENCED, "%s: one of %zu owners changed",
		                 kv_op_name(call->op), call->fence_count);
	report_fenced(call, txn);
	call->done(call->ctx, NULL, &err);
}

static void finish_applied(struct guarded_call *call, const struct kv_result *result)
{
	const struct kv_txn_result *txn = &result->txn;
	struct kv_result inner;
	struct pl_err err;

	if (txn->count != 1 || txn->results[0].op != call->op) {
		(void)pl_err_set(&err, PL_UNKNOWN,
		                 "applied, but the answer makes no sense");
		err.cause = PL_PROTO;
		call->done(call->ctx, NULL, &err);
		return;
	}
	inner = txn->results[0];
	inner.header = result->header;
	inner.sent_ms = result->sent_ms;
	call->done(call->ctx, &inner, NULL);
}

static void on_done(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct guarded_call *call = ctx;

	if (result == NULL || call->fence_count == 0)
		call->done(call->ctx, result, err);
	else if (!result->txn.succeeded)
		finish_fenced(call, &result->txn);
	else
		finish_applied(call, result);
	free(call);
}

static enum pl_code start_fenced(struct guarded_call *call, const struct kv_req *req,
                                 uint64_t timeout_ms, struct pl_err *err)
{
	struct kv_compare compares[FENCE_COMPARES * GUARD_FENCES_MAX];
	struct kv_req gets[GUARD_FENCES_MAX];
	struct kv_req fenced = {
		.op = KV_TXN,
		.txn = {.compares = compares,
	                .compare_count = FENCE_COMPARES * call->fence_count,
	                .then = req,
	                .then_count = 1,
	                .otherwise = gets,
	                .otherwise_count = call->fence_count}};

	for (size_t i = 0; i < call->fence_count; i++) {
		const struct guard_fence *fence = &call->fence[i];
		struct pl_span key = keys_span(&fence->key);
		struct kv_compare *pair = &compares[FENCE_COMPARES * i];

		pair[0] = kv_if_create_rev(key, KV_EQ, fence->create_revision);
		pair[1] = kv_if_lease(key, KV_EQ, fence->lease);
		gets[i] = kv_op_get(kv_key(key));
		gets[i].get.keys_only = true;
	}
	return kv_start(call->owner->wrapper.inner, &fenced, timeout_ms, on_done, call,
	                &call->inner, err);
}

static struct guarded_call *call_new(const struct guard_fences *fences)
{
	size_t bytes = fences->count * sizeof fences->at[0];
	struct guarded_call *call = pl_malloc(sizeof *call + bytes);

	if (call == NULL)
		return NULL;
	*call = (struct guarded_call){.owner = fences->owner,
	                              .fence_count = fences->count};
	if (bytes != 0)
		memcpy(call->fence, fences->at, bytes);
	return call;
}

static enum pl_code guarded_start(struct kv *kv, const struct kv_req *req,
                                  uint64_t timeout_ms, kv_done_fn *done, void *ctx,
                                  struct kv_call **out, struct pl_err *err)
{
	struct guarded *g = guarded_of(kv);
	struct guard_fences fences;
	struct guarded_call *call;
	enum pl_code code = kv_check_req(req, err);

	fences.owner = g;
	fences.anchored = false;
	fences.spare.create_revision = 0;
	fences.count = 0;
	if (code == PL_OK)
		code = req_needs(&fences, req, err);
	if (code == PL_OK && fences.anchored && fences.count == 0)
		code = fences.spare.create_revision == 0
		               ? refuse_write(&fences, PL_SPAN_LIT("the whole store"),
		                              err)
		               : fences_add(&fences, &fences.spare, err);
	if (code != PL_OK)
		return code;
	call = call_new(&fences);
	if (call == NULL)
		return pl_err_set(err, PL_NOMEM, "%s", kv_op_name(req->op));
	call->done = done;
	call->ctx = ctx;
	call->op = req->op;
	if (call->fence_count == 0)
		code = kv_start(g->wrapper.inner, req, timeout_ms, on_done, call,
		                &call->inner, err);
	else
		code = start_fenced(call, req, timeout_ms, err);
	if (code != PL_OK) {
		free(call);
		return code;
	}
	g->metrics.writes += call->fence_count != 0;
	if (out != NULL)
		*out = (struct kv_call *)(void *)call;
	return PL_OK;
}

static void guarded_cancel(struct kv *kv, struct kv_call *call)
{
	struct guarded_call *own = (struct guarded_call *)(void *)call;

	if (!own->ended)
		kv_cancel(kv_wrapper_of(kv)->inner, own->inner);
}

static enum pl_code guarded_watch(struct kv *kv, const struct kv_watch_req *req,
                                  kv_watch_fn *fn, void *ctx, struct kv_watch **out,
                                  struct pl_err *err)
{
	return kv_watch(kv_wrapper_of(kv)->inner, req, fn, ctx, out, err);
}

static void guarded_unwatch(struct kv *kv, struct kv_watch *watch)
{
	kv_unwatch(kv_wrapper_of(kv)->inner, watch);
}

static enum pl_code guarded_progress(struct kv *kv, struct kv_watch *watch,
                                     int64_t revision, struct pl_err *err)
{
	return kv_progress(kv_wrapper_of(kv)->inner, watch, revision, err);
}

static uint32_t less_reserve(uint32_t limit, uint32_t room)
{
	return limit - (room < limit / ROOM_PART ? room : limit / ROOM_PART);
}

/* A limit of 0 is "not known" and stays so. */
static struct kv_limits guarded_limits(struct kv *kv)
{
	struct kv_limits limits = kv_limits(kv_wrapper_of(kv)->inner);

	uint32_t most = limits.txn_ops;

	limits.txn_ops = less_reserve(most, FENCE_COMPARES * GUARD_FENCES_MAX);
	limits.fences = (most - limits.txn_ops) / FENCE_COMPARES;
	limits.request_bytes =
		less_reserve(limits.request_bytes, FENCE_BYTES * GUARD_FENCES_MAX);
	return limits;
}

static const struct kv_ops guarded_ops = {
	.name = "guarded",
	.start = guarded_start,
	.cancel = guarded_cancel,
	.watch = guarded_watch,
	.unwatch = guarded_unwatch,
	.progress = guarded_progress,
	.limits = guarded_limits,
	.room = kv_wrapper_room,
	.when_room = kv_wrapper_when_room,
	.now_ms = kv_wrapper_now_ms,
	.timers = kv_wrapper_timers,
	.close = kv_wrapper_close,
};

enum pl_code guarded_open(struct kv *kv, const struct guard *guard, struct kv **out,
                          struct pl_err *err)
{
	struct guarded *g = pl_calloc(1, sizeof *g);

	PL_ASSERT(guard->need != NULL && guard->fenced != NULL);
	if (g == NULL)
		return pl_err_set(err, PL_NOMEM, "guard");
	g->wrapper.kv.ops = &guarded_ops;
	g->wrapper.inner = kv;
	g->guard = *guard;
	*out = &g->wrapper.kv;
	return PL_OK;
}

const struct guarded_metrics *guarded_metrics(const struct kv *kv)
{
	const struct guarded *g = (const void *)kv; /* the first member of the struct */

	PL_ASSERT(kv->ops == &guarded_ops);
	return &g->metrics;
}
