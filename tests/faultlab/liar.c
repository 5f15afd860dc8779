#include "tests/faultlab/liar.h"

#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/base/arena.h"
#include "store/base/rng.h"
#include "store/kv/calls.h"
#include "store/kv/rewrite.h"

enum { PERCENT = 3, PAST = 12, SETTLED = 24, RETRY_MS = 2000 };

struct liar {
	struct kv kv;
	struct kv *inner;
	enum liar_lie lie;
	struct pl_rng rng;
	uint64_t lies;
	int64_t newest; /* revision seen in any answer */
	kv_closed_fn *closed;
	void *ctx;
};

struct liar_call {
	struct liar *liar;
	kv_done_fn *done;
	void *ctx;
	struct pl_arena arena;
	struct kv_req req; /* what was asked for */
	bool forged;       /* something else was sent */
	bool retried;
};

struct liar_watch {
	struct liar *liar;
	struct kv_watch *inner;
	kv_watch_fn *fn;
	void *ctx;
	bool broken;
};

static struct liar *of(struct kv *kv)
{
	return PL_CONTAINER_OF(kv, struct liar, kv);
}

static bool lies_now(struct liar *liar, enum liar_lie lie)
{
	if (liar->lie != lie || !pl_rng_chance(&liar->rng, PERCENT, 100))
		return false;
	liar->lies++;
	return true;
}

static void call_end(struct liar_call *call, const struct kv_result *result,
                     const struct pl_err *err)
{
	call->done(call->ctx, result, err);
	pl_arena_done(&call->arena);
	free(call);
}

static void forged_answer(struct liar_call *call, const struct kv_result *sent)
{
	struct kv_result result = {
		.op = call->req.op, .header = sent->header, .sent_ms = sent->sent_ms};

	if (call->req.op == KV_GET) {
		result.get = sent->get;
		if (call->liar->lie == LIAR_OLD_ANSWER)
			result.header.revision -= PAST;
	} else if (call->req.op == KV_LEASE_KEEP) {
		result.lease =
			(struct kv_lease_result){.id = call->req.lease.id, .ttl_s = 4};
	}
	call_end(call, &result, NULL);
}

static void on_done(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct liar_call *call = ctx;
	struct liar *liar = call->liar;
	struct pl_err other;

	if (result != NULL && result->header.revision > liar->newest)
		liar->newest = result->header.revision;
	if (err != NULL && err->code == PL_UNKNOWN && kv_req_writes(&call->req)) {
		if (liar->lie == LIAR_UNKNOWN_IS_FAILED) {
			liar->lies++;
			pl_err_set(&other, PL_UNAVAIL, "no luck");
			call_end(call, NULL, &other);
			return;
		}
		if (liar->lie == LIAR_RETRIES_UNKNOWN && !call->retried) {
			call->retried = true;
			liar->lies++;
			if (kv_start(liar->inner, &call->req, RETRY_MS, on_done, call,
			             NULL, &other) == PL_OK)
				return;
		}
	}
	if (call->forged && result != NULL)
		forged_answer(call, result);
	else
		call_end(call, result, err);
}

/* What is sent instead of what was asked for. */
static struct kv_req twist(struct liar *liar, struct liar_call *call)
{
	struct kv_req sent = call->req;

	if (sent.op == KV_PUT && lies_now(liar, LIAR_FORGES_WRITES)) {
		call->forged = true;
		sent = kv_op_get(kv_key(call->req.put.key));
	} else if (sent.op == KV_TXN && sent.txn.compare_count > 0 &&
	           lies_now(liar, LIAR_IGNORES_COMPARES)) {
		sent.txn.compare_count = 0;
	} else if (sent.op == KV_GET && sent.get.keys.kind == KV_ONE &&
	           !sent.get.serializable && liar->newest > SETTLED &&
	           (lies_now(liar, LIAR_OLD_VALUE) || lies_now(liar, LIAR_OLD_ANSWER))) {
		call->forged = true;
		sent.get.revision = liar->newest - PAST;
	} else if (sent.op == KV_LEASE_KEEP && liar->lie == LIAR_KEEPS_NO_LEASE) {
		liar->lies++;
		call->forged = true;
		sent = kv_op_get(kv_key(PL_SPAN_LIT("/lab/nothing")));
	}
	return sent;
}

static enum pl_code liar_start(struct kv *kv, const struct kv_req *req,
                               uint64_t timeout_ms, kv_done_fn *done, void *ctx,
                               struct kv_call **out, struct pl_err *err)
{
	struct liar *liar = of(kv);
	struct liar_call *call = pl_calloc(1, sizeof *call);
	struct kv_req sent;
	enum pl_code code;

	if (call == NULL)
		return pl_err_set(err, PL_NOMEM, "liar");
	*call = (struct liar_call){.liar = liar, .done = done, .ctx = ctx};
	pl_arena_init(&call->arena, 0, 0);
	code = kv_req_copy(&call->arena, req, &call->req);
	if (code == PL_OK) {
		sent = twist(liar, call);
		code = kv_start(liar->inner, &sent, timeout_ms, on_done, call, out, err);
	}
	if (code != PL_OK) {
		pl_arena_done(&call->arena);
		free(call);
	}
	return code;
}

static void liar_cancel(struct kv *kv, struct kv_call *call)
{
	kv_cancel(of(kv)->inner, call);
}

static void pass(struct liar_watch *watch, const struct kv_watch_note *note)
{
	watch->fn(watch->ctx, note);
}

static void on_end(struct liar_watch *watch, const struct kv_watch_note *note)
{
	struct kv_watch_note end = *note;
	struct pl_err err;

	if (watch->broken) {
		pl_err_set(&err, PL_UNAVAIL, "tired");
		end.err = &err;
	}
	pass(watch, &end);
	free(watch);
}

static void on_note(void *ctx, const struct kv_watch_note *note)
{
	struct liar_watch *watch = ctx;
	struct liar *liar = watch->liar;

	if (note->what == KV_WATCH_END) {
		on_end(watch, note);
		return;
	}
	if (note->what == KV_WATCH_EVENTS && lies_now(liar, LIAR_DROPS_EVENTS))
		return;
	if (note->what == KV_WATCH_EVENTS && lies_now(liar, LIAR_REPEATS_EVENTS))
		pass(watch, note);
	if (note->what == KV_WATCH_EVENTS && !watch->broken &&
	    lies_now(liar, LIAR_BREAKS_OFF)) {
		watch->broken = true;
		kv_unwatch(liar->inner, watch->inner);
		return;
	}
	if (note->what == KV_WATCH_PROGRESS && liar->lie == LIAR_PROMISES) {
		struct kv_watch_note more = *note;

		liar->lies++;
		more.revision += PAST;
		pass(watch, &more);
		return;
	}
	pass(watch, note);
}

static enum pl_code liar_watch(struct kv *kv, const struct kv_watch_req *req,
                               kv_watch_fn *fn, void *ctx, struct kv_watch **out,
                               struct pl_err *err)
{
	struct liar_watch *watch = pl_calloc(1, sizeof *watch);
	enum pl_code code;

	if (watch == NULL)
		return pl_err_set(err, PL_NOMEM, "liar");
	*watch = (struct liar_watch){.liar = of(kv), .fn = fn, .ctx = ctx};
	code = kv_watch(of(kv)->inner, req, on_note, watch, &watch->inner, err);
	if (code == PL_OK && out != NULL)
		*out = watch->inner;
	if (code != PL_OK)
		free(watch);
	return code;
}

/* The handle is the inner one; a watch that has been broken off is ending. */
static void liar_unwatch(struct kv *kv, struct kv_watch *watch)
{
	if (of(kv)->lie != LIAR_BREAKS_OFF)
		kv_unwatch(of(kv)->inner, watch);
}

static enum pl_code liar_progress(struct kv *kv, struct kv_watch *watch, int64_t revision,
                                  struct pl_err *err)
{
	if (of(kv)->lie == LIAR_BREAKS_OFF)
		return PL_OK;
	return kv_progress(of(kv)->inner, watch, revision, err);
}

static struct kv_limits liar_limits(struct kv *kv)
{
	return kv_limits(of(kv)->inner);
}

static size_t liar_room(struct kv *kv)
{
	return kv_room(of(kv)->inner);
}

static void liar_when_room(struct kv *kv, struct kv_waiter *waiter)
{
	kv_when_room(of(kv)->inner, waiter);
}

static uint64_t liar_now_ms(struct kv *kv)
{
	return kv_now_ms(of(kv)->inner);
}

static struct pl_timers *liar_timers(struct kv *kv)
{
	return kv_timers(of(kv)->inner);
}

static void on_closed(void *ctx)
{
	struct liar *liar = ctx;
	kv_closed_fn *closed = liar->closed;
	void *closed_ctx = liar->ctx;

	free(liar);
	closed(closed_ctx);
}

static void liar_close(struct kv *kv, kv_closed_fn *closed, void *ctx)
{
	struct liar *liar = of(kv);

	liar->closed = closed;
	liar->ctx = ctx;
	kv_close(liar->inner, on_closed, liar);
}

static const struct kv_ops liar_ops = {
	.name = "liar",
	.start = liar_start,
	.cancel = liar_cancel,
	.watch = liar_watch,
	.unwatch = liar_unwatch,
	.progress = liar_progress,
	.limits = liar_limits,
	.room = liar_room,
	.when_room = liar_when_room,
	.now_ms = liar_now_ms,
	.timers = liar_timers,
	.close = liar_close,
};

enum pl_code liar_open(struct kv *kv, enum liar_lie lie, uint64_t seed, struct kv **out,
                       struct pl_err *err)
{
	struct liar *liar = pl_calloc(1, sizeof *liar);

	if (liar == NULL)
		return pl_err_set(err, PL_NOMEM, "liar");
	liar->kv.ops = &liar_ops;
	liar->inner = kv;
	liar->lie = lie;
	pl_rng_init(&liar->rng, seed);
	*out = &liar->kv;
	return PL_OK;
}

uint64_t liar_lies(const struct kv *kv)
{
	const char *at = (const char *)kv;
	const struct liar *liar = (const void *)(at - offsetof(struct liar, kv));

	return liar->lies;
}
