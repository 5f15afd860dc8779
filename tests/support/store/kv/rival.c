#include "tests/support/store/kv/rival.h"

#include <string.h>

#include "store/base/alloc.h"
#include "store/kv/calls.h"
#include "store/kv/wrapper.h"

struct rival {
	struct kv_wrapper wrapper;
	const char *prefix;
	unsigned times;
	void (*fn)(void *ctx);
	void *ctx;
};

static bool starts_so(const struct rival *rival, struct pl_span key)
{
	size_t len = strlen(rival->prefix);

	return key.len >= len && memcmp(key.at, rival->prefix, len) == 0;
}

static bool is_meant(const struct rival *rival, const struct kv_req *req)
{
	if (req->op != KV_TXN)
		return false;
	for (size_t i = 0; i < req->txn.then_count; i++) {
		const struct kv_req *op = &req->txn.then[i];

		if ((op->op == KV_PUT && starts_so(rival, op->put.key)) ||
		    (op->op == KV_DELETE && starts_so(rival, op->del.keys.from)))
			return true;
	}
	return false;
}

static enum pl_code rival_start(struct kv *kv, const struct kv_req *req,
                                uint64_t timeout_ms, kv_done_fn *done, void *ctx,
                                struct kv_call **out, struct pl_err *err)
{
	struct rival *rival = PL_CONTAINER_OF(kv, struct rival, wrapper.kv);

	if (rival->times > 0 && is_meant(rival, req)) {
		rival->times--;
		rival->fn(rival->ctx);
	}
	return kv_start(rival->wrapper.inner, req, timeout_ms, done, ctx, out, err);
}

static void rival_cancel(struct kv *kv, struct kv_call *call)
{
	kv_cancel(kv_wrapper_of(kv)->inner, call);
}

static enum pl_code rival_watch(struct kv *kv, const struct kv_watch_req *req,
                                kv_watch_fn *fn, void *ctx, struct kv_watch **out,
                                struct pl_err *err)
{
	return kv_watch(kv_wrapper_of(kv)->inner, req, fn, ctx, out, err);
}

static void rival_unwatch(struct kv *kv, struct kv_watch *watch)
{
	kv_unwatch(kv_wrapper_of(kv)->inner, watch);
}

static enum pl_code rival_progress(struct kv *kv, struct kv_watch *watch,
                                   int64_t revision, struct pl_err *err)
{
	return kv_progress(kv_wrapper_of(kv)->inner, watch, revision, err);
}

static const struct kv_ops rival_ops = {
	.name = "rival",
	.start = rival_start,
	.cancel = rival_cancel,
	.watch = rival_watch,
	.unwatch = rival_unwatch,
	.progress = rival_progress,
	.limits = kv_wrapper_limits,
	.room = kv_wrapper_room,
	.when_room = kv_wrapper_when_room,
	.now_ms = kv_wrapper_now_ms,
	.timers = kv_wrapper_timers,
	.close = kv_wrapper_close,
};

enum pl_code rival_open(struct kv *kv, struct kv **out, struct pl_err *err)
{
	struct rival *rival = pl_calloc(1, sizeof *rival);

	if (rival == NULL)
		return pl_err_set(err, PL_NOMEM, "a rival");
	rival->wrapper.kv.ops = &rival_ops;
	rival->wrapper.inner = kv;
	*out = &rival->wrapper.kv;
	return PL_OK;
}

void rival_before(struct kv *kv, const char *prefix, unsigned times,
                  void (*fn)(void *ctx), void *ctx)
{
	struct rival *rival = PL_CONTAINER_OF(kv, struct rival, wrapper.kv);

	rival->prefix = prefix;
	rival->times = times;
	rival->fn = fn;
	rival->ctx = ctx;
}
