/*
 * The inside of a gRPC connection, shared by grpc_conn.c and grpc_conn_open.c.
 *
 *   OPENING --the socket is open--> OPEN --a write fails--> WRITE_FAILED --> DOWN
 *      \------------------------------\----grpc_conn_fail()------------------^
 *
 * Invariants: user callbacks come from on_turn() only; the object is freed when handles
 * drops to 0, and that is after on_down.
 */
#ifndef STORE_NET_GRPC_CONN_INT_H
#define STORE_NET_GRPC_CONN_INT_H

#include "store/net/grpc_session.h"
#include "store/net/loop_timers.h"
#include "store/net/resolve.h"
#include "store/net/sock.h"

enum { HOST_MAX = 255, NAME_SIZE = HOST_MAX + 16 };

enum grpc_conn_state {
	GRPC_CONN_OPENING,      /* resolving, connecting, TLS */
	GRPC_CONN_OPEN,         /* the socket is open */
	GRPC_CONN_WRITE_FAILED, /* reads once more, for the server's reason */
	GRPC_CONN_DOWN,         /* why says why; on_down is due */
};

struct grpc_conn {
	enum grpc_conn_state state;
	uv_loop_t *loop;
	uv_idle_t turn;
	struct loop_timers lt;
	/* the connect timeout, or the last read after a failed write */
	struct pl_timer timer;
	struct grpc_session session;
	struct resolve *resolve; /* the running name lookup, or NULL */
	struct sock *sock;
	struct tls *tls; /* NULL: clear text; borrowed until on_down */
	struct grpc_conn_fns fns;
	void *ctx;
	struct pl_err why;
	uint32_t connect_timeout_ms;
	unsigned handles; /* close callbacks that libuv owes */
	uint16_t port;
	bool closing;
	bool in_turn;
	bool woken;
	char host[HOST_MAX + 1];
	char name[NAME_SIZE]; /* host:port */
};

/* Makes a turn come soon. */
void grpc_conn_wake(void *ctx);
void grpc_conn_up(void *ctx);

/* Ends every call and the connection; the next turn reports it. */
void grpc_conn_fail(struct grpc_conn *conn, const struct pl_err *err);

/* Frees everything that libuv does not hold; the rest is freed by the close callbacks. */
void grpc_conn_release(struct grpc_conn *conn);

void grpc_conn_connect(struct grpc_conn *conn, const struct addrinfo *addrs);

#endif
