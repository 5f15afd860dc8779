#include "coord/metrics/scrape_server.h"

#include <stdlib.h>

#include "store/base/alloc.h"

/* Few clients scrape; what they send is small. */
enum { CONNS = 64, BODY = 1024, BODIES = 64 * 1024, HEALTH_MAX = 1 << 20 };

struct scrape_server {
	struct scrape_server_opts opts;
	struct http_server *http;
	struct metrics_exporter *exporter;
};

static void answer(struct http_exchange *exchange, int status, const char *text)
{
	const struct http_field type = {PL_SPAN_LIT("content-type"),
	                                PL_SPAN_LIT("text/plain; charset=utf-8")};

	http_respond(exchange, status, &type, 1, pl_span_str(text));
}

static void answer_health(const struct scrape_server *server,
                          struct http_exchange *exchange,
                          const struct http_request *request)
{
	const struct http_field type = {PL_SPAN_LIT("content-type"),
	                                PL_SPAN_LIT("text/plain; charset=utf-8")};
	const struct health_question question = {.path = request->path,
	                                         .query = request->query,
	                                         .reasons = request->peer_is_local};
	struct health_checks checks = {0};
	struct pl_buf out;
	int status;

	if (server->opts.checks != NULL)
		checks = server->opts.checks(server->opts.ctx);
	pl_buf_init(&out, HEALTH_MAX);
	if (health_answer(&checks, 1, &question, &out, &status) == PL_OK)
		http_respond(exchange, status, &type, 1, pl_buf_span(&out));
	else
		http_exchange_cut(exchange);
	pl_buf_done(&out);
}

static void on_request(void *ctx, struct http_exchange *exchange,
                       const struct http_request *request)
{
	struct scrape_server *server = ctx;

	http_exchange_set_user(exchange, server);
	if (pl_span_eq(request->path, PL_SPAN_LIT("/metrics")))
		metrics_exporter_serve(server->exporter, exchange);
	else if (health_is_path(request->path))
		answer_health(server, exchange, request);
	else
		answer(exchange, 404, "there is /metrics, /livez and /readyz\n");
}

static void on_gone(void *user, struct http_exchange *exchange)
{
	struct scrape_server *server = user;

	metrics_exporter_gone(server->exporter, exchange);
}

enum pl_code scrape_server_open(uv_loop_t *loop, const struct scrape_server_opts *opts,
                                struct scrape_server **out, struct pl_err *err)
{
	static const struct http_server_fns fns = {.on_request = on_request,
	                                           .on_gone = on_gone};
	const struct http_server_opts http = {
		.host = opts->host,
		.port = opts->port,
		.limits = {.conns = CONNS, .body_bytes = BODY, .bodies_bytes = BODIES}};
	struct scrape_server *server = pl_calloc(1, sizeof *server);

	if (server == NULL)
		return pl_err_set(err, PL_NOMEM, "a server for metrics");
	server->opts = *opts;
	if (metrics_exporter_open(loop, opts->hub, opts->version, &server->exporter,
	                          err) != PL_OK) {
		free(server);
		return err->code;
	}
	if (http_server_open(loop, &http, &fns, server, &server->http, err) != PL_OK) {
		metrics_exporter_close(server->exporter, NULL, NULL);
		free(server);
		return err->code;
	}
	*out = server;
	return PL_OK;
}

uint16_t scrape_server_port(const struct scrape_server *server)
{
	return http_server_port(server->http);
}

static void on_http_closed(void *ctx)
{
	struct scrape_server *server = ctx;

	metrics_exporter_close(server->exporter, NULL, NULL);
	free(server);
}

void scrape_server_close(struct scrape_server *server)
{
	http_server_close(server->http, on_http_closed, server);
}
