/*
 * HTTP/2, received. nghttp2 checks the frames and the form of messages; here fields are
 * counted and kept, and frames that only cost are paid for with tokens.
 *
 * A block of fields is one at a time on a connection, so conn->in keeps its bytes: two
 * lengths, a name, a value.
 */
#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/base/clock.h"
#include "store/net/h2_memory.h"
#include "store/net/http_guard.h"
#include "store/net/http_server_int.h"

enum {
	STREAM_WINDOW = 256 * 1024,
	CONN_WINDOW = 1024 * 1024,
	FIELD_OVERHEAD = 32, /* a field's, as RFC 9113 counts */
	ACKS_MAX = 100,
	FRAME_HEAD = 9,
	SETTINGS_MAX = 32,
};

struct field_lens {
	uint32_t name, value;
};

static struct http_exchange *stream_exchange(nghttp2_session *h2, int32_t id)
{
	return id == 0 ? NULL : nghttp2_session_get_stream_user_data(h2, id);
}

/* -- floods --------------------------------------------------------------------------- */

void http_h2_spend(struct http_conn *conn)
{
	uint64_t now = pl_clock_ms();
	uint64_t earned = (now - conn->flood_ms) * HTTP_FLOOD_PER_S / 1000;

	if (earned > 0) {
		conn->flood_ms = now;
		conn->flood_tokens = earned > HTTP_FLOOD_BURST - conn->flood_tokens
		                             ? HTTP_FLOOD_BURST
		                             : conn->flood_tokens + (uint32_t)earned;
	}
	if (conn->flood_tokens > 0) {
		conn->flood_tokens--;
		return;
	}
	if (conn->last)
		return;
	conn->last = true;
	conn->server->counts.bad_requests++;
	http_h2_must(conn, nghttp2_session_terminate_session(conn->h2,
	                                                     NGHTTP2_ENHANCE_YOUR_CALM));
	http_conn_touch(conn);
}

/* A frame's first nine bytes have come. nghttp2 bounds the number of CONTINUATIONs, and
 * an update of a window costs nothing but its bytes. */
static void frame_begin(struct http_conn *conn)
{
	struct http_frame_track *track = &conn->track;
	bool ends = (track->head[4] & NGHTTP2_FLAG_END_STREAM) != 0;

	track->left = (uint32_t)track->head[0] << 16 | (uint32_t)track->head[1] << 8 |
	              track->head[2];
	switch (track->head[3]) {
	case NGHTTP2_HEADERS:
	case NGHTTP2_CONTINUATION:
	case NGHTTP2_WINDOW_UPDATE:
		break;
	case NGHTTP2_DATA:
		if (track->left == 0 && !ends)
			http_h2_spend(conn);
		break;
	default:
		http_h2_spend(conn);
		break;
	}
}

static bool is_block(const struct http_frame_track *track)
{
	return track->have == FRAME_HEAD && (track->head[3] == NGHTTP2_HEADERS ||
	                                     track->head[3] == NGHTTP2_CONTINUATION);
}

static void frame_end(struct http_frame_track *track)
{
	if (is_block(track))
		track->open = (track->head[4] & NGHTTP2_FLAG_END_HEADERS) == 0;
	track->have = 0;
}

/* Follows the frames beside nghttp2, which tells neither of a part of a frame, nor of
 * every type, nor of the end of a block that it refuses. */
static void frames_track(struct http_conn *conn, struct pl_span data)
{
	struct http_frame_track *track = &conn->track;

	while (data.len > 0) {
		size_t part = 1;

		if (track->have < FRAME_HEAD) {
			track->head[track->have++] = data.at[0];
			if (track->have == FRAME_HEAD)
				frame_begin(conn);
		} else {
			part = track->left < data.len ? track->left : data.len;
			track->left -= (uint32_t)part;
		}
		data = pl_span(data.at + part, data.len - part);
		if (track->have == FRAME_HEAD && track->left == 0)
			frame_end(track);
	}
}

/* The time of a block of fields runs from its first bytes to its last. */
static void block_time(struct http_conn *conn)
{
	if (!is_block(&conn->track) && !conn->track.open)
		conn->began_ms = 0;
	else if (conn->began_ms == 0)
		conn->began_ms = pl_clock_ms();
}

/* -- fields --------------------------------------------------------------------------- */

static int on_begin_fields(nghttp2_session *h2, const nghttp2_frame *frame, void *ctx)
{
	struct http_conn *conn = ctx;

	(void)h2;
	conn->trailers = frame->hd.type != NGHTTP2_HEADERS ||
	                 frame->headers.cat != NGHTTP2_HCAT_REQUEST;
	conn->in.len = 0;
	conn->field_count = conn->field_bytes = 0;
	return 0;
}

static bool is_over(const struct http_conn *conn)
{
	return conn->field_bytes > conn->server->limits.head_bytes ||
	       conn->field_count > conn->server->limits.fields;
}

/* Fields beyond the limit are not kept; far beyond it, the connection ends: their
 * packing can make them a million times as long as what was sent. */
static int on_field(nghttp2_session *h2, const nghttp2_frame *frame, const uint8_t *name,
                    size_t name_len, const uint8_t *value, size_t value_len,
                    uint8_t flags, void *ctx)
{
	struct http_conn *conn = ctx;
	struct field_lens lens = {(uint32_t)name_len, (uint32_t)value_len};

	(void)h2;
	(void)frame;
	(void)flags;
	conn->field_count += name_len > 0 && name[0] != ':';
	conn->field_bytes += (uint32_t)(name_len + value_len + FIELD_OVERHEAD);
	if (conn->field_bytes / 4 > conn->server->limits.head_bytes) {
		http_conn_fail(conn);
		return NGHTTP2_ERR_CALLBACK_FAILURE;
	}
	if (conn->trailers || is_over(conn))
		return 0;
	if (pl_buf_add(&conn->in, pl_span(&lens, sizeof lens)) != PL_OK ||
	    pl_buf_add(&conn->in, pl_span(name, name_len)) != PL_OK ||
	    pl_buf_add(&conn->in, pl_span(value, value_len)) != PL_OK)
		return NGHTTP2_ERR_CALLBACK_FAILURE;
	return 0;
}

static void field_take(struct http_head *head, struct pl_span name, struct pl_span value)
{
	if (pl_span_eq(name, PL_SPAN_LIT(":method")))
		head->method = value;
	else if (pl_span_eq(name, PL_SPAN_LIT(":path")))
		head->target = value;
	else if (pl_span_eq(name, PL_SPAN_LIT(":authority")))
		head->authority = value;
	else if (name.len > 0 && name.at[0] != ':' && head->field_count < head->field_max)
		head->fields[head->field_count++] = (struct http_field){name, value};
}

/* The authority is the host of HTTP/1. */
static struct http_fault host_add(struct http_head *head)
{
	bool found = false;

	for (size_t i = 0; i < head->field_count; i++)
		found = found || pl_span_eq(head->fields[i].name, PL_SPAN_LIT("host"));
	if (!found && head->authority.at == NULL)
		return (struct http_fault){400, "the request has no authority"};
	if (head->authority.at != NULL && !http_guard_is_authority(head->authority))
		return (struct http_fault){400, "the request's authority is no host"};
	if (!found)
		head->fields[head->field_count++] =
			(struct http_field){PL_SPAN_LIT("host"), head->authority};
	return (struct http_fault){0, NULL};
}

static struct http_fault head_read(struct http_conn *conn, struct http_head *head)
{
	struct pl_span rest = pl_buf_span(&conn->in);
	struct http_fault fault;

	*head = (struct http_head){.version = 2,
	                           .fields = conn->server->fields,
	                           .field_max = conn->server->limits.fields};
	while (rest.len > 0) {
		struct field_lens lens;
		const uint8_t *at = rest.at + sizeof lens;

		memcpy(&lens, rest.at, sizeof lens);
		field_take(head, pl_span(at, lens.name),
		           pl_span(at + lens.name, lens.value));
		at += lens.name + lens.value;
		rest = pl_span(at, rest.len - (size_t)(at - rest.at));
	}
	if (is_over(conn))
		return (struct http_fault){431, "the request's head is too large"};
	fault = http_head_judge(head);
	return fault.status != 0 ? fault : host_add(head);
}

static int request_take(struct http_conn *conn, nghttp2_session *h2, int32_t id)
{
	struct http_exchange *exchange;
	struct http_fault fault;
	struct http_head head;

	fault = head_read(conn, &head);
	if (fault.status == 415)
		head.body_gzip = false;
	exchange = http_exchange_new(conn, &head, pl_buf_span(&conn->in));
	pl_buf_clear(&conn->in, 0);
	if (exchange == NULL)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	exchange->stream = id;
	(void)nghttp2_session_set_stream_user_data(h2, id, exchange);
	if (fault.status != 0)
		http_exchange_refuse(exchange, fault);
	return 0;
}

/* -- messages ------------------------------------------------------------------------- */

static int on_frame(nghttp2_session *h2, const nghttp2_frame *frame, void *ctx)
{
	struct http_conn *conn = ctx;
	struct http_exchange *exchange;
	int rc = 0;

	if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA)
		return 0;
	if (frame->hd.type == NGHTTP2_HEADERS && !conn->trailers)
		rc = request_take(conn, h2, frame->hd.stream_id);
	exchange = stream_exchange(h2, frame->hd.stream_id);
	if (rc == 0 && exchange != NULL &&
	    (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0)
		http_exchange_hand(exchange);
	return rc;
}

static int on_data(nghttp2_session *h2, uint8_t flags, int32_t id, const uint8_t *data,
                   size_t len, void *ctx)
{
	struct http_exchange *exchange = stream_exchange(h2, id);

	(void)flags;
	(void)ctx;
	if (exchange != NULL)
		(void)http_exchange_add_body(exchange, pl_span(data, len));
	return 0;
}

static int on_stream_close(nghttp2_session *h2, int32_t id, uint32_t error, void *ctx)
{
	struct http_exchange *exchange = stream_exchange(h2, id);

	(void)error;
	(void)ctx;
	if (exchange == NULL)
		return 0;
	(void)nghttp2_session_set_stream_user_data(h2, id, NULL);
	exchange->stream = 0;
	if (exchange->state != HTTP_EXCHANGE_DONE)
		http_exchange_drop(exchange);
	return 0;
}

void http_h2_input(struct http_conn *conn, struct pl_span data)
{
	ssize_t taken;

	frames_track(conn, data);
	taken = nghttp2_session_mem_recv(conn->h2, data.at, data.len);
	block_time(conn);
	if (taken < 0 || (size_t)taken != data.len)
		http_conn_fail(conn);
	http_conn_touch(conn);
}

/* -- setup ---------------------------------------------------------------------------- */

bool http_h2_setup(struct http_server *server)
{
	nghttp2_session_callbacks *callbacks;

	if (nghttp2_option_new(&server->h2_option) != 0 ||
	    nghttp2_session_callbacks_new(&server->h2_callbacks) != 0)
		return false;
	callbacks = server->h2_callbacks;
	nghttp2_option_set_max_outbound_ack(server->h2_option, ACKS_MAX);
	nghttp2_option_set_max_settings(server->h2_option, SETTINGS_MAX);
	nghttp2_option_set_no_closed_streams(server->h2_option, 1);
	nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks,
	                                                        on_begin_fields);
	nghttp2_session_callbacks_set_on_header_callback(callbacks, on_field);
	nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
	nghttp2_session_callbacks_set_on_stream_close_callback(callbacks,
	                                                       on_stream_close);
	http_h2_out_callbacks(callbacks);
	return true;
}

bool http_h2_open(struct http_conn *conn)
{
	static nghttp2_mem memory = {NULL, h2_malloc, h2_free, h2_calloc, h2_realloc};
	const nghttp2_settings_entry settings[] = {
		{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, conn->server->limits.streams},
		{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW},
		{NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, conn->server->limits.head_bytes},
	};

	conn->flood_ms = pl_clock_ms();
	conn->flood_tokens = HTTP_FLOOD_BURST;
	conn->track.have = FRAME_HEAD; /* the preface counts as the rest of a frame */
	conn->track.left = NGHTTP2_CLIENT_MAGIC_LEN;
	if (nghttp2_session_server_new3(&conn->h2, conn->server->h2_callbacks, conn,
	                                conn->server->h2_option, &memory) != 0)
		return false;
	http_conn_touch(conn);
	return nghttp2_submit_settings(conn->h2, NGHTTP2_FLAG_NONE, settings, 3) == 0 &&
	       nghttp2_session_set_local_window_size(conn->h2, NGHTTP2_FLAG_NONE, 0,
	                                             CONN_WINDOW) == 0;
}
