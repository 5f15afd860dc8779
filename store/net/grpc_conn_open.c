/* Opens a connection, and the functions that a user calls on it. */
#include <stdio.h>
#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/base/clock.h"
#include "store/net/grpc_conn_int.h"

static uint64_t on_now(void *ctx)
{
	(void)ctx;
	return pl_clock_ms();
}

static void on_resolved(void *ctx, const struct addrinfo *addrs, const struct pl_err *err)
{
	struct grpc_conn *conn = ctx;

	conn->resolve = NULL;
	if (conn->state == GRPC_CONN_DOWN)
		grpc_conn_wake(conn); /* conn_finish() waited for the resolver */
	else if (err != NULL)
		grpc_conn_fail(conn, err);
	else
		grpc_conn_connect(conn, addrs);
}

/* An address is connected to directly: it needs no resolver and no thread of libuv's
 * pool. */
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
	grpc_conn_connect(conn, &addr);
	return true;
}

static void on_timer(void *ctx)
{
	struct grpc_conn *conn = ctx;
	struct pl_err err;

	if (conn->state == GRPC_CONN_WRITE_FAILED)
		err = conn->why;
	else
		pl_err_set(&err, PL_TIMEOUT, "%s within %u ms",
		           conn->sock == NULL ? "no answer to the name lookup"
		                              : sock_phase(conn->sock),
		           (unsigned)conn->connect_timeout_ms);
	grpc_conn_fail(conn, &err);
}

static enum pl_code session_make(struct grpc_conn *conn,
                                 const struct grpc_conn_opts *opts, struct pl_err *err)
{
	static const struct grpc_session_fns fns = {
		.wake = grpc_conn_wake, .up = grpc_conn_up, .now_ms = on_now};
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
		grpc_conn_fail(conn, &err);
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
		/* tls_stale() is reported by others */
		PL_ASSERT(tls_stale(opts->tls) != NULL);
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
	conn->handles = 2;
	code = pl_timer_init(&conn->timer, &conn->lt.timers, on_timer, conn);
	if (code != PL_OK)
		pl_err_set(err, code, "connection to %s", conn->name);
	else
		code = session_make(conn, opts, err);
	if (code != PL_OK) {
		grpc_conn_release(conn);
		return code;
	}
	conn_begin(conn);
	*out = conn;
	return PL_OK;
}

/* --- the user's functions ------------------------------------------------- */

void grpc_conn_close(struct grpc_conn *conn)
{
	struct pl_err err;

	conn->closing = true;
	pl_err_set(&err, PL_CANCELED, "%s: closed", conn->name);
	grpc_conn_fail(conn, &err);
}

void grpc_conn_probe(struct grpc_conn *conn)
{
	grpc_session_probe(&conn->session);
}

bool grpc_conn_usable(const struct grpc_conn *conn)
{
	return conn->state <= GRPC_CONN_OPEN && conn->session.state <= GRPC_SESSION_UP;
}

/* libuv hands queued bytes to the kernel without a callback, so the count is asked for.
 */
static uint64_t bytes_out(const struct grpc_conn *conn)
{
	return conn->state == GRPC_CONN_OPEN || conn->state == GRPC_CONN_WRITE_FAILED
	               ? sock_written(conn->sock)
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
