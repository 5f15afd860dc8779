/* HTTP/2, sent. DATA frames take their bytes straight from the exchange's queue. */
#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/base/num.h"
#include "store/net/http_guard.h"
#include "store/net/http_server_int.h"
#include "store/net/http_status.h"
#include "store/net/unconst.h"

enum { FRAME_HEAD = 9, FIELDS_OWN = 6, FIELDS_STACK = 24 };

void http_h2_must(struct http_conn *conn, int rc)
{
	if (rc != 0 && nghttp2_is_fatal(rc) != 0)
		http_conn_fail(conn);
}

/* -- frames --------------------------------------------------------------------------- */

static ssize_t on_send(nghttp2_session *h2, const uint8_t *data, size_t len, int flags,
                       void *ctx)
{
	struct http_conn *conn = ctx;
	struct pl_span bytes = pl_span(data, len);
	bool ok;

	(void)h2;
	(void)flags;
	if (conn->out.len >= 2 * (size_t)HTTP_OUT_HIGH)
		return NGHTTP2_ERR_WOULDBLOCK;
	ok = conn->framing != NULL
	             ? http_out_frame(conn->framing, bytes)
	             : http_queue_add_copy(&conn->server->pool, &conn->out, NULL, bytes);
	return ok ? (ssize_t)len : NGHTTP2_ERR_CALLBACK_FAILURE;
}

static int on_before_frame(nghttp2_session *h2, const nghttp2_frame *frame, void *ctx)
{
	struct http_conn *conn = ctx;

	conn->framing = NULL;
	if (frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA)
		conn->framing =
			nghttp2_session_get_stream_user_data(h2, frame->hd.stream_id);
	return 0;
}

static bool is_at_end(const struct http_exchange *exchange)
{
	return exchange->state == HTTP_EXCHANGE_ENDED && exchange->pack == NULL;
}

static ssize_t on_data_read(nghttp2_session *h2, int32_t id, uint8_t *to, size_t size,
                            uint32_t *flags, nghttp2_data_source *source, void *ctx)
{
	struct http_exchange *exchange = nghttp2_session_get_stream_user_data(h2, id);
	size_t len;

	(void)to;
	(void)source;
	(void)ctx;
	if (exchange == NULL || exchange->cut)
		return NGHTTP2_ERR_DEFERRED; /* the stream's reset is queued */
	len = exchange->queue.len < size ? exchange->queue.len : size;
	if (len == 0 && !is_at_end(exchange))
		return NGHTTP2_ERR_DEFERRED;
	if (len == exchange->queue.len && is_at_end(exchange))
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	if (len > 0)
		*flags |= NGHTTP2_DATA_FLAG_NO_COPY;
	return (ssize_t)len;
}

/* The time that a client has for its window runs from the last frame. */
static void window_time(struct http_exchange *exchange)
{
	if (exchange->queue.len > 0)
		http_exchange_time(exchange, &exchange->conn->sending);
	else
		http_exchange_untime(exchange);
}

static int on_data_send(nghttp2_session *h2, nghttp2_frame *frame, const uint8_t *head,
                        size_t len, nghttp2_data_source *source, void *ctx)
{
	struct http_conn *conn = ctx;
	struct http_exchange *exchange =
		nghttp2_session_get_stream_user_data(h2, frame->hd.stream_id);

	(void)source;
	if (exchange == NULL || exchange->queue.len < len)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	if (!http_out_frame(exchange, pl_span(head, FRAME_HEAD)) ||
	    !http_out_move(exchange, len))
		return NGHTTP2_ERR_CALLBACK_FAILURE;
	window_time(exchange);
	return conn->out.len >= HTTP_OUT_HIGH ? NGHTTP2_ERR_PAUSE : 0;
}

/* A client that still sends a body whose answer is complete is told to stop. */
static void answer_sent(nghttp2_session *h2, int32_t id)
{
	struct http_exchange *exchange = nghttp2_session_get_stream_user_data(h2, id);

	if (exchange == NULL)
		return;
	http_exchange_done(exchange);
	if (nghttp2_session_get_stream_remote_close(h2, id) == 0)
		http_h2_must(exchange->conn,
		             nghttp2_submit_rst_stream(h2, NGHTTP2_FLAG_NONE, id,
		                                       NGHTTP2_NO_ERROR));
}

static int on_frame_sent(nghttp2_session *h2, const nghttp2_frame *frame, void *ctx)
{
	struct http_conn *conn = ctx;
	uint32_t error;

	conn->framing = NULL;
	switch (frame->hd.type) {
	case NGHTTP2_HEADERS:
	case NGHTTP2_DATA:
		if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0)
			answer_sent(h2, frame->hd.stream_id);
		break;
	case NGHTTP2_RST_STREAM: /* the client's errors make them */
		error = frame->rst_stream.error_code;
		if (error != NGHTTP2_NO_ERROR && error != NGHTTP2_CANCEL)
			http_h2_spend(conn);
		break;
	default:
		break;
	}
	return 0;
}

void http_h2_out_callbacks(nghttp2_session_callbacks *callbacks)
{
	nghttp2_session_callbacks_set_send_callback(callbacks, on_send);
	nghttp2_session_callbacks_set_before_frame_send_callback(callbacks,
	                                                         on_before_frame);
	nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_frame_sent);
	nghttp2_session_callbacks_set_send_data_callback(callbacks, on_data_send);
}

bool http_h2_pump(struct http_conn *conn)
{
	return nghttp2_session_send(conn->h2) == 0;
}

/* -- answers -------------------------------------------------------------------------- */

static nghttp2_nv field_of(struct pl_span name, struct pl_span value)
{
	return (nghttp2_nv){unconst(name.at), unconst(value.at), name.len, value.len,
	                    NGHTTP2_NV_FLAG_NONE};
}

struct own_texts {
	char status[4];
	char length[PL_NUM_TEXT_SIZE];
};

static size_t own_fields(nghttp2_nv *nv, struct own_texts *texts,
                         const struct http_answer_head *head, struct http_server *server)
{
	size_t count = 0;

	for (int i = 2, status = head->status; i >= 0; i--, status /= 10)
		texts->status[i] = (char)('0' + status % 10);
	nv[count++] = field_of(PL_SPAN_LIT(":status"), pl_span(texts->status, 3));
	nv[count++] =
		field_of(PL_SPAN_LIT("date"), pl_span_str(http_server_date(server)));
	if (head->packed) {
		nv[count++] =
			field_of(PL_SPAN_LIT("content-encoding"), PL_SPAN_LIT("gzip"));
		nv[count++] =
			field_of(PL_SPAN_LIT("vary"), PL_SPAN_LIT("accept-encoding"));
	}
	if (head->has_length && http_status_has_body(head->status)) {
		size_t len = pl_num_print_u64(texts->length, head->length);

		nv[count++] = field_of(PL_SPAN_LIT("content-length"),
		                       pl_span(texts->length, len));
	}
	return count;
}

bool http_h2_answer(struct http_exchange *exchange, const struct http_answer_head *head)
{
	nghttp2_data_provider provider = {.read_callback = on_data_read};
	struct http_conn *conn = exchange->conn;
	nghttp2_nv room[FIELDS_STACK], *nv = room;
	struct own_texts texts;
	bool silent;
	size_t count;
	int rc;

	if (exchange->stream == 0)
		return false;
	if (head->count + FIELDS_OWN > FIELDS_STACK)
		nv = pl_malloc((head->count + FIELDS_OWN) * sizeof *nv);
	if (nv == NULL)
		return false;
	count = own_fields(nv, &texts, head, conn->server);
	for (size_t i = 0; i < head->count; i++) {
		/* A client would refuse the whole answer for a control byte. */
		if (http_guard_is_value(head->fields[i].value))
			nv[count++] =
				field_of(head->fields[i].name, head->fields[i].value);
	}
	silent = exchange->is_head || !http_status_has_body(head->status) ||
	         (head->has_length && head->length == 0);
	rc = nghttp2_submit_response(conn->h2, exchange->stream, nv, count,
	                             silent ? NULL : &provider);
	if (nv != room)
		free(nv);
	return rc == 0;
}

void http_h2_resume(struct http_exchange *exchange)
{
	if (exchange->stream == 0)
		return;
	if (pl_list_empty(&exchange->timed) && exchange->queue.len > 0)
		http_exchange_time(exchange, &exchange->conn->sending);
	http_h2_must(exchange->conn,
	             nghttp2_session_resume_data(exchange->conn->h2, exchange->stream));
	http_conn_touch(exchange->conn);
}

/* -- the end -------------------------------------------------------------------------- */

void http_h2_goaway(struct http_conn *conn)
{
	if (conn->last)
		return;
	conn->last = true;
	http_h2_must(conn, nghttp2_submit_goaway(
				   conn->h2, NGHTTP2_FLAG_NONE,
				   nghttp2_session_get_last_proc_stream_id(conn->h2),
				   NGHTTP2_NO_ERROR, NULL, 0));
	http_conn_touch(conn);
}

void http_h2_detach(struct http_exchange *exchange, uint32_t error)
{
	struct http_conn *conn = exchange->conn;

	if (conn->framing == exchange)
		conn->framing = NULL;
	if (exchange->stream == 0)
		return;
	(void)nghttp2_session_set_stream_user_data(conn->h2, exchange->stream, NULL);
	if (exchange->cut && conn->state < HTTP_CONN_FAILED)
		http_h2_must(conn, nghttp2_submit_rst_stream(conn->h2, NGHTTP2_FLAG_NONE,
		                                             exchange->stream, error));
	exchange->stream = 0;
	http_conn_touch(conn);
}
