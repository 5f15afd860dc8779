#include "tests/conformance/subject.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

#include "store/base/rng.h"
#include "store/etcd/etcd.h"
#include "store/kv/keys.h"
#include "store/kv/map.h"
#include "store/memkv/memkv.h"
#include "tests/conformance/show.h"

enum { TEXT_MAX = 64 << 20, GRANTED_MAX = NAMES_CHOSEN_MAX, VIRTUAL_START_MS = 1000 };

struct subject {
	struct kv *kv;    /* what is tested */
	struct kv *inner; /* without what was put around it; owned by kv */
	struct memkv *mem;
	uint64_t now_ms; /* memkv's */
	uv_loop_t loop;  /* etcd's */
	uv_timer_t timer;
	bool timer_fired;
	bool closed;
	struct names names;
	struct pl_list streams;
	int64_t *granted; /* leases to revoke at the reset */
	size_t granted_count;
	/* Of the last call. */
	struct pl_arena arena;
	struct pl_buf text;
	struct kv_result result;
	struct pl_err err;
	struct answer answer;
	bool called_back;
	bool starting;
};

_Noreturn static void die(const char *what, const char *why)
{
	(void)printf("# the store cannot be driven: %s%s%s\n", what,
	             why[0] == 0 ? "" : ": ", why);
	(void)fflush(stdout);
	_Exit(1);
}

static void must(enum pl_code code, const char *what, const struct pl_err *err)
{
	if (code != PL_OK)
		die(what, err == NULL ? "" : err->msg);
}

struct subject_opts subject_opts_env(void)
{
	return (struct subject_opts){.endpoints = getenv("CONFORMANCE_ETCD")};
}

bool subject_is_etcd(const struct subject *subject)
{
	return subject->mem == NULL;
}

struct kv *subject_kv(struct subject *subject)
{
	return subject->kv;
}

struct names *subject_names(struct subject *subject)
{
	return &subject->names;
}

/* -- time -------------------------------------------------------------- */

static void on_timer(uv_timer_t *timer)
{
	struct subject *subject = timer->data;

	subject->timer_fired = true;
}

static bool until_real(struct subject *subject, bool (*fn)(void *ctx), void *ctx,
                       uint64_t max_ms)
{
	subject->timer_fired = false;
	uv_update_time(&subject->loop);
	PL_ASSERT(uv_timer_start(&subject->timer, on_timer, max_ms, 0) == 0);
	while (!fn(ctx) && !subject->timer_fired)
		(void)uv_run(&subject->loop, UV_RUN_ONCE);
	(void)uv_timer_stop(&subject->timer);
	return fn(ctx);
}

static bool until_virtual(struct subject *subject, bool (*fn)(void *ctx), void *ctx,
                          uint64_t max_ms)
{
	uint64_t end_ms = subject->now_ms + max_ms;

	for (;;) {
		uint64_t next_ms;

		memkv_run(subject->mem, subject->now_ms);
		if (fn(ctx) || subject->now_ms == end_ms)
			return fn(ctx);
		next_ms = memkv_next_ms(subject->mem);
		if (next_ms > subject->now_ms)
			subject->now_ms = next_ms < end_ms ? next_ms : end_ms;
	}
}

bool subject_until(struct subject *subject, bool (*fn)(void *ctx), void *ctx,
                   uint64_t max_ms)
{
	if (subject_is_etcd(subject))
		return until_real(subject, fn, ctx, max_ms);
	return until_virtual(subject, fn, ctx, max_ms);
}

static bool never(void *ctx)
{
	(void)ctx;
	return false;
}

void subject_pass(struct subject *subject, uint64_t ms)
{
	(void)subject_until(subject, never, NULL, ms);
}

/* -- calls ------------------------------------------------------------- */

static void on_done(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct subject *subject = ctx;

	if (subject->starting || subject->called_back)
		die("done",
		    subject->starting ? "called inside the start" : "called twice");
	if ((result == NULL) != (err != NULL))
		die("done", "neither or both of result and error");
	subject->called_back = true;
	if (err != NULL)
		subject->err = *err;
	else
		must(kv_result_copy(&subject->arena, result, &subject->result),
		     "copy of a result", NULL);
}

static bool is_called_back(void *ctx)
{
	return ((struct subject *)ctx)->called_back;
}

static const struct answer *answer_error(struct subject *subject, enum pl_code code)
{
	show_text(&subject->text, "!%s", show_code(code));
	must(pl_buf_add(&subject->text, pl_span("", 1)), "text of an answer", NULL);
	subject->answer = (struct answer){.code = code,
	                                  .text = (const char *)subject->text.at,
	                                  .why = subject->err.msg};
	return &subject->answer;
}

static const struct answer *answer_result(struct subject *subject)
{
	show_result(&subject->text, &subject->names, &subject->result);
	must(pl_buf_add(&subject->text, pl_span("", 1)), "text of an answer", NULL);
	subject->answer = (struct answer){.code = PL_OK,
	                                  .result = &subject->result,
	                                  .text = (const char *)subject->text.at,
	                                  .why = ""};
	return &subject->answer;
}

/* With the store's own numbers. */
static enum pl_code call(struct subject *subject, struct kv *kv, const struct kv_req *req)
{
	struct kv_call *handle = NULL;
	enum pl_code code;

	subject->called_back = false;
	subject->starting = true;
	subject->err = (struct pl_err){0};
	code = kv_start(kv, req, SUBJECT_WAIT_MS, on_done, subject, &handle,
	                &subject->err);
	subject->starting = false;
	if (code != PL_OK) {
		if (subject->called_back)
			die("start", "failed, and called back");
		return code;
	}
	if (!subject_until(subject, is_called_back, subject,
	                   (uint64_t)2 * SUBJECT_WAIT_MS))
		die(kv_op_name(req->op), "never answered");
	return subject->err.code;
}

static void note_grant(struct subject *subject, const struct kv_req *req)
{
	int64_t id = subject->result.lease.id;

	PL_ASSERT(subject->granted_count < GRANTED_MAX);
	subject->granted[subject->granted_count++] = id;
	if (req->lease.id == 0)
		names_lease_chosen(&subject->names, id);
}

const struct answer *subject_call(struct subject *subject, const struct kv_req *req)
{
	struct kv_req out;
	enum pl_code code;

	pl_arena_reset(&subject->arena);
	pl_buf_clear(&subject->text, 1 << 16);
	out = names_req_out(&subject->names, &subject->arena, req);
	code = call(subject, subject->kv, &out);
	if (code != PL_OK)
		return answer_error(subject, code);
	if (subject->result.op != req->op)
		die(kv_op_name(req->op), "was answered as something else");
	if (req->op == KV_LEASE_GRANT)
		note_grant(subject, req);
	return answer_result(subject);
}

/* -- watches ----------------------------------------------------------- */

struct stream *subject_watch(struct subject *subject, const struct kv_watch_req *req)
{
	struct kv_watch_req out = names_watch_out(&subject->names, req);
	struct stream *stream = stream_new(&subject->names, &out);
	enum pl_code code;

	pl_list_add_tail(&subject->streams, &stream->link);
	code = kv_watch(subject->kv, &out, stream_note, stream, &stream->watch, NULL);
	if (stream->ready_count > 0 || stream->ended)
		die("watch", "note inside the start");
	if (code != PL_OK)
		stream_refused(stream, code);
	return stream;
}

static bool is_ended(void *ctx)
{
	return ((struct stream *)ctx)->ended;
}

static bool is_ready(void *ctx)
{
	struct stream *stream = ctx;

	return stream->ready_count > 0 || stream->ended;
}

void subject_unwatch(struct subject *subject, struct stream *stream)
{
	size_t lines = stream->line_count;

	if (stream->ended)
		return;
	kv_unwatch(subject->kv, stream->watch);
	if (!subject_until(subject, is_ended, stream, SUBJECT_WAIT_MS))
		die("unwatch", "no end came");
	if (stream->line_count != lines + 1)
		die("unwatch", "events came before the end");
}

struct progress {
	const struct stream *stream;
	unsigned count;
};

static bool has_progress(void *ctx)
{
	const struct progress *progress = ctx;

	return progress->stream->ended ||
	       progress->stream->progress_count > progress->count;
}

void subject_catch_up(struct subject *subject, struct stream *stream)
{
	struct progress progress = {stream, stream->progress_count};
	enum pl_code code;

	if (stream->ended)
		return;
	code = kv_progress(subject->kv, stream->watch, &subject->err);
	if (code != PL_OK || stream->progress_count != progress.count)
		die("progress",
		    code == PL_OK ? "note inside the start" : subject->err.msg);
	if (!subject_until(subject, has_progress, &progress, SUBJECT_WAIT_MS))
		die("progress", "no note came");
}

void subject_wait_ready(struct subject *subject, struct stream *stream)
{
	if (!subject_until(subject, is_ready, stream, SUBJECT_WAIT_MS))
		die("watch", "never ready");
}

/* -- life -------------------------------------------------------------- */

static void drop_streams(struct subject *subject)
{
	PL_LIST_EACH (link, &subject->streams) {
		struct stream *stream = PL_LIST_ITEM(link, struct stream, link);

		subject_unwatch(subject, stream);
		stream_free(stream);
	}
}

static void revoke_all(struct subject *subject)
{
	for (size_t i = 0; i < subject->granted_count; i++) {
		struct kv_req req = {.op = KV_LEASE_REVOKE,
		                     .lease = {.id = subject->granted[i]}};
		enum pl_code code = call(subject, subject->inner, &req);

		if (code != PL_OK && code != PL_NOLEASE)
			die("reset: lease revoke", subject->err.msg);
	}
	subject->granted_count = 0;
	subject->names.chosen_count = 0;
}

void subject_reset(struct subject *subject)
{
	/* So that there are revisions before the reset, even in a new store. */
	struct kv_req put = {.op = KV_PUT, .put = {.key = PL_SPAN_LIT("reset")}};
	struct kv_req wipe = {.op = KV_DELETE, .del = {.keys = kv_all_keys()}};
	struct kv_req compact = {.op = KV_COMPACT, .compact = {.physical = true}};
	enum pl_code code;

	drop_streams(subject);
	revoke_all(subject);
	pl_arena_reset(&subject->arena);
	must(call(subject, subject->inner, &put), "reset: put", &subject->err);
	must(call(subject, subject->inner, &wipe), "reset: delete", &subject->err);
	subject->names.base = subject->result.header.revision;
	compact.compact.revision = subject->names.base;
	code = call(subject, subject->inner, &compact);
	if (code != PL_OK && code != PL_COMPACTED) /* compacted there already: fine */
		die("reset: compact", subject->err.msg);
}

static void open_memkv(struct subject *subject, const struct subject_opts *opts)
{
	struct memkv_opts mem_opts = {.txn_ops_max = SUBJECT_TXN_OPS,
	                              .quota_bytes = opts->quota_bytes,
	                              .now_ms = VIRTUAL_START_MS,
	                              .seed = 1};

	subject->now_ms = mem_opts.now_ms;
	must(memkv_new(&mem_opts, &subject->mem, &subject->err), "memkv", &subject->err);
	must(memkv_session(subject->mem, &subject->inner, &subject->err), "memkv",
	     &subject->err);
}

static void open_etcd(struct subject *subject, const struct subject_opts *opts)
{
	struct etcd_opts etcd_opts = {.endpoints = opts->endpoints};

	PL_ASSERT(uv_loop_init(&subject->loop) == 0);
	PL_ASSERT(uv_timer_init(&subject->loop, &subject->timer) == 0);
	subject->timer.data = subject;
	must(etcd_open(&subject->loop, &etcd_opts, &subject->inner, &subject->err),
	     "etcd", &subject->err);
}

struct subject *subject_new(const struct subject_opts *opts)
{
	struct subject *subject = calloc(1, sizeof *subject);

	PL_ASSERT(subject != NULL);
	pl_list_init(&subject->streams);
	pl_arena_init(&subject->arena, 1 << 16, 0);
	pl_buf_init(&subject->text, TEXT_MAX);
	subject->granted = calloc(GRANTED_MAX, sizeof *subject->granted);
	subject->names.chosen = calloc(NAMES_CHOSEN_MAX, sizeof *subject->names.chosen);
	PL_ASSERT(subject->granted != NULL && subject->names.chosen != NULL);
	/* Of a store that others use, too, or used before. */
	subject->names.lease_base = (int64_t)(pl_rng_seed_random() >> 32) << 16 | 1 << 15;
	if (opts->endpoints == NULL)
		open_memkv(subject, opts);
	else
		open_etcd(subject, opts);
	subject->kv = subject->inner;
	if (opts->wrap != NULL)
		subject->kv = opts->wrap(opts->wrap_ctx, subject->inner);
	subject_reset(subject);
	return subject;
}

static void on_closed(void *ctx)
{
	((struct subject *)ctx)->closed = true;
}

static bool is_closed(void *ctx)
{
	return ((struct subject *)ctx)->closed;
}

static void close_kv(struct subject *subject)
{
	kv_close(subject->kv, on_closed, subject);
	if (subject->closed)
		die("close", "called back inside the call");
	if (!subject_until(subject, is_closed, subject, SUBJECT_WAIT_MS))
		die("close", "never called back");
}

void subject_free(struct subject *subject)
{
	if (subject == NULL)
		return;
	close_kv(subject);
	if (subject_is_etcd(subject)) {
		uv_close((uv_handle_t *)&subject->timer, NULL);
		if (uv_run(&subject->loop, UV_RUN_DEFAULT) != 0 ||
		    uv_loop_close(&subject->loop) != 0)
			die("close", "something is left in the loop");
	}
	PL_LIST_EACH (link, &subject->streams) {
		struct stream *stream = PL_LIST_ITEM(link, struct stream, link);

		if (!stream->ended)
			die("close", "a watch did not end");
		stream_free(stream);
	}
	memkv_free(subject->mem);
	pl_arena_done(&subject->arena);
	pl_buf_done(&subject->text);
	free(subject->granted);
	free(subject->names.chosen);
	free(subject);
}
