#include "store/kv/borrowed.h"

#include <stdlib.h>

#include "store/base/alloc.h"

/*
 * Calls and watches pass unchanged, and are recorded until they have ended. Closing
 * cancels those that are left. The last end, or a timer if none was left, leads to
 * closed, which therefore never comes from inside close.
 */

struct borrowed {
	struct kv kv;
	struct kv *inner;
	struct pl_list calls;
	struct pl_list watches;
	struct pl_timer timer; /* ends the borrowed kv */
	bool closing;
	kv_closed_fn *closed;
	void *closed_ctx;
};

struct borrowed_call {
	struct pl_list link;
	struct borrowed *owner;
	struct kv_call *inner;
	kv_done_fn *done;
	void *ctx;
};

struct borrowed_watcher {
	struct pl_list link;
	struct borrowed *owner;
	struct kv_watch *inner;
	kv_watch_fn *fn;
	void *ctx;
};

static struct borrowed *borrowed_of(struct kv *kv)
{
	return PL_CONTAINER_OF(kv, struct borrowed, kv);
}

static void close_when_empty(struct borrowed *borrowed)
{
	if (borrowed->closing && pl_list_empty(&borrowed->calls) &&
	    pl_list_empty(&borrowed->watches))
		pl_timer_set(&borrowed->timer, kv_now_ms(borrowed->inner));
}

static void on_timer(void *ctx)
{
	struct borrowed *borrowed = ctx;
	kv_closed_fn *closed = borrowed->closed;
	void *closed_ctx = borrowed->closed_ctx;

	pl_timer_done(&borrowed->timer);
	free(borrowed);
	closed(closed_ctx);
}

static void on_done(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct borrowed_call *call = ctx;
	struct borrowed_call was = *call;

	pl_list_del(&call->link);
	free(call);
	close_when_empty(was.owner);
	was.done(was.ctx, result, err);
}

static enum pl_code borrowed_start(struct kv *kv, const struct kv_req *req,
                                   uint64_t timeout_ms, kv_done_fn *done, void *ctx,
                                   struct kv_call **out, struct pl_err *err)
{
	struct borrowed *borrowed = borrowed_of(kv);
	struct borrowed_call *call;
	enum pl_code code;

	if (borrowed->closing)
		return pl_err_set(err, PL_CANCELED, "%s: closing", kv_op_name(req->op));
	call = pl_malloc(sizeof *call);
	if (call == NULL)
		return pl_err_set(err, PL_NOMEM, "%s", kv_op_name(req->op));
	*call = (struct borrowed_call){.owner = borrowed, .done = done, .ctx = ctx};
	code = kv_start(borrowed->inner, req, timeout_ms, on_done, call, &call->inner,
	                err);
	if (code != PL_OK) {
		free(call);
		return code;
	}
	pl_list_add_tail(&borrowed->calls, &call->link);
	if (out != NULL)
		*out = (struct kv_call *)(void *)call;
	return PL_OK;
}

static void borrowed_cancel(struct kv *kv, struct kv_call *call)
{
	kv_cancel(borrowed_of(kv)->inner, ((struct borrowed_call *)(void *)call)->inner);
}

static void on_note(void *ctx, const struct kv_watch_note *note)
{
	struct borrowed_watcher *watch = ctx;
	struct borrowed_watcher was = *watch;

	if (note->what == KV_WATCH_END) {
		pl_list_del(&watch->link);
		free(watch);
		close_when_empty(was.owner);
	}
	was.fn(was.ctx, note);
}

static enum pl_code borrowed_watch(struct kv *kv, const struct kv_watch_req *req,
                                   kv_watch_fn *fn, void *ctx, struct kv_watch **out,
                                   struct pl_err *err)
{
	struct borrowed *borrowed = borrowed_of(kv);
	struct borrowed_watcher *watch;
	enum pl_code code;

	if (borrowed->closing)
		return pl_err_set(err, PL_CANCELED, "watch: closing");
	watch = pl_malloc(sizeof *watch);
	if (watch == NULL)
		return pl_err_set(err, PL_NOMEM, "watch");
	*watch = (struct borrowed_watcher){.owner = borrowed, .fn = fn, .ctx = ctx};
	code = kv_watch(borrowed->inner, req, on_note, watch, &watch->inner, err);
	if (code != PL_OK) {
		free(watch);
		return code;
	}
	pl_list_add_tail(&borrowed->watches, &watch->link);
	if (out != NULL)
		*out = (struct kv_watch *)(void *)watch;
	return PL_OK;
}

static void borrowed_unwatch(struct kv *kv, struct kv_watch *watch)
{
	kv_unwatch(borrowed_of(kv)->inner,
	           ((struct borrowed_watcher *)(void *)watch)->inner);
}

static enum pl_code borrowed_progress(struct kv *kv, struct kv_watch *watch,
                                      int64_t revision, struct pl_err *err)
{
	return kv_progress(borrowed_of(kv)->inner,
	                   ((struct borrowed_watcher *)(void *)watch)->inner, revision,
	                   err);
}

static struct kv_limits borrowed_limits(struct kv *kv)
{
	return kv_limits(borrowed_of(kv)->inner);
}

static size_t borrowed_room(struct kv *kv)
{
	return kv_room(borrowed_of(kv)->inner);
}

static void borrowed_when_room(struct kv *kv, struct kv_waiter *waiter)
{
	kv_when_room(borrowed_of(kv)->inner, waiter);
}

static uint64_t borrowed_now_ms(struct kv *kv)
{
	return kv_now_ms(borrowed_of(kv)->inner);
}

static struct pl_timers *borrowed_timers(struct kv *kv)
{
	return kv_timers(borrowed_of(kv)->inner);
}

static void borrowed_close(struct kv *kv, kv_closed_fn *closed, void *ctx)
{
	struct borrowed *borrowed = borrowed_of(kv);

	PL_ASSERT(!borrowed->closing);
	borrowed->closing = true;
	borrowed->closed = closed;
	borrowed->closed_ctx = ctx;
	PL_LIST_EACH (link, &borrowed->calls)
		kv_cancel(borrowed->inner,
		          PL_LIST_ITEM(link, struct borrowed_call, link)->inner);
	PL_LIST_EACH (link, &borrowed->watches)
		kv_unwatch(borrowed->inner,
		           PL_LIST_ITEM(link, struct borrowed_watcher, link)->inner);
	close_when_empty(borrowed);
}

static const struct kv_ops borrowed_ops = {
	.name = "lent",
	.start = borrowed_start,
	.cancel = borrowed_cancel,
	.watch = borrowed_watch,
	.unwatch = borrowed_unwatch,
	.progress = borrowed_progress,
	.limits = borrowed_limits,
	.room = borrowed_room,
	.when_room = borrowed_when_room,
	.now_ms = borrowed_now_ms,
	.timers = borrowed_timers,
	.close = borrowed_close,
};

enum pl_code borrowed_open(struct kv *kv, struct kv **out, struct pl_err *err)
{
	struct borrowed *borrowed = pl_calloc(1, sizeof *borrowed);
	enum pl_code code;

	if (borrowed == NULL)
		return pl_err_set(err, PL_NOMEM, "kv on loan");
	code = pl_timer_init(&borrowed->timer, kv_timers(kv), on_timer, borrowed);
	if (code != PL_OK) {
		free(borrowed);
		return pl_err_set(err, code, "kv on loan");
	}
	borrowed->kv.ops = &borrowed_ops;
	borrowed->inner = kv;
	pl_list_init(&borrowed->calls);
	pl_list_init(&borrowed->watches);
	*out = &borrowed->kv;
	return PL_OK;
}
