/* Between nghttp2 and the calls of a session: requests and bytes to send. */
#include <stdio.h>

#include "store/net/grpc_h2.h"
#include "store/net/unconst.h"

enum { FRAME_HEAD_SIZE = 9, NV_MAX = 10 };

static int out_add(struct grpc_session *session, const uint8_t *at, size_t len)
{
	if (pl_buf_add(&session->out, pl_span(at, len)) != PL_OK) {
		pl_err_set(&session->why, PL_NOMEM, "bytes to send");
		return NGHTTP2_ERR_CALLBACK_FAILURE;
	}
	session->serialised += len;
	return 0;
}

static ssize_t on_send(nghttp2_session *h2, const uint8_t *data, size_t len, int flags,
                       void *ctx)
{
	int rc = out_add(ctx, data, len);

	(void)h2;
	(void)flags;
	return rc != 0 ? rc : (ssize_t)len;
}

static int on_before_send(nghttp2_session *h2, const nghttp2_frame *frame, void *ctx)
{
	struct grpc_session *session = ctx;
	struct grpc_call *call;

	if (frame->hd.type != NGHTTP2_HEADERS)
		return 0;
	call = grpc_h2_call(h2, frame->hd.stream_id);
	if (call != NULL)
		call->head_offset = session->serialised;
	return 0;
}

/* Tells nghttp2 how much of the body goes into the next DATA frame. */
static ssize_t on_body_read(nghttp2_session *h2, int32_t stream_id, uint8_t *to,
                            size_t size, uint32_t *flags, nghttp2_data_source *source,
                            void *ctx)
{
	struct grpc_call *call = grpc_h2_call(h2, stream_id);
	size_t left;

	(void)to;
	(void)source;
	(void)ctx;
	if (call == NULL)
		return NGHTTP2_ERR_DEFERRED; /* the RST_STREAM is queued */
	left = call->body.len - call->body_at;
	if (left == 0) {
		call->deferred = true;
		return NGHTTP2_ERR_DEFERRED;
	}
	*flags |= NGHTTP2_DATA_FLAG_NO_COPY;
	if (left > size)
		return (ssize_t)size;
	if (call->unary)
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	return (ssize_t)left;
}

/* Writes the frame that on_body_read() announced. This is the only copy of a body. */
static int on_body_send(nghttp2_session *h2, nghttp2_frame *frame, const uint8_t *head,
                        size_t len, nghttp2_data_source *source, void *ctx)
{
	struct grpc_session *session = ctx;
	struct grpc_call *call = grpc_h2_call(h2, frame->hd.stream_id);
	int rc;

	(void)source;
	if (call == NULL)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	PL_ASSERT(len <= call->body.len - call->body_at);
	rc = out_add(session, head, FRAME_HEAD_SIZE);
	if (rc == 0)
		rc = out_add(session, call->body.at + call->body_at, len);
	if (rc != 0)
		return rc;
	call->body_at += len;
	session->body_bytes -= len;
	if (call->body_at == call->body.len) {
		call->tail_offset = session->serialised;
		call->left_ms = session->now_ms;
		pl_list_del(&call->sending);
		pl_list_add_tail(&session->sending, &call->sending);
	}
	return session->out.len >= GRPC_OUT_HIGH ? NGHTTP2_ERR_PAUSE : 0;
}

void grpc_h2_out_callbacks(nghttp2_session_callbacks *cbs)
{
	nghttp2_session_callbacks_set_send_callback(cbs, on_send);
	nghttp2_session_callbacks_set_before_frame_send_callback(cbs, on_before_send);
	nghttp2_session_callbacks_set_send_data_callback(cbs, on_body_send);
}

/* --- requests ------------------------------------------------------------ */

struct fields {
	nghttp2_nv nv[NV_MAX];
	size_t count;
};

static void field_add(struct fields *fields, const char *name, const char *value)
{
	PL_ASSERT(fields->count < NV_MAX);
	fields->nv[fields->count++] = (nghttp2_nv){
		.name = unconst(name),
		.value = unconst(value),
		.namelen = strlen(name),
		.valuelen = strlen(value),
		.flags = NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE,
	};
}

/* The timeout is rounded up to three digits, so that header compression, and the cache
 * here, meet the same value again. A server that gives up later than the client does no
 * harm. */
static void timeout_print(struct grpc_call *call)
{
	struct grpc_session *session = call->session;
	uint64_t deadline_ms = call->deadline.at_ms, unit = 1, left_ms = 1;

	if (deadline_ms > session->now_ms)
		left_ms = deadline_ms - session->now_ms;
	if (left_ms > 99000000)
		left_ms = 99000000; /* gRPC allows eight digits */
	while (left_ms / unit >= 1000)
		unit *= 10;
	left_ms = (left_ms + unit - 1) / unit * unit;
	if (left_ms != session->timeout_ms)
		(void)snprintf(session->timeout, sizeof session->timeout, "%um",
		               (unsigned)left_ms);
	session->timeout_ms = left_ms;
	memcpy(call->timeout, session->timeout, sizeof call->timeout);
}

static void fields_fill(struct fields *fields, struct grpc_call *call)
{
	struct grpc_session *session = call->session;

	field_add(fields, ":method", "POST");
	field_add(fields, ":scheme", session->scheme);
	field_add(fields, ":path", call->path);
	field_add(fields, ":authority", session->authority);
	field_add(fields, "te", "trailers");
	field_add(fields, "content-type", "application/grpc");
	field_add(fields, "user-agent", "placet");
	if (call->unary) {
		timeout_print(call);
		field_add(fields, "grpc-timeout", call->timeout);
	}
	if (call->token != NULL)
		field_add(fields, "authorization", call->token);
	if (call->need_leader)
		field_add(fields, "hasleader", "true");
}

enum pl_code grpc_h2_submit(struct grpc_session *session, struct grpc_call *call,
                            struct pl_err *err)
{
	nghttp2_data_provider provider = {.read_callback = on_body_read};
	struct fields fields = {.count = 0};
	int32_t id;

	PL_ASSERT(call->state == GRPC_CALL_WAITING);
	fields_fill(&fields, call);
	id = nghttp2_submit_request(session->h2, NULL, fields.nv, fields.count, &provider,
	                            call);
	if (id == NGHTTP2_ERR_NOMEM)
		return pl_err_set(err, PL_NOMEM, "%s", call->path);
	if (id < 0) { /* 2^30 calls have used up the stream numbers */
		pl_err_set(&session->why, PL_UNAVAIL,
		           "connection has no stream numbers left");
		grpc_session_retire(session);
		return PL_OK;
	}
	call->stream_id = id;
	call->state = GRPC_CALL_OPEN;
	session->streams++;
	pl_list_del(&call->link);
	pl_list_add_tail(&session->open, &call->link);
	return PL_OK;
}

void grpc_h2_detach(struct grpc_call *call, uint32_t error_code)
{
	struct grpc_session *session = call->session;
	bool sent_all = call->unary && call->body_at == call->body.len;

	if (call->stream_id == 0 || call->closed || session->state == GRPC_SESSION_DEAD)
		return;
	(void)nghttp2_session_set_stream_user_data(session->h2, call->stream_id, NULL);
	/* NO_ERROR: the server has closed its side, so the stream closes as soon as our
	 * side is closed too. Without memory for the RST_STREAM the stream stays open,
	 * which costs one stream of this connection and nothing else. */
	if (error_code == NGHTTP2_NO_ERROR && sent_all)
		return;
	(void)nghttp2_submit_rst_stream(session->h2, NGHTTP2_FLAG_NONE, call->stream_id,
	                                error_code);
}
