/* The life of a call: started, waiting, open, ended. grpc_session.h has the diagram. */
#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/net/grpc_session.h"

enum { STREAM_UNSENT_MAX = 4 * 1024 * 1024 };

static void on_deadline(void *ctx)
{
	struct grpc_call *call = ctx;
	struct pl_err err;

	if (call->state == GRPC_CALL_WAITING)
		pl_err_set(&err, PL_TIMEOUT, "%s: could not be sent in time", call->path);
	else
		pl_err_set(&err, PL_TIMEOUT, "%s: no answer in time", call->path);
	grpc_h2_detach(call, NGHTTP2_CANCEL);
	grpc_call_end(call, grpc_call_fate(call, false), &err);
}

/* Whether text is a valid header field value. */
static bool header_value_valid(const char *text)
{
	for (; text != NULL && *text != 0; text++) {
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			return false;
	}
	return true;
}

static enum pl_code opts_check(const struct grpc_session *session,
                               const struct grpc_call_opts *opts, struct pl_err *err)
{
	PL_ASSERT(opts->on_end != NULL && opts->body != NULL);
	PL_ASSERT(opts->unary == (opts->on_message == NULL));
	PL_ASSERT(!opts->unary || opts->body->len >= GRPC_PREFIX_SIZE);
	PL_ASSERT(!opts->unary || opts->deadline_ms != 0);
	if (session->state >= GRPC_SESSION_AWAY)
		return pl_err_set(err, PL_UNAVAIL, "connection is going away");
	if (!header_value_valid(opts->token))
		return pl_err_set(err, PL_INVALID, "control characters in the token");
	return PL_OK;
}

static struct grpc_call *call_new(struct grpc_session *session,
                                  const struct grpc_call_opts *opts)
{
	size_t path_size = strlen(opts->path) + 1;
	size_t token_size = opts->token == NULL ? 0 : strlen(opts->token) + 1;
	struct grpc_call *call = pl_malloc(sizeof *call + path_size + token_size);

	if (call == NULL)
		return NULL;
	*call = (struct grpc_call){
		.session = session,
		.unary = opts->unary,
		.need_leader = opts->need_leader,
		.on_message = opts->on_message,
		.on_end = opts->on_end,
		.ctx = opts->ctx,
		.head_offset = GRPC_OFFSET_NONE,
		.tail_offset = GRPC_OFFSET_NONE,
	};
	memcpy(call->path, opts->path, path_size);
	if (token_size != 0) {
		memcpy(call->path + path_size, opts->token, token_size);
		call->token = call->path + path_size;
	}
	if (pl_timer_init(&call->deadline, session->timers, on_deadline, call) != PL_OK) {
		free(call);
		return NULL;
	}
	pl_list_init(&call->link);
	pl_list_init(&call->borrowing);
	pl_list_init(&call->sending);
	grpc_decoder_init(&call->decoder, session->message_max);
	return call;
}

/* Moves the bytes of *body to the call; *body stays usable and is empty. */
static void body_take(struct grpc_call *call, struct pl_buf *body)
{
	PL_ASSERT(call->body_at == call->body.len);
	pl_buf_done(&call->body);
	call->body = *body;
	call->body_at = 0;
	call->session->body_bytes += body->len;
	pl_buf_init(body, body->max);
}

enum pl_code grpc_session_call(struct grpc_session *session,
                               const struct grpc_call_opts *opts, struct grpc_call **out,
                               struct pl_err *err)
{
	enum pl_code code = opts_check(session, opts, err);
	struct grpc_call *call;

	if (code != PL_OK)
		return code;
	call = call_new(session, opts);
	if (call == NULL)
		return pl_err_set(err, PL_NOMEM, "%s", opts->path);
	body_take(call, opts->body);
	if (opts->deadline_ms != 0)
		pl_timer_set(&call->deadline, opts->deadline_ms);
	pl_list_add_tail(&session->waiting, &call->link);
	session->fns.wake(session->ctx);
	if (out != NULL)
		*out = call;
	return PL_OK;
}

static enum pl_code body_append(struct grpc_call *call, struct pl_buf *body)
{
	enum pl_code code;

	pl_buf_drop(&call->body, call->body_at);
	call->body_at = 0;
	call->body.max = SIZE_MAX;
	code = pl_buf_add(&call->body, pl_buf_span(body));
	if (code != PL_OK)
		return code;
	call->session->body_bytes += body->len;
	pl_buf_done(body);
	return PL_OK;
}

enum pl_code grpc_call_send(struct grpc_call *call, struct pl_buf *body,
                            struct pl_err *err)
{
	struct grpc_session *session = call->session;
	enum pl_code code = PL_OK;

	PL_ASSERT(!call->unary);
	if (call->state == GRPC_CALL_ENDED)
		return pl_err_set(err, PL_UNAVAIL, "%s: has ended", call->path);
	if (call->body.len - call->body_at > STREAM_UNSENT_MAX)
		return pl_err_set(err, PL_BUSY, "%s: too much waits to be sent",
		                  call->path);
	if (call->deferred &&
	    nghttp2_session_resume_data(session->h2, call->stream_id) != 0)
		return pl_err_set(err, PL_NOMEM, "%s", call->path);
	call->deferred = false;
	if (call->body_at == call->body.len)
		body_take(call, body);
	else
		code = body_append(call, body);
	if (code != PL_OK)
		return pl_err_set(err, code, "%s", call->path);
	session->fns.wake(session->ctx);
	return PL_OK;
}

void grpc_call_cancel(struct grpc_call *call)
{
	struct pl_err err;

	if (call->state == GRPC_CALL_ENDED)
		return; /* on_end is already due */
	pl_err_set(&err, PL_CANCELED, "%s", call->path);
	grpc_h2_detach(call, NGHTTP2_CANCEL);
	grpc_call_end(call, grpc_call_fate(call, false), &err);
}

enum grpc_fate grpc_call_fate(const struct grpc_call *call, bool dying)
{
	if (call->head_offset == GRPC_OFFSET_NONE)
		return GRPC_UNSENT;
	if (dying && call->session->written <= call->head_offset)
		return GRPC_UNSENT;
	return GRPC_MAYBE;
}

/* The server says that it did not process the call. That is wrong when it answered
 * before. */
enum grpc_fate grpc_call_refused(const struct grpc_call *call)
{
	return call->reply.http_status == 0 ? GRPC_UNSENT : GRPC_MAYBE;
}

void grpc_call_end(struct grpc_call *call, enum grpc_fate fate, const struct pl_err *err)
{
	struct grpc_session *session = call->session;

	PL_ASSERT(call->state != GRPC_CALL_ENDED);
	call->state = GRPC_CALL_ENDED;
	call->fate = fate;
	if (err != NULL)
		call->err = *err;
	pl_timer_done(&call->deadline);
	pl_list_del(&call->borrowing);
	pl_list_del(&call->sending);
	session->body_bytes -= call->body.len - call->body_at;
	call->body_at = call->body.len;
	pl_list_del(&call->link);
	pl_list_add_tail(&session->ended, &call->link);
	if (pl_list_empty(&session->open))
		grpc_ping_busy(&session->ping, false, 0);
	session->fns.wake(session->ctx);
}

void grpc_call_free(struct grpc_call *call)
{
	grpc_decoder_done(&call->decoder);
	grpc_reply_done(&call->reply);
	pl_buf_done(&call->message_copy);
	pl_buf_done(&call->body);
	free(call);
}

/* Our side ends the call, because the answer is not acceptable. */
static void call_abort(struct grpc_call *call, struct pl_err *err)
{
	pl_err_wrap(err, "%s", call->path);
	grpc_h2_detach(call, NGHTTP2_CANCEL);
	grpc_call_end(call, grpc_call_fate(call, false), err);
}

static enum pl_code unary_message(struct grpc_call *call, struct pl_span message,
                                  struct pl_span rest, struct pl_err *err)
{
	if (rest.len != 0)
		return pl_err_set(err, PL_PROTO, "bytes behind the message");
	call->has_message = true;
	call->message = message;
	if (!call->decoder.handed)
		pl_list_add_tail(&call->session->borrowing, &call->borrowing);
	return PL_OK;
}

void grpc_call_data(struct grpc_call *call, struct pl_span data)
{
	struct pl_span message;
	struct pl_err err;
	enum pl_code code;
	bool got = true;

	if (call->has_message) {
		pl_err_set(&err, PL_PROTO, "bytes behind the message");
		call_abort(call, &err);
		return;
	}
	while (got && call->state == GRPC_CALL_OPEN) {
		code = grpc_decoder_next(&call->decoder, &data, &got, &message, &err);
		if (code == PL_OK && got && call->unary) {
			code = unary_message(call, message, data, &err);
			got = false;
		}
		if (code != PL_OK) {
			call_abort(call, &err);
			return;
		}
		if (got)
			call->on_message(call->ctx, message);
	}
}

void grpc_call_headers(struct grpc_call *call, bool last)
{
	struct pl_err err;

	if (!last && grpc_reply_check(&call->reply, &err) != PL_OK)
		call_abort(call, &err);
}

void grpc_call_finish(struct grpc_call *call)
{
	enum pl_code code;
	struct pl_err err;

	code = grpc_reply_end(&call->reply, &err);
	if (code == PL_OK && !grpc_decoder_between(&call->decoder))
		code = pl_err_set(&err, PL_PROTO, "answer ended within a message");
	if (code == PL_OK && call->unary && call->reply.grpc_status == GRPC_OK &&
	    !call->has_message)
		code = pl_err_set(&err, PL_PROTO, "answer without a message");
	if (code != PL_OK) {
		call_abort(call, &err);
		return;
	}
	grpc_h2_detach(call, NGHTTP2_NO_ERROR);
	grpc_call_end(call, GRPC_ANSWERED, NULL);
}

void grpc_call_reset(struct grpc_call *call, uint32_t error_code)
{
	enum grpc_fate fate = error_code == NGHTTP2_REFUSED_STREAM
	                              ? grpc_call_refused(call)
	                              : GRPC_MAYBE;
	struct pl_err err;

	pl_err_set(&err, PL_UNAVAIL, "%s: reset by the server: %s", call->path,
	           nghttp2_http2_strerror(error_code));
	grpc_h2_detach(call, NGHTTP2_NO_ERROR);
	grpc_call_end(call, fate, &err);
}

void grpc_call_keep_message(struct grpc_call *call)
{
	struct pl_err err;

	pl_list_del(&call->borrowing);
	call->message_copy.max = call->message.len + 1;
	if (pl_buf_add(&call->message_copy, call->message) == PL_OK) {
		call->message = pl_buf_span(&call->message_copy);
		return;
	}
	pl_err_set(&err, PL_NOMEM, "message of %zu bytes", call->message.len);
	call_abort(call, &err);
}
