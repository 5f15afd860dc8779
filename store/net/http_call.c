/*
 * One call: checked, started, then reported to its caller piece by piece.
 *
 * http_call_serve() runs outside of libcurl whenever there is news and reports one thing
 * at a time: the head, data, room, the end. Data for a paused caller comes before the end
 * that follows it; a cancel or a deadline comes before everything.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/alloc.h"
#include "store/base/clock.h"
#include "store/net/http_int.h"

enum {
	BODY_MAX = 16 * 1024 * 1024,
	WHAT_SIZE = 140,
	ROOM_AGAIN = HTTP_SEND_BUFFER_MAX / 2,
};

static void call_free(struct http_call *call)
{
	if (call->added)
		(void)curl_multi_remove_handle(call->http->multi, call->easy);
	curl_easy_cleanup(call->easy);
	curl_slist_free_all(call->request_headers);
	pl_timer_done(&call->deadline);
	pl_timer_done(&call->idle);
	pl_list_del(&call->link);
	pl_list_del(&call->ready);
	pl_buf_done(&call->head);
	pl_buf_done(&call->in);
	pl_buf_done(&call->chunk);
	pl_buf_done(&call->out);
	free(call->what);
	free(call);
}

static struct http_answer call_answer(const struct http_call *call)
{
	return (struct http_answer){.status = call->status,
	                            .headers = call->headers,
	                            .header_count = call->header_count,
	                            .body = call->streams ? pl_span(NULL, 0)
	                                                  : pl_buf_span(&call->in)};
}

static void call_finish(struct http_call *call)
{
	struct pl_err err = {0};
	long request_bytes = 0;
	struct http_end end;

	(void)curl_easy_getinfo(call->easy, CURLINFO_REQUEST_SIZE, &request_bytes);
	end.code = http_call_error(call, &err);
	end.err = end.code == PL_OK ? NULL : &err;
	end.unsent = request_bytes == 0;
	end.answer = call_answer(call);
	/* The call is removed from every list before the caller hears of its end. */
	if (call->added)
		(void)curl_multi_remove_handle(call->http->multi, call->easy);
	call->added = false;
	pl_list_del(&call->link);
	call->on_end(call->ctx, &end);
	call_free(call);
}

static void apply_pause(struct http_call *call)
{
	int bits = (call->in_paused ? CURLPAUSE_RECV : 0) |
	           (call->out_paused ? CURLPAUSE_SEND : 0);

	if (call->over || curl_easy_pause(call->easy, bits) == CURLE_OK)
		return;
	if (call->err.code == PL_OK)
		(void)pl_err_set(&call->err, PL_NOMEM, "%s: resume the transfer",
		                 call->what);
	http_wake(call);
}

static void deliver_data(struct http_call *call)
{
	struct pl_buf full = call->in;

	pl_buf_clear(&call->chunk, HTTP_STREAM_BUFFER);
	call->in = call->chunk;
	call->chunk = full;
	if (call->in_paused) {
		call->in_paused = false;
		apply_pause(call);
	}
	call->on_data(call->ctx, pl_buf_span(&call->chunk));
}

void http_call_serve(struct http_call *call)
{
	if (call->err.code != PL_OK) {
		call_finish(call);
		return;
	}
	if (call->streams && call->head_state == HTTP_HEAD_WHOLE) {
		struct http_answer answer = call_answer(call);

		call->head_state = HTTP_HEAD_DELIVERED;
		http_wake(call); /* the next thing is reported later */
		if (call->on_head != NULL)
			call->on_head(call->ctx, &answer);
	} else if (call->streams && call->in.len > 0) {
		if (call->paused)
			return;
		http_wake(call);
		deliver_data(call);
	} else if (call->want_room && call->out.len <= ROOM_AGAIN && !call->over) {
		call->want_room = false;
		http_wake(call);
		if (call->on_room != NULL)
			call->on_room(call->ctx);
	} else if (call->over) {
		call_finish(call);
	}
}

static void call_end(struct http_call *call, enum pl_code code, const char *why)
{
	if (call->err.code == PL_OK)
		(void)pl_err_set(&call->err, code, "%s: %s", call->what, why);
	http_wake(call);
}

static void on_deadline(void *ctx)
{
	call_end(ctx, PL_TIMEOUT, "no whole answer in time");
}

static void on_idle(void *ctx)
{
	struct http_call *call = ctx;
	uint64_t now = pl_clock_ms();

	/* The time is checked once a period, so that a byte costs no timer. */
	if (call->paused)
		call->last_ms = now;
	if (now - call->last_ms < call->idle_timeout_ms)
		pl_timer_set(&call->idle, call->last_ms + call->idle_timeout_ms);
	else
		call_end(call, PL_TIMEOUT, "the server is silent");
}

static bool is_token(const char *text)
{
	for (const char *at = text; *at != 0; at++) {
		if (!isalnum((unsigned char)*at) &&
		    strchr("!#$%&'*+-.^_`|~", *at) == NULL)
			return false;
	}
	return *text != 0;
}

static bool is_printable(const char *text, char least)
{
	for (; *text != 0; text++) {
		if ((*text >= 0 && *text < least && *text != '\t') || *text == 0x7f)
			return false;
	}
	return true;
}

static enum pl_code check_url(const char *url, struct pl_err *err)
{
	CURLU *parsed;
	CURLUcode rc;

	if (strlen(url) > HTTP_URL_MAX)
		return pl_err_set(err, PL_LIMIT, "URL of %zu bytes, at most %d",
		                  strlen(url), HTTP_URL_MAX);
	if (strncasecmp(url, "http://", 7) != 0 && strncasecmp(url, "https://", 8) != 0)
		return pl_err_set(err, PL_INVALID, "URL is neither http:// nor https://");
	if (!is_printable(url, '!') || strchr(url, '\t') != NULL)
		return pl_err_set(err, PL_INVALID, "URL with a blank or a control byte");
	parsed = curl_url();
	if (parsed == NULL)
		return pl_err_set(err, PL_NOMEM, "URL");
	/* Passwords are refused in URLs, because URLs end up in logs. */
	rc = curl_url_set(parsed, CURLUPART_URL, url, CURLU_DISALLOW_USER);
	curl_url_cleanup(parsed);
	if (rc == CURLUE_OUT_OF_MEMORY)
		return pl_err_set(err, PL_NOMEM, "URL");
	if (rc != CURLUE_OK)
		return pl_err_set(err, PL_INVALID, "URL: %s", curl_url_strerror(rc));
	return PL_OK;
}

static enum pl_code check_opts(const struct http_call_opts *opts, struct pl_err *err)
{
	if (opts->method != NULL && !is_token(opts->method))
		return pl_err_set(err, PL_INVALID, "not an HTTP method");
	if (opts->timeout_ms == 0 && opts->on_data == NULL)
		return pl_err_set(err, PL_INVALID, "a call needs a timeout");
	for (size_t i = 0; i < opts->header_count; i++) {
		if (!is_token(opts->headers[i].name) ||
		    !is_printable(opts->headers[i].value, ' '))
			return pl_err_set(err, PL_INVALID,
			                  "header %zu has a byte that may not be there",
			                  i);
	}
	return check_url(opts->url, err);
}

/* The query is left out, because it may hold secrets. */
static char *describe_request(const struct http_call_opts *opts)
{
	char text[WHAT_SIZE];

	(void)snprintf(text, sizeof text, "%s %.*s",
	               opts->method == NULL ? "GET" : opts->method,
	               (int)strcspn(opts->url, "?#"), opts->url);
	return pl_strdup(text);
}

static void copy_opts(struct http_call *call, const struct http_call_opts *opts)
{
	size_t body_max = opts->body_max == 0 ? BODY_MAX : opts->body_max;

	call->streams = opts->on_data != NULL;
	call->timeout_ms = opts->timeout_ms;
	call->idle_timeout_ms = opts->idle_timeout_ms;
	call->on_head = opts->on_head;
	call->on_data = opts->on_data;
	call->on_room = opts->on_room;
	call->on_end = opts->on_end;
	call->ctx = opts->ctx;
	pl_buf_init(&call->head, HTTP_HEAD_BYTES_MAX + 1);
	/* A stream's buffer takes one more write of libcurl after it is full. */
	if (call->streams)
		body_max = HTTP_STREAM_BUFFER + CURL_MAX_WRITE_SIZE;
	pl_buf_init(&call->in, body_max);
	pl_buf_init(&call->chunk, body_max);
	pl_buf_init(&call->out, HTTP_SEND_BUFFER_MAX);
}

static enum pl_code call_begin(struct http_call *call, const struct http_call_opts *opts,
                               struct pl_err *err)
{
	struct http *http = call->http;

	call->what = describe_request(opts);
	if (call->what == NULL ||
	    pl_timer_init(&call->deadline, &http->deadlines.timers, on_deadline, call) !=
	            PL_OK ||
	    pl_timer_init(&call->idle, &http->deadlines.timers, on_idle, call) != PL_OK)
		return pl_err_set(err, PL_NOMEM, "HTTP call");
	if (http_setup(call, opts, err) != PL_OK)
		return PL_NOMEM; /* the only failure there */
	if (curl_multi_add_handle(http->multi, call->easy) != CURLM_OK)
		return pl_err_set(err, PL_NOMEM, "%s", call->what);
	call->added = true;
	return PL_OK;
}

enum pl_code http_call_start(struct http *http, const struct http_call_opts *opts,
                             struct http_call **out, struct pl_err *err)
{
	struct http_call *call;
	enum pl_code code = check_opts(opts, err);

	PL_ASSERT(opts->on_end != NULL);
	PL_ASSERT(!opts->send_stream || opts->body.len == 0);
	if (code != PL_OK)
		return code;
	if (http->state != HTTP_OPEN)
		return pl_err_set(err, PL_CANCELED, "the HTTP client is being closed");
	call = pl_calloc(1, sizeof *call);
	if (call == NULL)
		return pl_err_set(err, PL_NOMEM, "HTTP call");
	call->http = http;
	pl_list_init(&call->link);
	pl_list_init(&call->ready);
	copy_opts(call, opts);
	code = call_begin(call, opts, err);
	if (code != PL_OK) {
		call_free(call);
		return code;
	}
	pl_list_add_tail(&http->calls, &call->link);
	call->last_ms = pl_clock_ms();
	if (call->timeout_ms != 0)
		pl_timer_set(&call->deadline, call->last_ms + call->timeout_ms);
	if (call->idle_timeout_ms != 0)
		pl_timer_set(&call->idle, call->last_ms + call->idle_timeout_ms);
	if (out != NULL)
		*out = call;
	return PL_OK;
}

void http_call_cancel(struct http_call *call)
{
	call_end(call, PL_CANCELED, "canceled");
}

void http_call_pause(struct http_call *call)
{
	PL_ASSERT(call->streams);
	call->paused = true;
}

void http_call_resume(struct http_call *call)
{
	PL_ASSERT(call->streams);
	call->paused = false;
	call->last_ms = pl_clock_ms();
	http_wake(call);
}

static void resume_sending(struct http_call *call)
{
	if (!call->out_paused)
		return;
	call->out_paused = false;
	apply_pause(call);
}

enum pl_code http_call_send(struct http_call *call, struct pl_span data,
                            struct pl_err *err)
{
	enum pl_code code;

	PL_ASSERT(!call->out_last);
	if (call->over || call->err.code != PL_OK)
		return pl_err_set(err, PL_CANCELED, "%s: has ended", call->what);
	code = pl_buf_add(&call->out, data);
	if (code == PL_LIMIT && data.len <= HTTP_SEND_BUFFER_MAX) {
		call->want_room = true;
		return pl_err_set(err, PL_BUSY, "%s: the send buffer is full",
		                  call->what);
	}
	if (code != PL_OK)
		return pl_err_set(err, code, "%s: %zu bytes to send", call->what,
		                  data.len);
	resume_sending(call);
	return PL_OK;
}

void http_call_send_end(struct http_call *call)
{
	call->out_last = true;
	resume_sending(call);
}

const char *http_answer_header(const struct http_answer *answer, const char *name)
{
	for (size_t i = 0; i < answer->header_count; i++) {
		if (strcasecmp(answer->headers[i].name, name) == 0)
			return answer->headers[i].value;
	}
	return NULL;
}
