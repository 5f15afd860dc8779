/* A connection's first and last moments. */
#include <stdio.h>
#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/base/clock.h"
#include "store/base/log.h"
#include "store/net/http_server_int.h"

enum { KEEPALIVE_S = 60 };

/* -- closing -------------------------------------------------------------------------- */

static void on_conn_closed(uv_handle_t *handle)
{
	struct http_conn *conn = handle->data;
	struct http_server *server = conn->server;

	free(conn);
	http_server_handle_closed(server);
}

/* on_gone may answer other exchanges: of this connection that does nothing any more. */
static void exchanges_end(struct http_conn *conn)
{
	http_queue_clear(&conn->server->pool, &conn->out);
	PL_LIST_EACH (link, &conn->exchanges) {
		struct http_exchange *exchange =
			PL_LIST_ITEM(link, struct http_exchange, link);

		http_exchange_left(exchange, exchange->wired);
	}
	while (!pl_list_empty(&conn->exchanges))
		http_exchange_gone(
			PL_LIST_ITEM(conn->exchanges.next, struct http_exchange, link));
}

void http_conn_close(struct http_conn *conn)
{
	struct http_server *server = conn->server;

	if (conn->state == HTTP_CONN_CLOSED)
		return;
	conn->state = HTTP_CONN_CLOSED;
	pl_list_del(&conn->dirty);
	exchanges_end(conn);
	pl_list_del(&conn->link);
	server->counts.open_conns--;
	nghttp2_session_del(conn->h2);
	tls_peer_free(conn->tls);
	free(conn->client);
	pl_buf_done(&conn->in);
	pl_timer_done(&conn->timer);
	uv_close((uv_handle_t *)&conn->tcp, on_conn_closed);
}

/* -- accepting ------------------------------------------------------------------------ */

static bool is_loopback(const struct sockaddr_storage *addr)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	const uint8_t *v6 = ((const struct sockaddr_in6 *)addr)->sin6_addr.s6_addr;

	if (addr->ss_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)addr)->sin_addr.s_addr) >> 24 ==
		       127;
	return (memcmp(v6, mapped, sizeof mapped) == 0 && v6[12] == 127) ||
	       memcmp(v6, &in6addr_loopback, sizeof in6addr_loopback) == 0;
}

static void peer_name(struct http_conn *conn)
{
	struct sockaddr_storage addr = {0};
	int len = sizeof addr;
	char name[INET6_ADDRSTRLEN] = "?";
	unsigned port;

	if (uv_tcp_getpeername(&conn->tcp, (struct sockaddr *)&addr, &len) != 0)
		return;
	(void)uv_ip_name((const struct sockaddr *)&addr, name, sizeof name);
	conn->is_local = is_loopback(&addr);
	port = ntohs(addr.ss_family == AF_INET6
	                     ? ((const struct sockaddr_in6 *)&addr)->sin6_port
	                     : ((const struct sockaddr_in *)&addr)->sin_port);
	(void)snprintf(conn->peer, sizeof conn->peer,
	               addr.ss_family == AF_INET6 ? "[%s]:%u" : "%s:%u", name, port);
}

/* Changed files that do not load are reported once, until they do. */
static void certificates_refresh(struct http_server *server)
{
	struct pl_err err;
	bool stale = tls_server_refresh(server->tls, pl_clock_ms(), &err) != PL_OK;

	if (stale && !server->tls_stale)
		PL_LOG(PL_LOG_WARN, "http.certificates", pl_log_err("err", &err));
	server->tls_stale = stale;
}

void http_conn_verify(struct http_conn *conn)
{
	struct http_server *server = conn->server;

	if (conn->client == NULL)
		return;
	certificates_refresh(server);
	if (conn->client_loads == tls_server_loads(server->tls))
		return;
	conn->client_loads = tls_server_loads(server->tls);
	tls_peer_verify(conn->tls, server->tls, conn->client);
}

static bool conn_begin(struct http_conn *conn)
{
	struct http_server *server = conn->server;

	(void)uv_tcp_nodelay(&conn->tcp, 1);
	(void)uv_tcp_keepalive(&conn->tcp, 1, KEEPALIVE_S);
	peer_name(conn);
	conn->idle_ms = pl_clock_ms();
	conn->state = HTTP_CONN_SNIFFING;
	if (server->tls != NULL) {
		certificates_refresh(server);
		conn->state = HTTP_CONN_SHAKING;
		conn->began_ms = conn->idle_ms;
		conn->client_loads = tls_server_loads(server->tls);
		conn->tls = tls_peer_new(server->tls, &server->cipher);
		if (conn->tls == NULL)
			return false;
	}
	http_conn_read(conn, true);
	http_conn_arm(conn);
	return conn->state < HTTP_CONN_FAILED;
}

static struct http_conn *conn_new(struct http_server *server)
{
	struct http_conn *conn = pl_calloc(1, sizeof *conn);

	if (conn == NULL)
		return NULL;
	conn->server = server;
	if (pl_timer_init(&conn->timer, &server->timers.timers, http_conn_on_timer,
	                  conn) != PL_OK) {
		free(conn);
		return NULL;
	}
	if (uv_tcp_init(server->loop, &conn->tcp) != 0) {
		pl_timer_done(&conn->timer);
		free(conn);
		return NULL;
	}
	conn->tcp.data = conn;
	pl_list_init(&conn->dirty);
	pl_list_init(&conn->exchanges);
	pl_list_init(&conn->receiving);
	pl_list_init(&conn->sending);
	pl_list_init(&conn->leaving);
	pl_list_init(&conn->rooms);
	pl_list_init(&conn->packing);
	pl_buf_init(&conn->in,
	            (size_t)server->limits.head_bytes + (size_t)4 * HTTP_INPUT_SIZE);
	pl_list_add_tail(&server->conns, &conn->link);
	server->counts.open_conns++;
	server->handles++;
	return conn;
}

static void on_refused_closed(uv_handle_t *handle)
{
	struct http_server *server = handle->data;

	server->refusing = false;
	if (server->refuse_more && server->listening) {
		server->refuse_more = false;
		http_conn_accept(server);
	}
	http_server_handle_closed(server);
}

/* Without memory the connection is taken and closed: the listener stops for one that is
 * not taken. */
static void conn_refuse(struct http_server *server)
{
	server->counts.conns_refused++;
	if (server->refusing || uv_tcp_init(server->loop, &server->refused) != 0) {
		server->refuse_more = true;
		return;
	}
	server->refusing = true;
	server->refused.data = server;
	server->handles++;
	(void)uv_accept((uv_stream_t *)&server->tcp, (uv_stream_t *)&server->refused);
	uv_close((uv_handle_t *)&server->refused, on_refused_closed);
}

void http_conn_accept(struct http_server *server)
{
	struct http_conn *conn = conn_new(server);

	if (conn == NULL) {
		conn_refuse(server);
		return;
	}
	if (uv_accept((uv_stream_t *)&server->tcp, (uv_stream_t *)&conn->tcp) != 0) {
		http_conn_fail(conn);
		return;
	}
	server->counts.conns++;
	if (server->stopping || server->counts.open_conns > server->limits.conns) {
		server->counts.conns_refused++;
		http_conn_fail(conn);
	} else if (!conn_begin(conn)) {
		http_conn_fail(conn);
	}
}
