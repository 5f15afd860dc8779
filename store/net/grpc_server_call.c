/* The streams of a server's connection: receiving messages, sending answers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/alloc.h"
#include "store/net/grpc_server_int.h"
#include "store/net/unconst.h"

/* -- streams ---------------------------------------------------------------- */

void server_stream_free(struct grpc_stream *stream)
{
	struct server_conn *conn = stream->conn;

	if (stream->call != NULL)
		conn->server->fns.on_gone(stream->call);
	conn->unread -= stream->out.len - stream->out_from;
	pl_list_del(&stream->link);
	grpc_decoder_done(&stream->decoder);
	pl_buf_done(&stream->out);
	free(stream);
}

static nghttp2_nv header_field(const char *name, const char *value)
{
	return (nghttp2_nv){unconst(name), unconst(value), strlen(name), strlen(value),
	                    NGHTTP2_NV_FLAG_NONE};
}

static int trailers_send(struct grpc_stream *stream)
{
	char status[12];
	nghttp2_nv nv[2];

	(void)snprintf(status, sizeof status, "%u", (unsigned)stream->status);
	nv[0] = header_field("grpc-status", status);
	nv[1] = header_field("grpc-message", stream->text);
	return nghttp2_submit_trailer(stream->conn->h2, stream->id, nv, 2);
}

static ssize_t on_body(nghttp2_session *h2, int32_t id, uint8_t *to, size_t size,
                       uint32_t *flags, nghttp2_data_source *source, void *ctx)
{
	struct grpc_stream *stream = source->ptr;
	size_t count = stream->out.len - stream->out_from;

	(void)h2;
	(void)id;
	(void)ctx;
	if (count == 0 && !stream->ended)
		return NGHTTP2_ERR_DEFERRED;
	if (count > size)
		count = size;
	if (count > 0)
		memcpy(to, stream->out.at + stream->out_from, count);
	stream->out_from += count;
	stream->conn->unread -= count;
	if (stream->out_from == stream->out.len) {
		pl_buf_clear(&stream->out, CHUNK_SIZE);
		stream->out_from = 0;
		if (stream->ended) {
			*flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
			if (trailers_send(stream) != 0)
				return NGHTTP2_ERR_CALLBACK_FAILURE;
		}
	}
	return (ssize_t)count;
}

static void stream_resume(struct grpc_stream *stream)
{
	struct server_conn *conn = stream->conn;
	nghttp2_data_provider provider = {.source = {.ptr = stream},
	                                  .read_callback = on_body};
	nghttp2_nv nv[] = {header_field(":status", "200"),
	                   header_field("content-type", "application/grpc")};
	int rc = 0;

	if (!stream->headed)
		rc = nghttp2_submit_response(conn->h2, stream->id, nv, 2, &provider);
	else
		(void)nghttp2_session_resume_data(conn->h2, stream->id);
	stream->headed = true;
	if (rc != 0)
		server_conn_fail(conn);
	server_conn_touch(conn);
}

void grpc_stream_send(struct grpc_stream *stream, struct pl_span framed)
{
	struct server_conn *conn = stream->conn;

	if (conn->state != SERVER_CONN_OPEN || stream->ended)
		return;
	if (conn->unread + framed.len > GRPC_SERVER_UNREAD_MAX ||
	    pl_buf_add(&stream->out, framed) != PL_OK) {
		server_conn_fail(conn);
		return;
	}
	conn->unread += framed.len;
	stream_resume(stream);
}

/* Encodes grpc-message: visible ASCII stays, everything else becomes %XX, and so does a
 * space at either end, where HTTP/2 allows none. */
static void text_encode(char out[TEXT_SIZE], const char *text)
{
	static const char hex[] = "0123456789ABCDEF";
	size_t len = 0;

	for (const char *at = text; *at != 0 && len + 3 < TEXT_SIZE; at++) {
		unsigned byte = (unsigned char)*at;

		bool inside = byte != ' ' || (len > 0 && at[1] != 0);

		if (inside && byte >= ' ' && byte <= '~' && byte != '%') {
			out[len++] = *at;
			continue;
		}
		out[len++] = '%';
		out[len++] = hex[byte >> 4];
		out[len++] = hex[byte & 15];
	}
	out[len] = 0;
}

void grpc_stream_end(struct grpc_stream *stream, enum grpc_status status,
                     const char *text)
{
	if (stream->conn->state != SERVER_CONN_OPEN || stream->ended)
		return;
	stream->ended = true;
	stream->status = status;
	text_encode(stream->text, text);
	stream_resume(stream);
}

/* -- receiving ------------------------------------------------------------- */

static struct grpc_stream *stream_of(nghttp2_session *h2, int32_t id)
{
	return id == 0 ? NULL : nghttp2_session_get_stream_user_data(h2, id);
}

static int on_begin(nghttp2_session *h2, const nghttp2_frame *frame, void *ctx)
{
	struct server_conn *conn = ctx;
	struct grpc_stream *stream = NULL;

	if (frame->hd.type != NGHTTP2_HEADERS ||
	    frame->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0;
	stream = pl_calloc(1, sizeof *stream);
	if (stream == NULL)
		return NGHTTP2_ERR_CALLBACK_FAILURE;
	stream->conn = conn;
	stream->id = frame->hd.stream_id;
	grpc_decoder_init(&stream->decoder, conn->server->opts.message_max);
	pl_buf_init(&stream->out, GRPC_SERVER_UNREAD_MAX);
	pl_list_add_tail(&conn->streams, &stream->link);
	return nghttp2_session_set_stream_user_data(h2, stream->id, stream);
}

static int on_header(nghttp2_session *h2, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_len, const uint8_t *value, size_t value_len,
                     uint8_t flags, void *ctx)
{
	struct server_conn *conn = ctx;
	struct grpc_stream *stream = stream_of(h2, frame->hd.stream_id);

	(void)flags;
	if (stream == NULL || stream->call != NULL ||
	    !pl_span_eq(pl_span(name, name_len), PL_SPAN_LIT(":path")))
		return 0;
	stream->call =
		conn->server->fns.on_call(conn->own, stream, pl_span(value, value_len));
	stream->refused = stream->call == NULL;
	return 0;
}

/* The length that the message's prefix claims. */
static uint64_t claimed_size(const struct grpc_decoder *decoder)
{
	uint64_t bytes = 0;

	for (unsigned i = 1; i < GRPC_PREFIX_SIZE; i++)
		bytes = bytes << 8 | decoder->prefix[i];
	return bytes;
}

static void refuse_large(struct grpc_stream *stream)
{
	stream->conn->server->fns.on_large(stream->call, claimed_size(&stream->decoder));
	if (!stream->ended)
		grpc_stream_end(stream, GRPC_RESOURCE_EXHAUSTED, "message too large");
}

static int on_data(nghttp2_session *h2, uint8_t flags, int32_t id, const uint8_t *data,
                   size_t len, void *ctx)
{
	struct server_conn *conn = ctx;
	struct grpc_stream *stream = stream_of(h2, id);
	struct pl_span in = pl_span(data, len), message;
	bool got = true;

	(void)flags;
	while (stream != NULL && stream->call != NULL && !stream->ended) {
		struct pl_err err = {0};
		enum pl_code code =
			grpc_decoder_next(&stream->decoder, &in, &got, &message, &err);

		if (code == PL_LIMIT)
			refuse_large(stream);
		else if (code != PL_OK)
			grpc_stream_end(stream, GRPC_INTERNAL, err.msg);
		if (code != PL_OK || !got)
			break;
		conn->server->fns.on_message(stream->call, message);
	}
	return 0;
}

static int on_frame(nghttp2_session *h2, const nghttp2_frame *frame, void *ctx)
{
	struct server_conn *conn = ctx;
	struct grpc_stream *stream = stream_of(h2, frame->hd.stream_id);

	if (stream == NULL)
		return 0;
	if (frame->hd.type == NGHTTP2_HEADERS && stream->refused)
		grpc_stream_end(stream, GRPC_UNIMPLEMENTED, "unknown method");
	if ((frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA) &&
	    (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0 && stream->call != NULL &&
	    !stream->ended)
		conn->server->fns.on_half_close(stream->call);
	return 0;
}

static int on_stream_close(nghttp2_session *h2, int32_t id, uint32_t error, void *ctx)
{
	struct grpc_stream *stream = stream_of(h2, id);

	(void)error;
	(void)ctx;
	if (stream == NULL)
		return 0;
	(void)nghttp2_session_set_stream_user_data(h2, id, NULL);
	server_stream_free(stream);
	return 0;
}

int server_session_new(struct server_conn *conn)
{
	const nghttp2_settings_entry settings[] = {
		{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW},
		{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, GRPC_SERVER_STREAMS},
	};
	nghttp2_session_callbacks *cbs = NULL;
	int rc = nghttp2_session_callbacks_new(&cbs);

	if (rc != 0)
		return rc;
	nghttp2_session_callbacks_set_on_begin_headers_callback(cbs, on_begin);
	nghttp2_session_callbacks_set_on_header_callback(cbs, on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cbs, on_data);
	nghttp2_session_callbacks_set_on_frame_recv_callback(cbs, on_frame);
	nghttp2_session_callbacks_set_on_stream_close_callback(cbs, on_stream_close);
	rc = nghttp2_session_server_new(&conn->h2, cbs, conn);
	nghttp2_session_callbacks_del(cbs);
	if (rc == 0)
		rc = nghttp2_submit_settings(conn->h2, NGHTTP2_FLAG_NONE, settings, 2);
	if (rc == 0)
		rc = nghttp2_session_set_local_window_size(conn->h2, NGHTTP2_FLAG_NONE, 0,
		                                           WINDOW);
	return rc;
}
