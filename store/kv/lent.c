#include "store/kv/lent.h"

#include <stdlib.h>

#include "store/base/alloc.h"

/*
 * Everything is passed on as it is, and written down until it has ended. Closing
 * cancels what is left; the last end, or a timer when nothing was left, leads to
 * closed, which so never comes from inside close.
 */

struct lent {
	struct kv kv;
	struct kv *inner;
	struct pl_list calls;
	struct pl_list watches;
	struct pl_timer timer; /* of the end */
	bool closing;
	kv_closed_fn *closed;
	void *closed_ctx;
};

struct call {
	struct pl_list link;
	struct lent *owner;
	struct kv_call *inner;
	kv_done_fn *done;
	void *ctx;
};

struct watch {
	struct pl_list link;
	struct lent *owner;
	struct kv_watch *inner;
	kv_watch_fn *fn;
	void *ctx;
};

static struct lent *of(struct kv *kv)
{
	return PL_CONTAINER_OF(kv, struct lent, kv);
}

static void end_when_empty(struct lent *lent)
{
	if (lent->closing && pl_list_empty(&lent->calls) && pl_list_empty(&lent->watches))
		pl_timer_set(&lent->timer, kv_now_ms(lent->inner));
}

static void on_timer(void *ctx)
{
	struct lent *lent = ctx;
	kv_closed_fn *closed = lent->closed;
	void *closed_ctx = lent->closed_ctx;

	pl_timer_done(&lent->timer);
	free(lent);
	closed(closed_ctx);
}

static void on_done(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct call *call = ctx;
	struct call was = *call;

	pl_list_del(&call->link);
	free(call);
	end_when_empty(was.owner);
	was.done(was.ctx, result, err);
}

static enum pl_code lent_start(struct kv *kv, const struct kv_req *req,
                               uint64_t timeout_ms, kv_done_fn *done, void *ctx,
                               struct kv_call **out, struct pl_err *err)
{
	struct lent *lent = of(kv);
	struct call *call;
	enum pl_code code;

	if (lent->closing)
		return pl_err_set(err, PL_CANCELED, "%s: closing", kv_op_name(req->op));
	call = pl_malloc(sizeof *call);
	if (call == NULL)
		return pl_err_set(err, PL_NOMEM, "%s", kv_op_name(req->op));
	*call = (struct call){.owner = lent, .done = done, .ctx = ctx};
	code = kv_start(lent->inner, req, timeout_ms, on_done, call, &call->inner, err);
	if (code != PL_OK) {
		free(call);
		return code;
	}
	pl_list_add_tail(&lent->calls, &call->link);
	if (out != NULL)
		*out = (struct kv_call *)(void *)call;
	return PL_OK;
}

static void lent_cancel(struct kv *kv, struct kv_call *call)
{
	kv_cancel(of(kv)->inner, ((struct call *)(void *)call)->inner);
}

static void on_note(void *ctx, const struct kv_watch_note *note)
{
	struct watch *watch = ctx;
	struct watch was = *watch;

	if (note->what == KV_WATCH_END) {
		pl_list_del(&watch->link);
		free(watch);
		end_when_empty(was.owner);
	}
	was.fn(was.ctx, note);
}

static enum pl_code lent_watch(struct kv *kv, const struct kv_watch_req *req,
                               kv_watch_fn *fn, void *ctx, struct kv_watch **out,
                               struct pl_err *err)
{
	struct lent *lent = of(kv);
	struct watch *watch;
	enum pl_code code;

	if (lent->closing)
		return pl_err_set(err, PL_CANCELED, "watch: closing");
	watch = pl_malloc(sizeof *watch);
	if (watch == NULL)
		return pl_err_set(err, PL_NOMEM, "watch");
	*watch = (struct watch){.owner = lent, .fn = fn, .ctx = ctx};
	code = kv_watch(lent->inner, req, on_note, watch, &watch->inner, err);
	if (code != PL_OK) {
		free(watch);
		return code;
	}
	pl_list_add_tail(&lent->watches, &watch->link);
	if (out != NULL)
		*out = (struct kv_watch *)(void *)watch;
	return PL_OK;
}

static void lent_unwatch(struct kv *kv, struct kv_watch *watch)
{
	kv_unwatch(of(kv)->inner, ((struct watch *)(void *)watch)->inner);
}

static enum pl_code lent_progress(struct kv *kv, struct kv_watch *watch, int64_t revision,
                                  struct pl_err *err)
{
	return kv_progress(of(kv)->inner, ((struct watch *)(void *)watch)->inner,
	                   revision, err);
}

static struct kv_limits lent_limits(struct kv *kv)
{
	return kv_limits(of(kv)->inner);
}

static size_t lent_room(struct kv *kv)
{
	return kv_room(of(kv)->inner);
}

static void lent_when_room(struct kv *kv, struct kv_waiter *waiter)
{
	kv_when_room(of(kv)->inner, waiter);
}

static uint64_t lent_now_ms(struct kv *kv)
{
	return kv_now_ms(of(kv)->inner);
}

static struct pl_timers *lent_timers(struct kv *kv)
{
	return kv_timers(of(kv)->inner);
}

static void lent_close(struct kv *kv, kv_closed_fn *closed, void *ctx)
{
	struct lent *lent = of(kv);

	PL_ASSERT(!lent->closing);
	lent->closing = true;
	lent->closed = closed;
	lent->closed_ctx = ctx;
	PL_LIST_EACH (link, &lent->calls)
		kv_cancel(lent->inner, PL_LIST_ITEM(link, struct call, link)->inner);
	PL_LIST_EACH (link, &lent->watches)
		kv_unwatch(lent->inner, PL_LIST_ITEM(link, struct watch, link)->inner);
	end_when_empty(lent);
}

static const struct kv_ops lent_ops = {
	.name = "lent",
	.start = lent_start,
	.cancel = lent_cancel,
	.watch = lent_watch,
	.unwatch = lent_unwatch,
	.progress = lent_progress,
	.limits = lent_limits,
	.room = lent_room,
	.when_room = lent_when_room,
	.now_ms = lent_now_ms,
	.timers = lent_timers,
	.close = lent_close,
};

enum pl_code lent_open(struct kv *kv, struct kv **out, struct pl_err *err)
{
	struct lent *lent = pl_calloc(1, sizeof *lent);
	enum pl_code code;

	if (lent == NULL)
		return pl_err_set(err, PL_NOMEM, "kv on loan");
	code = pl_timer_init(&lent->timer, kv_timers(kv), on_timer, lent);
	if (code != PL_OK) {
		free(lent);
		return pl_err_set(err, code, "kv on loan");
	}
	lent->kv.ops = &lent_ops;
	lent->inner = kv;
	pl_list_init(&lent->calls);
	pl_list_init(&lent->watches);
	*out = &lent->kv;
	return PL_OK;
}
