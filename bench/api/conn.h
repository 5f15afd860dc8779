/*
 * A client's connection: HTTP/1.1 over TLS, one request at a time, with as little work
 * of its own as possible. The connection is opened while the caller waits; from then on a
 * loop drives it.
 *
 * Invariants: after a send, done comes once, or the connection is lost. No callback
 * comes inside conn_send. Bodies are handed over in pieces as they come.
 */
#ifndef BENCH_API_CONN_H
#define BENCH_API_CONN_H

#include <netinet/in.h>
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "store/base/buf.h"

enum { CONN_HEAD_MAX = 16384 };

enum conn_reads {
	CONN_HEAD,
	CONN_LENGTH,     /* a body of known length */
	CONN_CHUNK_SIZE, /* the line in front of a chunk */
	CONN_CHUNK,
	CONN_CHUNK_END, /* the line behind a chunk */
	CONN_TRAILER,
};

struct conn;

struct conn_fns {
	/* A piece of the body; may be NULL. */
	void (*body)(struct conn *conn, struct pl_span piece);
	/* The whole answer is there. */
	void (*done)(struct conn *conn, int status);
	/* The other side has closed, or the connection failed. */
	void (*lost)(struct conn *conn, const char *why);
};

struct conn {
	const struct conn_fns *fns;
	void *ctx;
	uv_poll_t poll;
	SSL *ssl;
	int fd;
	bool busy, over;
	bool wants_room; /* the socket takes no more of the request at present */
	struct pl_buf out;
	size_t sent;

	enum conn_reads reads;
	int status;
	uint64_t left; /* of the body or the chunk */
	char line[CONN_HEAD_MAX];
	size_t line_len;
};

/* Ends the bench when the server cannot be reached. */
void conn_open(struct conn *conn, uv_loop_t *loop, SSL_CTX *tls, uint16_t port,
               const struct conn_fns *fns, void *ctx);
/* Sends what was written to conn->out. */
void conn_send(struct conn *conn);
void conn_close(struct conn *conn);

/* TLS that trusts one authority. */
SSL_CTX *conn_tls(const char *ca_file);

#endif
