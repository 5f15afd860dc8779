/*
 * One transfer as libcurl sees it: its options and its callbacks. The callbacks run
 * inside libcurl: they record what happened and wake the call.
 */
#include <ctype.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "store/base/alloc.h"
#include "store/base/clock.h"
#include "store/base/fault.h"
#include "store/net/http_int.h"

enum { CONNECT_TIMEOUT_MS = 5000, KEEPALIVE_IDLE_S = 30, KEEPALIVE_EVERY_S = 10 };

static size_t refuse_response(struct http_call *call, enum pl_code code, const char *why)
{
	if (call->err.code == PL_OK)
		(void)pl_err_set(&call->err, code, "%s: %s", call->what, why);
	http_wake(call);
	return 0;
}

/* Splits the lines in place. Lines that are no headers are skipped, and so are headers
 * past the maximum; the bytes are bounded already. */
static void split_head(struct http_call *call)
{
	char *line = (char *)call->head.at, *end;

	call->header_count = 0;
	for (; *line != 0 && call->header_count < HTTP_HEADERS_MAX; line = end + 1) {
		char *colon, *value;

		end = strchr(line, '\n');
		if (end == NULL)
			return;
		*end = 0;
		colon = strchr(line, ':');
		if (colon == NULL || colon == line || isspace((unsigned char)*line))
			continue;
		*colon = 0;
		value = colon + 1 + strspn(colon + 1, " \t");
		for (char *last = end; last > value && isspace((unsigned char)last[-1]);)
			*--last = 0;
		call->headers[call->header_count++] = (struct http_header){line, value};
	}
}

static void on_head_end(struct http_call *call)
{
	long status = 0;

	(void)curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
	if (status >= 100 && status < 200) {
		call->head.len = 0; /* the final answer is still to come */
		return;
	}
	call->status = (int)status;
	call->head_state = HTTP_HEAD_WHOLE;
	split_head(call);
	http_wake(call);
}

/* Called for each header line, trailers included. */
static size_t on_header(char *line, size_t size, size_t count, void *ctx)
{
	struct http_call *call = ctx;
	size_t len = size * count;
	enum pl_code code;

	call->last_ms = pl_clock_ms();
	call->head_bytes += len;
	if (call->head_bytes > HTTP_HEAD_BYTES_MAX)
		return refuse_response(call, PL_LIMIT, "headers too large");
	if (memchr(line, 0, len) != NULL)
		return refuse_response(call, PL_PROTO, "a NUL byte in a header");
	if (call->head_state != HTTP_HEAD_PARTIAL)
		return len; /* trailers are ignored */
	if (len <= 2 && (*line == '\r' || *line == '\n')) {
		code = pl_buf_add(&call->head, pl_span("", 1));
		if (code == PL_OK)
			on_head_end(call);
	} else {
		code = pl_buf_add(&call->head, pl_span(line, len));
	}
	return code == PL_OK ? len : refuse_response(call, code, "headers");
}

static size_t on_body(char *data, size_t size, size_t count, void *ctx)
{
	struct http_call *call = ctx;
	size_t len = size * count;
	enum pl_code code;

	call->last_ms = pl_clock_ms();
	if (pl_fault_hit(PL_FAULT_NET_READ))
		return refuse_response(call, PL_UNAVAIL, "read: fault");
	if (call->streams && call->in.len >= HTTP_STREAM_BUFFER) {
		call->in_paused = true;
		return CURL_WRITEFUNC_PAUSE;
	}
	code = pl_buf_add(&call->in, pl_span(data, len));
	if (code == PL_LIMIT)
		return refuse_response(call, code, "answer too large");
	if (code != PL_OK)
		return refuse_response(call, code, "answer");
	if (call->streams)
		http_wake(call);
	return len;
}

static size_t on_want_body(char *room, size_t size, size_t count, void *ctx)
{
	struct http_call *call = ctx;
	size_t len = size * count;

	call->last_ms = pl_clock_ms();
	if (call->out.len == 0) {
		if (call->out_last)
			return 0;
		call->out_paused = true;
		return CURL_READFUNC_PAUSE;
	}
	if (pl_fault_hit(PL_FAULT_NET_WRITE)) {
		(void)refuse_response(call, PL_UNAVAIL, "write: fault");
		return CURL_READFUNC_ABORT;
	}
	if (len > call->out.len)
		len = call->out.len;
	memcpy(room, call->out.at, len);
	pl_buf_drop(&call->out, len);
	if (call->want_room)
		http_wake(call);
	return len;
}

/* Opens a socket as libcurl would, but with close-on-exec. */
static curl_socket_t on_open_socket(void *ctx, curlsocktype purpose,
                                    struct curl_sockaddr *addr)
{
	(void)ctx;
	(void)purpose;
	if (pl_fault_hit(PL_FAULT_NET_CONNECT))
		return CURL_SOCKET_BAD;
	return socket(addr->family, addr->socktype | SOCK_CLOEXEC, addr->protocol);
}

/* libcurl can check a certificate against the URL's host only, so another name is set
 * here. */
static CURLcode on_ssl(CURL *easy, void *ssl_ctx, void *ctx)
{
	struct http *http = ctx;
	X509_VERIFY_PARAM *param = SSL_CTX_get0_param(ssl_ctx);

	(void)easy;
	if (pl_fault_hit(PL_FAULT_TLS_INIT))
		return CURLE_SSL_CONNECT_ERROR;
	if (http->server_name == NULL)
		return CURLE_OK;
	if (X509_VERIFY_PARAM_set1_ip_asc(param, http->server_name) == 1 ||
	    X509_VERIFY_PARAM_set1_host(param, http->server_name, 0) == 1)
		return CURLE_OK;
	return CURLE_OUT_OF_MEMORY;
}

static CURLcode setup_tls(struct http_call *call)
{
	struct http *http = call->http;
	CURL *easy = call->easy;
	CURLcode rc = CURLE_OK;

	(void)curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	/* The next connection must use changed files; a resumed session or a cached
	 * certificate store would use the old ones. */
	(void)curl_easy_setopt(easy, CURLOPT_SSL_SESSIONID_CACHE, 0L);
	(void)curl_easy_setopt(easy, CURLOPT_CA_CACHE_TIMEOUT, 0L);
	(void)curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, on_ssl);
	(void)curl_easy_setopt(easy, CURLOPT_SSL_CTX_DATA, http);
	if (http->server_name != NULL || http->unverified)
		(void)curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
	if (http->unverified)
		(void)curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
	if (http->ca_file != NULL) {
		rc = curl_easy_setopt(easy, CURLOPT_CAINFO, http->ca_file);
		(void)curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
	}
	if (rc == CURLE_OK && http->cert_file != NULL)
		rc = curl_easy_setopt(easy, CURLOPT_SSLCERT, http->cert_file);
	if (rc == CURLE_OK && http->key_file != NULL)
		rc = curl_easy_setopt(easy, CURLOPT_SSLKEY, http->key_file);
	return rc;
}

static void setup_callbacks(struct http_call *call)
{
	CURL *easy = call->easy;

	(void)curl_easy_setopt(easy, CURLOPT_PRIVATE, call);
	(void)curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, call->curl_words);
	(void)curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
	(void)curl_easy_setopt(easy, CURLOPT_HEADERDATA, call);
	(void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
	(void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, call);
	(void)curl_easy_setopt(easy, CURLOPT_READFUNCTION, on_want_body);
	(void)curl_easy_setopt(easy, CURLOPT_READDATA, call);
	(void)curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_open_socket);
}

static void setup_plain(struct http_call *call, const struct http_call_opts *opts)
{
	CURL *easy = call->easy;
	long connect_ms = opts->connect_timeout_ms == 0 ? CONNECT_TIMEOUT_MS
	                                                : (long)opts->connect_timeout_ms;

	(void)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	(void)curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 1L);
	(void)curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	(void)curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, connect_ms);
	(void)curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
	(void)curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, (long)KEEPALIVE_IDLE_S);
	(void)curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, (long)KEEPALIVE_EVERY_S);
	/* A call that is canceled must not wait for the name lookup. */
	(void)curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
}

static CURLcode setup_strings(struct http_call *call, const struct http_call_opts *opts)
{
	CURL *easy = call->easy;
	CURLcode rc = curl_easy_setopt(easy, CURLOPT_URL, opts->url);

	if (rc == CURLE_OK)
		rc = curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	if (rc == CURLE_OK)
		rc = curl_easy_setopt(easy, CURLOPT_PROXY,
		                      call->http->proxy == NULL ? "" : call->http->proxy);
	if (rc == CURLE_OK)
		rc = curl_easy_setopt(easy, CURLOPT_USERAGENT, "placet");
	return rc;
}

/* Sets the method by name, and how the body is sent by what body there is. */
static CURLcode setup_body(struct http_call *call, const struct http_call_opts *opts)
{
	const char *method = opts->method == NULL ? "GET" : opts->method;
	CURL *easy = call->easy;
	CURLcode rc = CURLE_OK;

	if (opts->send_stream) {
		(void)curl_easy_setopt(easy, CURLOPT_POST, 1L);
		(void)curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
		                       (curl_off_t)opts->body_len);
		/* A streamed body can not be sent again on another connection. */
		(void)curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
	} else if (opts->body.len > 0) {
		(void)curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
		                       (curl_off_t)opts->body.len);
		rc = curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, opts->body.at);
	} else if (strcmp(method, "HEAD") == 0) {
		(void)curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
	} else if (strcmp(method, "POST") == 0) {
		(void)curl_easy_setopt(easy, CURLOPT_POST, 1L);
		(void)curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)0);
		(void)curl_easy_setopt(easy, CURLOPT_POSTFIELDS, "");
	}
	if (rc == CURLE_OK)
		rc = curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, method);
	return rc;
}

static bool add_header(struct http_call *call, const char *name, const char *value)
{
	struct pl_buf line;
	struct curl_slist *list = NULL;
	enum pl_code code;

	pl_buf_init(&line, HTTP_HEAD_BYTES_MAX);
	/* For libcurl "name;" sends a header without a value, "name:" sends none. */
	code = *value == 0 ? pl_buf_printf(&line, "%s;", name)
	                   : pl_buf_printf(&line, "%s: %s", name, value);
	if (code == PL_OK)
		code = pl_buf_add(&line, pl_span("", 1));
	if (code == PL_OK)
		list = curl_slist_append(call->request_headers, (char *)line.at);
	pl_buf_done(&line);
	if (list != NULL)
		call->request_headers = list;
	return list != NULL;
}

/* Suppresses a header that libcurl would add on its own. */
static bool suppress_header(struct http_call *call, const char *line)
{
	struct curl_slist *list = curl_slist_append(call->request_headers, line);

	if (list != NULL)
		call->request_headers = list;
	return list != NULL;
}

static bool setup_headers(struct http_call *call, const struct http_call_opts *opts)
{
	bool typed = false, ok = suppress_header(call, "Expect:");

	for (size_t i = 0; ok && i < opts->header_count; i++) {
		const struct http_header *header = &opts->headers[i];

		typed = typed || strcasecmp(header->name, "content-type") == 0;
		ok = add_header(call, header->name, header->value);
	}
	if (ok && !typed)
		ok = suppress_header(call, "Content-Type:");
	if (ok && opts->send_stream && opts->body_len < 0)
		ok = add_header(call, "Transfer-Encoding", "chunked");
	return ok && curl_easy_setopt(call->easy, CURLOPT_HTTPHEADER,
	                              call->request_headers) == CURLE_OK;
}

enum pl_code http_setup(struct http_call *call, const struct http_call_opts *opts,
                        struct pl_err *err)
{
	call->easy = curl_easy_init();
	if (call->easy == NULL)
		return pl_err_set(err, PL_NOMEM, "%s", call->what);
	setup_callbacks(call);
	setup_plain(call, opts);
	if (setup_strings(call, opts) != CURLE_OK || setup_tls(call) != CURLE_OK ||
	    setup_body(call, opts) != CURLE_OK || !setup_headers(call, opts))
		return pl_err_set(err, PL_NOMEM, "%s", call->what);
	return PL_OK;
}
