#include "coord/api/server/api_metrics.h"

#include <stdio.h>

#include "coord/metrics/metrics_table.h"

/* -- requests that are over ---------------------------------------------------------------- */

static struct pl_span object_verb(enum request_verb verb)
{
	static const char *const words[] = {"GET", "LIST",  "WATCH",  "POST",
	                                    "PUT", "PATCH", "DELETE", "DELETECOLLECTION"};

	return pl_span_str(words[verb]);
}

static struct pl_span method_verb(struct pl_span method)
{
	static const char *const words[] = {"GET", "HEAD",  "POST",
	                                    "PUT", "PATCH", "DELETE"};

	for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++)
		if (pl_span_eq(method, pl_span_str(words[i])))
			return pl_span_str(words[i]);
	return PL_SPAN_LIT("other");
}

/* As Kubernetes: the name of what is created is in the body. */
static const char *scope_of(const struct request *request)
{
	const struct request_path *path = &request->path;
	bool creates = request->verb == REQUEST_CREATE && path->subresource.len == 0;

	if (path->name.len > 0 && !creates)
		return "resource";
	return path->namespace.len > 0 ? "namespace" : "cluster";
}

/* "0" when the client went away before the answer. */
static struct pl_span status_text(int status, char text[16])
{
	int len = snprintf(text, 16, "%d", status);

	return pl_span(text, (size_t)len);
}

void api_metrics_gone(const struct api_call *call)
{
	struct metric_set *set = call->server->metrics;
	const struct request *request = call->request;
	const struct schema_resource *resource =
		request == NULL ? NULL : request->path.resource;
	int status = http_exchange_status(call->exchange);
	struct pl_span verb, plural, subresource = {0}, scope = {0};
	char code[16];

	if (set == NULL)
		return;
	verb = resource == NULL ? method_verb(call->http->method)
	                        : object_verb(request->verb);
	plural = pl_span_str(resource == NULL ? "" : resource->plural);
	if (resource != NULL) {
		scope = pl_span_str(scope_of(request));
		if (status != 404) /* else it may be any word */
			subresource = request->path.subresource;
	}
	metric_add(set, M_API_REQUESTS,
	           METRIC_VALUES(verb,
	                         pl_span_str(resource == NULL ? "" : resource->group),
	                         pl_span_str(resource == NULL ? "" : resource->version),
	                         plural, subresource, scope, status_text(status, code)),
	           1);
	if (resource == NULL || request->verb != REQUEST_WATCH)
		metric_observe(set, M_API_SECONDS,
		               METRIC_VALUES(verb, plural, subresource, scope),
		               (double)(uv_hrtime() - call->began_ns) / 1e9);
}

/* -- what there is now ----------------------------------------------------------------------- */

enum { WATCHED_MAX = 128 };

/* Watches by resource; so many as there are watches are counted one by one. */
struct watched {
	const struct schema_resource *resource[WATCHED_MAX];
	uint64_t watches[WATCHED_MAX];
	unsigned count;
};

static void count_watch(struct watched *watched, const struct schema_resource *resource)
{
	unsigned i = 0;

	while (i < watched->count && watched->resource[i] != resource)
		i++;
	if (i == WATCHED_MAX)
		return;
	if (i == watched->count)
		watched->resource[watched->count++] = resource;
	watched->watches[i]++;
}

static void collect_requests(struct api_server *server, struct metric_set *set)
{
	struct watched watched = {.count = 0};
	uint64_t reads = 0, changes = 0;

	PL_LIST_EACH (link, &server->api.requests) {
		const struct request *request = PL_LIST_ITEM(link, struct request, link);

		if (request->exchange ==
		    NULL) /* an item of a List, or its client is gone */
			continue;
		if (request->verb == REQUEST_WATCH && request->path.resource != NULL)
			count_watch(&watched, request->path.resource);
		else if (request->http->body.len == 0 && request->verb <= REQUEST_WATCH)
			reads++; /* with a body it may wait for its turn, without a verb */
		else
			changes++;
	}
	metric_add(set, M_API_IN_FLIGHT, METRIC_VALUES(PL_SPAN_LIT("readOnly")),
	           (double)reads);
	metric_add(set, M_API_IN_FLIGHT, METRIC_VALUES(PL_SPAN_LIT("mutating")),
	           (double)changes);
	for (unsigned i = 0; i < watched.count; i++)
		metric_add(set, M_API_LONG,
		           METRIC_VALUES(PL_SPAN_LIT("WATCH"),
		                         pl_span_str(watched.resource[i]->group),
		                         pl_span_str(watched.resource[i]->version),
		                         pl_span_str(watched.resource[i]->plural)),
		           (double)watched.watches[i]);
}

static void collect_http(const struct http_server *http, struct metric_set *set)
{
	struct http_server_counts counts;

	http_server_counts(http, &counts);
	metric_add(set, M_HTTP_OPEN, NULL, counts.open_conns);
	metric_add(set, M_HTTP_EXCHANGES, NULL, counts.open_exchanges);
	metric_add(set, M_HTTP_CONNS, METRIC_VALUES(PL_SPAN_LIT("accepted")),
	           (double)counts.conns);
	metric_add(set, M_HTTP_CONNS, METRIC_VALUES(PL_SPAN_LIT("refused")),
	           (double)counts.conns_refused);
	metric_add(set, M_HTTP_REQUESTS, METRIC_VALUES(PL_SPAN_LIT("handed_over")),
	           (double)counts.requests);
	metric_add(set, M_HTTP_REQUESTS, METRIC_VALUES(PL_SPAN_LIT("bad")),
	           (double)counts.bad_requests);
	metric_add(set, M_HTTP_REQUESTS, METRIC_VALUES(PL_SPAN_LIT("cut")),
	           (double)counts.cut);
	metric_add(set, M_HTTP_BYTES, METRIC_VALUES(PL_SPAN_LIT("in")),
	           (double)counts.bytes_in);
	metric_add(set, M_HTTP_BYTES, METRIC_VALUES(PL_SPAN_LIT("out")),
	           (double)counts.bytes_out);
	metric_add(set, M_HTTP_HELD, NULL, (double)counts.held_bytes);
}

void api_server_collect(struct api_server *server, struct metric_set *set)
{
	if (server->metrics != NULL)
		metric_set_merge(set, server->metrics);
	metric_put(set, M_API_READY, NULL, server->state == API_SERVER_SERVING);
	if (server->http != NULL)
		collect_http(server->http, set);
	collect_requests(server, set);
	if (!server->has_hub)
		return;
	metric_add(set, M_API_WATCH_EVENTS, METRIC_VALUES(PL_SPAN_LIT("encoded")),
	           (double)server->hub.events);
	metric_add(set, M_API_WATCH_EVENTS, METRIC_VALUES(PL_SPAN_LIT("delivered")),
	           (double)server->hub.deliveries);
	metric_add(set, M_API_WATCH_EVENTS, METRIC_VALUES(PL_SPAN_LIT("cut")),
	           (double)server->hub.cut);
}
