/* A connection: bytes in, the protocol that it speaks, its states. */
#include <stdlib.h>

#include "store/base/clock.h"
#include "store/base/fault.h"
#include "store/net/http_server_int.h"

/* -- states --------------------------------------------------------------------------- */

void http_conn_touch(struct http_conn *conn)
{
	if (!pl_list_empty(&conn->dirty) || conn->state == HTTP_CONN_CLOSED)
		return;
	pl_list_add_tail(&conn->server->dirty, &conn->dirty);
	http_server_wake(conn->server);
}

void http_conn_fail(struct http_conn *conn)
{
	if (conn->state < HTTP_CONN_FAILED)
		conn->state = HTTP_CONN_FAILED;
	http_conn_touch(conn);
}

void http_conn_end(struct http_conn *conn)
{
	conn->last = true;
	if (conn->state < HTTP_CONN_ENDING)
		conn->state = HTTP_CONN_ENDING;
	conn->began_ms = 0;
	http_conn_touch(conn);
}

/* An answer that is due still leaves; a stream ends, as its client listens no more. */
static void h1_eof(struct http_conn *conn)
{
	const struct http_exchange *exchange = conn->current;

	if (exchange == NULL && conn->out.len > 0)
		http_conn_end(conn);
	else if (exchange != NULL &&
	         !(exchange->watched && exchange->state == HTTP_EXCHANGE_WAITING) &&
	         (exchange->state == HTTP_EXCHANGE_WAITING ||
	          exchange->state == HTTP_EXCHANGE_ENDED))
		conn->last = true;
	else
		http_conn_fail(conn);
}

void http_conn_eof(struct http_conn *conn)
{
	conn->eof = true;
	if (conn->state == HTTP_CONN_H1)
		h1_eof(conn);
	else if (conn->state != HTTP_CONN_ENDING || conn->ended_ms != 0)
		http_conn_fail(conn);
}

void http_conn_stop(struct http_conn *conn)
{
	bool busy =
		conn->current != NULL && conn->current->state != HTTP_EXCHANGE_RECEIVING;

	switch (conn->state) {
	case HTTP_CONN_SHAKING:
	case HTTP_CONN_SNIFFING:
		http_conn_fail(conn);
		break;
	case HTTP_CONN_H1:
		conn->last = true;
		if (conn->current != NULL && !busy)
			http_conn_fail(conn);
		else if (!busy)
			http_conn_end(conn);
		break;
	case HTTP_CONN_H2:
		http_h2_goaway(conn);
		break;
	case HTTP_CONN_ENDING:
	case HTTP_CONN_FAILED:
	case HTTP_CONN_CLOSED:
		break;
	}
}

/* -- bytes in ------------------------------------------------------------------------- */

static void protocol_begin(struct http_conn *conn, bool h2)
{
	conn->began_ms = 0;
	conn->idle_ms = pl_clock_ms();
	conn->state = h2 ? HTTP_CONN_H2 : HTTP_CONN_H1;
	if (!h2)
		http_reader_init(&conn->reader, &conn->server->limits);
	else if (!http_h2_open(conn))
		http_conn_fail(conn);
}

static void sniff_h2(struct http_conn *conn)
{
	struct pl_buf in = conn->in;

	conn->in = (struct pl_buf){.max = in.max};
	protocol_begin(conn, true);
	if (conn->state == HTTP_CONN_H2)
		http_h2_input(conn, pl_buf_span(&in));
	pl_buf_done(&in);
}

/* Clear text: HTTP/2 begins with its preface, which is no request of HTTP/1. */
static void sniff(struct http_conn *conn, struct pl_span data)
{
	const size_t whole = NGHTTP2_CLIENT_MAGIC_LEN;
	size_t len;

	if (pl_buf_add(&conn->in, data) != PL_OK) {
		http_conn_fail(conn);
		return;
	}
	len = conn->in.len < whole ? conn->in.len : whole;
	if (memcmp(conn->in.at, NGHTTP2_CLIENT_MAGIC, len) != 0) {
		protocol_begin(conn, false);
		http_h1_input(conn, pl_span(NULL, 0));
	} else if (len == whole) {
		sniff_h2(conn);
	} else if (conn->began_ms == 0) {
		conn->began_ms = pl_clock_ms();
	}
}

static void conn_input(struct http_conn *conn, struct pl_span data)
{
	if (conn->state == HTTP_CONN_SNIFFING)
		sniff(conn, data);
	else if (conn->state == HTTP_CONN_H1)
		http_h1_input(conn, data);
	else if (conn->state == HTTP_CONN_H2)
		http_h2_input(conn, data);
}

/* A client that speaks HTTP to a port of TLS gets an answer that it understands. */
static void plain_refuse(struct http_conn *conn)
{
	static const char text[] = "HTTP/1.0 400 Bad Request\r\n"
				   "Content-Type: text/plain\r\nConnection: close\r\n\r\n"
				   "This port speaks TLS: use https.\n";

	pl_buf_clear(&conn->server->cipher, 0);
	tls_peer_free(conn->tls);
	conn->tls = NULL;
	conn->server->counts.bad_requests++;
	if (!http_queue_add_copy(&conn->server->pool, &conn->out, NULL,
	                         pl_span(text, sizeof text - 1)))
		http_conn_fail(conn);
	http_conn_end(conn);
}

static enum tls_peer_state tls_shake(struct http_conn *conn)
{
	enum tls_peer_state state = tls_peer_handshake(conn->tls);

	if (state != TLS_PEER_OPEN)
		return state;
	if (!tls_peer_client(conn->tls, &conn->client))
		return TLS_PEER_FAILED;
	protocol_begin(conn, tls_peer_is_h2(conn->tls));
	return state;
}

static void tls_take(struct http_conn *conn, struct pl_span data)
{
	struct http_server *server = conn->server;
	enum tls_peer_state state = TLS_PEER_OPEN;
	size_t got = 0;

	tls_peer_feed(conn->tls, data);
	if (conn->state == HTTP_CONN_SHAKING)
		state = tls_shake(conn);
	while (state == TLS_PEER_OPEN && conn->state < HTTP_CONN_FAILED) {
		state = tls_peer_read(conn->tls, server->plain, sizeof server->plain,
		                      &got);
		if (got == 0)
			break;
		conn_input(conn, pl_span(server->plain, got));
	}
	if (state == TLS_PEER_PLAIN)
		plain_refuse(conn);
	else if (!http_conn_send_cipher(conn) || state == TLS_PEER_FAILED)
		http_conn_fail(conn);
	else if (state == TLS_PEER_CLOSED)
		http_conn_eof(conn);
}

static void on_conn_alloc(uv_handle_t *handle, size_t hint, uv_buf_t *buf)
{
	struct http_conn *conn = handle->data;

	(void)hint;
	*buf = uv_buf_init((char *)conn->server->input, HTTP_INPUT_SIZE);
}

static void on_conn_read(uv_stream_t *tcp, ssize_t count, const uv_buf_t *buf)
{
	struct http_conn *conn = tcp->data;

	if (conn->state >= HTTP_CONN_FAILED || count == 0)
		return;
	if (count == UV_EOF) {
		http_conn_eof(conn);
		return;
	}
	if (count < 0 || pl_fault_hit(PL_FAULT_NET_READ)) {
		http_conn_fail(conn);
		return;
	}
	conn->server->counts.bytes_in += (uint64_t)count;
	if (conn->state == HTTP_CONN_ENDING)
		return; /* bytes behind the last request are not looked at */
	if (conn->tls != NULL)
		tls_take(conn, pl_span(buf->base, (size_t)count));
	else
		conn_input(conn, pl_span(buf->base, (size_t)count));
	http_conn_arm(conn);
}

void http_conn_read(struct http_conn *conn, bool on)
{
	uv_stream_t *tcp = (uv_stream_t *)&conn->tcp;

	if (on == conn->reading || conn->eof || conn->state >= HTTP_CONN_FAILED)
		return;
	conn->reading = on;
	if (!on)
		(void)uv_read_stop(tcp);
	else if (uv_read_start(tcp, on_conn_alloc, on_conn_read) != 0)
		http_conn_fail(conn);
}
