#include "store/kv/metrics.h"

#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/kv/keys.h"
#include "store/kv/wrapper.h"

struct metered {
	struct kv_wrapper wrapper;
	struct kv_metrics_opts opts;
	struct kv_metrics metrics;
};

struct metered_call {
	struct kv_call *inner; /* first: see wrapper.h */
	struct metered *owner;
	enum kv_op op;
	uint64_t since_us;
	kv_done_fn *done;
	void *ctx;
};

struct metered_watcher {
	struct kv_watch *inner; /* first: see wrapper.h */
	struct metered *owner;
	bool was_ready;
	kv_watch_fn *fn;
	void *ctx;
};

static struct metered *metered_of(struct kv *kv)
{
	return PL_CONTAINER_OF(kv, struct metered, wrapper.kv);
}

static uint64_t now_us(const struct metered *d)
{
	return d->opts.now_us != NULL ? d->opts.now_us(d->opts.ctx)
	                              : kv_now_ms(d->wrapper.inner) * 1000;
}

static void on_done(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct metered_call *call = ctx;
	struct metered_call was = *call;
	struct kv_op_metrics *op = &was.owner->metrics.op[was.op];
	uint64_t now = now_us(was.owner);

	free(call);
	op->in_flight--;
	op->ended[err == NULL ? PL_OK : err->code]++;
	histogram_add(&op->took_us, now > was.since_us ? now - was.since_us : 0);
	if (result != NULL) {
		op->bytes_in += kv_result_bytes(result);
		if (result->op == KV_TXN && !result->txn.succeeded)
			was.owner->metrics.compares_failed++;
	}
	was.done(was.ctx, result, err);
}

static enum pl_code metrics_start(struct kv *kv, const struct kv_req *req,
                                  uint64_t timeout_ms, kv_done_fn *done, void *ctx,
                                  struct kv_call **out, struct pl_err *err)
{
	struct metered *d = metered_of(kv);
	struct kv_op_metrics *op = &d->metrics.op[req->op];
	struct metered_call *call = pl_malloc(sizeof *call);
	enum pl_code code;

	if (call == NULL) {
		op->refused++;
		return pl_err_set(err, PL_NOMEM, "%s", kv_op_name(req->op));
	}
	*call = (struct metered_call){.owner = d,
	                              .op = req->op,
	                              .since_us = now_us(d),
	                              .done = done,
	                              .ctx = ctx};
	code = kv_start(d->wrapper.inner, req, timeout_ms, on_done, call, &call->inner,
	                err);
	if (code != PL_OK) {
		op->refused++;
		free(call);
		return code;
	}
	op->started++;
	op->in_flight++;
	op->bytes_out += kv_req_bytes(req);
	if (out != NULL)
		*out = (struct kv_call *)(void *)call;
	return PL_OK;
}

static void count_note(struct kv_watch_metrics *metrics, struct metered_watcher *watch,
                       const struct kv_watch_note *note)
{
	metrics->notes++;
	switch (note->what) {
	case KV_WATCH_READY:
		metrics->resumes += watch->was_ready;
		watch->was_ready = true;
		break;
	case KV_WATCH_EVENTS:
		metrics->events += note->count;
		metrics->bytes_in += kv_events_bytes(note->events, note->count);
		break;
	case KV_WATCH_PROGRESS:
		metrics->progress++;
		break;
	case KV_WATCH_END:
		metrics->open--;
		metrics->ended[note->err->code]++;
		break;
	}
}

static void on_note(void *ctx, const struct kv_watch_note *note)
{
	struct metered_watcher *watch = ctx;
	kv_watch_fn *fn = watch->fn;
	void *fn_ctx = watch->ctx;

	count_note(&watch->owner->metrics.watch, watch, note);
	if (note->what == KV_WATCH_END)
		free(watch);
	fn(fn_ctx, note);
}

static enum pl_code metrics_watch(struct kv *kv, const struct kv_watch_req *req,
                                  kv_watch_fn *fn, void *ctx, struct kv_watch **out,
                                  struct pl_err *err)
{
	struct metered *d = metered_of(kv);
	struct metered_watcher *watch = pl_malloc(sizeof *watch);
	enum pl_code code;

	if (watch == NULL)
		return pl_err_set(err, PL_NOMEM, "watch");
	*watch = (struct metered_watcher){.owner = d, .fn = fn, .ctx = ctx};
	code = kv_watch(d->wrapper.inner, req, on_note, watch, &watch->inner, err);
	if (code != PL_OK) {
		free(watch);
		return code;
	}
	d->metrics.watch.started++;
	d->metrics.watch.open++;
	if (out != NULL)
		*out = (struct kv_watch *)(void *)watch;
	return PL_OK;
}

static const struct kv_ops metrics_ops = {
	.name = "metrics",
	.start = metrics_start,
	.cancel = kv_wrapper_cancel,
	.watch = metrics_watch,
	.unwatch = kv_wrapper_unwatch,
	.progress = kv_wrapper_progress,
	.limits = kv_wrapper_limits,
	.room = kv_wrapper_room,
	.when_room = kv_wrapper_when_room,
	.now_ms = kv_wrapper_now_ms,
	.timers = kv_wrapper_timers,
	.close = kv_wrapper_close,
};

enum pl_code kv_metrics_open(struct kv *kv, const struct kv_metrics_opts *opts,
                             struct kv **out, struct pl_err *err)
{
	struct metered *d = pl_calloc(1, sizeof *d);

	if (d == NULL)
		return pl_err_set(err, PL_NOMEM, "metrics");
	d->wrapper.kv.ops = &metrics_ops;
	d->wrapper.inner = kv;
	if (opts != NULL)
		d->opts = *opts;
	*out = &d->wrapper.kv;
	return PL_OK;
}

const struct kv_metrics *kv_metrics_of(const struct kv *kv)
{
	const struct metered *d = (const void *)kv; /* the first member of the struct */

	PL_ASSERT(kv->ops == &metrics_ops);
	return &d->metrics;
}
