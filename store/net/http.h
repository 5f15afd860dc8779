/*
 * HTTP/1.1 client on libcurl and libuv, for everything that is not gRPC.
 *
 * One struct http is one loop's client with one set of TLS files; it keeps idle
 * connections for reuse. Redirects are not followed, proxies are used only when one is
 * given, cookies are not kept. Any HTTP status is an answer, which the caller interprets.
 *
 * Invariants: calls are independent of each other. on_end comes exactly once for each
 * started call, never inside start or cancel. No callback runs inside libcurl.
 */
#ifndef STORE_NET_HTTP_H
#define STORE_NET_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "store/base/err.h"
#include "store/base/span.h"
#include "store/net/tls.h"

enum {
	HTTP_HEADERS_MAX = 128, /* header fields of an answer */
	/* bytes of an answer's status line and headers */
	HTTP_HEAD_BYTES_MAX = 64 * 1024,
	HTTP_STREAM_BUFFER = 64 * 1024, /* bytes that wait here for a paused caller */
	/* bytes of a streamed request that are not sent yet */
	HTTP_SEND_BUFFER_MAX = 256 * 1024,
	HTTP_URL_MAX = 8192,
};

struct http;
struct http_call;

struct http_header {
	const char *name;
	const char *value;
};

struct http_opts {
	/* For https. The files are read again for each new connection, so changed files
	 * are used. Copied. */
	struct tls_files tls;
	uint32_t idle_max; /* idle connections kept for reuse; 0: 32 */
	const char *proxy; /* "http://proxy:3128", https, socks5; NULL: none. Copied. */
	bool unverified;   /* the server's certificate is not checked */
};

/* An answer, or what is known of it; borrowed by the callback that gets it. */
struct http_answer {
	int status; /* 0: no answer came */
	const struct http_header *headers;
	size_t header_count;
	struct pl_span body; /* empty for streamed calls */
};

struct http_end {
	/* PL_OK: the whole answer came. Otherwise PL_UNAVAIL (not reached, or cut off),
	 * PL_TIMEOUT, PL_TLS, PL_LIMIT (too large), PL_PROTO (not HTTP), PL_CANCELED,
	 * PL_INVALID, PL_NOMEM or PL_IO. */
	enum pl_code code;
	const struct pl_err *err; /* NULL when PL_OK */
	bool unsent;              /* nothing of the request left this machine */
	struct http_answer answer;
};

struct http_call_opts {
	const char *method; /* NULL: GET */
	const char *url;
	const struct http_header *headers;
	size_t header_count;
	struct pl_span body; /* copied */
	/* The body comes by http_call_send() instead; body_len is its length, or -1 when
	 * not known. */
	bool send_stream;
	int64_t body_len;

	uint32_t connect_timeout_ms; /* 0: 5000; name lookup and TLS included */
	uint32_t timeout_ms;      /* of the whole call; 0: none (streamed calls only) */
	uint32_t idle_timeout_ms; /* time without a byte from the server; 0: none */

	size_t body_max; /* bytes of a collected body; 0: 16 MiB */
	/* Not NULL: the body is streamed: it is handed on in pieces as they come, after
	 * on_head, which may be NULL. */
	void (*on_head)(void *ctx, const struct http_answer *answer);
	void (*on_data)(void *ctx, struct pl_span data);
	/* http_call_send() can be called again: half of its buffer is free. May be NULL.
	 */
	void (*on_room)(void *ctx);
	/* Exactly once, never inside start or cancel. The call is invalid after it. */
	void (*on_end)(void *ctx, const struct http_end *end);
	void *ctx;
};

PL_NODISCARD enum pl_code http_open(uv_loop_t *loop, const struct http_opts *opts,
                                    struct http **out, struct pl_err *err);

/* Ends every call with PL_CANCELED, then calls closed, never inside http_close(). */
void http_close(struct http *http, void (*closed)(void *ctx), void *ctx);

/* Everything in opts is copied. *out (out may be NULL) is valid until on_end. On failure
 * on_end never comes. */
PL_NODISCARD enum pl_code http_call_start(struct http *http,
                                          const struct http_call_opts *opts,
                                          struct http_call **out, struct pl_err *err);
void http_call_cancel(struct http_call *call);

/* No on_data comes between pause and resume. What the server sends meanwhile waits here,
 * then in the kernel, then at the server. The idle timeout does not run. */
void http_call_pause(struct http_call *call);
void http_call_resume(struct http_call *call);

/* send_stream only. Copies data. PL_BUSY: the buffer is full, wait for on_room. */
PL_NODISCARD enum pl_code http_call_send(struct http_call *call, struct pl_span data,
                                         struct pl_err *err);
void http_call_send_end(struct http_call *call);

/* The first header of that name, in any case of letters; NULL: none. */
const char *http_answer_header(const struct http_answer *answer, const char *name);

#endif
