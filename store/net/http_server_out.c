/*
 * Bytes out. In clear text blobs go to the kernel as they are; under TLS what is queued
 * becomes few large records. What the kernel does not take waits in libuv; until then the
 * connection makes nothing more.
 */
#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/base/clock.h"
#include "store/base/fault.h"
#include "store/net/http_server_int.h"

enum {
	BUFS = 64,
	TURN_MAX = 4 << 20, /* bytes of one connection in one turn */
	CLEAR_BATCH = 1 << 20,
	CIPHER_BATCH = 256 << 10,
	RECORD_SIZE = 16 * 1024,
};

/* Bytes that libuv has. */
struct http_flight {
	uv_write_t write;
	struct http_conn *conn;
	size_t len;
	size_t queued; /* of conn->out; under TLS it was dropped already */
	uint8_t cipher[];
};

/* -- accounting --------------------------------------------------------------------------- */

static void out_drop(struct http_conn *conn, size_t len)
{
	while (len > 0) {
		size_t front = http_queue_front(&conn->out).len;
		size_t part = front < len ? front : len;
		struct http_exchange *owner =
			http_queue_drop(&conn->server->pool, &conn->out, part);

		if (owner != NULL)
			http_exchange_left(owner, part);
		len -= part;
	}
}

bool http_out_frame(struct http_exchange *exchange, struct pl_span bytes)
{
	struct http_conn *conn = exchange->conn;

	if (!http_queue_add_copy(&conn->server->pool, &conn->out, exchange, bytes))
		return false;
	exchange->wired += bytes.len;
	conn->server->pending += bytes.len;
	return true;
}

bool http_out_move(struct http_exchange *exchange, size_t len)
{
	struct http_conn *conn = exchange->conn;
	size_t before = conn->out.len;
	bool ok = http_queue_move(&conn->server->pool, &conn->out, &exchange->queue, len);

	exchange->wired += conn->out.len - before;
	return ok;
}

static void wire_took(struct http_conn *conn, size_t len)
{
	conn->server->counts.bytes_out += len;
	conn->wire_ms = pl_clock_ms();
}

/* -- flights ------------------------------------------------------------------------------ */

static void on_flight_done(uv_write_t *write, int status)
{
	struct http_flight *flight = PL_CONTAINER_OF(write, struct http_flight, write);
	struct http_conn *conn = flight->conn;

	conn->flight_len -= flight->len;
	if (conn->state < HTTP_CONN_FAILED) {
		if (status < 0) {
			http_conn_fail(conn);
		} else {
			wire_took(conn, flight->len);
			out_drop(conn, flight->queued);
			http_conn_touch(conn);
		}
	}
	free(flight);
}

static bool flight_start(struct http_conn *conn, struct http_flight *flight,
                         const uv_buf_t *bufs, unsigned count)
{
	flight->conn = conn;
	if (uv_write(&flight->write, (uv_stream_t *)&conn->tcp, bufs, count,
	             on_flight_done) != 0) {
		free(flight);
		return false;
	}
	if (conn->flight_len == 0)
		conn->wire_ms = pl_clock_ms();
	conn->flight_len += flight->len;
	conn->flight_seen = conn->flight_len;
	return true;
}

/* How many bytes the kernel takes; negative: the connection is lost. */
static int64_t kernel_give(struct http_conn *conn, const uv_buf_t *bufs, unsigned count)
{
	int rc = UV_EPIPE;

	if (conn->flight_len > 0)
		return 0;
	if (!pl_fault_hit(PL_FAULT_NET_WRITE))
		rc = uv_try_write((uv_stream_t *)&conn->tcp, bufs, count);
	if (rc == UV_EAGAIN)
		return 0;
	if (rc > 0)
		wire_took(conn, (size_t)rc);
	return rc;
}

/* -- clear text --------------------------------------------------------------------------- */

static size_t bufs_len(const uv_buf_t *bufs, unsigned count)
{
	size_t len = 0;

	for (unsigned i = 0; i < count; i++)
		len += bufs[i].len;
	return len;
}

static bool clear_wait(struct http_conn *conn)
{
	uv_buf_t bufs[BUFS];
	unsigned count = http_queue_bufs(&conn->out, bufs, BUFS, CLEAR_BATCH);
	struct http_flight *flight = pl_malloc(sizeof *flight);

	if (flight == NULL)
		return false;
	flight->len = flight->queued = bufs_len(bufs, count);
	return flight_start(conn, flight, bufs, count);
}

/* *len: how many bytes left. */
static bool clear_write(struct http_conn *conn, size_t *len)
{
	uv_buf_t bufs[BUFS];
	unsigned count = http_queue_bufs(&conn->out, bufs, BUFS, CLEAR_BATCH);
	int64_t taken = kernel_give(conn, bufs, count);

	if (taken < 0)
		return false;
	*len = (size_t)taken;
	if (*len == bufs_len(bufs, count)) {
		out_drop(conn, *len);
		return true;
	}
	out_drop(conn, *len);
	return clear_wait(conn);
}

/* -- TLS ---------------------------------------------------------------------------------- */

bool http_conn_send_cipher(struct http_conn *conn)
{
	struct pl_buf *cipher = &conn->server->cipher;
	uv_buf_t buf = uv_buf_init((char *)cipher->at, (unsigned)cipher->len);
	struct http_flight *flight;
	int64_t taken;

	if (cipher->len == 0)
		return true;
	taken = kernel_give(conn, &buf, 1);
	if (taken < 0) {
		pl_buf_clear(cipher, SIZE_MAX);
		return false;
	}
	pl_buf_drop(cipher, (size_t)taken);
	if (cipher->len == 0)
		return true;
	/* Records that TLS itself makes, such as answers to key updates, are bounded
	 * too. */
	flight = conn->flight_len > 4 * (size_t)CIPHER_BATCH
	                 ? NULL
	                 : pl_malloc(sizeof *flight + cipher->len);
	if (flight != NULL) {
		flight->len = cipher->len;
		flight->queued = 0;
		memcpy(flight->cipher, cipher->at, cipher->len);
		buf = uv_buf_init((char *)flight->cipher, (unsigned)flight->len);
	}
	pl_buf_clear(cipher, SIZE_MAX);
	return flight != NULL && flight_start(conn, flight, &buf, 1);
}

/* One record of small pieces. */
static bool record_gather(struct http_conn *conn)
{
	uint8_t record[RECORD_SIZE];
	size_t len = 0;

	while (len < sizeof record && conn->out.len > 0) {
		struct pl_span front = http_queue_front(&conn->out);

		if (front.len > sizeof record - len)
			front.len = sizeof record - len;
		memcpy(record + len, front.at, front.len);
		len += front.len;
		out_drop(conn, front.len);
	}
	return tls_peer_write(conn->tls, pl_span(record, len));
}

static bool cipher_write(struct http_conn *conn, size_t *len)
{
	size_t before = conn->out.len;

	while (conn->out.len > 0 && before - conn->out.len < CIPHER_BATCH) {
		struct pl_span front = http_queue_front(&conn->out);

		if (front.len < RECORD_SIZE) {
			if (!record_gather(conn))
				return false;
			continue;
		}
		front.len = front.len > CIPHER_BATCH
		                    ? CIPHER_BATCH
		                    : front.len / RECORD_SIZE * RECORD_SIZE;
		if (!tls_peer_write(conn->tls, front))
			return false;
		out_drop(conn, front.len);
	}
	*len = before - conn->out.len;
	return http_conn_send_cipher(conn);
}

/* -- the flush ---------------------------------------------------------------------------- */

static bool wire_write(struct http_conn *conn)
{
	size_t turn = 0;

	while (conn->out.len > 0 && conn->flight_len == 0) {
		size_t len = 0;

		if (turn >= TURN_MAX) {
			http_conn_touch(conn);
			break;
		}
		if (!(conn->tls == NULL ? clear_write(conn, &len)
		                        : cipher_write(conn, &len)))
			return false;
		turn += len;
	}
	return true;
}

/* HTTP/2 makes no more frames than the wire holds, so it goes on when that is empty. */
static bool pump_and_write(struct http_conn *conn)
{
	for (size_t turns = 0;; turns++) {
		bool ok = conn->h2 == NULL ? http_h1_pump(conn) : http_h2_pump(conn);

		if (!ok)
			return false;
		if (conn->out.len == 0 || conn->flight_len > 0)
			return true;
		if (!wire_write(conn))
			return false;
		if (conn->h2 == NULL || conn->out.len > 0)
			return true;
		if (turns * HTTP_OUT_HIGH >= TURN_MAX) {
			http_conn_touch(conn);
			return true;
		}
	}
}

/* An exchange whose bytes TLS still has in flight has not left. */
static void leaving_run(struct http_conn *conn)
{
	struct pl_list now;

	pl_list_init(&now);
	pl_list_move(&now, &conn->leaving);
	while (!pl_list_empty(&now)) {
		struct http_exchange *exchange =
			PL_LIST_ITEM(now.next, struct http_exchange, leaving);

		pl_list_del(&exchange->leaving);
		if (exchange->cut || conn->tls == NULL || conn->flight_len == 0)
			http_exchange_gone(exchange);
		else
			pl_list_add_tail(&conn->leaving, &exchange->leaving);
	}
}

static void rooms_run(struct http_conn *conn)
{
	struct http_server_fns *fns = &conn->server->fns;

	while (!pl_list_empty(&conn->rooms)) {
		struct http_exchange *exchange =
			PL_LIST_ITEM(conn->rooms.next, struct http_exchange, room);

		pl_list_del(&exchange->room);
		if (fns->on_room != NULL && !exchange->cut &&
		    exchange->state == HTTP_EXCHANGE_STREAMING)
			fns->on_room(exchange->user, exchange);
	}
}

static void on_shutdown(uv_shutdown_t *shutdown, int status)
{
	struct http_conn *conn = PL_CONTAINER_OF(shutdown, struct http_conn, shutdown);

	if (conn->state < HTTP_CONN_FAILED && (status != 0 || conn->eof))
		http_conn_fail(conn);
}

/* The client may still be sending: closing at once would reset the connection, and with
 * it the answer. */
static bool wire_end(struct http_conn *conn)
{
	if (conn->state != HTTP_CONN_ENDING || conn->ended_ms != 0 || conn->out.len > 0 ||
	    conn->flight_len > 0 || !pl_list_empty(&conn->exchanges))
		return true;
	conn->ended_ms = pl_clock_ms();
	pl_buf_clear(&conn->in, 0);
	if (conn->tls != NULL) {
		tls_peer_end(conn->tls);
		if (!http_conn_send_cipher(conn))
			return false;
	}
	http_conn_read(conn, true);
	return uv_shutdown(&conn->shutdown, (uv_stream_t *)&conn->tcp, on_shutdown) == 0;
}

/* An HTTP/2 connection that has nothing more to do is at its end. */
static void h2_end_check(struct http_conn *conn)
{
	bool over;

	if (conn->state != HTTP_CONN_H2)
		return;
	over = nghttp2_session_want_read(conn->h2) == 0 &&
	       nghttp2_session_want_write(conn->h2) == 0;
	if (pl_list_empty(&conn->exchanges) && (over || conn->last)) {
		http_conn_end(conn);
		return;
	}
	PL_LIST_EACH (link, &conn->exchanges) {
		if (over)
			http_exchange_drop(
				PL_LIST_ITEM(link, struct http_exchange, link));
	}
}

void http_conn_flush(struct http_conn *conn)
{
	leaving_run(conn);
	if (conn->state >= HTTP_CONN_FAILED ||
	    (conn->state > HTTP_CONN_SHAKING && !pump_and_write(conn))) {
		http_conn_close(conn);
		return;
	}
	leaving_run(conn);
	rooms_run(conn);
	http_conn_pack(conn);
	if (conn->state == HTTP_CONN_H1)
		http_h1_input(conn, pl_span(NULL, 0));
	h2_end_check(conn);
	if (!wire_end(conn))
		http_conn_fail(conn);
	http_conn_arm(conn);
}
