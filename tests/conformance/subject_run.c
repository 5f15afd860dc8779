/* Time, calls and watches: an asynchronous store used one thing at a time. */
#include <stdio.h>
#include <stdlib.h>

#include "store/kv/rewrite.h"
#include "tests/conformance/show.h"
#include "tests/conformance/subject_int.h"

_Noreturn void subject_die(const char *what, const char *why)
{
	(void)printf("# the store cannot be driven: %s%s%s\n", what,
	             why[0] == 0 ? "" : ": ", why);
	(void)fflush(stdout);
	_Exit(1);
}

void subject_must(enum pl_code code, const char *what, const struct pl_err *err)
{
	if (code != PL_OK)
		subject_die(what, err == NULL ? "" : err->msg);
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

static bool never_done(void *ctx)
{
	(void)ctx;
	return false;
}

void subject_pass(struct subject *subject, uint64_t ms)
{
	(void)subject_until(subject, never_done, NULL, ms);
}

/* -- calls ------------------------------------------------------------- */

static void on_done(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct subject *subject = ctx;

	if (subject->starting || subject->called_back)
		subject_die("done", subject->starting ? "called inside the start"
		                                      : "called twice");
	if ((result == NULL) != (err != NULL))
		subject_die("done", "neither or both of result and error");
	subject->called_back = true;
	if (err != NULL)
		subject->err = *err;
	else
		subject_must(kv_result_copy(&subject->arena, result, &subject->result),
		             "copy of a result", NULL);
}

static bool is_called_back(void *ctx)
{
	return ((struct subject *)ctx)->called_back;
}

static const struct answer *answer_error(struct subject *subject, enum pl_code code)
{
	show_text(&subject->text, "!%s", show_code(code));
	subject_must(pl_buf_add(&subject->text, pl_span("", 1)), "text of an answer",
	             NULL);
	subject->answer = (struct answer){.code = code,
	                                  .text = (const char *)subject->text.at,
	                                  .why = subject->err.msg};
	return &subject->answer;
}

static const struct answer *answer_result(struct subject *subject)
{
	show_result(&subject->text, &subject->names, &subject->result);
	subject_must(pl_buf_add(&subject->text, pl_span("", 1)), "text of an answer",
	             NULL);
	subject->answer = (struct answer){.code = PL_OK,
	                                  .result = &subject->result,
	                                  .text = (const char *)subject->text.at,
	                                  .why = ""};
	return &subject->answer;
}

enum pl_code subject_run(struct subject *subject, struct kv *kv, const struct kv_req *req)
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
			subject_die("start", "failed, and called back");
		return code;
	}
	if (!subject_until(subject, is_called_back, subject,
	                   (uint64_t)2 * SUBJECT_WAIT_MS))
		subject_die(kv_op_name(req->op), "never answered");
	return subject->err.code;
}

static void note_grant(struct subject *subject, const struct kv_req *req)
{
	int64_t id = subject->result.lease.id;

	PL_ASSERT(subject->granted_count < SUBJECT_GRANTED_MAX);
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
	code = subject_run(subject, subject->kv, &out);
	if (code != PL_OK)
		return answer_error(subject, code);
	if (subject->result.op != req->op)
		subject_die(kv_op_name(req->op), "was answered as something else");
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
		subject_die("watch", "note inside the start");
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
		subject_die("unwatch", "no end came");
	if (stream->line_count != lines + 1)
		subject_die("unwatch", "events came before the end");
}

struct progress {
	struct stream *const *streams;
	size_t count;
};

static bool have_progress(void *ctx)
{
	const struct progress *progress = ctx;

	for (size_t i = 0; i < progress->count; i++) {
		const struct stream *stream = progress->streams[i];

		if (stream != NULL && !stream->ended &&
		    stream->progress_count == stream->progress_before)
			return false;
	}
	return true;
}

static void ask_progress(struct subject *subject, struct stream *stream)
{
	enum pl_code code;

	stream->progress_before = stream->progress_count;
	code = kv_progress(subject->kv, stream->watch, 0, &subject->err);
	subject_must(code, "progress", &subject->err);
	if (stream->progress_count != stream->progress_before)
		subject_die("progress", "note inside the start");
}

void subject_catch_up_all(struct subject *subject, struct stream *const *streams,
                          size_t count)
{
	struct progress progress = {streams, count};

	for (size_t i = 0; i < count; i++)
		if (streams[i] != NULL && !streams[i]->ended)
			ask_progress(subject, streams[i]);
	if (!subject_until(subject, have_progress, &progress, SUBJECT_WAIT_MS))
		subject_die("progress", "no note came");
}

void subject_catch_up(struct subject *subject, struct stream *stream)
{
	subject_catch_up_all(subject, &stream, 1);
}

static bool has_lines(void *ctx)
{
	const struct stream *stream = ctx;

	return stream->ended || stream->line_count >= stream->lines_wanted;
}

void subject_wait_lines(struct subject *subject, struct stream *stream, size_t count)
{
	stream->lines_wanted = count;
	(void)subject_until(subject, has_lines, stream, SUBJECT_WAIT_MS);
}

void subject_wait_ready(struct subject *subject, struct stream *stream)
{
	if (!subject_until(subject, is_ready, stream, SUBJECT_WAIT_MS))
		subject_die("watch", "never ready");
}
