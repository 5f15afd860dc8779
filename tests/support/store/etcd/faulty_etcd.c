#include "tests/support/store/etcd/faulty_etcd.h"

#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/base/err.h"
#include "store/etcd/wire.h"
#include "store/net/unconst.h"

enum { PREFIX = 5, MESSAGE_MAX = 64 << 10, PATH_SIZE = 64, TOKEN_SIZE = 32 };

struct faulty_bytes {
	uint8_t *at;
	size_t len;
};

struct faulty_conn {
	struct pl_list link;
	struct faulty_etcd *faulty;
	uv_tcp_t tcp;
	nghttp2_session *h2;
	struct pl_list calls;
	char input[64 << 10];
};

struct faulty_etcd_call {
	struct pl_list link;
	struct faulty_conn *conn;
	int32_t id;
	char path[PATH_SIZE];
	char token[TOKEN_SIZE]; /* token of the request; "": none */
	struct faulty_bytes in, out;
	bool headed, ended;
	unsigned status; /* grpc-status, once ended is set */
	char text[128];
};

static void bytes_add(struct faulty_bytes *bytes, const void *at, size_t len)
{
	uint8_t *grown = realloc(bytes->at, bytes->len + len + 1);

	PL_ASSERT(grown != NULL);
	if (len != 0)
		memcpy(grown + bytes->len, at, len);
	bytes->at = grown;
	bytes->len += len;
}

static void bytes_drop(struct faulty_bytes *bytes, size_t count)
{
	bytes->len -= count;
	memmove(bytes->at, bytes->at + count, bytes->len);
}

static void call_free(struct faulty_etcd_call *call)
{
	pl_list_del(&call->link);
	free(call->in.at);
	free(call->out.at);
	free(call);
}

/* -- sending --------------------------------------------------------------- */

struct faulty_chunk {
	uv_write_t write;
	uint8_t bytes[];
};

static void on_written(uv_write_t *write, int status)
{
	(void)status;
	free(PL_CONTAINER_OF(write, struct faulty_chunk, write));
}

static void conn_flush(struct faulty_conn *conn)
{
	const uint8_t *at;
	ssize_t len;

	while (!uv_is_closing((uv_handle_t *)&conn->tcp) &&
	       (len = nghttp2_session_mem_send(conn->h2, &at)) > 0) {
		struct faulty_chunk *chunk = malloc(sizeof *chunk + (size_t)len);
		uv_buf_t buf;

		PL_ASSERT(chunk != NULL);
		memcpy(chunk->bytes, at, (size_t)len);
		buf = uv_buf_init((char *)chunk->bytes, (unsigned)len);
		if (uv_write(&chunk->write, (uv_stream_t *)&conn->tcp, &buf, 1,
		             on_written) != 0)
			free(chunk);
	}
}

static nghttp2_nv header_field(const char *name, const char *value)
{
	return (nghttp2_nv){unconst(name), unconst(value), strlen(name), strlen(value),
	                    NGHTTP2_NV_FLAG_NONE};
}

static void trailers_send(struct faulty_etcd_call *call)
{
	char status[12];
	nghttp2_nv nv[2];

	(void)snprintf(status, sizeof status, "%u", call->status);
	nv[0] = header_field("grpc-status", status);
	nv[1] = header_field("grpc-message", call->text);
	(void)nghttp2_submit_trailer(call->conn->h2, call->id, nv, 2);
}

static ssize_t on_body(nghttp2_session *h2, int32_t id, uint8_t *to, size_t size,
                       uint32_t *flags, nghttp2_data_source *source, void *ctx)
{
	struct faulty_etcd_call *call = source->ptr;
	size_t count = call->out.len < size ? call->out.len : size;

	(void)h2;
	(void)id;
	(void)ctx;
	if (count == 0 && !call->ended)
		return NGHTTP2_ERR_DEFERRED;
	if (count != 0) {
		memcpy(to, call->out.at, count);
		bytes_drop(&call->out, count);
	}
	if (call->ended && call->out.len == 0) {
		*flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
		trailers_send(call);
	}
	return (ssize_t)count;
}

static void head_send(struct faulty_etcd_call *call, const char *status, const char *type)
{
	nghttp2_data_provider provider = {.source = {.ptr = call},
	                                  .read_callback = on_body};
	nghttp2_nv nv[] = {header_field(":status", status),
	                   header_field("content-type", type)};

	if (!call->headed)
		(void)nghttp2_submit_response(call->conn->h2, call->id, nv, 2, &provider);
	else
		(void)nghttp2_session_resume_data(call->conn->h2, call->id);
	call->headed = true;
}

void faulty_etcd_raw(struct faulty_etcd_call *call, struct pl_span bytes)
{
	bytes_add(&call->out, bytes.at, bytes.len);
	head_send(call, "200", "application/grpc");
}

void faulty_etcd_send(struct faulty_etcd_call *call, struct pl_span message)
{
	uint8_t prefix[PREFIX] = {0, 0, (uint8_t)(message.len >> 16),
	                          (uint8_t)(message.len >> 8), (uint8_t)message.len};

	bytes_add(&call->out, prefix, sizeof prefix);
	faulty_etcd_raw(call, message);
}

void faulty_etcd_end(struct faulty_etcd_call *call, unsigned status, const char *text)
{
	call->ended = true;
	call->status = status;
	(void)snprintf(call->text, sizeof call->text, "%s", text);
	head_send(call, "200", "application/grpc");
}

void faulty_etcd_http(struct faulty_etcd_call *call, const char *status, const char *type)
{
	call->ended = true;
	head_send(call, status, type);
}

void faulty_etcd_reset(struct faulty_etcd_call *call, uint32_t error_code)
{
	(void)nghttp2_submit_rst_stream(call->conn->h2, NGHTTP2_FLAG_NONE, call->id,
	                                error_code);
}

bool faulty_etcd_is(const struct faulty_etcd_call *call, const char *method)
{
	const char *slash = strrchr(call->path, '/');

	return slash != NULL && strcmp(slash + 1, method) == 0;
}

const char *faulty_etcd_token(const struct faulty_etcd_call *call)
{
	return call->token;
}

int32_t faulty_etcd_stream(const struct faulty_etcd_call *call)
{
	return call->id;
}

/* -- etcd's messages ------------------------------------------------------- */

static _Thread_local uint8_t answer_bytes[MESSAGE_MAX];

static uint8_t *header_put(uint8_t *at, int64_t revision)
{
	uint8_t body[40], *end = body;

	end = wire_int(end, WIRE_TAG(1, WIRE_VARINT), 11);
	end = wire_int(end, WIRE_TAG(2, WIRE_VARINT), 22);
	end = wire_int(end, WIRE_TAG(3, WIRE_VARINT), revision);
	end = wire_int(end, WIRE_TAG(4, WIRE_VARINT), 2);
	return wire_bytes(at, WIRE_TAG(1, WIRE_BYTES),
	                  pl_span(body, (size_t)(end - body)));
}

static struct pl_span answer_span(const uint8_t *end)
{
	return pl_span(answer_bytes, (size_t)(end - answer_bytes));
}

struct pl_span faulty_etcd_header(int64_t revision)
{
	return answer_span(header_put(answer_bytes, revision));
}

struct pl_span faulty_etcd_created(int64_t revision, int64_t watch_id)
{
	uint8_t *end = header_put(answer_bytes, revision);

	end = wire_int(end, WIRE_TAG(2, WIRE_VARINT), watch_id);
	return answer_span(wire_int(end, WIRE_TAG(3, WIRE_VARINT), 1));
}

struct pl_span faulty_etcd_refused(int64_t revision, const char *reason)
{
	uint8_t *end = header_put(answer_bytes, revision);

	end = wire_varint(wire_varint(end, WIRE_TAG(2, WIRE_VARINT)),
	                  UINT64_MAX); /* -1 */
	end = wire_int(end, WIRE_TAG(3, WIRE_VARINT), 1);
	end = wire_int(end, WIRE_TAG(4, WIRE_VARINT), 1);
	return answer_span(wire_bytes(end, WIRE_TAG(6, WIRE_BYTES), pl_span_str(reason)));
}

struct pl_span faulty_etcd_event(int64_t revision, int64_t watch_id, const char *key)
{
	uint8_t record[200], event[250], *end = record;

	end = wire_bytes(end, WIRE_TAG(1, WIRE_BYTES), pl_span_str(key));
	end = wire_int(end, WIRE_TAG(2, WIRE_VARINT), revision);
	end = wire_int(end, WIRE_TAG(3, WIRE_VARINT), revision);
	end = wire_int(end, WIRE_TAG(4, WIRE_VARINT), 1);
	end = wire_bytes(event, WIRE_TAG(2, WIRE_BYTES),
	                 pl_span(record, (size_t)(end - record)));
	end = wire_bytes(wire_int(header_put(answer_bytes, revision),
	                          WIRE_TAG(2, WIRE_VARINT), watch_id),
	                 WIRE_TAG(11, WIRE_BYTES), pl_span(event, (size_t)(end - event)));
	return answer_span(end);
}

struct pl_span faulty_etcd_keepalive(int64_t revision, int64_t lease, int64_t ttl_s)
{
	uint8_t *end = header_put(answer_bytes, revision);

	end = wire_int(end, WIRE_TAG(2, WIRE_VARINT), lease);
	return answer_span(wire_int(end, WIRE_TAG(3, WIRE_VARINT), ttl_s));
}

static struct pl_span text_answer(int64_t revision, const char *text)
{
	return answer_span(wire_bytes(header_put(answer_bytes, revision),
	                              WIRE_TAG(2, WIRE_BYTES), pl_span_str(text)));
}

static struct pl_span progress_answer(int64_t revision)
{
	uint8_t *end = header_put(answer_bytes, revision);

	end = wire_varint(end, WIRE_TAG(2, WIRE_VARINT));
	/* -1: progress of all watches */
	return answer_span(wire_varint(end, UINT64_MAX));
}

/* Every answer has a new token. */
static struct pl_span token_answer(struct faulty_etcd *faulty)
{
	char token[TOKEN_SIZE];

	(void)snprintf(token, sizeof token, "token.%u", ++faulty->tokens);
	return text_answer(faulty->revision, token);
}

static int64_t lease_of(struct pl_span message)
{
	struct wire_reader reader = wire_reader(message);
	struct wire_field got = {0};

	return wire_next(&reader, &got) ? (int64_t)got.number : 0;
}

static void correct_watch(struct faulty_etcd_call *call, struct pl_span message)
{
	struct faulty_etcd *faulty = call->conn->faulty;

	if (message.len != 0 && message.at[0] == WIRE_TAG(1, WIRE_BYTES))
		faulty_etcd_send(
			call, faulty_etcd_created(faulty->revision, ++faulty->watch_id));
	if (message.len != 0 && message.at[0] == WIRE_TAG(3, WIRE_BYTES))
		faulty_etcd_send(call, progress_answer(faulty->revision));
}

static void correct_txn(struct faulty_etcd_call *call, struct pl_span message)
{
	struct faulty_etcd *faulty = call->conn->faulty;

	if (faulty->txn_len == 0)
		faulty->txn_len = message.len;
	if (message.len > faulty->txn_len) {
		faulty_etcd_end(call, 3,
		                "etcdserver: too many operations in txn request");
		return;
	}
	faulty_etcd_send(call,
	                 answer_span(wire_int(header_put(answer_bytes, faulty->revision),
	                                      WIRE_TAG(2, WIRE_VARINT), 1)));
	faulty_etcd_end(call, 0, "");
}

void faulty_etcd_answer(struct faulty_etcd_call *call, struct pl_span message)
{
	struct faulty_etcd *faulty = call->conn->faulty;

	if (faulty_etcd_is(call, "Watch")) {
		correct_watch(call, message);
		return;
	}
	if (faulty_etcd_is(call, "LeaseKeepAlive")) {
		faulty_etcd_send(call, faulty_etcd_keepalive(faulty->revision,
		                                             lease_of(message), 10));
		return;
	}
	if (faulty_etcd_is(call, "Txn")) {
		correct_txn(call, message);
		return;
	}
	if (faulty_etcd_is(call, "Put"))
		faulty->revision++;
	/* The version and the token are the second field of their messages. */
	if (faulty_etcd_is(call, "Status"))
		faulty_etcd_send(call, text_answer(faulty->revision, "3.5.9"));
	else if (faulty_etcd_is(call, "Authenticate"))
		faulty_etcd_send(call, token_answer(faulty));
	else
		faulty_etcd_send(call, faulty_etcd_header(faulty->revision));
	faulty_etcd_end(call, 0, "");
}

/* -- receiving ------------------------------------------------------------- */

static struct faulty_etcd_call *call_of(nghttp2_session *h2, int32_t id)
{
	return nghttp2_session_get_stream_user_data(h2, id);
}

static int on_begin(nghttp2_session *h2, const nghttp2_frame *frame, void *ctx)
{
	struct faulty_conn *conn = ctx;
	struct faulty_etcd_call *call = calloc(1, sizeof *call);

	PL_ASSERT(call != NULL);
	call->conn = conn;
	call->id = frame->hd.stream_id;
	conn->faulty->streams++;
	pl_list_add_tail(&conn->calls, &call->link);
	return nghttp2_session_set_stream_user_data(h2, call->id, call);
}

static int on_header(nghttp2_session *h2, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_len, const uint8_t *value, size_t value_len,
                     uint8_t flags, void *ctx)
{
	struct faulty_etcd_call *call = call_of(h2, frame->hd.stream_id);

	(void)flags;
	(void)ctx;
	if (call != NULL && pl_span_eq(pl_span(name, name_len), PL_SPAN_LIT(":path")))
		(void)snprintf(call->path, sizeof call->path, "%.*s", (int)value_len,
		               (const char *)value);
	if (call != NULL &&
	    pl_span_eq(pl_span(name, name_len), PL_SPAN_LIT("authorization")))
		(void)snprintf(call->token, sizeof call->token, "%.*s", (int)value_len,
		               (const char *)value);
	return 0;
}

static void on_request(struct faulty_etcd_call *call, struct pl_span message)
{
	struct faulty_etcd *faulty = call->conn->faulty;

	faulty->messages++;
	if (faulty->fn == NULL || !faulty->fn(faulty, call, message))
		faulty_etcd_answer(call, message);
}

static int on_data(nghttp2_session *h2, uint8_t flags, int32_t id, const uint8_t *data,
                   size_t len, void *ctx)
{
	struct faulty_etcd_call *call = call_of(h2, id);

	(void)flags;
	(void)ctx;
	if (call == NULL)
		return 0;
	bytes_add(&call->in, data, len);
	while (call->in.len >= PREFIX) {
		const uint8_t *at = call->in.at;
		size_t want = (size_t)at[1] << 24 | (size_t)at[2] << 16 |
		              (size_t)at[3] << 8 | at[4];

		if (call->in.len - PREFIX < want)
			break;
		on_request(call, pl_span(at + PREFIX, want));
		bytes_drop(&call->in, PREFIX + want);
	}
	return 0;
}

/* The client's probe for the limit on bytes claims more than it brings. */
static int on_frame(nghttp2_session *h2, const nghttp2_frame *frame, void *ctx)
{
	struct faulty_etcd_call *call = call_of(h2, frame->hd.stream_id);
	struct faulty_etcd *faulty = ((struct faulty_conn *)ctx)->faulty;

	if (call == NULL || frame->hd.type != NGHTTP2_DATA ||
	    (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0 || call->in.len == 0)
		return 0;
	faulty->messages++;
	if (faulty->fn == NULL || !faulty->fn(faulty, call, pl_span(NULL, 0)))
		faulty_etcd_end(call, 8,
		                "grpc: received message larger than max (2147483647 vs. "
		                "2097152)");
	return 0;
}

static int on_stream_close(nghttp2_session *h2, int32_t id, uint32_t error, void *ctx)
{
	struct faulty_etcd_call *call = call_of(h2, id);

	(void)error;
	(void)ctx;
	if (call != NULL)
		call_free(call);
	return 0;
}

/* -- connections ----------------------------------------------------------- */

static void on_conn_closed(uv_handle_t *handle)
{
	struct faulty_conn *conn =
		PL_CONTAINER_OF((uv_tcp_t *)handle, struct faulty_conn, tcp);

	PL_LIST_EACH (link, &conn->calls)
		call_free(PL_LIST_ITEM(link, struct faulty_etcd_call, link));
	nghttp2_session_del(conn->h2);
	conn->faulty->handles--;
	free(conn);
}

static void conn_close(struct faulty_conn *conn)
{
	pl_list_del(&conn->link);
	if (!uv_is_closing((uv_handle_t *)&conn->tcp))
		uv_close((uv_handle_t *)&conn->tcp, on_conn_closed);
}

static void on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buf)
{
	struct faulty_conn *conn =
		PL_CONTAINER_OF((uv_tcp_t *)handle, struct faulty_conn, tcp);

	(void)size;
	*buf = uv_buf_init(conn->input, sizeof conn->input);
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf)
{
	struct faulty_conn *conn =
		PL_CONTAINER_OF((uv_tcp_t *)stream, struct faulty_conn, tcp);

	if (count < 0) {
		conn_close(conn);
	} else if (!conn->faulty->mute) {
		if (nghttp2_session_mem_recv(conn->h2, (const uint8_t *)buf->base,
		                             (size_t)count) < 0)
			conn_close(conn);
		else
			conn_flush(conn);
	}
}

static void session_make(struct faulty_conn *conn)
{
	nghttp2_settings_entry settings = {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 1 << 20};
	nghttp2_session_callbacks *cbs = NULL;
	int rc = nghttp2_session_callbacks_new(&cbs);

	PL_ASSERT(rc == 0);
	nghttp2_session_callbacks_set_on_begin_headers_callback(cbs, on_begin);
	nghttp2_session_callbacks_set_on_header_callback(cbs, on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cbs, on_data);
	nghttp2_session_callbacks_set_on_frame_recv_callback(cbs, on_frame);
	nghttp2_session_callbacks_set_on_stream_close_callback(cbs, on_stream_close);
	rc = nghttp2_session_server_new(&conn->h2, cbs, conn);
	PL_ASSERT(rc == 0);
	nghttp2_session_callbacks_del(cbs);
	rc = nghttp2_submit_settings(conn->h2, NGHTTP2_FLAG_NONE, &settings, 1);
	PL_ASSERT(rc == 0);
}

static void on_connection(uv_stream_t *listener, int status)
{
	struct faulty_etcd *faulty =
		PL_CONTAINER_OF((uv_tcp_t *)listener, struct faulty_etcd, listener);
	struct faulty_conn *conn = calloc(1, sizeof *conn);
	int rc;

	PL_ASSERT(status == 0 && conn != NULL);
	conn->faulty = faulty;
	pl_list_init(&conn->calls);
	rc = uv_tcp_init(faulty->loop, &conn->tcp);
	PL_ASSERT(rc == 0);
	rc = uv_accept(listener, (uv_stream_t *)&conn->tcp);
	PL_ASSERT(rc == 0);
	(void)uv_tcp_nodelay(&conn->tcp, 1);
	pl_list_add_tail(&faulty->conns, &conn->link);
	faulty->handles++;
	faulty->connections++;
	session_make(conn);
	rc = uv_read_start((uv_stream_t *)&conn->tcp, on_alloc, on_read);
	PL_ASSERT(rc == 0);
	if (!faulty->mute)
		conn_flush(conn);
}

/* -- start and stop -------------------------------------------------------- */

void faulty_etcd_start(struct faulty_etcd *faulty, uv_loop_t *loop)
{
	struct sockaddr_in addr;
	int len = sizeof addr, rc;

	*faulty = (struct faulty_etcd){.loop = loop, .revision = 100, .handles = 1};
	pl_list_init(&faulty->conns);
	rc = uv_tcp_init(loop, &faulty->listener);
	PL_ASSERT(rc == 0);
	(void)uv_ip4_addr("127.0.0.1", 0, &addr);
	rc = uv_tcp_bind(&faulty->listener, (const struct sockaddr *)&addr, 0);
	PL_ASSERT(rc == 0);
	rc = uv_listen((uv_stream_t *)&faulty->listener, 128, on_connection);
	PL_ASSERT(rc == 0);
	rc = uv_tcp_getsockname(&faulty->listener, (struct sockaddr *)&addr, &len);
	PL_ASSERT(rc == 0);
	(void)snprintf(faulty->endpoint, sizeof faulty->endpoint, "http://127.0.0.1:%u",
	               (unsigned)ntohs(addr.sin_port));
}

static void on_listener_closed(uv_handle_t *handle)
{
	struct faulty_etcd *faulty =
		PL_CONTAINER_OF((uv_tcp_t *)handle, struct faulty_etcd, listener);

	faulty->handles--;
}

void faulty_etcd_cut(struct faulty_etcd *faulty)
{
	while (!pl_list_empty(&faulty->conns))
		conn_close(PL_LIST_ITEM(faulty->conns.next, struct faulty_conn, link));
}

void faulty_etcd_goaway(struct faulty_etcd *faulty, int32_t last)
{
	PL_LIST_EACH (link, &faulty->conns) {
		struct faulty_conn *conn = PL_LIST_ITEM(link, struct faulty_conn, link);

		(void)nghttp2_submit_goaway(conn->h2, NGHTTP2_FLAG_NONE, last,
		                            NGHTTP2_NO_ERROR, NULL, 0);
	}
}

void faulty_etcd_flush(struct faulty_etcd *faulty)
{
	PL_LIST_EACH (link, &faulty->conns)
		conn_flush(PL_LIST_ITEM(link, struct faulty_conn, link));
}

void faulty_etcd_stop(struct faulty_etcd *faulty)
{
	faulty_etcd_cut(faulty);
	uv_close((uv_handle_t *)&faulty->listener, on_listener_closed);
	while (faulty->handles > 0)
		(void)uv_run(faulty->loop, UV_RUN_ONCE);
}
