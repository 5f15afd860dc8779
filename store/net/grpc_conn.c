/*
 * A gRPC connection: drives a session (grpc_session.h) over a socket.
 *
 * Happy path: resolve -> connect (TLS) -> the server's SETTINGS -> up, all within
 * connect_timeout_ms. From then on bytes that are read go into the session, and once a
 * turn of the loop everything that was started is serialised and written in one piece.
 * Ends are reported from the loop, never inside a call.
 *
 * Failures: every failure goes to grpc_conn_fail(), which ends every call; the next turn
 * reports the ends and then on_down. The object is freed when libuv owes no close
 * callback.
 *
 * A turn is a uv_idle_t, started when there is work to do. libuv does not block while one
 * is active, so a wake-up is never delayed, not even one from another connection's turn.
 */
#include <stdlib.h>

#include "store/base/clock.h"
#include "store/net/grpc_conn_int.h"

static void on_turn(uv_idle_t *idle);

void grpc_conn_wake(void *ctx)
{
	struct grpc_conn *conn = ctx;
	int rc;

	conn->woken = true;
	if (conn->in_turn)
		return;
	rc = uv_idle_start(&conn->turn, on_turn);
	PL_ASSERT(rc == 0);
}

static void on_ctx_closed(void *ctx);

/* The socket is closed at once, not at the end of the turn: libuv may hold bytes, and
 * writing them would send requests that were reported as unsent. */
static void sock_drop(struct grpc_conn *conn)
{
	if (conn->sock == NULL)
		return;
	conn->handles++;
	sock_close(PL_STEAL(conn->sock), on_ctx_closed, conn);
}

void grpc_conn_fail(struct grpc_conn *conn, const struct pl_err *err)
{
	bool open =
		conn->state == GRPC_CONN_OPEN || conn->state == GRPC_CONN_WRITE_FAILED;

	if (conn->state == GRPC_CONN_DOWN)
		return;
	conn->state = GRPC_CONN_DOWN;
	conn->why = *err;
	if (err->code != PL_CANCELED)
		(void)pl_err_wrap(&conn->why, "%s", conn->name);
	if (open)
		grpc_session_written(&conn->session, sock_written(conn->sock));
	sock_drop(conn);
	grpc_session_fail(&conn->session, &conn->why);
	pl_timer_stop(&conn->timer);
	if (conn->resolve != NULL)
		resolve_cancel(conn->resolve);
	grpc_conn_wake(conn);
}

/* --- closing -------------------------------------------------------------- */

static void handle_closed(struct grpc_conn *conn)
{
	if (--conn->handles == 0)
		free(conn);
}

static void on_turn_closed(uv_handle_t *handle)
{
	handle_closed(PL_CONTAINER_OF((uv_idle_t *)handle, struct grpc_conn, turn));
}

static void on_ctx_closed(void *ctx)
{
	handle_closed(ctx);
}

void grpc_conn_release(struct grpc_conn *conn)
{
	grpc_session_done(&conn->session);
	pl_timer_done(&conn->timer);
	uv_close((uv_handle_t *)&conn->turn, on_turn_closed);
	loop_timers_close(&conn->lt, on_ctx_closed, conn);
}

static void conn_finish(struct grpc_conn *conn)
{
	void (*on_down)(void *ctx, const struct pl_err *err) = conn->fns.on_down;
	struct pl_err why = conn->why;
	void *ctx = conn->ctx;

	grpc_session_deliver(&conn->session);
	if (conn->closing)
		pl_err_set(&why, PL_CANCELED, "%s: closed", conn->name);
	grpc_conn_release(conn);
	on_down(ctx, &why);
}

/* --- a turn of the loop --------------------------------------------------- */

/* A server that closes the connection says why in a GOAWAY before; reading goes on for a
 * millisecond to find it. */
static void write_fail(struct grpc_conn *conn, const struct pl_err *err)
{
	conn->state = GRPC_CONN_WRITE_FAILED;
	conn->why = *err;
	pl_timer_set(&conn->timer, pl_clock_ms() + 1);
}

static void conn_flush(struct grpc_conn *conn)
{
	struct grpc_session *session = &conn->session;
	struct pl_err err;
	bool more = true;

	while (more && conn->state == GRPC_CONN_OPEN && !sock_busy(conn->sock)) {
		if (grpc_session_fill(session, &err) != PL_OK) {
			grpc_conn_fail(conn, &err);
			return;
		}
		more = session->out.len >= GRPC_OUT_HIGH;
		if (sock_send(conn->sock, &session->out, &err) != PL_OK) {
			write_fail(conn, &err);
			return;
		}
		grpc_session_written(session, sock_written(conn->sock));
	}
}

static void on_turn(uv_idle_t *idle)
{
	struct grpc_conn *conn = PL_CONTAINER_OF(idle, struct grpc_conn, turn);
	struct pl_err err;

	(void)uv_idle_stop(&conn->turn);
	conn->in_turn = true;
	while (conn->woken) {
		conn->woken = false;
		grpc_session_deliver(&conn->session);
		conn_flush(conn);
		if (conn->state != GRPC_CONN_DOWN &&
		    grpc_session_finished(&conn->session, &err))
			grpc_conn_fail(conn, &err);
	}
	conn->in_turn = false;
	if (conn->state == GRPC_CONN_DOWN && conn->resolve == NULL)
		conn_finish(conn);
}

void grpc_conn_up(void *ctx)
{
	struct grpc_conn *conn = ctx;

	if (conn->state != GRPC_CONN_WRITE_FAILED)
		pl_timer_stop(&conn->timer);
	if (conn->state != GRPC_CONN_DOWN)
		conn->fns.on_up(conn->ctx);
}

/* --- the socket ---------------------------------------------------------- */

static void on_sock_open(void *ctx)
{
	struct grpc_conn *conn = ctx;

	PL_ASSERT(conn->state == GRPC_CONN_OPENING);
	conn->state = GRPC_CONN_OPEN;
	grpc_conn_wake(conn);
}

static void on_sock_data(void *ctx, struct pl_span data)
{
	struct grpc_conn *conn = ctx;
	struct pl_err err;

	if (conn->state == GRPC_CONN_DOWN)
		return;
	/* an answer may arrive before on_room for its request */
	if (sock_busy(conn->sock))
		grpc_session_written(&conn->session, sock_written(conn->sock));
	if (grpc_session_feed(&conn->session, data, &err) != PL_OK)
		grpc_conn_fail(conn, &err);
	grpc_session_deliver(&conn->session);
}

static void on_sock_room(void *ctx)
{
	struct grpc_conn *conn = ctx;

	if (conn->state == GRPC_CONN_DOWN)
		return;
	grpc_session_written(&conn->session, sock_written(conn->sock));
	grpc_conn_wake(conn);
}

static void on_sock_fail(void *ctx, const struct pl_err *err)
{
	struct grpc_conn *conn = ctx;
	struct grpc_session *session = &conn->session;
	struct pl_err why = *err;

	if (session->state == GRPC_SESSION_AWAY && session->why.code != PL_OK)
		why = session->why;
	else if (conn->state == GRPC_CONN_WRITE_FAILED && err->code != PL_TLS)
		why = conn->why;
	else if (conn->state == GRPC_CONN_OPEN &&
	         session->state == GRPC_SESSION_CONNECTING && err->code == PL_UNAVAIL)
		(void)pl_err_wrap(&why, "before it spoke HTTP/2");
	grpc_conn_fail(conn, &why);
}

void grpc_conn_connect(struct grpc_conn *conn, const struct addrinfo *addrs)
{
	static const struct sock_fns fns = {.on_open = on_sock_open,
	                                    .on_data = on_sock_data,
	                                    .on_room = on_sock_room,
	                                    .on_fail = on_sock_fail};
	struct sock_opts opts = {.addrs = addrs, .tls = conn->tls, .host = conn->host};
	struct pl_err err;

	if (sock_open(conn->loop, &opts, &fns, conn, &conn->sock, &err) != PL_OK)
		grpc_conn_fail(conn, &err);
}
