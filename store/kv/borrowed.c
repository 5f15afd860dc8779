#include "store/kv/borrowed.h"

#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/kv/wrapper.h"

/*
 * Calls and watches pass unchanged, and are recorded until they have ended. Closing
 * cancels those that are left. The last end, or a timer if none was left, leads to
 * closed, which therefore never comes from inside close.
 */

struct borrowed {
	struct kv_wrapper wrapper;
	struct pl_list calls;
	struct pl_list watches;
	struct pl_timer timer; /* ends the borrowed kv */
	bool closing;
};

struct borrowed_call {
	struct kv_call *inner; /* first: see wrapper.h */
	struct pl_list link;
	struct borrowed *owner;
	kv_done_fn *done;
	void *ctx;
};

struct borrowed_watcher {
	struct kv_watch *inner; /* first: see wrapper.h */
	struct pl_list link;
	struct borrowed *owner;
	kv_watch_fn *fn;
	void *ctx;
};

static struct borrowed *borrowed_of(struct kv *kv)
{
	return PL_CONTAINER_OF(kv, struct borrowed, wrapper.kv);
}

static void close_when_empty(struct borrowed *borrowed)
{
	if (borrowed->closing && pl_list_empty(&borrowed->calls) &&
	    pl_list_empty(&borrowed->watches))
		pl_timer_set(&borrowed->timer, kv_now_ms(borrowed->wrapper.inner));
}

static void on_timer(void *ctx)
{
	struct borrowed *borrowed = ctx;
	kv_closed_fn *closed = borrowed->wrapper.closed;
	void *closed_ctx = borrowed->wrapper.closed_ctx;

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
	code = kv_start(borrowed->wrapper.inner, req, timeout_ms, on_done, call,
	                &call->inner, err);
	if (code != PL_OK) {
		free(call);
		return code;
	}
	pl_list_add_tail(&borrowed->calls, &call->link);
	if (out != NULL)
		*out = (struct kv_call *)(void *)call;
	return PL_OK;
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
	code = kv_watch(borrowed->wrapper.inner, req, on_note, watch, &watch->inner, err);
	if (code != PL_OK) {
		free(watch);
		return code;
	}
	pl_list_add_tail(&borrowed->watches, &watch->link);
	if (out != NULL)
		*out = (struct kv_watch *)(void *)watch;
	return PL_OK;
}

static void borrowed_close(struct kv *kv, kv_closed_fn *closed, void *ctx)
{
	struct borrowed *borrowed = borrowed_of(kv);

	PL_ASSERT(!borrowed->closing);
	borrowed->closing = true;
	borrowed->wrapper.closed = closed;
	borrowed->wrapper.closed_ctx = ctx;
	PL_LIST_EACH (link, &borrowed->calls)
		kv_cancel(borrowed->wrapper.inner,
		          PL_LIST_ITEM(link, struct borrowed_call, link)->inner);
	PL_LIST_EACH (link, &borrowed->watches)
		kv_unwatch(borrowed->wrapper.inner,
		           PL_LIST_ITEM(link, struct borrowed_watcher, link)->inner);
	close_when_empty(borrowed);
}

static const struct kv_ops borrowed_ops = {
	.name = "borrowed",
	.start = borrowed_start,
	.cancel = kv_wrapper_cancel,
	.watch = borrowed_watch,
	.unwatch = kv_wrapper_unwatch,
	.progress = kv_wrapper_progress,
	.limits = kv_wrapper_limits,
	.room = kv_wrapper_room,
	.when_room = kv_wrapper_when_room,
	.now_ms = kv_wrapper_now_ms,
	.timers = kv_wrapper_timers,
	.close = borrowed_close,
};

enum pl_code borrowed_open(struct kv *kv, struct kv **out, struct pl_err *err)
{
	struct borrowed *borrowed = pl_calloc(1, sizeof *borrowed);
	enum pl_code code;

	if (borrowed == NULL)
		return pl_err_set(err, PL_NOMEM, "borrowed kv");
	code = pl_timer_init(&borrowed->timer, kv_timers(kv), on_timer, borrowed);
	if (code != PL_OK) {
		free(borrowed);
		return pl_err_set(err, code, "borrowed kv");
	}
	borrowed->wrapper.kv.ops = &borrowed_ops;
	borrowed->wrapper.inner = kv;
	pl_list_init(&borrowed->calls);
	pl_list_init(&borrowed->watches);
	*out = &borrowed->wrapper.kv;
	return PL_OK;
}
