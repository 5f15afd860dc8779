#include "store/kv/kv.h"

static const char *const op_names[KV_OP_COUNT] = {
	[KV_GET] = "get",
	[KV_PUT] = "put",
	[KV_DELETE] = "delete",
	[KV_TXN] = "txn",
	[KV_COMPACT] = "compact",
	[KV_LEASE_GRANT] = "lease grant",
	[KV_LEASE_REVOKE] = "lease revoke",
	[KV_LEASE_KEEP] = "lease keep",
	[KV_LEASE_TTL] = "lease ttl",
	[KV_STATUS] = "status",
};

const char *kv_op_name(enum kv_op op)
{
	PL_ASSERT((unsigned)op < KV_OP_COUNT);
	return op_names[op];
}

enum pl_code kv_start(struct kv *kv, const struct kv_req *req, uint64_t timeout_ms,
                      kv_done_fn *done, void *ctx, struct kv_call **out,
                      struct pl_err *err)
{
	PL_ASSERT(done != NULL && timeout_ms > 0);
	return kv->ops->start(kv, req, timeout_ms, done, ctx, out, err);
}

void kv_cancel(struct kv *kv, struct kv_call *call)
{
	kv->ops->cancel(kv, call);
}

enum pl_code kv_watch(struct kv *kv, const struct kv_watch_req *req, kv_watch_fn *fn,
                      void *ctx, struct kv_watch **out, struct pl_err *err)
{
	PL_ASSERT(fn != NULL);
	return kv->ops->watch(kv, req, fn, ctx, out, err);
}

void kv_unwatch(struct kv *kv, struct kv_watch *watch)
{
	kv->ops->unwatch(kv, watch);
}

enum pl_code kv_progress(struct kv *kv, struct kv_watch *watch, int64_t revision,
                         struct pl_err *err)
{
	return kv->ops->progress(kv, watch, revision, err);
}

struct kv_limits kv_limits(struct kv *kv)
{
	return kv->ops->limits(kv);
}

size_t kv_room(struct kv *kv)
{
	return kv->ops->room(kv);
}

void kv_when_room(struct kv *kv, struct kv_waiter *waiter)
{
	kv->ops->when_room(kv, waiter);
}

uint64_t kv_now_ms(struct kv *kv)
{
	return kv->ops->now_ms(kv);
}

struct pl_timers *kv_timers(struct kv *kv)
{
	return kv->ops->timers(kv);
}

void kv_close(struct kv *kv, kv_closed_fn *closed, void *ctx)
{
	kv->ops->close(kv, closed, ctx);
}
