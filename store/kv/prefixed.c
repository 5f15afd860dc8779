#include "store/kv/prefixed.h"

#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/kv/check.h"
#include "store/kv/keys.h"
#include "store/kv/rewrite.h"
#include "store/kv/wrapper.h"

/*
 * On the way in, an arena that lives as long as a call holds the request with longer
 * keys; the wrapped kv does not read them again. On the way out, keys only move their
 * start, so an answer costs a copy of its arrays and none of its bytes.
 */

enum { REQUEST_CHUNK = 64 << 10 };

struct prefixed {
	struct kv_wrapper wrapper;
	struct pl_arena arena; /* for the request or the answer in progress */
	size_t root_len;
	size_t end_len; /* 0: the prefix has no end */
	uint8_t *end;   /* the least key behind the root's keys */
	uint8_t root[];
};

struct prefixed_call {
	struct kv_call *inner; /* first: see wrapper.h */
	struct prefixed *owner;
	kv_done_fn *done;
	void *ctx;
	bool writes;
};

struct prefixed_watcher {
	struct kv_watch *inner; /* first: see wrapper.h */
	struct prefixed *owner;
	kv_watch_fn *fn; /* NULL: the user has had its last note */
	void *ctx;
};

static struct prefixed *prefixed_of(struct kv *kv)
{
	return PL_CONTAINER_OF(kv, struct prefixed, wrapper.kv);
}

static struct pl_span root_of(const struct prefixed *p)
{
	return pl_span(p->root, p->root_len);
}

static enum pl_code add_root(const struct kv_rewrite *rewrite, struct pl_span *key)
{
	const struct prefixed *p = rewrite->ctx;
	uint8_t *at = pl_arena_alloc(rewrite->arena, p->root_len + key->len + 1);

	if (at == NULL)
		return PL_NOMEM;
	memcpy(at, p->root, p->root_len);
	if (key->len != 0)
		memcpy(at + p->root_len, key->at, key->len);
	*key = pl_span(at, p->root_len + key->len);
	return PL_OK;
}

/* The root itself is not a key of the prefixed kv: etcd has no empty key either. */
static enum pl_code add_root_key(const struct kv_rewrite *rewrite, struct pl_span *key)
{
	return key->len == 0 ? PL_INVALID : add_root(rewrite, key);
}

static enum pl_code add_root_keys(const struct kv_rewrite *rewrite, struct kv_keys *keys)
{
	const struct prefixed *p = rewrite->ctx;
	enum pl_code code;

	switch (keys->kind) {
	case KV_ONE:
		return add_root_key(rewrite, &keys->from);
	case KV_PREFIX:
		return add_root(rewrite, &keys->from);
	case KV_RANGE:
		code = add_root(rewrite, &keys->from);
		return code != PL_OK ? code : add_root(rewrite, &keys->to);
	case KV_FROM:
		if (p->end_len != 0) {
			keys->kind = KV_RANGE;
			keys->to = pl_span(p->end, p->end_len);
		} /* else every key from the root on has the root */
		return add_root(rewrite, &keys->from);
	}
	PL_UNREACHABLE("kind of keys");
}

static enum pl_code strip_root(const struct kv_rewrite *rewrite, struct pl_span *key)
{
	const struct prefixed *p = rewrite->ctx;

	if (!pl_span_starts(*key, root_of(p)))
		/* the store answered with a key that was not asked for */
		return PL_PROTO;
	*key = pl_span(key->at + p->root_len, key->len - p->root_len);
	return PL_OK;
}

static bool under_root(const struct kv_rewrite *rewrite, struct pl_span key)
{
	return pl_span_starts(key, root_of(rewrite->ctx));
}

static enum pl_code keep_value(const struct kv_rewrite *rewrite, struct pl_span *value)
{
	(void)rewrite;
	(void)value;
	return PL_OK;
}

static struct kv_rewrite rewrite_in(struct prefixed *p)
{
	pl_arena_reset(&p->arena);
	return (struct kv_rewrite){.arena = &p->arena,
	                           .key = add_root_key,
	                           .keys = add_root_keys,
	                           .value = keep_value,
	                           .ctx = p};
}

static struct kv_rewrite rewrite_out(struct prefixed *p, struct pl_arena *arena)
{
	return (struct kv_rewrite){.arena = arena,
	                           .key = strip_root,
	                           .value = keep_value,
	                           .lease_key = under_root,
	                           .ctx = p};
}

static enum pl_code rewrite_failed(struct pl_err *err, enum pl_code code,
                                   const char *what)
{
	return pl_err_set(err, code, "%s: %s", what,
	                  code == PL_INVALID ? "empty key" : pl_code_name(code));
}

static void on_done(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct prefixed_call *call = ctx;
	struct prefixed_call was = *call;
	struct kv_result mapped;
	/* an arena of its own, because done may start the next call */
	struct pl_arena arena;
	struct kv_rewrite rewrite;
	struct pl_err failed;
	enum pl_code code;

	free(call);
	if (result == NULL) {
		was.done(was.ctx, NULL, err);
		return;
	}
	pl_arena_init(&arena, 0, 0);
	rewrite = rewrite_out(was.owner, &arena);
	code = kv_rewrite_result(&rewrite, result, &mapped);
	if (code != PL_OK && was.writes) {
		pl_err_set(&failed, PL_UNKNOWN, "applied, but the answer is lost: %s",
		           pl_code_name(code));
	} else if (code != PL_OK) {
		(void)rewrite_failed(&failed, code, "answer");
	}
	was.done(was.ctx, code == PL_OK ? &mapped : NULL, code == PL_OK ? NULL : &failed);
	pl_arena_done(&arena);
}

static enum pl_code prefixed_start(struct kv *kv, const struct kv_req *req,
                                   uint64_t timeout_ms, kv_done_fn *done, void *ctx,
                                   struct kv_call **out, struct pl_err *err)
{
	struct prefixed *p = prefixed_of(kv);
	struct kv_rewrite rewrite = rewrite_in(p);
	struct kv_req mapped;
	struct prefixed_call *call;
	enum pl_code code = kv_check_req(req, err); /* checked as if there were no root */

	if (code != PL_OK)
		return code;
	code = kv_rewrite_req(&rewrite, req, &mapped);
	if (code != PL_OK)
		return rewrite_failed(err, code, kv_op_name(req->op));
	call = pl_malloc(sizeof *call);
	if (call == NULL)
		return rewrite_failed(err, PL_NOMEM, kv_op_name(req->op));
	*call = (struct prefixed_call){
		.owner = p, .done = done, .ctx = ctx, .writes = kv_req_writes(req)};
	code = kv_start(p->wrapper.inner, &mapped, timeout_ms, on_done, call,
	                &call->inner, err);
	if (code != PL_OK) {
		free(call);
		return code;
	}
	if (out != NULL)
		*out = (struct kv_call *)(void *)call;
	return PL_OK;
}

/* A note that cannot be delivered ends the watch, because a gap would go unseen. */
static void watch_break(struct prefixed_watcher *watch, const struct kv_watch_note *note,
                        enum pl_code code)
{
	kv_watch_fn *fn = PL_STEAL(watch->fn);
	struct pl_err err;
	struct kv_watch_note end = {
		.what = KV_WATCH_END, .header = note->header, .err = &err};

	(void)rewrite_failed(&err, code, "watch");
	kv_unwatch(watch->owner->wrapper.inner, watch->inner);
	fn(watch->ctx, &end);
}

static void on_note(void *ctx, const struct kv_watch_note *note)
{
	struct prefixed_watcher *watch = ctx;
	struct prefixed_watcher was = *watch;
	struct kv_watch_note mapped;
	struct pl_arena arena;
	struct kv_rewrite rewrite;
	enum pl_code code;

	if (note->what == KV_WATCH_END || note->count == 0) {
		if (note->what == KV_WATCH_END)
			free(watch);
		if (was.fn != NULL)
			was.fn(was.ctx, note);
		return;
	}
	if (was.fn == NULL)
		return; /* the watch is broken, and its end is on its way */
	pl_arena_init(&arena, 0, 0);
	rewrite = rewrite_out(was.owner, &arena);
	code = kv_rewrite_note(&rewrite, note, &mapped);
	if (code == PL_OK)
		was.fn(was.ctx, &mapped);
	else
		watch_break(watch, note, code);
	pl_arena_done(&arena);
}

static enum pl_code prefixed_watch(struct kv *kv, const struct kv_watch_req *req,
                                   kv_watch_fn *fn, void *ctx, struct kv_watch **out,
                                   struct pl_err *err)
{
	struct prefixed *p = prefixed_of(kv);
	struct kv_rewrite rewrite = rewrite_in(p);
	struct kv_watch_req mapped = *req;
	enum pl_code code = kv_check_watch(req, err);
	struct prefixed_watcher *watch;

	if (code != PL_OK)
		return code;
	code = add_root_keys(&rewrite, &mapped.keys);
	if (code != PL_OK)
		return rewrite_failed(err, code, "watch");
	watch = pl_malloc(sizeof *watch);
	if (watch == NULL)
		return rewrite_failed(err, PL_NOMEM, "watch");
	*watch = (struct prefixed_watcher){.owner = p, .fn = fn, .ctx = ctx};
	code = kv_watch(p->wrapper.inner, &mapped, on_note, watch, &watch->inner, err);
	if (code != PL_OK) {
		free(watch);
		return code;
	}
	if (out != NULL)
		*out = (struct kv_watch *)(void *)watch;
	return PL_OK;
}

/* The root is in each key that a transaction names: three lists of keys, with two ends
 * where they are ranges. A limit of 0 is "not known" and stays so. */
static struct kv_limits prefixed_limits(struct kv *kv)
{
	enum { KEYS = 6, PART = 4 };
	struct kv_limits limits = kv_limits(kv_wrapper_of(kv)->inner);
	size_t roots = KEYS * prefixed_of(kv)->root_len * limits.txn_ops;

	if (roots > limits.request_bytes / PART)
		roots = limits.request_bytes / PART;
	limits.request_bytes -= (uint32_t)roots;
	return limits;
}

static void on_closed(void *ctx)
{
	struct prefixed *p = ctx;
	kv_closed_fn *closed = p->wrapper.closed;
	void *closed_ctx = p->wrapper.closed_ctx;

	pl_arena_done(&p->arena);
	free(p);
	closed(closed_ctx);
}

static void prefixed_close(struct kv *kv, kv_closed_fn *closed, void *ctx)
{
	struct prefixed *p = prefixed_of(kv);

	p->wrapper.closed = closed;
	p->wrapper.closed_ctx = ctx;
	kv_close(p->wrapper.inner, on_closed, p);
}

static const struct kv_ops prefixed_ops = {
	.name = "prefixed",
	.start = prefixed_start,
	.cancel = kv_wrapper_cancel,
	.watch = prefixed_watch,
	.unwatch = kv_wrapper_unwatch,
	.progress = kv_wrapper_progress,
	.limits = prefixed_limits,
	.room = kv_wrapper_room,
	.when_room = kv_wrapper_when_room,
	.now_ms = kv_wrapper_now_ms,
	.timers = kv_wrapper_timers,
	.close = prefixed_close,
};

enum pl_code prefixed_open(struct kv *kv, struct pl_span root, struct kv **out,
                           struct pl_err *err)
{
	struct prefixed *p = pl_calloc(1, sizeof *p + 2 * root.len);

	if (p == NULL)
		return pl_err_set(err, PL_NOMEM, "root " PL_SPAN_FMT, PL_SPAN_ARG(root));
	p->wrapper.kv.ops = &prefixed_ops;
	p->wrapper.inner = kv;
	p->root_len = root.len;
	if (root.len != 0)
		memcpy(p->root, root.at, root.len);
	p->end = p->root + root.len;
	p->end_len = kv_prefix_end(root, p->end).len;
	pl_arena_init(&p->arena, REQUEST_CHUNK, 0);
	*out = &p->wrapper.kv;
	return PL_OK;
}
