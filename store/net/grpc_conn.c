/*
 * A gRPC connection: drives a session (grpc_session.h) over a socket.
 *
 * Happy path: resolve -> connect (TLS) -> the server's SETTINGS -> up, all
 * within connect_timeout_ms. From then on bytes read go into the session, and
 * once a turn of the loop everything that was started in it is serialised and
 * written in one piece. Ends are told from the loop, never inside a call.
 * Failures: whatever goes wrong lands in conn_fail(), which ends every call and
 * has the turn tell it; the object goes after on_down, when libuv owes nothing.
 *
 * The turn is a uv_idle_t, started when there is something to do: libuv does not
 * block while one is active, so that a wake-up can not be slept over, not even
 * one that comes from the turn of another connection.
 */
#include <stdio.h>
#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/base/clock.h"
#include "store/net/grpc_session.h"
#include "store/net/loop_timers.h"
#include "store/net/resolve.h"
#include "store/net/sock.h"

enum { HOST_MAX = 255, NAME_SIZE = HOST_MAX + 16 };

struct grpc_conn {
	uv_loop_t *loop;
	uv_idle_t turn;
	struct loop_timers lt;
	struct pl_timer timer; /* connecting; or a failed write's last look */
	struct grpc_session session;
	struct resolve *resolve; /* while it runs */
	struct sock *sock;
	struct tls *tls; /* borrowed until down */
	struct grpc_conn_fns fns;
	void *ctx;
	struct pl_err why;
	uint32_t connect_timeout_ms;
	unsigned handles; /* close callbacks that libuv still owes */
	uint16_t port;
	bool sock_open;
	bool closing; /* grpc_conn_close was called */
	bool down;    /* why says why; on_down is on its way */
	bool in_turn;
	bool woken;
	bool write_failed;
	char host[HOST_MAX + 1];
	char name[NAME_SIZE]; /* host:port */
};

static void on_turn(uv_idle_t *idle);

static void on_wake(void *ctx)
{
	struct grpc_conn *conn = ctx;
	int rc;

	conn->woken = true;
	if (conn->in_turn)
		return;
	rc = uv_idle_start(&conn->turn, on_turn);
	PL_ASSERT(rc == 0);
}

static uint64_t on_now(void *ctx)
{
	(void)ctx;
	return pl_clock_ms();
}

static void conn_fail(struct grpc_conn *conn, const struct pl_err *err)
{
	if (conn->down)
		return;
	conn->down = true;
	conn->why = *err;
	if (err->code != PL_CANCELED)
		(void)pl_err_wrap(&conn->why, "%s", conn->name);
	if (conn->sock != NULL && conn->sock_open)
		grpc_session_written(&conn->session, sock_written(conn->sock));
	grpc_session_fail(&conn->session, &conn->why);
	pl_timer_stop(&conn->timer);
	if (conn->resolve != NULL)
		resolve_cancel(conn->resolve);
	on_wake(conn);
}

/* --- the end ------------------------------------------------------------- */

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

/* Gives back everything that libuv does not hold; the rest follows by itself. */
static void conn_release(struct grpc_conn *conn)
{
	grpc_session_done(&conn->session);
	pl_timer_done(&conn->timer);
	conn->handles = 2;
	uv_close((uv_handle_t *)&conn->turn, on_turn_closed);
	loop_timers_close(&conn->lt, on_ctx_closed, conn);
	if (conn->sock != NULL) {
		conn->handles++;
		sock_close(conn->sock, on_ctx_closed, conn);
	}
}

static void conn_finish(struct grpc_conn *conn)
{
	void (*on_down)(void *ctx, const struct pl_err *err) = conn->fns.on_down;
	struct pl_err why = conn->why;
	void *ctx = conn->ctx;

	grpc_session_deliver(&conn->session);
	if (conn->closing)
		pl_err_set(&why, PL_CANCELED, "%s: closed", conn->name);
	conn_release(conn);
	on_down(ctx, &why);
}

/* --- a turn -------------------------------------------------------------- */

/* A server that throws us out says why before it closes; look for that first. */
static void write_fail(struct grpc_conn *conn, const struct pl_err *err)
{
	conn->write_failed = true;
	conn->why = *err;
	pl_timer_set(&conn->timer, pl_clock_ms() + 1);
}

static void conn_flush(struct grpc_conn *conn)
{
	struct grpc_session *session = &conn->session;
	struct pl_err err;
	bool more = true;

	if (!conn->sock_open || conn->write_failed)
		return;
	while (more && !conn->down && !sock_busy(conn->sock)) {
		if (grpc_session_fill(session, &err) != PL_OK) {
			conn_fail(conn, &err);
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
		if (!conn->down)
			conn_flush(conn);
		if (!conn->down && grpc_session_finished(&conn->session, &err))
			conn_fail(conn, &err);
	}
	conn->in_turn = false;
	if (conn->down && conn->resolve == NULL)
		conn_finish(conn);
}

static void on_up(void *ctx)
{
	struct grpc_conn *conn = ctx;

	if (!conn->write_failed)
		pl_timer_stop(&conn->timer);
	if (!conn->down)
		conn->fns.on_up(conn->ctx);
}

/* --- the socket ---------------------------------------------------------- */

static void on_sock_open(void *ctx)
{
	struct grpc_conn *conn = ctx;

	conn->sock_open = true;
	on_wake(conn);
}

static void on_sock_data(void *ctx, struct pl_span data)
{
	struct grpc_conn *conn = ctx;
	struct pl_err err;

	if (conn->down)
		return;
	if (sock_busy(conn->sock)) /* an answer may overtake the news of its request */
		grpc_session_written(&conn->session, sock_written(conn->sock));
	if (grpc_session_feed(&conn->session, data, &err) != PL_OK)
		conn_fail(conn, &err);
	grpc_session_deliver(&conn->session);
}

static void on_sock_room(void *ctx)
{
	struct grpc_conn *conn = ctx;

	if (conn->down)
		return;
	grpc_session_written(&conn->session, sock_written(conn->sock));
	on_wake(conn);
}

static void on_sock_fail(void *ctx, const struct pl_err *err)
{
	struct grpc_conn *conn = ctx;
	struct grpc_session *session = &conn->session;
	struct pl_err why = *err;

	if (session->away && session->why.code != PL_OK)
		why = session->why;
	else if (conn->write_failed)
		why = conn->why;
	else if (conn->sock_open && !session->up && err->code == PL_UNAVAIL)
		(void)pl_err_wrap(&why, "before it spoke HTTP/2");
	conn_fail(conn, &why);
}

static void connect_to(struct grpc_conn *conn, const struct addrinfo *addrs)
{
	static const struct sock_fns fns = {.on_open = on_sock_open,
	                                    .on_data = on_sock_data,
	                                    .on_room = on_sock_room,
	                                    .on_fail = on_sock_fail};
	struct sock_opts opts = {.addrs = addrs, .tls = conn->tls, .host = conn->host};
	struct pl_err err;

	if (sock_open(conn->loop, &opts, &fns, conn, &conn->sock, &err) != PL_OK)
		conn_fail(conn, &err);
}

/* --- opening ------------------------------------------------------------- */

static void on_resolved(void *ctx, const struct addrinfo *addrs, const struct pl_err *err)
{
	struct grpc_conn *conn = ctx;

	conn->resolve = NULL;
	if (conn->down)
		on_wake(conn); /* it was waited for */
	else if (err != NULL)
		conn_fail(conn, err);
	else
		connect_to(conn, addrs);
}

/* An address needs no resolver, and no thread of its pool. */
static bool literal_connect(struct grpc_conn *conn)
{
	struct sockaddr_in6 v6;
	struct sockaddr_in v4;
	struct addrinfo addr = {0};

	if (uv_ip4_addr(conn->host, conn->port, &v4) == 0) {
		addr.ai_addr = (struct sockaddr *)&v4;
		addr.ai_addrlen = sizeof v4;
	} else if (uv_ip6_addr(conn->host, conn->port, &v6) == 0) {
		addr.ai_addr = (struct sockaddr *)&v6;
		addr.ai_addrlen = sizeof v6;
	} else {
		return false;
	}
	connect_to(conn, &addr);
	return true;
}

static void on_timer(void *ctx)
{
	struct grpc_conn *conn = ctx;
	struct pl_err err;

	if (conn->write_failed)
		err = conn->why;
	else
		pl_err_set(&err, PL_TIMEOUT, "%s within %u ms",
		           conn->sock == NULL ? "no answer to the name lookup"
		                              : sock_phase(conn->sock),
		           (unsigned)conn->connect_timeout_ms);
	conn_fail(conn, &err);
}

static enum pl_code session_make(struct grpc_conn *conn,
                                 const struct grpc_conn_opts *opts, struct pl_err *err)
{
	static const struct grpc_session_fns fns = {
		.wake = on_wake, .up = on_up, .now_ms = on_now};
	struct grpc_session_opts session_opts = {
		.scheme = opts->tls != NULL ? "https" : "http",
		.authority = conn->name,
		.message_max = opts->message_max,
		.ping_idle_ms = opts->ping_idle_ms,
		.ping_gap_ms = opts->ping_gap_ms,
		.ping_timeout_ms = opts->ping_timeout_ms,
	};

	return grpc_session_init(&conn->session, &session_opts, &conn->lt.timers, &fns,
	                         conn, err);
}

static void conn_begin(struct grpc_conn *conn)
{
	char port[8];
	struct pl_err err;

	pl_timer_set(&conn->timer, pl_clock_ms() + conn->connect_timeout_ms);
	if (literal_connect(conn))
		return;
	(void)snprintf(port, sizeof port, "%u", (unsigned)conn->port);
	if (resolve_start(conn->loop, conn->host, port, conn->connect_timeout_ms,
	                  on_resolved, conn, &conn->resolve, &err) != PL_OK)
		conn_fail(conn, &err);
}

enum pl_code grpc_conn_open(uv_loop_t *loop, const struct grpc_conn_opts *opts,
                            const struct grpc_conn_fns *fns, void *ctx,
                            struct grpc_conn **out, struct pl_err *err)
{
	struct grpc_conn *conn;
	enum pl_code code;
	int rc;

	if (strlen(opts->host) > HOST_MAX || *opts->host == 0 || opts->message_max == 0)
		return pl_err_set(err, PL_INVALID, "host or message_max");
	conn = pl_calloc(1, sizeof *conn);
	if (conn == NULL)
		return pl_err_set(err, PL_NOMEM, "connection to %s", opts->host);
	if (opts->tls != NULL && tls_refresh(opts->tls, NULL) != PL_OK)
		PL_ASSERT(tls_stale(opts->tls) != NULL); /* for whoever reports it */
	conn->loop = loop;
	conn->tls = opts->tls;
	conn->fns = *fns;
	conn->ctx = ctx;
	conn->port = opts->port;
	conn->connect_timeout_ms = opts->connect_timeout_ms;
	memcpy(conn->host, opts->host, strlen(opts->host) + 1);
	(void)snprintf(conn->name, sizeof conn->name,
	               strchr(opts->host, ':') == NULL ? "%s:%u" : "[%s]:%u", opts->host,
	               (unsigned)opts->port);
	rc = uv_idle_init(loop, &conn->turn);
	PL_ASSERT(rc == 0);
	loop_timers_open(&conn->lt, loop);
	code = pl_timer_init(&conn->timer, &conn->lt.timers, on_timer, conn);
	if (code != PL_OK)
		pl_err_set(err, code, "connection to %s", conn->name);
	else
		code = session_make(conn, opts, err);
	if (code != PL_OK) {
		conn_release(conn);
		return code;
	}
	conn_begin(conn);
	*out = conn;
	return PL_OK;
}

/* --- for the user -------------------------------------------------------- */

void grpc_conn_close(struct grpc_conn *conn)
{
	struct pl_err err;

	conn->closing = true;
	pl_err_set(&err, PL_CANCELED, "%s: closed", conn->name);
	conn_fail(conn, &err);
}

void grpc_conn_probe(struct grpc_conn *conn)
{
	grpc_session_probe(&conn->session);
}

bool grpc_conn_usable(const struct grpc_conn *conn)
{
	return !conn->down && !conn->write_failed && !conn->session.away;
}

/* Of what is with libuv the kernel takes more and more without telling us. */
static uint64_t bytes_out(const struct grpc_conn *conn)
{
	return conn->sock_open && !conn->down ? sock_written(conn->sock)
	                                      : conn->session.written;
}

size_t grpc_conn_unsent(const struct grpc_conn *conn)
{
	return grpc_session_unsent(&conn->session) -
	       (size_t)(bytes_out(conn) - conn->session.written);
}

struct grpc_traffic grpc_conn_traffic(const struct grpc_conn *conn)
{
	return (struct grpc_traffic){.bytes_in = conn->session.received,
	                             .bytes_out = bytes_out(conn)};
}

enum pl_code grpc_call_start(struct grpc_conn *conn, const struct grpc_call_opts *opts,
                             struct grpc_call **out, struct pl_err *err)
{
	return grpc_session_call(&conn->session, opts, out, err);
}
