/* Which paths are not objects, who may come in, and when it is too early. */
#include <openssl/crypto.h>
#include <stdio.h>

#include "coord/api/server/api_server_int.h"

static void answer(struct http_exchange *exchange, int status, const char *type,
                   struct pl_span body)
{
	struct http_field fields[] = {
		{PL_SPAN_LIT("content-type"), pl_span_str(type)},
		{PL_SPAN_LIT("cache-control"), PL_SPAN_LIT("no-cache, private")}};

	http_respond(exchange, status, fields, 2, body);
}

static void answer_api_status(struct http_exchange *exchange,
                              const struct api_status *status)
{
	struct pl_json_out out;
	struct pl_buf buf;

	pl_buf_init(&buf, 64 << 10);
	pl_json_out_init(&out, &buf);
	status_write(&out, status);
	if (pl_json_out_done(&out) == PL_OK)
		answer(exchange, status_http_code(status), "application/json",
		       pl_buf_span(&buf));
	else
		http_exchange_cut(exchange);
	pl_buf_done(&buf);
}

static bool path_is(const struct http_request *request, const char *path)
{
	return pl_span_eq(request->path, pl_span_str(path));
}

static bool is_health(const struct http_request *request)
{
	return path_is(request, "/healthz") || path_is(request, "/livez") ||
	       path_is(request, "/readyz");
}

/* Compares in constant time. */
static bool has_token(const struct api_server *server, const struct http_request *request)
{
	struct pl_span header = http_request_field(request, "authorization");
	size_t len;

	if (server->opts.token == NULL)
		return true;
	len = strlen(server->opts.token);
	return header.len == len + 7 && memcmp(header.at, "Bearer ", 7) == 0 &&
	       CRYPTO_memcmp(header.at + 7, server->opts.token, len) == 0;
}

static void answer_health(struct api_server *server, struct http_exchange *exchange,
                          const struct http_request *request)
{
	bool ready = server->state == API_SERVER_SERVING;

	if (path_is(request, "/livez") || ready)
		answer(exchange, 200, "text/plain; charset=utf-8", PL_SPAN_LIT("ok"));
	else
		answer(exchange, 503, "text/plain; charset=utf-8",
		       PL_SPAN_LIT("the informers have not listed the store yet"));
}

void api_server_route(struct api_server *server, struct http_exchange *exchange,
                      const struct http_request *request)
{
	struct api_status status;

	http_exchange_set_user(exchange, NULL);
	if (is_health(request)) {
		answer_health(server, exchange, request);
		return;
	}
	if (!has_token(server, request)) {
		status = status_unauthorized();
		answer_api_status(exchange, &status);
		return;
	}
	if (server->state != API_SERVER_SERVING) {
		status = status_unavailable(
			PL_SPAN_LIT("the server is starting or stopping"));
		status.retry_after_s = 1;
		answer_api_status(exchange, &status);
		return;
	}
	request_start(&server->api, exchange);
}
