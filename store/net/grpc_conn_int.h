/* A connection's insides, for its two files. */
#ifndef STORE_NET_GRPC_CONN_INT_H
#define STORE_NET_GRPC_CONN_INT_H

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

/* There is something to do: a turn comes soon. */
void grpc_conn_wake(void *ctx);
void grpc_conn_up(void *ctx);

/* Ends every call and the connection; the next turn tells it. */
void grpc_conn_fail(struct grpc_conn *conn, const struct pl_err *err);

/* Gives back everything that libuv does not hold; the rest follows by itself. */
void grpc_conn_release(struct grpc_conn *conn);

void grpc_conn_connect(struct grpc_conn *conn, const struct addrinfo *addrs);

#endif
