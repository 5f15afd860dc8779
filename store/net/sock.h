/*
 * A TCP connection on libuv, in clear or under TLS, as a client needs it: opened
 * to the first address that answers, read as fast as it comes, written in large
 * pieces.
 *
 * Internal to store/net. Callbacks come from the loop, never from inside a call.
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
	void (*on_open)(void *ctx); /* connected, and TLS agreed */
	/* Borrowed until the return; may close the socket. */
	void (*on_data)(void *ctx, struct pl_span data);
	void (*on_room)(void *ctx); /* what was sent last has left */
	/* At most once, then nothing more but closed: the end of the stream is a
	 * failure, too. */
	void (*on_fail)(void *ctx, const struct pl_err *err);
};

struct sock_opts {
	const struct addrinfo *addrs; /* tried in turn; copied */
	struct tls *tls;              /* NULL: clear text */
	const char *host;             /* to be found in the certificate */
};

PL_NODISCARD enum pl_code sock_open(uv_loop_t *loop, const struct sock_opts *opts,
                                    const struct sock_fns *fns, void *ctx,
                                    struct sock **out, struct pl_err *err);

/* closed comes later; the socket is gone then. */
void sock_close(struct sock *sock, void (*closed)(void *ctx), void *ctx);

/* Only while not busy. All of data is taken and the buffer left empty; what the
 * kernel has no room for is kept, and the socket busy until on_room. After a
 * failure there may still be something to read, so on_fail is left to do that. */
PL_NODISCARD enum pl_code sock_send(struct sock *sock, struct pl_buf *data,
                                    struct pl_err *err);
bool sock_busy(const struct sock *sock);

/* How many of the bytes sent may have left the process: exact in clear text,
 * rounded up under TLS. */
uint64_t sock_written(const struct sock *sock);

/* What the socket is doing, for the words of a timeout. */
const char *sock_phase(const struct sock *sock);

#endif
