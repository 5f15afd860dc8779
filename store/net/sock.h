/*
 * A client's TCP connection on libuv, in clear text or under TLS: connected to the first
 * address that answers, read as fast as bytes come, written in large pieces. Internal to
 * store/net.
 *
 * Invariants: callbacks come from the loop, never inside a call. on_fail comes at most
 * once; after it, and after sock_close(), only closed comes. At most one write is with
 * libuv; while it is, the socket is busy.
 */
#ifndef STORE_NET_SOCK_H
#define STORE_NET_SOCK_H

#include <netdb.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "store/base/buf.h"
#include "store/base/err.h"
#include "store/base/span.h"
#include "store/net/tls.h"

struct sock;

struct sock_fns {
	void (*on_open)(void *ctx); /* connected, and the TLS handshake is complete */
	/* data is borrowed until the return. May close the socket. */
	void (*on_data)(void *ctx, struct pl_span data);
	void (*on_room)(void *ctx); /* the socket is not busy any more */
	/* The end of the stream is a failure too. */
	void (*on_fail)(void *ctx, const struct pl_err *err);
};

struct sock_opts {
	const struct addrinfo *addrs; /* tried in turn; copied */
	struct tls *tls;              /* NULL: clear text */
	const char *host;             /* the name that the certificate must have */
};

PL_NODISCARD enum pl_code sock_open(uv_loop_t *loop, const struct sock_opts *opts,
                                    const struct sock_fns *fns, void *ctx,
                                    struct sock **out, struct pl_err *err);

/* closed is called later; the socket is freed by then. */
void sock_close(struct sock *sock, void (*closed)(void *ctx), void *ctx);

/* Allowed only while not busy. Takes all of data and leaves the buffer empty; bytes that
 * the kernel does not accept are kept, and the socket is busy until on_room. After a
 * failure there may still be bytes to read, so only on_fail ends the socket. */
PL_NODISCARD enum pl_code sock_send(struct sock *sock, struct pl_buf *data,
                                    struct pl_err *err);
bool sock_busy(const struct sock *sock);

/* How many of the sent bytes may have left the process: exact in clear text, rounded up
 * under TLS. */
uint64_t sock_written(const struct sock *sock);

/* The port at which a socket listens; 0: at none. */
uint16_t sock_port(const uv_tcp_t *tcp);

/* Writing to a closed connection is an error value from now on, not SIGPIPE, unless the
 * program has a handler. */
void sock_sigpipe_ignore(void);

/* The socket's state as text, for a timeout's error. */
const char *sock_phase(const struct sock *sock);

#endif
