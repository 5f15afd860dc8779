/*
 * HTTP server: HTTP/1.1 (llhttp) and HTTP/2 (nghttp2; by ALPN, or by prior knowledge in
 * clear text) on one port of one loop.
 *
 *	on_request --> http_respond                                   --> on_gone
 *	           `-> http_stream_begin -> http_stream_send ... -> end --> on_gone
 *
 * Invariants:
 *  - A request is handed over whole: its head and body are complete, within their limits,
 *    decoded (chunks, gzip), and unambiguous (RFC 9112: one Content-Length or chunks, no
 *    bare CR, no blank before a colon, ...). Everything else is answered by the server
 *    itself, and the connection closed where its framing can not be trusted.
 *  - on_gone comes exactly once for each on_request, as the exchange's last call: the
 *    answer has left whole, or the client has gone, or the server closes.
 *  - Nothing that a client does is trusted: bytes, times and numbers are bounded; what a
 *    client leaves unread counts against pending.
 *  - Nothing calls back inside http_respond and http_stream_*.
 */
#ifndef STORE_NET_HTTP_SERVER_H
#define STORE_NET_HTTP_SERVER_H

#include <uv.h>

#include "store/base/err.h"
#include "store/base/span.h"
#include "store/net/tls_server.h"

struct http_server;
struct http_exchange;

/* Bytes that several exchanges send: made once, counted. Of one thread. */
struct http_blob {
	uint32_t refs;
	size_t len;
	uint8_t at[];
};

struct http_blob *http_blob_new(size_t len); /* refs 1; NULL: no memory */
struct http_blob *http_blob_ref(struct http_blob *blob);
void http_blob_unref(struct http_blob *blob); /* takes NULL */

/* A field of a head; names in lower case. */
struct http_field {
	struct pl_span name, value;
};

/* Borrowed until on_gone. */
struct http_request {
	struct pl_span method;
	struct pl_span path;  /* as sent, begins with a slash; not decoded */
	struct pl_span query; /* behind the question mark; empty: none */
	struct pl_span body;
	const struct http_field *fields;
	size_t field_count;
	const char *peer;                /* "127.0.0.1:4711" */
	const struct tls_client *client; /* NULL: it showed no certificate */
	unsigned version;                /* 1 or 2 */
	bool peer_is_local;              /* loopback */
	bool body_unread; /* wants_body did not want the body, which is empty then */
};

/* The first field of that name (lower case). at NULL: none. */
struct pl_span http_request_field(const struct http_request *request, const char *name);

struct http_server_fns {
	void (*on_request)(void *ctx, struct http_exchange *exchange,
	                   const struct http_request *request);
	/* The bytes that wait to be sent on a stream have fallen below half of
	 * unread_bytes. May be NULL. user: http_exchange_set_user's. */
	void (*on_room)(void *user, struct http_exchange *exchange);
	void (*on_gone)(void *user, struct http_exchange *exchange);
	/* Asked with the first bytes of a body, by the head alone. False: they are dropped as
	 * they come, and take no memory. May be NULL. */
	bool (*wants_body)(void *ctx, const struct http_request *request);
};

/* 0 means the default that the comment gives. */
struct http_server_limits {
	uint32_t conns;      /* 20,000; a further one is closed at once */
	uint32_t streams;    /* of an HTTP/2 connection: 250 */
	uint32_t head_bytes; /* request line and fields: 64 KiB */
	uint32_t fields;     /* 128 */
	size_t body_bytes;   /* of one request, unpacked: 3 MiB */
	size_t bodies_bytes; /* of all requests: 256 MiB; beyond it 503 */
	size_t unread_bytes; /* of one exchange: 16 MiB; beyond it the exchange is cut */
	uint32_t head_ms;    /* from the first byte to the whole head: 10 s */
	uint32_t body_ms;    /* from the head to the whole body: 60 s */
	uint32_t idle_ms;    /* of a connection without a request: 180 s */
	uint32_t send_ms;    /* without the client taking a byte: 60 s */
	uint32_t gzip_bytes; /* smaller answers are not packed: 128 KiB */
};

struct http_server_opts {
	const char *host;       /* IPv4 or IPv6 address */
	uint16_t port;          /* 0: the kernel chooses */
	struct tls_server *tls; /* NULL: clear text */
	struct http_server_limits limits;
	bool gzip_local; /* answers to loopback peers are packed, too */
};

/* PL_EXISTS: the port is taken. PL_INVALID: it can not listen there. */
PL_NODISCARD enum pl_code http_server_open(uv_loop_t *loop,
                                           const struct http_server_opts *opts,
                                           const struct http_server_fns *fns, void *ctx,
                                           struct http_server **out, struct pl_err *err);
uint16_t http_server_port(const struct http_server *server);
/* Graceful: no new connection and no new request is taken, idle connections close
 * (GOAWAY on HTTP/2), exchanges that were begun may end. */
void http_server_stop_accepting(struct http_server *server);
/* Cuts everything that is left; closed is called later, once. */
void http_server_close(struct http_server *server, void (*closed)(void *ctx), void *ctx);

struct http_server_counts {
	uint64_t conns, conns_refused, requests, bad_requests, cut; /* since the start */
	uint64_t bytes_in, bytes_out;
	uint32_t open_conns, open_exchanges;
	size_t held_bytes; /* of bodies and of what waits to be sent */
};
void http_server_counts(const struct http_server *server, struct http_server_counts *out);

/* -- an exchange ----------------------------------------------------------------------- */

void http_exchange_set_user(struct http_exchange *exchange, void *user);
void *http_exchange_user(const struct http_exchange *exchange);
const struct http_request *http_exchange_request(const struct http_exchange *exchange);
/* A field of the answer's head beside those that it is given with. Borrowed until the head
 * is sent, so until on_gone. */
void http_exchange_set_field(struct http_exchange *exchange, struct http_field field);
/* The status of the answer; 0: none was begun. */
int http_exchange_status(const struct http_exchange *exchange);
/* Looks whether the client's certificate is still trusted (request->client); done before
 * each request is handed over, so only needed for those that last. */
void http_exchange_verify(struct http_exchange *exchange);
/* Bytes that wait to be sent. */
size_t http_exchange_pending(const struct http_exchange *exchange);

/* The whole answer. Fields and body are copied (Content-Length, Date and framing are the
 * server's); the body is packed when the client accepts gzip and it is worth it. */
void http_respond(struct http_exchange *exchange, int status,
                  const struct http_field *fields, size_t count, struct pl_span body);
/* The same, the body without a copy. Takes a reference. */
void http_respond_blob(struct http_exchange *exchange, int status,
                       const struct http_field *fields, size_t count,
                       struct http_blob *body);
/* An answer of unknown length: chunks on HTTP/1.1, DATA on HTTP/2. Each send leaves soon,
 * in one piece with others of the same turn of the loop. */
void http_stream_begin(struct http_exchange *exchange, int status,
                       const struct http_field *fields, size_t count);
/* Takes a reference of its own. */
void http_stream_send(struct http_exchange *exchange, struct http_blob *blob);
void http_stream_send_copy(struct http_exchange *exchange, struct pl_span bytes);
void http_stream_end(struct http_exchange *exchange);
/* Gives the client up: its connection (HTTP/1.1) or stream (HTTP/2) is cut. */
void http_exchange_cut(struct http_exchange *exchange);
/* For an answer that takes long: a client that closes its side of the connection is taken as
 * gone, though it could still listen. (HTTP/2 clients say it themselves.) */
void http_exchange_watch_client(struct http_exchange *exchange);

#endif
