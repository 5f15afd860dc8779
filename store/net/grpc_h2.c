/*
 * Between nghttp2 and the calls of a session: setup, and what is received.
 *
 * nghttp2 finds a call by the user data of its stream. The user data is cleared when the
 * call ends, so what still arrives for the stream is dropped here.
 */
#include "store/net/grpc_h2.h"

#include <malloc.h>
#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/net/h2_memory.h"

/* etcd sends no faster than the windows allow: small windows would cost throughput.
 * Memory is bounded by message_max, not by the windows. */
enum {
	STREAM_WINDOW = 16 * 1024 * 1024,
	CONN_WINDOW = 64 * 1024 * 1024,
	FRAME_SIZE_MAX = 256 * 1024,
	HEADER_LIST_MAX = 64 * 1024,
	RESERVE_SIZE = 64 * 1024,
};

/* --- receiving ------------------------------------------------------------ */

static int on_header(nghttp2_session *h2, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_len, const uint8_t *value, size_t value_len,
                     uint8_t flags, void *ctx)
{
	struct grpc_call *call = grpc_h2_call(h2, frame->hd.stream_id);

	(void)flags;
	(void)ctx;
	if (call != NULL)
		grpc_reply_header(&call->reply, pl_span(name, name_len),
		                  pl_span(value, value_len));
	return 0;
}

static int on_data(nghttp2_session *h2, uint8_t flags, int32_t stream_id,
                   const uint8_t *data, size_t len, void *ctx)
{
	struct grpc_call *call = grpc_h2_call(h2, stream_id);

	(void)flags;
	(void)ctx;
	if (call != NULL && len != 0)
		grpc_call_data(call, pl_span(data, len));
	return 0;
}

static void goaway_received(struct grpc_session *session, const nghttp2_goaway *goaway)
{
	char text[80];

	(void)grpc_text_decode(pl_span(goaway->opaque_data, goaway->opaque_data_len),
	                       text, sizeof text);
	if (goaway->error_code == NGHTTP2_NO_ERROR)
		pl_err_set(&session->why, PL_UNAVAIL, "server is going away");
	else
		pl_err_set(&session->why, PL_UNAVAIL,
		           "server closes the connection: %s%s%s",
		           nghttp2_http2_strerror(goaway->error_code),
		           *text == 0 ? "" : ", ", text);
	grpc_session_retire(session);
}

static void stream_frame(nghttp2_session *h2, const nghttp2_frame *frame)
{
	struct grpc_call *call = grpc_h2_call(h2, frame->hd.stream_id);
	bool last = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;

	if (call == NULL)
		return;
	if (frame->hd.type == NGHTTP2_RST_STREAM) {
		grpc_call_reset(call, frame->rst_stream.error_code);
		return;
	}
	if (frame->hd.type == NGHTTP2_HEADERS)
		grpc_call_headers(call, last);
	if (last && call->state == GRPC_CALL_OPEN)
		grpc_call_finish(call);
}

static int on_frame(nghttp2_session *h2, const nghttp2_frame *frame, void *ctx)
{
	struct grpc_session *session = ctx;

	switch (frame->hd.type) {
	case NGHTTP2_HEADERS:
	case NGHTTP2_DATA:
	case NGHTTP2_RST_STREAM:
		stream_frame(h2, frame);
		break;
	case NGHTTP2_SETTINGS:
		if ((frame->hd.flags & NGHTTP2_FLAG_ACK) == 0)
			grpc_session_up(session);
		session->fns.wake(session->ctx); /* waiting calls may be submitted now */
		break;
	case NGHTTP2_GOAWAY:
		goaway_received(session, &frame->goaway);
		break;
	default: /* nghttp2 handles the other frames */
		break;
	}
	return 0;
}

static int on_stream_close(nghttp2_session *h2, int32_t stream_id, uint32_t error_code,
                           void *ctx)
{
	struct grpc_session *session = ctx;
	struct grpc_call *call = grpc_h2_call(h2, stream_id);
	struct pl_err err;

	PL_ASSERT(session->streams > 0);
	session->streams--;
	if (!pl_list_empty(&session->waiting))
		session->fns.wake(session->ctx);
	if (call == NULL)
		return 0;
	call->closed = true;
	/* beyond the last stream of a GOAWAY */
	if (error_code == NGHTTP2_REFUSED_STREAM) {
		pl_err_set(&err, PL_UNAVAIL, "%s: server is going away", call->path);
		grpc_call_end(call, grpc_call_refused(call), &err);
		return 0;
	}
	pl_err_set(&err, PL_PROTO, "%s: broken answer: HTTP/2 %s", call->path,
	           nghttp2_http2_strerror(error_code));
	grpc_call_end(call, grpc_call_fate(call, false), &err);
	return 0;
}

/* nghttp2 says why it is about to give up; the text may hold bytes of the wire. */
static int on_error(nghttp2_session *h2, int code, const char *text, size_t len,
                    void *ctx)
{
	struct grpc_session *session = ctx;
	char clean[160];

	(void)h2;
	if (session->state >= GRPC_SESSION_AWAY ||
	    session->ping.state == GRPC_PING_LOST || code == NGHTTP2_ERR_HTTP_HEADER)
		return 0;
	(void)grpc_text_decode(pl_span(text, len), clean, sizeof clean);
	pl_err_set(&session->why, PL_PROTO, "HTTP/2: %s", clean);
	return 0;
}

/* --- setup ---------------------------------------------------------------- */

/* nghttp2 1.52 frees a request's body item twice when the queue for it can not grow.
 * Therefore this growth is served from a reserve, and the session ends. */
static void *h2_realloc_or_reserve(void *at, size_t size, void *ctx)
{
	struct grpc_session *session = ctx;
	void *moved = pl_realloc(at, size);
	size_t old;

	if (moved != NULL || size > RESERVE_SIZE || session->reserve == NULL)
		return moved;
	moved = PL_STEAL(session->reserve);
	old = at == NULL ? 0 : malloc_usable_size(at);
	memcpy(moved, at == NULL ? moved : at, old < size ? old : size);
	free(at);
	pl_err_set(&session->why, PL_NOMEM, "HTTP/2 session");
	return moved;
}

static void set_callbacks(nghttp2_session_callbacks *cbs)
{
	grpc_h2_out_callbacks(cbs);
	nghttp2_session_callbacks_set_on_header_callback(cbs, on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cbs, on_data);
	nghttp2_session_callbacks_set_on_frame_recv_callback(cbs, on_frame);
	nghttp2_session_callbacks_set_on_stream_close_callback(cbs, on_stream_close);
	nghttp2_session_callbacks_set_error_callback2(cbs, on_error);
}

static int h2_make(struct grpc_session *session)
{
	nghttp2_mem mem = {session, h2_malloc, h2_free, h2_calloc, h2_realloc_or_reserve};
	nghttp2_session_callbacks *cbs = NULL;
	nghttp2_option *option = NULL;
	int rc = nghttp2_session_callbacks_new(&cbs);

	if (rc == 0)
		rc = nghttp2_option_new(&option);
	if (rc == 0) {
		set_callbacks(cbs);
		nghttp2_option_set_no_closed_streams(option, 1);
		rc = nghttp2_session_client_new3(&session->h2, cbs, session, option,
		                                 &mem);
	}
	nghttp2_option_del(option);
	nghttp2_session_callbacks_del(cbs);
	return rc;
}

enum pl_code grpc_h2_new(struct grpc_session *session, struct pl_err *err)
{
	/* Without RFC 7540 priorities nghttp2 sends bodies in the order of their
	 * requests, and keeps no dependency tree. */
	static const nghttp2_settings_entry settings[] = {
		{NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
		{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW},
		{NGHTTP2_SETTINGS_MAX_FRAME_SIZE, FRAME_SIZE_MAX},
		{NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, HEADER_LIST_MAX},
		{NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
	};
	int rc;

	session->reserve = pl_malloc(RESERVE_SIZE);
	rc = session->reserve == NULL ? NGHTTP2_ERR_NOMEM : h2_make(session);
	if (rc == 0)
		rc = nghttp2_submit_settings(session->h2, NGHTTP2_FLAG_NONE, settings,
		                             sizeof settings / sizeof *settings);
	if (rc == 0)
		rc = nghttp2_session_set_local_window_size(session->h2, NGHTTP2_FLAG_NONE,
		                                           0, CONN_WINDOW);
	return rc == 0 ? PL_OK : pl_err_set(err, PL_NOMEM, "HTTP/2 session");
}

enum pl_code grpc_h2_check_preface(const uint8_t *preface, size_t len, struct pl_err *err)
{
	/* A server's first frame is SETTINGS: length up to 16384, type 4, no ACK, stream
	 * 0. */
	bool fits = (len < 1 || preface[0] == 0) && (len < 2 || preface[1] <= 0x40) &&
	            (len < 4 || preface[3] == NGHTTP2_SETTINGS) &&
	            (len < 5 || (preface[4] & NGHTTP2_FLAG_ACK) == 0) &&
	            (len < 9 || memcmp(preface + 5, "\0\0\0", 4) == 0);
	char text[40];

	if (fits)
		return PL_OK;
	if (len >= 2 && (preface[0] == 0x15 || preface[0] == 0x16) && preface[1] == 3)
		return pl_err_set(err, PL_TLS, "server speaks TLS: use https");
	if (len >= 5 && memcmp(preface, "HTTP/", 5) == 0)
		return pl_err_set(err, PL_PROTO,
		                  "not a gRPC server: it answers in HTTP/1");
	(void)grpc_text_decode(pl_span(preface, len < 32 ? len : 32), text, sizeof text);
	return pl_err_set(err, PL_PROTO, "not an HTTP/2 server: it begins with '%s'",
	                  text);
}
