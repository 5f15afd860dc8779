#include "tests/conformance/mutant.h"

#include <stdlib.h>

#include "store/kv/rewrite.h"

struct mutant {
	struct kv kv;
	struct kv *inner;
	enum mutant_kind kind;
	kv_closed_fn *closed;
	void *closed_ctx;
};

struct mutant_call {
	struct mutant *mutant;
	kv_done_fn *done;
	void *ctx;
};

struct mutant_watch {
	struct mutant *mutant;
	kv_watch_fn *fn;
	void *ctx;
};

static const struct kv_ops mutant_ops;

const char *mutant_text(enum mutant_kind kind)
{
#define TEXT(name, text) [MUTANT_##name] = (text),
	static const char *const texts[] = {MUTANT_MAP(TEXT)};
#undef TEXT
	return texts[kind];
}

struct kv *mutant_wrap(void *ctx, struct kv *inner)
{
	struct mutant *mutant = calloc(1, sizeof *mutant);

	PL_ASSERT(mutant != NULL);
	mutant->kv.ops = &mutant_ops;
	mutant->inner = inner;
	mutant->kind = *(const enum mutant_kind *)ctx;
	return &mutant->kv;
}

static struct mutant *mutant_of(struct kv *kv)
{
	return PL_CONTAINER_OF(kv, struct mutant, kv);
}

/* -- requests ---------------------------------------------------------- */

static void break_compare(enum mutant_kind kind, struct kv_compare *compare)
{
	if (kind == MUTANT_GREATER && compare->relation == KV_GT &&
	    compare->target == KV_VERSION)
		compare->number--;
	if (kind == MUTANT_RANGE_COMPARE && compare->keys.kind == KV_RANGE &&
	    compare->keys.from.len > 0)
		compare->keys.kind = KV_ONE;
}

static void break_txn(enum mutant_kind kind, struct kv_txn *txn, struct pl_arena *arena)
{
	struct kv_compare *compares =
		pl_arena_zalloc(arena, txn->compare_count, sizeof *compares);
	struct kv_req *then = pl_arena_zalloc(arena, txn->then_count, sizeof *then);

	PL_ASSERT(compares != NULL && then != NULL);
	for (size_t i = 0; i < txn->compare_count; i++) {
		compares[i] = txn->compares[i];
		break_compare(kind, &compares[i]);
	}
	for (size_t i = 0; i < txn->then_count; i++) {
		then[i] = txn->then[i];
		if (kind == MUTANT_KEEP_LEASE && then[i].op == KV_PUT)
			then[i].put.keep_lease = false;
	}
	if (kind == MUTANT_COMPARES_HALF && txn->compare_count == 3)
		txn->compare_count = 2;
	txn->compares = compares;
	txn->then = then;
}

static void break_req(enum mutant_kind kind, struct kv_req *req, struct pl_arena *arena)
{
	if (req->op == KV_TXN)
		break_txn(kind, &req->txn, arena);
	if (kind == MUTANT_COMPACT_LESS && req->op == KV_COMPACT)
		req->compact.revision--;
}

/* -- answers ----------------------------------------------------------- */

static void break_result(enum mutant_kind kind, struct kv_result *result,
                         struct pl_arena *arena)
{
	if (result->op == KV_GET) {
		struct kv_get_result *get = &result->get;

		if (kind == MUTANT_TOTAL && get->more)
			get->total = (int64_t)get->count;
		if (kind == MUTANT_MORE && get->count == 3)
			get->more = true;
	}
	if (kind == MUTANT_NO_CHANGE && result->op == KV_DELETE &&
	    result->del.deleted == 0)
		result->header.revision++;
	if (kind == MUTANT_PREV && result->op == KV_TXN) {
		struct kv_result *results =
			pl_arena_zalloc(arena, result->txn.count, sizeof *results);

		PL_ASSERT(results != NULL);
		for (size_t i = 0; i < result->txn.count; i++) {
			results[i] = result->txn.results[i];
			if (results[i].op == KV_PUT)
				results[i].put.prev = NULL;
		}
		result->txn.results = results;
	}
}

static void on_done(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct mutant_call *call = ctx;
	struct mutant_call copy = *call;
	struct pl_arena arena;
	struct pl_err other;

	free(call);
	if (err != NULL) {
		other = *err;
		if (copy.mutant->kind == MUTANT_ERROR_CODE && err->code == PL_NOLEASE)
			other.code = PL_NOTFOUND;
		copy.done(copy.ctx, NULL, &other);
		return;
	}
	pl_arena_init(&arena, 0, 0);
	{
		struct kv_result broken = *result;

		break_result(copy.mutant->kind, &broken, &arena);
		copy.done(copy.ctx, &broken, NULL);
	}
	pl_arena_done(&arena);
}

static enum pl_code mutant_start(struct kv *kv, const struct kv_req *req,
                                 uint64_t timeout_ms, kv_done_fn *done, void *ctx,
                                 struct kv_call **out, struct pl_err *err)
{
	struct mutant *mutant = mutant_of(kv);
	struct mutant_call *call = calloc(1, sizeof *call);
	struct kv_req broken = *req;
	struct pl_arena arena;
	enum pl_code code;

	PL_ASSERT(call != NULL);
	*call = (struct mutant_call){mutant, done, ctx};
	pl_arena_init(&arena, 0, 0);
	break_req(mutant->kind, &broken, &arena);
	code = kv_start(mutant->inner, &broken, timeout_ms, on_done, call, out, err);
	pl_arena_done(&arena);
	if (code != PL_OK)
		free(call);
	return code;
}

static void mutant_cancel(struct kv *kv, struct kv_call *call)
{
	kv_cancel(mutant_of(kv)->inner, call);
}

/* -- watch notes ------------------------------------------------------- */

static void note_pass(const struct mutant_watch *watch, const struct kv_watch_note *note,
                      struct kv_event *events, size_t count)
{
	struct kv_watch_note broken = *note;

	broken.events = events;
	broken.count = count;
	watch->fn(watch->ctx, &broken);
}

static void on_events(const struct mutant_watch *watch, const struct kv_watch_note *note)
{
	struct kv_event *events = calloc(note->count + 1, sizeof *events);
	size_t count = note->count;
	enum mutant_kind kind = watch->mutant->kind;

	PL_ASSERT(events != NULL);
	memcpy(events, note->events, count * sizeof *events);
	if (kind == MUTANT_NOTE_TAIL && count >= 3)
		count = 2;
	if (kind == MUTANT_NOTE_TWICE && events[count - 1].is_delete) {
		events[count] = events[count - 1];
		count++;
	}
	for (size_t i = 0; i < count; i++)
		if (kind == MUTANT_NOTE_PREV && events[i].is_delete)
			events[i].prev = NULL;
	note_pass(watch, note, events, count);
	free(events);
}

static void on_note(void *ctx, const struct kv_watch_note *note)
{
	struct mutant_watch *watch = ctx;

	if (note->what == KV_WATCH_EVENTS) {
		on_events(watch, note);
		return;
	}
	watch->fn(watch->ctx, note);
	if (note->what == KV_WATCH_END)
		free(watch);
}

static enum pl_code mutant_watch(struct kv *kv, const struct kv_watch_req *req,
                                 kv_watch_fn *fn, void *ctx, struct kv_watch **out,
                                 struct pl_err *err)
{
	struct mutant *mutant = mutant_of(kv);
	struct mutant_watch *watch = calloc(1, sizeof *watch);
	struct kv_watch_req broken = *req;
	enum pl_code code;

	PL_ASSERT(watch != NULL);
	*watch = (struct mutant_watch){mutant, fn, ctx};
	if (mutant->kind == MUTANT_PAST && broken.from_revision != 0)
		broken.from_revision++;
	code = kv_watch(mutant->inner, &broken, on_note, watch, out, err);
	if (code != PL_OK)
		free(watch);
	return code;
}

static void mutant_unwatch(struct kv *kv, struct kv_watch *watch)
{
	kv_unwatch(mutant_of(kv)->inner, watch);
}

static enum pl_code mutant_progress(struct kv *kv, struct kv_watch *watch,
                                    int64_t revision, struct pl_err *err)
{
	return kv_progress(mutant_of(kv)->inner, watch, revision, err);
}

/* -- the rest ---------------------------------------------------------- */

static struct kv_limits mutant_limits(struct kv *kv)
{
	return kv_limits(mutant_of(kv)->inner);
}

static size_t mutant_room(struct kv *kv)
{
	return kv_room(mutant_of(kv)->inner);
}

static void mutant_when_room(struct kv *kv, struct kv_waiter *waiter)
{
	kv_when_room(mutant_of(kv)->inner, waiter);
}

static uint64_t mutant_now_ms(struct kv *kv)
{
	return kv_now_ms(mutant_of(kv)->inner);
}

static struct pl_timers *mutant_timers(struct kv *kv)
{
	return kv_timers(mutant_of(kv)->inner);
}

static void on_closed(void *ctx)
{
	struct mutant *mutant = ctx;
	kv_closed_fn *closed = mutant->closed;
	void *closed_ctx = mutant->closed_ctx;

	free(mutant);
	closed(closed_ctx);
}

static void mutant_close(struct kv *kv, kv_closed_fn *closed, void *ctx)
{
	struct mutant *mutant = mutant_of(kv);

	mutant->closed = closed;
	mutant->closed_ctx = ctx;
	kv_close(mutant->inner, on_closed, mutant);
}

static const struct kv_ops mutant_ops = {
	.name = "mutant",
	.start = mutant_start,
	.cancel = mutant_cancel,
	.watch = mutant_watch,
	.unwatch = mutant_unwatch,
	.progress = mutant_progress,
	.limits = mutant_limits,
	.room = mutant_room,
	.when_room = mutant_when_room,
	.now_ms = mutant_now_ms,
	.timers = mutant_timers,
	.close = mutant_close,
};
