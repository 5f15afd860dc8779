/*
 * The inside of a socket, shared by sock.c and sock_write.c.
 *
 *   CONNECTING --TLS: connected--> HANDSHAKING --TLS: agreed--> OPEN
 *     |  |                             |                        ^ |
 *     |  \-----------clear text: connected---------------------/ |
 *     \------------------------------> FAILED <-----------------/
 *
 * Closing (closed is set) may come in any state and is final.
 */
#ifndef STORE_NET_SOCK_INT_H
#define STORE_NET_SOCK_INT_H

#include "store/net/sock.h"
#include "store/net/tls_session.h"

enum {
	ADDRS_MAX = 8,
	READ_SIZE = 128 * 1024,
	PLAIN_SIZE = 64 * 1024,
	WRITE_KEEP = 1024 * 1024, /* bytes of buffer kept between writes */
};

enum sock_state { SOCK_CONNECTING, SOCK_HANDSHAKING, SOCK_OPEN, SOCK_FAILED };

struct sock {
	uv_loop_t *loop;
	uv_tcp_t tcp;
	uv_connect_t connect;
	uv_write_t write;
	struct sock_fns fns;
	void *ctx;
	void (*closed)(void *ctx); /* not NULL: sock_close() was called */
	void *closed_ctx;

	struct sockaddr_storage addrs[ADDRS_MAX];
	unsigned addr_count, addr_at;

	struct tls_session *tls; /* NULL: clear text */
	uint8_t *plain;          /* buffer of decrypted bytes for on_data */
	struct pl_buf inflight;  /* the bytes of the running write */
	uint64_t sent;           /* bytes that sock_send() took */
	bool tcp_open;           /* tcp is open: libuv owes a close callback */
	bool writing;
	enum sock_state state;
	struct pl_err err;
	uint8_t bytes[READ_SIZE];
};

/* The socket has not failed and is not closed: callbacks may still run. */
static inline bool sock_live(const struct sock *sock)
{
	return sock->state != SOCK_FAILED && sock->closed == NULL;
}

/* Sends the records that TLS has produced: data, handshake messages, alerts. */
PL_NODISCARD enum pl_code sock_tls_flush(struct sock *sock, struct pl_err *err);

/* Calls on_fail, once. */
void sock_fail(struct sock *sock, const struct pl_err *err);

#endif
