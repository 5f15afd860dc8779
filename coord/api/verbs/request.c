#include "coord/api/verbs/request.h"

#include <stdlib.h>

#include "coord/api/objects/shown_names.h"
#include "coord/api/verbs/change.h"
#include "coord/api/verbs/explanation.h"
#include "coord/api/verbs/request_options.h"
#include "coord/api/verbs/review.h"
#include "store/base/alloc.h"
#include "store/base/yaml.h"

/* A pod that is created takes two of them. Requests without a body live long (watches), or
 * need little. */
enum { WRITE_ARENA_CHUNK = 16 << 10 };

/* -- life ---------------------------------------------------------------------------- */

static void request_free(struct request *request)
{
	struct api *api = request->api;

	list_stream_free(request);
	if (request->change != NULL)
		change_drop(request->change);
	pl_list_del(&request->link);
	pl_buf_done(&request->warnings);
	pl_arena_done(&request->arena);
	free(request);
	if (--api->open == 0 && api->stopping)
		api->idle(api->idle_ctx);
}

static void free_if_over(struct request *request)
{
	if (request->exchange == NULL && request->busy == 0)
		request_free(request);
}

void request_unbusy(struct request *request)
{
	PL_ASSERT(request->busy > 0);
	request->busy--;
	free_if_over(request);
}

static void request_gone(struct exchange_user *user)
{
	struct request *request = (struct request *)user; /* the first member */

	request->exchange = NULL;
	request->http = NULL;
	pl_list_del(&request->turn);
	request->identity = NULL;
	if (request->watcher != NULL)
		watcher_gone(request->watcher);
	request->watcher = NULL;
	if (request->wait.cache != NULL) {
		cache_wait_end(&request->wait);
		request->busy--;
	}
	if (request->abandon != NULL) {
		void (*abandon)(struct request *) = request->abandon;

		request->abandon = NULL;
		request->busy++; /* the request lives until here */
		abandon(request);
		request_unbusy(request);
		return;
	}
	free_if_over(request);
}

static void request_room(struct exchange_user *user)
{
	struct request *request = (struct request *)user; /* the first member */

	if (request->watcher != NULL)
		watcher_room(request->watcher);
	else if (request->list != NULL)
		list_stream_room(request);
}

void request_may_be_abandoned(struct request *request,
                              void (*abandon)(struct request *request), void *work)
{
	request->abandon = abandon;
	request->work = work;
	if (request->exchange != NULL)
		http_exchange_watch_client(request->exchange);
}

/* -- answers --------------------------------------------------------------------------- */

enum { FIELDS_MAX = 24 };

/* The fields of an answer's head: its type, Retry-After, and a Warning each. */
static size_t head_fields(struct request *request, const char *type, uint32_t retry_s,
                          struct http_field out[FIELDS_MAX])
{
	struct pl_span lines = pl_buf_span(&request->warnings);
	size_t count = 0;

	out[count++] =
		(struct http_field){PL_SPAN_LIT("content-type"), pl_span_str(type)};
	out[count++] = (struct http_field){PL_SPAN_LIT("cache-control"),
	                                   PL_SPAN_LIT("no-cache, private")};
	if (retry_s > 0)
		out[count++] = (struct http_field){
			PL_SPAN_LIT("retry-after"),
			pl_span_str(pl_arena_printf(&request->arena, "%u",
		                                    (unsigned)retry_s))};
	while (lines.len > 0 && count < FIELDS_MAX) {
		const uint8_t *end = memchr(lines.at, '\n', lines.len);
		size_t len = end == NULL ? lines.len : (size_t)(end - lines.at);

		out[count++] = (struct http_field){PL_SPAN_LIT("warning"),
		                                   pl_span(lines.at, len)};
		len += end == NULL ? 0 : 1;
		lines = pl_span(lines.at + len, lines.len - len);
	}
	return count;
}

static void answer_bytes(struct request *request, int status, const char *type,
                         uint32_t retry_s, struct pl_span body)
{
	struct http_field fields[FIELDS_MAX];
	size_t count;

	PL_ASSERT(!request->answered);
	request->answered = true;
	if (request->bulk != NULL) {
		bulk_answered(request, status, body);
		return;
	}
	if (request->exchange == NULL)
		return;
	count = head_fields(request, type, retry_s, fields);
	http_respond(request->exchange, status, fields, count, body);
}

static void answer_text(struct request *request, int status, uint32_t retry_s,
                        struct pl_span json)
{
	struct pl_json value;
	struct pl_json_limits limits = {
		.bytes = (size_t)1 << 30, .depth = PL_JSON_DEPTH_MAX, .values = 1 << 28};
	struct pl_buf out;
	struct pl_err err = {0};

	if (request->accept.format != ACCEPT_YAML) {
		answer_bytes(request, status, "application/json", retry_s, json);
		return;
	}
	pl_buf_init(&out, OBJECT_TEXT_MAX);
	if (pl_json_parse(&request->arena, json, &limits, &value, &err) == PL_OK &&
	    pl_yaml_from_json(value, &out, &err) == PL_OK)
		answer_bytes(request, status, "application/yaml", retry_s,
		             pl_buf_span(&out));
	else
		answer_bytes(request, status, "application/json", retry_s, json);
	pl_buf_done(&out);
}

void answer_json(struct request *request, int http_status, struct pl_span json)
{
	answer_text(request, http_status, 0, json);
}

void answer_status(struct request *request, const struct api_status *status)
{
	struct pl_json_out out;
	struct pl_buf buf;

	pl_buf_init(&buf, 8 << 20);
	pl_json_out_init(&out, &buf);
	status_write(&out, status);
	if (pl_json_out_done(&out) == PL_OK)
		answer_text(request, status_http_code(status), status->retry_after_s,
		            pl_buf_span(&buf));
	else
		answer_bytes(request, 500, "application/json", 0,
		             PL_SPAN_LIT("{\"kind\":\"Status\",\"apiVersion\":\"v1\","
		                         "\"status\":\"Failure\",\"message\":\"out of "
		                         "memory\",\"reason\":\"InternalError\","
		                         "\"code\":500}"));
	pl_buf_done(&buf);
}

void answer_no_memory(struct request *request)
{
	struct api_status status =
		status_internal(&request->arena, PL_SPAN_LIT("out of memory"));

	answer_status(request, &status);
}

void answer_store_error(struct request *request, const struct pl_err *err)
{
	struct api_status status =
		status_of_store(&request->arena, request_about(request),
	                        request_verb_word(request->verb), err->code, err);

	answer_status(request, &status);
}

void answer_object(struct request *request, int http_status, const struct object *object)
{
	struct pl_arena scratch;
	struct pl_buf buf;
	enum pl_code code;

	pl_arena_init(&scratch, 16 << 10, REQUEST_ARENA_MAX);
	pl_buf_init(&buf, OBJECT_TEXT_MAX);
	code = object_shape_write(request->shape, object, true,
	                          request->api->wall_ms(request->api->clock_ctx),
	                          &scratch, &buf);
	if (code == PL_OK)
		answer_json(request, http_status, pl_buf_span(&buf));
	else
		answer_no_memory(request);
	pl_buf_done(&buf);
	pl_arena_done(&scratch);
}

void answer_made(struct request *request, int http_status, struct pl_span json)
{
	struct pl_arena scratch;
	struct pl_buf buf;
	enum pl_code code;

	pl_arena_init(&scratch, 16 << 10, REQUEST_ARENA_MAX);
	pl_buf_init(&buf, OBJECT_TEXT_MAX);
	code = object_shape_text(request->shape, request->path.resource, json,
	                         request->api->wall_ms(request->api->clock_ctx), &scratch,
	                         &buf);
	if (code == PL_OK)
		answer_json(request, http_status, pl_buf_span(&buf));
	else
		answer_no_memory(request);
	pl_buf_done(&buf);
	pl_arena_done(&scratch);
}

/* -- freshness ------------------------------------------------------------------------- */

static void on_fresh(void *ctx, int64_t revision, const struct pl_err *err);

static void wait_for(struct request *request, struct cache *cache)
{
	struct pl_err err = {0};

	if (cache_wait(cache, &request->wait, request->fresh_revision, REQUEST_FRESH_MS,
	               on_fresh, request, &err) == PL_OK)
		request->busy++;
	else
		answer_store_error(request, &err);
}

static void wait_also(struct request *request)
{
	struct cache *also = request->also;

	request->also = NULL;
	wait_for(request, also);
}

static void on_fresh(void *ctx, int64_t revision, const struct pl_err *err)
{
	struct request *request = ctx;

	(void)revision;
	if (err == NULL && request->also != NULL)
		wait_also(request);
	else if (err == NULL)
		request->fresh(request);
	else if (err->code == PL_FUTURE || err->code == PL_TIMEOUT) {
		struct api_status status =
			status_revision_too_large(&request->arena, 0, revision, 1);

		answer_status(request, &status);
	} else {
		answer_store_error(request, err);
	}
	request_unbusy(request);
}

static struct cache *source_cache(struct request *request, bool *can_be_fresh)
{
	enum source_kind kind;
	bool has_source = source_of_resource(request->path.resource, &kind);

	PL_ASSERT(has_source);
	*can_be_fresh = source_can_be_fresh(request->api->sources, kind);
	return request->api->sources->source[kind].cache;
}

/* The informer that the resource is made from besides its own; NULL: none. */
static struct cache *source_also(const struct request *request)
{
	const struct schema_resource *resource = request->path.resource;

	if (strcmp(resource->plural, "events") == 0)
		return request->api->sources->source[SOURCE_PODS].cache;
	if (strcmp(resource->plural, "shards") == 0)
		return request->api->sources->source[SOURCE_CONFIGS].cache;
	return NULL;
}

static bool is_as_new(const struct cache *cache, int64_t revision)
{
	return cache == NULL ||
	       (cache_synced(cache) && revision <= cache_revision(cache));
}

void request_when_fresh(struct request *request, void (*fresh)(struct request *request))
{
	struct pl_span version = request->query.resourceVersion;
	bool can_be_fresh;
	struct cache *cache = source_cache(request, &can_be_fresh);
	int64_t revision = 0;

	if (version.len > 0 && !request_number(version, &revision)) {
		struct api_status status = status_bad_request(pl_span_str(
			pl_arena_printf(&request->arena,
		                        "resourceVersion: Invalid value: \"" PL_SPAN_FMT
		                        "\": must be a number",
		                        PL_SPAN_ARG(version))));

		answer_status(request, &status);
		return;
	}
	request->also = source_also(request);
	if ((version.len > 0 || !can_be_fresh) && is_as_new(cache, revision) &&
	    is_as_new(request->also, revision)) {
		fresh(request);
		return;
	}
	/* "0" before the first list: whatever comes. */
	if (version.len > 0 && revision == 0)
		revision = 1;
	request->fresh = fresh;
	request->fresh_revision = revision;
	wait_for(request, cache);
}

void request_wait(struct request *request, struct cache *cache, int64_t revision,
                  void (*fresh)(struct request *request))
{
	request->also = NULL;
	request->fresh = fresh;
	request->fresh_revision = revision;
	wait_for(request, cache);
}

void request_wait_change(struct request *request, struct cache *cache, int64_t revision,
                         void (*fresh)(struct request *request))
{
	struct pl_err err = {0};

	request->also = NULL;
	request->fresh = fresh;
	if (cache_wait_change(cache, &request->wait, revision, REQUEST_FRESH_MS, on_fresh,
	                      request, &err) == PL_OK)
		request->busy++;
	else
		answer_store_error(request, &err);
}

/* Partitions and configurations are there without a key, too. */
static bool object_without_key(struct request *request, struct object *out)
{
	const struct request_path *path = &request->path;
	char *order;

	if (!shown_names_any(path->resource) ||
	    shown_name_behind(request->api->sources, path->resource, path->name) ==
	            UINT32_MAX)
		return false;
	order = pl_arena_printf(&request->arena, PL_SPAN_FMT "/",
	                        PL_SPAN_ARG(path->name));
	if (order == NULL)
		return false;
	*out = shown_name_object(path->resource, path->name, pl_span_str(order));
	return true;
}

bool request_object(struct request *request, struct object *out)
{
	return source_get(request->api->sources, request->path.resource,
	                  request->path.namespace, request->path.name, out) ||
	       object_without_key(request, out);
}

/* -- start ------------------------------------------------------------------------------- */

static bool is_placet(const struct request *request, const char *plural)
{
	return strcmp(request->path.resource->group, "placet.io") == 0 &&
	       strcmp(request->path.resource->plural, plural) == 0;
}

/* The objects of all namespaces are only listed and watched. */
static bool is_in_reach(const struct request *request)
{
	return is_placet(request, "plans") || /* a plan is stored in none */
	       !request->path.resource->namespaced || request->path.namespace.len > 0 ||
	       request->verb == REQUEST_LIST || request->verb == REQUEST_WATCH;
}

static bool negotiate(struct request *request)
{
	struct accept_offers offers = {
		.table = request->verb != REQUEST_CREATE || true,
		.metadata = request->verb != REQUEST_LIST,
		.metadata_list = request->verb == REQUEST_LIST,
		.stream = request->verb == REQUEST_WATCH,
	};
	struct pl_span header = http_request_field(request->http, "accept");

	if (accept_negotiate(header, offers, &request->accept)) {
		request->shape.as = request->accept.as;
		request->shape.beta = request->accept.beta;
		if (request->accept.as == ACCEPT_AS_METADATA_LIST)
			request->shape.as = ACCEPT_AS_METADATA;
		return true;
	}
	return false;
}

static bool is_apply(const struct request *request)
{
	enum body_format format;

	return request->verb == REQUEST_PATCH &&
	       accept_body(http_request_field(request->http, "content-type"), true,
	                   &format) &&
	       format == BODY_APPLY;
}

static void dispatch(struct request *request)
{
	if (review_is_one(request->path.resource)) {
		request_review(request);
		return;
	}
	if (is_placet(request, "explanations")) {
		request_explain(request);
		return;
	}
	if (is_placet(request, "plans")) {
		request_plan(request);
		return;
	}
	if (is_placet(request, "tokens") && request->verb == REQUEST_CREATE) {
		request_token(request);
		return;
	}
	switch (request->verb) {
	case REQUEST_GET:
		request_get(request);
		return;
	case REQUEST_LIST:
		request_list(request);
		return;
	case REQUEST_WATCH:
		request_watch(request);
		return;
	case REQUEST_CREATE:
		request_create(request);
		return;
	case REQUEST_UPDATE:
	case REQUEST_PATCH:
		request_update(request);
		return;
	case REQUEST_DELETE:
		request_delete(request);
		return;
	case REQUEST_DELETE_COLLECTION:
		request_delete_collection(request);
		return;
	}
}

static void run(struct request *request)
{
	struct api_status status;
	uint16_t needed = 0;

	if (!request_path_parse(&request->arena, request->http->path, &request->path,
	                        &status) ||
	    !request_query_parse(&request->arena, request->http->query, &request->query,
	                         &status)) {
		answer_status(request, &status);
		return;
	}
	if (!request_verb_find(request->http->method, &request->path, &request->query,
	                       &request->verb, &needed) ||
	    !is_in_reach(request) ||
	    (request->path.subresource.len == 0 &&
	     (request->path.resource->verbs & needed) == 0)) {
		status = status_no_such_method();
		answer_status(request, &status);
		return;
	}
	if (!table_include_parse(request->query.includeObject, &request->shape.include)) {
		status = status_bad_request(PL_SPAN_LIT(
			"includeObject must be one of: None, Metadata, Object"));
		answer_status(request, &status);
		return;
	}
	if (!negotiate(request)) {
		status = status_not_acceptable(&request->arena, accept_types);
		answer_status(request, &status);
		return;
	}
	if (!options_check(&request->arena, request->verb, &request->query,
	                   is_apply(request), &status)) {
		answer_status(request, &status);
		return;
	}
	dispatch(request);
}

struct request *request_child(struct request *parent)
{
	struct request *child = pl_calloc(1, sizeof *child);

	if (child == NULL)
		return NULL;
	child->api = parent->api;
	child->http = parent->http;
	child->verb = parent->verb;
	child->path = parent->path;
	child->query = parent->query;
	child->user_name = parent->user_name; /* the identity may go before the child */
	pl_arena_init(&child->arena, WRITE_ARENA_CHUNK, REQUEST_ARENA_MAX);
	pl_buf_init(&child->warnings, 64 << 10);
	pl_list_init(&child->link);
	pl_list_init(&child->turn);
	pl_list_add_tail(&child->api->requests, &child->link);
	child->api->open++;
	child->busy++; /* until request_child_begun */
	return child;
}

void request_child_begun(struct request *child)
{
	child->http = NULL; /* the parent's, which may go */
	request_unbusy(child);
}

struct request *request_start(struct api *api, struct http_exchange *exchange,
                              const struct request_client *client)
{
	struct request *request = pl_calloc(1, sizeof *request);

	if (request == NULL) {
		http_exchange_cut(exchange);
		return NULL;
	}
	request->api = api;
	request->exchange = exchange;
	request->http = http_exchange_request(exchange);
	request->identity = client->identity;
	request->by_cluster = client->by_cluster;
	pl_arena_init(&request->arena,
	              request->http->body.len > 0 ? WRITE_ARENA_CHUNK : 0,
	              REQUEST_ARENA_MAX);
	pl_buf_init(&request->warnings, 64 << 10);
	pl_list_init(&request->link);
	pl_list_init(&request->turn);
	pl_list_add_tail(&api->requests, &request->link);
	api->open++;
	request->user =
		(struct exchange_user){.room = request_room, .gone = request_gone};
	http_exchange_set_user(exchange, request);
	request->user_name = pl_arena_dup(&request->arena, client->identity->user);
	if (request->user_name.at == NULL)
		answer_no_memory(request);
	else if (request->http->body.len == 0 ||
	         request_turns_may(&api->turns, &request->turn))
		run(request);
	return request;
}

static void on_turn(struct pl_list *link)
{
	run(PL_CONTAINER_OF(link, struct request, turn));
}

enum pl_code api_open(struct api *api, struct pl_err *err)
{
	pl_list_init(&api->requests);
	if (request_turns_open(&api->turns, kv_timers(api->kv), on_turn, api->now_ms,
	                       api->clock_ctx) != PL_OK)
		return pl_err_set(err, PL_NOMEM, "the turns of requests");
	return PL_OK;
}

void api_close(struct api *api)
{
	request_turns_close(&api->turns);
}
