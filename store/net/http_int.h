/* What the HTTP client's files share; nobody else includes it. */
#ifndef STORE_NET_HTTP_INT_H
#define STORE_NET_HTTP_INT_H

#include <curl/curl.h>

#include "store/base/buf.h"
#include "store/base/list.h"
#include "store/net/http.h"
#include "store/net/loop_timers.h"

/* libcurl may not be called from inside its own callbacks, nor may a caller be
 * called from there (he would call us). So they only note what happened; calls
 * with news are put on the ready list and are served from http_serve(). */
struct http {
	uv_loop_t *loop;
	CURLM *multi;
	uv_timer_t curl_timer;  /* libcurl's own deadline */
	uv_timer_t ready_timer; /* somebody is on the ready list */
	struct loop_timers deadlines;
	struct pl_list calls;
	struct pl_list ready;
	struct pl_list polls;
	size_t handles; /* libuv owes us as many close callbacks */
	bool serving, closing, shut;
	void (*closed)(void *ctx);
	void *ctx;
	char *ca_file, *cert_file, *key_file, *server_name;
};

/* A socket of libcurl's. Its memory outlives the socket until libuv lets go. */
struct http_poll {
	uv_poll_t uv;
	struct http *http;
	struct pl_list link;
	curl_socket_t fd;
};

struct http_call {
	struct http *http;
	struct pl_list link;
	struct pl_list ready; /* empty: no news */
	CURL *easy;
	struct curl_slist *request_headers;
	char *what; /* "GET http://host/path", for errors */
	struct pl_timer deadline, idle;
	uint32_t timeout_ms, idle_timeout_ms;
	uint64_t last_ms; /* when a byte moved */

	struct pl_buf head; /* status line and headers as they came, then as strings */
	struct http_header headers[HTTP_HEADERS_MAX];
	size_t header_count;
	size_t head_bytes; /* of every header line so far, trailers included */
	int status;
	bool head_whole, head_delivered;

	bool streams; /* the body is handed on, not collected */
	struct pl_buf in;
	struct pl_buf chunk; /* what on_data looks at, until the next one */
	bool paused;         /* by the caller */
	bool in_paused;      /* libcurl, by us: in is full */

	struct pl_buf out;
	bool out_last, out_paused, want_room;

	bool over;         /* libcurl is through; result is set */
	bool added;        /* to the multi handle */
	struct pl_err err; /* why we ended it; wins over result */
	CURLcode result;
	char curl_words[CURL_ERROR_SIZE];

	void (*on_head)(void *ctx, const struct http_answer *answer);
	void (*on_data)(void *ctx, struct pl_span data);
	void (*on_room)(void *ctx);
	void (*on_end)(void *ctx, const struct http_end *end);
	void *ctx;
};

/* http.c */
void http_wake(struct http_call *call); /* puts it on the ready list */

/* http_call.c: the next thing its caller is to hear. Calls out, last. */
void http_call_serve(struct http_call *call);

/* http_wire.c: libcurl's callbacks of one transfer, and its options. */
PL_NODISCARD enum pl_code http_setup(struct http_call *call,
                                     const struct http_call_opts *opts,
                                     struct pl_err *err);

/* http_err.c */
enum pl_code http_call_error(const struct http_call *call, struct pl_err *err);

#endif
