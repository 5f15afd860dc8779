/* A socket's insides, for its two files. */
#ifndef STORE_NET_SOCK_INT_H
#define STORE_NET_SOCK_INT_H

#include "store/net/sock.h"
#include "store/net/tls_session.h"

enum {
	ADDRS_MAX = 8,
	READ_SIZE = 128 * 1024,
	PLAIN_SIZE = 64 * 1024,
	WRITE_KEEP = 1024 * 1024, /* buffer kept between writes */
};

struct sock {
	uv_loop_t *loop;
	uv_tcp_t tcp;
	uv_connect_t connect;
	uv_write_t write;
	struct sock_fns fns;
	void *ctx;
	void (*closed)(void *ctx); /* set: sock_close was called */
	void *closed_ctx;

	struct sockaddr_storage addrs[ADDRS_MAX];
	unsigned addr_count, addr_at;

	struct tls_session *tls; /* NULL: clear text */
	uint8_t *plain;          /* decrypted bytes on their way up */
	struct pl_buf inflight;  /* owned by libuv while writing */
	uint64_t sent;           /* bytes taken by sock_send */
	bool tcp_open;           /* libuv owes us a close callback */
	bool connected;
	bool open; /* and TLS is up */
	bool writing;
	bool failed;
	struct pl_err err;
	uint8_t bytes[READ_SIZE];
};

/* Neither failed nor closed: its owner may still be called. */
static inline bool sock_live(const struct sock *sock)
{
	return !sock->failed && sock->closed == NULL;
}

/* Sends what TLS has to say, whoever made it say so: our data, the handshake, an
 * alert. */
PL_NODISCARD enum pl_code sock_tls_flush(struct sock *sock, struct pl_err *err);

/* Tells the owner, once. */
void sock_fail(struct sock *sock, const struct pl_err *err);

#endif
