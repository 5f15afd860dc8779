/*
 * The port, the limits, and the end of a server.
 *
 * Connections with something to do stand in a list. They are flushed before the loop
 * blocks and after it has blocked, so what one turn has queued leaves together. An idle
 * handle keeps the loop from blocking while the list is not empty.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "store/base/alloc.h"
#include "store/base/clock.h"
#include "store/net/http_server_int.h"
#include "store/net/sock.h"

enum { HTTP_BACKLOG = 1024, CIPHER_MAX = 4 << 20, TEXT_MAX = 4 << 20 };

/* -- the turn of the loop ----------------------------------------------------------- */

static void on_soon(uv_idle_t *handle)
{
	(void)handle;
}

void http_server_wake(struct http_server *server)
{
	if (!server->released)
		(void)uv_idle_start(&server->soon, on_soon);
}

/* A connection that gets dirty meanwhile waits for the next time, so the loop goes on. */
static void conns_flush(struct http_server *server)
{
	struct pl_list now;

	pl_list_init(&now);
	pl_list_move(&now, &server->dirty);
	while (!pl_list_empty(&now)) {
		struct http_conn *conn = PL_LIST_ITEM(now.next, struct http_conn, dirty);

		pl_list_del(&conn->dirty);
		http_conn_flush(conn);
	}
	if (pl_list_empty(&server->dirty))
		(void)uv_idle_stop(&server->soon);
	http_server_release(server);
}

static void on_server_before(uv_prepare_t *handle)
{
	conns_flush(handle->data);
}

static void on_server_after(uv_check_t *handle)
{
	conns_flush(handle->data);
}

const char *http_server_date(struct http_server *server)
{
	static const char days[] = "SunMonTueWedThuFriSat";
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	int64_t now = pl_clock_wall_ms() / 1000;
	time_t seconds = (time_t)now;
	struct tm tm;

	if (now == server->date_s || gmtime_r(&seconds, &tm) == NULL)
		return server->date;
	server->date_s = now;
	(void)snprintf(server->date, sizeof server->date,
	               "%.3s, %02u %.3s %04u %02u:%02u:%02u GMT",
	               days + (ptrdiff_t)3 * tm.tm_wday, (unsigned)tm.tm_mday % 100,
	               months + (ptrdiff_t)3 * tm.tm_mon,
	               (unsigned)(tm.tm_year + 1900) % 10000, (unsigned)tm.tm_hour % 100,
	               (unsigned)tm.tm_min % 100, (unsigned)tm.tm_sec % 100);
	return server->date;
}

/* -- opening ------------------------------------------------------------------------- */

static uint32_t or_default(uint32_t value, uint32_t standard)
{
	return value == 0 ? standard : value;
}

static size_t or_default_size(size_t value, size_t standard)
{
	return value == 0 ? standard : value;
}

static struct http_server_limits limits_fill(const struct http_server_limits *given)
{
	return (struct http_server_limits){
		.conns = or_default(given->conns, 20000),
		.streams = or_default(given->streams, 250),
		.head_bytes = or_default(given->head_bytes, 64 << 10),
		.fields = or_default(given->fields, 128),
		.body_bytes = or_default_size(given->body_bytes, (size_t)3 << 20),
		.bodies_bytes = or_default_size(given->bodies_bytes, (size_t)256 << 20),
		.unread_bytes = or_default_size(given->unread_bytes, (size_t)16 << 20),
		.head_ms = or_default(given->head_ms, 10 * 1000),
		.body_ms = or_default(given->body_ms, 60 * 1000),
		.idle_ms = or_default(given->idle_ms, 180 * 1000),
		.send_ms = or_default(given->send_ms, 60 * 1000),
		.gzip_bytes = or_default(given->gzip_bytes, 128 << 10),
	};
}

static void on_server_connection(uv_stream_t *tcp, int status)
{
	if (status == 0)
		http_conn_accept(tcp->data);
}

static enum pl_code server_listen(struct http_server *server,
                                  const struct http_server_opts *opts, struct pl_err *err)
{
	struct sockaddr_storage addr;
	int rc = uv_ip4_addr(opts->host, opts->port, (struct sockaddr_in *)&addr);

	if (rc != 0)
		rc = uv_ip6_addr(opts->host, opts->port, (struct sockaddr_in6 *)&addr);
	if (rc == 0)
		rc = uv_tcp_bind(&server->tcp, (const struct sockaddr *)&addr, 0);
	if (rc == 0)
		rc = uv_listen((uv_stream_t *)&server->tcp, HTTP_BACKLOG,
		               on_server_connection);
	if (rc == 0)
		return PL_OK;
	return pl_err_set(err, rc == UV_EADDRINUSE ? PL_EXISTS : PL_INVALID,
	                  "listen at %s, port %u: %s", opts->host, (unsigned)opts->port,
	                  uv_strerror(rc));
}

static void server_free(struct http_server *server)
{
	nghttp2_session_callbacks_del(server->h2_callbacks);
	nghttp2_option_del(server->h2_option);
	http_pool_done(&server->pool);
	pl_buf_done(&server->cipher);
	pl_buf_done(&server->text);
	pl_buf_done(&server->packed);
	free(server->fields);
	free(server);
}

static struct http_server *server_new(const struct http_server_opts *opts,
                                      const struct http_server_fns *fns, void *ctx)
{
	struct http_server *server = pl_calloc(1, sizeof *server);

	if (server == NULL)
		return NULL;
	server->limits = limits_fill(&opts->limits);
	server->tls = opts->tls;
	server->gzip_local = opts->gzip_local;
	server->fns = *fns;
	server->ctx = ctx;
	pl_list_init(&server->conns);
	pl_list_init(&server->dirty);
	pl_buf_init(&server->cipher, CIPHER_MAX);
	pl_buf_init(&server->text, TEXT_MAX);
	pl_buf_init(&server->packed, (size_t)4 * HTTP_PACK_SLICE);
	/* one more for HTTP/2's authority */
	server->fields =
		pl_calloc((size_t)server->limits.fields + 1, sizeof *server->fields);
	if (server->fields != NULL && http_h2_setup(server))
		return server;
	server_free(server);
	return NULL;
}

static void server_handles_open(struct http_server *server, uv_loop_t *loop)
{
	server->loop = loop;
	(void)uv_prepare_init(loop, &server->before);
	(void)uv_check_init(loop, &server->after);
	(void)uv_idle_init(loop, &server->soon);
	loop_timers_open(&server->timers, loop);
	server->tcp.data = server->before.data = server->after.data = server->soon.data =
		server;
	server->handles = 5; /* the timers are one */
	server->listening = true;
}

static void on_unopened(void *ctx)
{
	(void)ctx;
}

enum pl_code http_server_open(uv_loop_t *loop, const struct http_server_opts *opts,
                              const struct http_server_fns *fns, void *ctx,
                              struct http_server **out, struct pl_err *err)
{
	struct http_server *server = server_new(opts, fns, ctx);
	enum pl_code code;

	if (server == NULL)
		return pl_err_set(err, PL_NOMEM, "an HTTP server");
	if (uv_tcp_init(loop, &server->tcp) != 0) {
		server_free(server);
		return pl_err_set(err, PL_NOMEM, "an HTTP server");
	}
	server_handles_open(server, loop);
	sock_sigpipe_ignore();
	code = server_listen(server, opts, err);
	if (code != PL_OK) {
		http_server_close(server, on_unopened, NULL);
		return code;
	}
	(void)uv_prepare_start(&server->before, on_server_before);
	(void)uv_check_start(&server->after, on_server_after);
	*out = server;
	return PL_OK;
}

uint16_t http_server_port(const struct http_server *server)
{
	return sock_port(&server->tcp);
}

void http_server_counts(const struct http_server *server, struct http_server_counts *out)
{
	*out = server->counts;
	out->held_bytes = server->bodies + server->pending;
}

/* -- the end -------------------------------------------------------------------------- */

void http_server_handle_closed(struct http_server *server)
{
	void (*closed)(void *ctx) = server->closed;
	void *ctx = server->closed_ctx;

	if (--server->handles > 0)
		return;
	server_free(server);
	closed(ctx);
}

static void on_server_handle_closed(uv_handle_t *handle)
{
	http_server_handle_closed(handle->data);
}

static void on_server_timers_closed(void *ctx)
{
	http_server_handle_closed(ctx);
}

static void listener_close(struct http_server *server)
{
	if (!server->listening)
		return;
	server->listening = false;
	uv_close((uv_handle_t *)&server->tcp, on_server_handle_closed);
}

void http_server_release(struct http_server *server)
{
	if (!server->closing || server->released || server->counts.open_conns > 0)
		return;
	server->released = true;
	uv_close((uv_handle_t *)&server->before, on_server_handle_closed);
	uv_close((uv_handle_t *)&server->after, on_server_handle_closed);
	uv_close((uv_handle_t *)&server->soon, on_server_handle_closed);
	loop_timers_close(&server->timers, on_server_timers_closed, server);
}

void http_server_stop_accepting(struct http_server *server)
{
	if (server->stopping)
		return;
	server->stopping = true;
	listener_close(server);
	PL_LIST_EACH (link, &server->conns)
		http_conn_stop(PL_LIST_ITEM(link, struct http_conn, link));
}

void http_server_close(struct http_server *server, void (*closed)(void *ctx), void *ctx)
{
	server->stopping = server->closing = true;
	server->closed = closed;
	server->closed_ctx = ctx;
	listener_close(server);
	PL_LIST_EACH (link, &server->conns)
		http_conn_fail(PL_LIST_ITEM(link, struct http_conn, link));
	http_server_release(server);
}
