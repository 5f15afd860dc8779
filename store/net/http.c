/*
 * The client: libcurl's multi interface driven by libuv.
 *
 * libcurl says which sockets to poll (on_socket) and when to be called at the latest
 * (on_curl_deadline). On either curl_multi_socket_action() is called, finished transfers
 * are read, and the calls on the ready list are served. Nothing here calls out from
 * inside libcurl.
 */
#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/net/http_int.h"

enum { IDLE_CONNECTIONS = 32 };

static void http_free(struct http *http)
{
	free(http->ca_file);
	free(http->cert_file);
	free(http->key_file);
	free(http->server_name);
	free(http->proxy);
	free(http);
}

static void http_handle_closed(struct http *http)
{
	void (*closed)(void *ctx) = http->closed;
	void *ctx = http->ctx;

	PL_ASSERT(http->handles > 0);
	if (--http->handles > 0)
		return;
	http_free(http);
	closed(ctx);
}

static void on_timer_closed(uv_handle_t *handle)
{
	http_handle_closed(handle->data);
}

static void on_deadlines_closed(void *ctx)
{
	http_handle_closed(ctx);
}

static void on_poll_closed(uv_handle_t *handle)
{
	struct http_poll *poll =
		PL_CONTAINER_OF((uv_poll_t *)handle, struct http_poll, uv);
	struct http *http = poll->http;

	free(poll);
	http_handle_closed(http);
}

static void poll_close(struct http_poll *poll)
{
	pl_list_del(&poll->link);
	uv_close((uv_handle_t *)&poll->uv, on_poll_closed);
}

/* The last call has ended: closes connections, sockets and timers. */
static void http_shut(struct http *http)
{
	CURLMcode rc;

	if (http->state != HTTP_CLOSING || !pl_list_empty(&http->calls))
		return;
	http->state = HTTP_SHUT;
	rc = curl_multi_cleanup(http->multi);
	PL_ASSERT(rc == CURLM_OK);
	PL_LIST_EACH (link, &http->polls)
		poll_close(PL_LIST_ITEM(link, struct http_poll, link));
	uv_close((uv_handle_t *)&http->curl_timer, on_timer_closed);
	uv_close((uv_handle_t *)&http->ready_timer, on_timer_closed);
	loop_timers_close(&http->deadlines, on_deadlines_closed, http);
}

static void http_serve(struct http *http)
{
	struct pl_list *link;

	http->serving = true;
	while (!pl_list_empty(&http->ready)) {
		link = http->ready.next;
		pl_list_del(link);
		http_call_serve(PL_LIST_ITEM(link, struct http_call, ready));
	}
	http->serving = false;
	http_shut(http);
}

static void on_ready_timer(uv_timer_t *timer)
{
	http_serve(timer->data);
}

static void http_schedule(struct http *http)
{
	int rc;

	if (http->serving || http->state == HTTP_SHUT)
		return;
	rc = uv_timer_start(&http->ready_timer, on_ready_timer, 0, 0);
	PL_ASSERT(rc == 0);
}

void http_wake(struct http_call *call)
{
	if (!pl_list_empty(&call->ready))
		return;
	pl_list_add_tail(&call->http->ready, &call->ready);
	http_schedule(call->http);
}

/* libcurl does not say which call's socket it lost; that call would hang, so all fail. */
static void fail_out_of_memory(struct http *http)
{
	PL_LIST_EACH (link, &http->calls) {
		struct http_call *call = PL_LIST_ITEM(link, struct http_call, link);

		if (call->err.code == PL_OK)
			(void)pl_err_set(&call->err, PL_NOMEM, "%s", call->what);
		http_wake(call);
	}
}

static void http_socket_action(struct http *http, curl_socket_t fd, int events)
{
	int running, left;
	CURLMcode rc = curl_multi_socket_action(http->multi, fd, events, &running);
	CURLMsg *msg;

	PL_ASSERT(rc == CURLM_OK || rc == CURLM_OUT_OF_MEMORY);
	if (rc == CURLM_OUT_OF_MEMORY)
		fail_out_of_memory(http);
	while ((msg = curl_multi_info_read(http->multi, &left)) != NULL) {
		struct http_call *call = NULL;

		(void)curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, &call);
		PL_ASSERT(call != NULL);
		call->over = true;
		call->result = msg->data.result;
		http_wake(call);
	}
	http_serve(http);
}

static void on_curl_timer(uv_timer_t *timer)
{
	http_socket_action(timer->data, CURL_SOCKET_TIMEOUT, 0);
}

static int on_curl_deadline(CURLM *multi, long timeout_ms, void *ctx)
{
	struct http *http = ctx;
	int rc = 0;

	(void)multi;
	if (http->state == HTTP_SHUT)
		return 0;
	if (timeout_ms < 0)
		(void)uv_timer_stop(&http->curl_timer);
	else
		rc = uv_timer_start(&http->curl_timer, on_curl_timer,
		                    (uint64_t)timeout_ms, 0);
	PL_ASSERT(rc == 0);
	return 0;
}

static void on_poll(uv_poll_t *uv, int status, int events)
{
	struct http_poll *poll = PL_CONTAINER_OF(uv, struct http_poll, uv);
	int flags = 0;

	if (status < 0)
		flags = CURL_CSELECT_ERR;
	if (events & UV_READABLE)
		flags |= CURL_CSELECT_IN;
	if (events & UV_WRITABLE)
		flags |= CURL_CSELECT_OUT;
	http_socket_action(poll->http, poll->fd, flags);
}

static struct http_poll *poll_open(struct http *http, curl_socket_t fd)
{
	struct http_poll *poll = pl_calloc(1, sizeof *poll);

	if (poll == NULL)
		return NULL;
	if (uv_poll_init_socket(http->loop, &poll->uv, fd) != 0) {
		free(poll);
		return NULL;
	}
	poll->http = http;
	poll->fd = fd;
	pl_list_add_tail(&http->polls, &poll->link);
	http->handles++;
	return poll;
}

/* Without a poll handle the transfer would hang, so it fails. */
static int poll_missing(CURL *easy)
{
	struct http_call *call = NULL;

	(void)curl_easy_getinfo(easy, CURLINFO_PRIVATE, &call);
	if (call == NULL)
		return 0;
	(void)pl_err_set(&call->err, PL_NOMEM, "%s: cannot watch its socket", call->what);
	http_wake(call);
	return 0;
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *ctx, void *socket_ctx)
{
	struct http *http = ctx;
	struct http_poll *poll = socket_ctx;
	int events = 0, rc;

	if (what == CURL_POLL_REMOVE) {
		if (poll != NULL)
			poll_close(poll);
		/* curl_multi_cleanup() is running: the multi handle takes no calls. */
		if (poll != NULL && http->state != HTTP_SHUT)
			(void)curl_multi_assign(http->multi, fd, NULL);
		return 0;
	}
	if (poll == NULL) {
		poll = poll_open(http, fd);
		if (poll == NULL)
			return poll_missing(easy);
		(void)curl_multi_assign(http->multi, fd, poll);
	}
	if (what & CURL_POLL_IN)
		events |= UV_READABLE;
	if (what & CURL_POLL_OUT)
		events |= UV_WRITABLE;
	rc = events == 0 ? uv_poll_stop(&poll->uv)
	                 : uv_poll_start(&poll->uv, events, on_poll);
	PL_ASSERT(rc == 0);
	return 0;
}

static void init_curl(void)
{
	/* libcurl uses our allocator, so that tests reach its allocation failures too. */
	CURLcode rc = curl_global_init_mem(CURL_GLOBAL_DEFAULT, pl_malloc, free,
	                                   pl_realloc, pl_strdup, pl_calloc);

	PL_ASSERT(rc == CURLE_OK);
}

static enum pl_code copy_name(char **to, const char *name)
{
	*to = name == NULL ? NULL : pl_strdup(name);
	return name != NULL && *to == NULL ? PL_NOMEM : PL_OK;
}

static enum pl_code multi_init(struct http *http, uint32_t idle_max)
{
	http->multi = curl_multi_init();
	if (http->multi == NULL)
		return PL_NOMEM;
	(void)curl_multi_setopt(http->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
	(void)curl_multi_setopt(http->multi, CURLMOPT_SOCKETDATA, http);
	(void)curl_multi_setopt(http->multi, CURLMOPT_TIMERFUNCTION, on_curl_deadline);
	(void)curl_multi_setopt(http->multi, CURLMOPT_TIMERDATA, http);
	(void)curl_multi_setopt(http->multi, CURLMOPT_PIPELINING, CURLPIPE_NOTHING);
	(void)curl_multi_setopt(http->multi, CURLMOPT_MAXCONNECTS,
	                        (long)(idle_max == 0 ? IDLE_CONNECTIONS : idle_max));
	return PL_OK;
}

enum pl_code http_open(uv_loop_t *loop, const struct http_opts *opts, struct http **out,
                       struct pl_err *err)
{
	static uv_once_t once = UV_ONCE_INIT;
	struct http *http;
	int rc;

	uv_once(&once, init_curl);
	http = pl_calloc(1, sizeof *http);
	if (http == NULL)
		return pl_err_set(err, PL_NOMEM, "HTTP client");
	if (copy_name(&http->ca_file, opts->tls.ca_file) != PL_OK ||
	    copy_name(&http->cert_file, opts->tls.cert_file) != PL_OK ||
	    copy_name(&http->key_file, opts->tls.key_file) != PL_OK ||
	    copy_name(&http->server_name, opts->tls.server_name) != PL_OK ||
	    copy_name(&http->proxy, opts->proxy) != PL_OK ||
	    multi_init(http, opts->idle_max) != PL_OK) {
		http_free(http);
		return pl_err_set(err, PL_NOMEM, "HTTP client");
	}
	http->loop = loop;
	http->unverified = opts->unverified;
	pl_list_init(&http->calls);
	pl_list_init(&http->ready);
	pl_list_init(&http->polls);
	rc = uv_timer_init(loop, &http->curl_timer);
	PL_ASSERT(rc == 0);
	rc = uv_timer_init(loop, &http->ready_timer);
	PL_ASSERT(rc == 0);
	http->curl_timer.data = http;
	http->ready_timer.data = http;
	loop_timers_open(&http->deadlines, loop);
	http->handles = 3;
	*out = http;
	return PL_OK;
}

void http_close(struct http *http, void (*closed)(void *ctx), void *ctx)
{
	PL_ASSERT(http->state == HTTP_OPEN && closed != NULL);
	http->state = HTTP_CLOSING;
	http->closed = closed;
	http->ctx = ctx;
	PL_LIST_EACH (link, &http->calls)
		http_call_cancel(PL_LIST_ITEM(link, struct http_call, link));
	http_schedule(http); /* closing goes on even when there was no call */
}
