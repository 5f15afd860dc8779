/* Which paths are not objects. */
#include <stdio.h>

#include "coord/api/discovery/discovery.h"
#include "coord/api/reply/accept.h"
#include "coord/api/server/api_server_int.h"

static void answer(struct http_exchange *exchange, int status, const char *type,
                   struct pl_span body, uint32_t retry_s)
{
	char retry[16];
	struct http_field fields[] = {
		{PL_SPAN_LIT("content-type"), pl_span_str(type)},
		{PL_SPAN_LIT("cache-control"), PL_SPAN_LIT("no-cache, private")},
		{PL_SPAN_LIT("retry-after"), pl_span("", 0)}};

	(void)snprintf(retry, sizeof retry, "%u", (unsigned)retry_s);
	fields[2].value = pl_span_str(retry);
	http_respond(exchange, status, fields, retry_s > 0 ? 3 : 2, body);
}

void route_answer_status(struct http_exchange *exchange, const struct api_status *status)
{
	struct pl_json_out out;
	struct pl_buf buf;

	pl_buf_init(&buf, 64 << 10);
	pl_json_out_init(&out, &buf);
	status_write(&out, status);
	if (pl_json_out_done(&out) == PL_OK)
		answer(exchange, status_http_code(status), "application/json",
		       pl_buf_span(&buf), status->retry_after_s);
	else
		http_exchange_cut(exchange);
	pl_buf_done(&buf);
}

static bool path_is(const struct http_request *request, const char *path)
{
	return pl_span_eq(request->path, pl_span_str(path));
}

/* -- discovery ----------------------------------------------------------------------- */

/* The parts of a path: "/apis/<group>/<version>". */
struct path_parts {
	struct pl_span at[4];
	unsigned count;
};

static bool split(struct pl_span path, struct path_parts *out)
{
	const uint8_t *end = path.at + path.len;

	out->count = 0;
	for (const uint8_t *at = path.at; at < end;) {
		const uint8_t *from = at + 1;
		const uint8_t *slash =
			from < end ? memchr(from, '/', (size_t)(end - from)) : NULL;

		at = slash == NULL ? end : slash;
		if (from == end)
			break; /* a slash at the end */
		if (at == from)
			return false;
		if (out->count == 4)
			return false;
		out->at[out->count++] = pl_span(from, (size_t)(at - from));
	}
	return true;
}

static bool part_is(const struct path_parts *parts, unsigned at, const char *word)
{
	return at < parts->count && pl_span_eq(parts->at[at], pl_span_str(word));
}

static bool is_read(const struct http_request *request)
{
	return pl_span_eq(request->method, PL_SPAN_LIT("GET")) ||
	       pl_span_eq(request->method, PL_SPAN_LIT("HEAD"));
}

static void write_groups(const struct discovery *discovery, bool core,
                         const struct accept *accept, struct pl_json_out *out)
{
	if (accept->as == ACCEPT_AS_DISCOVERY)
		discovery_aggregated(discovery, core, accept->beta, out);
	else if (core)
		discovery_core(discovery, out);
	else
		discovery_groups(discovery, out);
}

/* False: the path is none of discovery's, and nothing was written. */
static bool write_discovery(const struct discovery *discovery, struct pl_span path,
                            const struct accept *accept, struct pl_json_out *out)
{
	static const char *const more[] = {"/configz",
	                                   "/debug/log-level",
	                                   "/debug/pprof/profile",
	                                   "/healthz",
	                                   "/livez",
	                                   "/metrics",
	                                   "/openapi/v2",
	                                   "/openapi/v3",
	                                   "/readyz",
	                                   "/statusz",
	                                   NULL};
	struct path_parts parts;

	if (!split(path, &parts))
		return false;
	if (parts.count == 0) {
		discovery_paths(discovery, more, out);
		return true;
	}
	if (part_is(&parts, 0, "version") && parts.count == 1) {
		discovery_version(discovery, out);
		return true;
	}
	if (part_is(&parts, 0, "api") && parts.count == 1) {
		write_groups(discovery, true, accept, out);
		return true;
	}
	if (part_is(&parts, 0, "api") && parts.count == 2)
		return discovery_resources(discovery, (struct pl_span){0}, parts.at[1],
		                           out);
	if (!part_is(&parts, 0, "apis"))
		return false;
	if (parts.count == 1) {
		write_groups(discovery, false, accept, out);
		return true;
	}
	if (parts.count == 2)
		return discovery_group(discovery, parts.at[1], out);
	return parts.count == 3 &&
	       discovery_resources(discovery, parts.at[1], parts.at[2], out);
}

static void answer_with_etag(struct http_exchange *exchange,
                             const struct http_request *request, const char *type,
                             struct pl_span body)
{
	char etag[DISCOVERY_ETAG_SIZE];
	struct http_field fields[] = {
		{PL_SPAN_LIT("content-type"), pl_span_str(type)},
		{PL_SPAN_LIT("etag"), pl_span_str(discovery_etag(body, etag))},
		{PL_SPAN_LIT("vary"), PL_SPAN_LIT("Accept")}};

	if (discovery_etag_matches(http_request_field(request, "if-none-match"), etag))
		http_respond(exchange, 304, fields, 3, (struct pl_span){0});
	else
		http_respond(exchange, 200, fields, 3, body);
}

/* False: the path is none of these. */
static bool route_discovery(struct api_server *server, struct http_exchange *exchange,
                            const struct http_request *request)
{
	struct accept_offers offers = {.discovery = true};
	struct accept accept = {0};
	struct discovery discovery = {.version = server->opts.version,
	                              .address = server->address};
	struct pl_json_out out;
	struct pl_buf buf;
	bool found;

	discovery.resources = schema_resources(&discovery.count);
	if (!accept_negotiate(http_request_field(request, "accept"), offers, &accept))
		accept = (struct accept){0};
	pl_buf_init(&buf, 8 << 20);
	pl_json_out_init(&out, &buf);
	found = write_discovery(&discovery, request->path, &accept, &out);
	if (found && !is_read(request)) {
		struct api_status status = status_no_such_method();

		route_answer_status(exchange, &status);
	} else if (found && pl_json_out_done(&out) == PL_OK)
		answer_with_etag(exchange, request, accept_content_type(&accept),
		                 pl_buf_span(&buf));
	else if (found)
		http_exchange_cut(exchange);
	pl_buf_done(&buf);
	return found;
}

/* False: the path is none of OpenAPI's. */
static bool route_openapi(struct api_server *server, struct http_exchange *exchange,
                          const struct http_request *request)
{
	struct pl_span accept = http_request_field(request, "accept");
	bool protobuf =
		accept.len > 0 && memmem(accept.at, accept.len, "+protobuf", 9) != NULL;
	struct http_blob *blob = NULL;
	const char *type = NULL;
	struct pl_err err = {0};
	enum pl_code code =
		openapi_cache_get(&server->openapi, server->opts.version, request->path,
	                          protobuf, &blob, &type, &err);
	char etag[DISCOVERY_ETAG_SIZE];
	struct http_field fields[3];

	if (code == PL_NOTFOUND)
		return false;
	if (code != PL_OK) {
		http_exchange_cut(exchange);
		return true;
	}
	(void)discovery_etag(pl_span(blob->at, blob->len), etag);
	fields[0] = (struct http_field){PL_SPAN_LIT("content-type"), pl_span_str(type)};
	fields[1] = (struct http_field){PL_SPAN_LIT("etag"), pl_span_str(etag)};
	fields[2] = (struct http_field){PL_SPAN_LIT("vary"), PL_SPAN_LIT("Accept")};
	if (discovery_etag_matches(http_request_field(request, "if-none-match"), etag))
		http_respond(exchange, 304, fields, 3, (struct pl_span){0});
	else
		http_respond_blob(exchange, 200, fields, 3, blob);
	return true;
}

/* kubectl asks for custom resources before it checks an object whose kind cannot be patched.
 * There are none. False: the path is another. */
static bool route_no_crds(struct http_exchange *exchange,
                          const struct http_request *request)
{
	if (!path_is(request,
	             "/apis/apiextensions.k8s.io/v1/customresourcedefinitions") ||
	    !pl_span_eq(request->method, PL_SPAN_LIT("GET")))
		return false;
	answer(exchange, 200, "application/json",
	       PL_SPAN_LIT("{\"kind\":\"CustomResourceDefinitionList\",\"apiVersion\":"
	                   "\"apiextensions.k8s.io/v1\",\"metadata\":{"
	                   "\"resourceVersion\":\"1\"},\"items\":[]}"),
	       0);
	return true;
}

bool api_server_route(struct api_server *server, struct http_exchange *exchange,
                      const struct http_request *request)
{
	struct api_status status;

	if (route_introspection(server, exchange, request))
		return true;
	if (path_is(request, "/metrics") && server->opts.metrics.serve != NULL) {
		server->opts.metrics.serve(server->opts.metrics.ctx, exchange);
		return true;
	}
	if (server->state != API_SERVER_SERVING) {
		status = status_unavailable(
			PL_SPAN_LIT("the server is starting or stopping"));
		status.retry_after_s = 1;
		route_answer_status(exchange, &status);
		return true;
	}
	return route_openapi(server, exchange, request) ||
	       route_no_crds(exchange, request) ||
	       route_discovery(server, exchange, request);
}
