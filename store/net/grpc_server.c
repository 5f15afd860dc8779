/*
 * Listening and connections.
 *
 * Queued bytes are handed to the kernel before the loop blocks and after it has blocked,
 * so the answers of one turn leave together.
 */
#include <stdlib.h>
#include <string.h>

#include "store/base/alloc.h"
#include "store/net/grpc_server_int.h"
#include "store/net/sock.h"
#include "store/net/unconst.h"

static void conn_close(struct server_conn *conn);

void server_conn_touch(struct server_conn *conn)
{
	if (pl_list_empty(&conn->dirty))
		pl_list_add_tail(&conn->server->dirty, &conn->dirty);
}

void server_conn_fail(struct server_conn *conn)
{
	if (conn->state == SERVER_CONN_OPEN)
		conn->state = SERVER_CONN_FAILED;
	server_conn_touch(conn);
}
/* -- sending --------------------------------------------------------------- */

struct server_chunk {
	uv_write_t write;
	struct server_conn *conn;
	size_t len;
	uint8_t bytes[];
};

static void on_written(uv_write_t *write, int status)
{
	struct server_chunk *chunk = PL_CONTAINER_OF(write, struct server_chunk, write);

	chunk->conn->unread -= chunk->len;
	chunk->conn->waiting--;
	if (status < 0)
		server_conn_fail(chunk->conn);
	free(chunk);
}

/* Bytes that the kernel does not accept at once wait in a copy. */
static bool chunk_write(struct server_conn *conn, struct pl_span data)
{
	uv_buf_t buf = uv_buf_init(unconst(data.at), (unsigned)data.len);
	int taken =
		conn->waiting > 0 ? 0 : uv_try_write((uv_stream_t *)&conn->tcp, &buf, 1);
	struct server_chunk *chunk;

	if (taken < 0 && taken != UV_EAGAIN)
		return false;
	taken = taken < 0 ? 0 : taken;
	if ((size_t)taken == data.len)
		return true;
	chunk = pl_malloc(sizeof *chunk + data.len - (size_t)taken);
	if (chunk == NULL)
		return false;
	chunk->conn = conn;
	chunk->len = data.len - (size_t)taken;
	memcpy(chunk->bytes, data.at + taken, chunk->len);
	buf = uv_buf_init((char *)chunk->bytes, (unsigned)chunk->len);
	if (uv_write(&chunk->write, (uv_stream_t *)&conn->tcp, &buf, 1, on_written) !=
	    0) {
		free(chunk);
		return false;
	}
	conn->unread += chunk->len;
	conn->waiting++;
	return true;
}

/* Writes everything that nghttp2 has queued, in large pieces. */
static bool conn_send(struct server_conn *conn)
{
	struct pl_buf *piece = &conn->server->piece;
	const uint8_t *at;
	ssize_t len;

	pl_buf_clear(piece, CHUNK_SIZE);
	while ((len = nghttp2_session_mem_send(conn->h2, &at)) > 0) {
		if (pl_buf_add(piece, pl_span(at, (size_t)len)) != PL_OK)
			return false;
		if (piece->len < CHUNK_SIZE / 2)
			continue;
		if (!chunk_write(conn, pl_buf_span(piece)))
			return false;
		pl_buf_clear(piece, CHUNK_SIZE);
	}
	return len == 0 && (piece->len == 0 || chunk_write(conn, pl_buf_span(piece)));
}

static void conn_flush(struct server_conn *conn)
{
	pl_list_del(&conn->dirty);
	if (conn->state == SERVER_CONN_CLOSING)
		return;
	if (conn->state == SERVER_CONN_FAILED || !conn_send(conn) ||
	    (nghttp2_session_want_read(conn->h2) == 0 &&
	     nghttp2_session_want_write(conn->h2) == 0))
		conn_close(conn);
}

static void flush_conns(struct grpc_server *server)
{
	while (!pl_list_empty(&server->dirty))
		conn_flush(PL_LIST_ITEM(server->dirty.next, struct server_conn, dirty));
}

static void on_before(uv_prepare_t *handle)
{
	flush_conns(handle->data);
}

static void on_after(uv_check_t *handle)
{
	flush_conns(handle->data);
}

/* -- connections --------------------------------------------------------------- */

static void handle_closed(struct grpc_server *server)
{
	if (--server->handles > 0)
		return;
	pl_buf_done(&server->piece);
	server->closed(server->closed_ctx);
	free(server);
}

static void on_conn_closed(uv_handle_t *handle)
{
	struct server_conn *conn = handle->data;
	struct grpc_server *server = conn->server;

	pl_list_del(&conn->dirty);
	pl_list_del(&conn->link);
	server->conn_count--;
	nghttp2_session_del(conn->h2);
	free(conn);
	handle_closed(server);
}

static void conn_close(struct server_conn *conn)
{
	if (conn->state == SERVER_CONN_CLOSING)
		return;
	conn->state = SERVER_CONN_CLOSING;
	PL_LIST_EACH (link, &conn->streams) {
		struct grpc_stream *stream = PL_LIST_ITEM(link, struct grpc_stream, link);

		(void)nghttp2_session_set_stream_user_data(conn->h2, stream->id, NULL);
		server_stream_free(stream);
	}
	if (conn->own != NULL)
		conn->server->fns.on_conn_gone(conn->own);
	conn->own = NULL;
	uv_close((uv_handle_t *)&conn->tcp, on_conn_closed);
}

static void on_alloc(uv_handle_t *handle, size_t hint, uv_buf_t *buf)
{
	struct server_conn *conn = handle->data;

	(void)hint;
	*buf = uv_buf_init(conn->input, sizeof conn->input);
}

static void on_read(uv_stream_t *tcp, ssize_t count, const uv_buf_t *buf)
{
	struct server_conn *conn = tcp->data;

	if (conn->state == SERVER_CONN_CLOSING)
		return;
	if (count > 0 && nghttp2_session_mem_recv(conn->h2, (const uint8_t *)buf->base,
	                                          (size_t)count) == count)
		server_conn_touch(conn);
	else if (count != 0)
		server_conn_fail(conn);
}

static void on_connection(uv_stream_t *tcp, int status)
{
	struct grpc_server *server = tcp->data;
	struct server_conn *conn;

	if (status < 0 || server->closing)
		return;
	conn = pl_calloc(1, sizeof *conn);
	if (conn == NULL || uv_tcp_init(tcp->loop, &conn->tcp) != 0) {
		free(conn);
		return;
	}
	conn->server = server;
	conn->tcp.data = conn;
	pl_list_init(&conn->streams);
	pl_list_init(&conn->dirty);
	pl_list_add_tail(&server->conns, &conn->link);
	server->conn_count++;
	server->handles++;
	if (uv_accept(tcp, (uv_stream_t *)&conn->tcp) != 0 ||
	    server_session_new(conn) != 0 || uv_tcp_nodelay(&conn->tcp, 1) != 0 ||
	    uv_read_start((uv_stream_t *)&conn->tcp, on_alloc, on_read) != 0 ||
	    server->conn_count > GRPC_SERVER_CONNS ||
	    (conn->own = server->fns.on_conn(server->ctx)) == NULL) {
		conn_close(conn);
		return;
	}
	server_conn_touch(conn);
}

/* -- the server ---------------------------------------------------------------- */

static enum pl_code listen_at(struct grpc_server *server, struct pl_err *err)
{
	struct sockaddr_storage addr;
	int rc = uv_ip4_addr(server->opts.host, server->opts.port,
	                     (struct sockaddr_in *)&addr);

	if (rc != 0)
		rc = uv_ip6_addr(server->opts.host, server->opts.port,
		                 (struct sockaddr_in6 *)&addr);
	if (rc == 0)
		rc = uv_tcp_bind(&server->tcp, (const struct sockaddr *)&addr, 0);
	if (rc == 0)
		rc = uv_listen((uv_stream_t *)&server->tcp, BACKLOG, on_connection);
	if (rc == 0)
		return PL_OK;
	return pl_err_set(err, rc == UV_EADDRINUSE ? PL_EXISTS : PL_INVALID,
	                  "listen at %s, port %u: %s", server->opts.host,
	                  (unsigned)server->opts.port, uv_strerror(rc));
}

static void on_unopened_closed(void *ctx)
{
	(void)ctx;
}

enum pl_code grpc_server_open(uv_loop_t *loop, const struct grpc_server_opts *opts,
                              const struct grpc_server_fns *fns, void *ctx,
                              struct grpc_server **out, struct pl_err *err)
{
	struct grpc_server *server = pl_calloc(1, sizeof *server);
	enum pl_code code;

	if (server == NULL)
		return pl_err_set(err, PL_NOMEM, "a gRPC server");
	server->opts = *opts;
	server->fns = *fns;
	server->ctx = ctx;
	pl_list_init(&server->conns);
	pl_list_init(&server->dirty);
	pl_buf_init(&server->piece, 2 * (size_t)CHUNK_SIZE);
	if (uv_tcp_init(loop, &server->tcp) != 0) {
		free(server);
		return pl_err_set(err, PL_NOMEM, "a gRPC server");
	}
	(void)uv_prepare_init(loop, &server->before);
	(void)uv_check_init(loop, &server->after);
	server->tcp.data = server->before.data = server->after.data = server;
	server->handles = 3;
	code = listen_at(server, err);
	if (code != PL_OK) {
		grpc_server_close(server, on_unopened_closed, NULL);
		return code;
	}
	(void)uv_prepare_start(&server->before, on_before);
	(void)uv_check_start(&server->after, on_after);
	*out = server;
	return PL_OK;
}

uint16_t grpc_server_port(const struct grpc_server *server)
{
	return sock_port(&server->tcp);
}

static void on_handle_closed(uv_handle_t *handle)
{
	handle_closed(handle->data);
}

void grpc_server_close(struct grpc_server *server, void (*closed)(void *ctx), void *ctx)
{
	server->closing = true;
	server->closed = closed;
	server->closed_ctx = ctx;
	PL_LIST_EACH (link, &server->conns)
		conn_close(PL_LIST_ITEM(link, struct server_conn, link));
	uv_close((uv_handle_t *)&server->before, on_handle_closed);
	uv_close((uv_handle_t *)&server->after, on_handle_closed);
	uv_close((uv_handle_t *)&server->tcp, on_handle_closed);
}
