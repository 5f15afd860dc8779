/*
 * Deadlines. A connection has one timer, which is only moved to an earlier time: one that
 * comes too early looks again. So a request that is whole at once costs no timer.
 */
#include "store/base/clock.h"
#include "store/net/http_server_int.h"

enum { LINGER_MS = 2000 };

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t list_due(const struct pl_list *list, uint64_t ms)
{
	if (pl_list_empty(list))
		return UINT64_MAX;
	return PL_CONTAINER_OF_CONST(list->next, struct http_exchange, timed)->since_ms +
	       ms;
}

/* Bytes that are queued without a flight leave with the next flush. */
static bool is_blocked(const struct http_conn *conn)
{
	return conn->flight_len > 0;
}

static uint64_t idle_due(const struct http_conn *conn)
{
	bool idle = pl_list_empty(&conn->exchanges) && conn->began_ms == 0 &&
	            conn->state >= HTTP_CONN_SNIFFING && conn->state <= HTTP_CONN_H2;

	return idle ? conn->idle_ms + conn->server->limits.idle_ms : UINT64_MAX;
}

uint64_t http_conn_deadline(const struct http_conn *conn)
{
	const struct http_server_limits *limits = &conn->server->limits;
	uint64_t due = UINT64_MAX;

	if (conn->state >= HTTP_CONN_FAILED)
		return due;
	if (is_blocked(conn))
		due = conn->wire_ms + limits->send_ms;
	if (conn->ended_ms != 0)
		due = earlier(due, conn->ended_ms + LINGER_MS);
	if (conn->began_ms != 0)
		due = earlier(due, conn->began_ms + limits->head_ms);
	due = earlier(due, list_due(&conn->receiving, limits->body_ms));
	due = earlier(due, list_due(&conn->sending, limits->send_ms));
	return earlier(due, idle_due(conn));
}

void http_conn_arm(struct http_conn *conn)
{
	uint64_t due = http_conn_deadline(conn);

	if (due == UINT64_MAX)
		return;
	if (!pl_timer_is_set(&conn->timer) || conn->timer.at_ms > due)
		pl_timer_set(&conn->timer, due);
}

static void head_late(struct http_conn *conn)
{
	conn->began_ms = 0;
	if (conn->state == HTTP_CONN_H1)
		http_conn_refuse(conn,
		                 (struct http_fault){408, "the request's head is late"});
	else
		http_conn_fail(conn);
}

/* libuv may have written a part of what it has. */
static bool wire_moved(struct http_conn *conn, uint64_t now)
{
	size_t left = uv_stream_get_write_queue_size((uv_stream_t *)&conn->tcp);

	if (left >= conn->flight_seen)
		return false;
	conn->flight_seen = left;
	conn->wire_ms = now;
	return true;
}

static void wire_late(struct http_conn *conn, uint64_t now)
{
	if (wire_moved(conn, now))
		return;
	conn->server->counts.cut++;
	http_conn_fail(conn);
}

static void lists_late(struct http_conn *conn, uint64_t now)
{
	const struct http_server_limits *limits = &conn->server->limits;

	while (list_due(&conn->receiving, limits->body_ms) <= now)
		http_exchange_refuse(
			PL_LIST_ITEM(conn->receiving.next, struct http_exchange, timed),
			(struct http_fault){408, "the request's body is late"});
	while (list_due(&conn->sending, limits->send_ms) <= now) {
		struct http_exchange *exchange =
			PL_LIST_ITEM(conn->sending.next, struct http_exchange, timed);

		conn->server->counts.cut++;
		http_exchange_untime(exchange);
		http_exchange_drop(exchange);
	}
}

static void conn_expire(struct http_conn *conn, uint64_t now)
{
	const struct http_server_limits *limits = &conn->server->limits;

	if (is_blocked(conn) && conn->wire_ms + limits->send_ms <= now)
		wire_late(conn, now);
	else if (conn->ended_ms != 0 && conn->ended_ms + LINGER_MS <= now)
		http_conn_fail(conn);
	if (conn->began_ms != 0 && conn->began_ms + limits->head_ms <= now)
		head_late(conn);
	lists_late(conn, now);
	if (idle_due(conn) <= now)
		http_conn_stop(conn);
}

void http_conn_on_timer(void *ctx)
{
	struct http_conn *conn = ctx;
	uint64_t now = pl_clock_ms();

	if (http_conn_deadline(conn) <= now)
		conn_expire(conn, now);
	http_conn_arm(conn);
}
