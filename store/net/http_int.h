/*
 * The inside of the HTTP client, shared by its files; nothing else includes it.
 *
 * Invariant: libcurl may not be called from inside its own callbacks, so user callbacks
 * may not run there either. libcurl's callbacks only record what happened and put the
 * call on the ready list; http_serve() works that list off, outside of libcurl.
 */
#ifndef STORE_NET_HTTP_INT_H
#define STORE_NET_HTTP_INT_H

#include <curl/curl.h>

#include "store/base/buf.h"
#include "store/base/list.h"
#include "store/net/http.h"
#include "store/net/loop_timers.h"

/* OPEN --http_close()--> CLOSING --the last call has ended--> SHUT --> freed */
enum http_state { HTTP_OPEN, HTTP_CLOSING, HTTP_SHUT };

/* The client of one loop. */
struct http {
	uv_loop_t *loop;
	CURLM *multi;
	uv_timer_t curl_timer;  /* when libcurl wants to be called again */
	uv_timer_t ready_timer; /* active while the ready list is not empty */
	struct loop_timers deadlines;
	struct pl_list calls;
	struct pl_list ready;
	struct pl_list polls;
	size_t handles; /* close callbacks that libuv owes */
	bool serving;   /* http_serve() is running */
	enum http_state state;
	void (*closed)(void *ctx);
	void *ctx;
	char *ca_file, *cert_file, *key_file, *server_name, *proxy;
	bool unverified;
};

/* A socket of libcurl. Its memory outlives the socket until libuv's close callback. */
struct http_poll {
	uv_poll_t uv;
	struct http *http;
	struct pl_list link;
	curl_socket_t fd;
};

/* PARTIAL --its empty line--> WHOLE --on_head, streamed calls only--> DELIVERED */
enum http_head_state { HTTP_HEAD_PARTIAL, HTTP_HEAD_WHOLE, HTTP_HEAD_DELIVERED };

struct http_call {
	struct http *http;
	struct pl_list link;
	struct pl_list ready; /* on the ready list; empty: nothing new */
	CURL *easy;
	struct curl_slist *request_headers;
	char *what; /* "GET http://host/path", for error texts */
	struct pl_timer deadline, idle;
	uint32_t timeout_ms, idle_timeout_ms;
	uint64_t last_ms; /* when a byte moved last */

	/* status line and headers as they came, split in place at the end */
	struct pl_buf head;
	struct http_header headers[HTTP_HEADERS_MAX];
	size_t header_count;
	size_t head_bytes; /* bytes of all header lines so far, trailers included */
	int status;
	enum http_head_state head_state;

	bool streams; /* on_data gets the body; else it is collected */
	struct pl_buf in;
	struct pl_buf chunk; /* the bytes that the current on_data borrows */
	bool paused;         /* the caller paused the call */
	bool in_paused;      /* libcurl is paused, because in is full */

	struct pl_buf out;
	bool out_last, out_paused, want_room;

	bool over;         /* libcurl has finished; result is set */
	bool added;        /* the call is in the multi handle */
	struct pl_err err; /* why our side ended it; takes precedence over result */
	CURLcode result;
	char curl_words[CURL_ERROR_SIZE];

	void (*on_head)(void *ctx, const struct http_answer *answer);
	void (*on_data)(void *ctx, struct pl_span data);
	void (*on_room)(void *ctx);
	void (*on_end)(void *ctx, const struct http_end *end);
	void *ctx;
};

/* http.c: puts the call on the ready list. */
void http_wake(struct http_call *call);

/* http_call.c: reports the next thing to the caller. Calls out last. */
void http_call_serve(struct http_call *call);

/* http_wire.c: sets libcurl's callbacks and options of one transfer. */
PL_NODISCARD enum pl_code http_setup(struct http_call *call,
                                     const struct http_call_opts *opts,
                                     struct pl_err *err);

/* http_error.c: the code and the error text of a finished call. */
enum pl_code http_call_error(const struct http_call *call, struct pl_err *err);

#endif
