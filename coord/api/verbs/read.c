/* Lists in pages and pieces, and the beginning of watches. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "coord/api/objects/shown_walk.h"
#include "coord/api/verbs/change.h"
#include "coord/api/verbs/continue_token.h"
#include "store/base/alloc.h"

enum {
	PIECE_BYTES = 256 << 10,
	AHEAD_BYTES =
		8 << 20, /* that may wait for the client of a list: half of the limit */
	WATCH_MS_LEAST = 1800 * 1000,
	TIMEOUT_S_MAX = 86400,
};

/* -- lists ----------------------------------------------------------------------------- */

struct list_stream {
	struct object_filter filter;
	char prefix[SOURCE_ORDER_MAX];
	size_t prefix_len;
	int64_t revision;
	int64_t limit;       /* objects that may still come; INT64_MAX: all */
	struct pl_buf after; /* order of the last object that was written */
	/* order of the last object of a Table's page, whose head is written first */
	struct pl_buf page_end;
	struct pl_buf buf; /* bytes that have not been sent yet */
	struct pl_json_out out;
	struct table_writer table;
	struct pl_arena scratch, rows;
	bool head_only, table_open, streaming,
		more; /* more: objects follow behind the limit */
	bool some;
};

void list_stream_free(struct request *request)
{
	struct list_stream *list = request->list;

	if (list == NULL)
		return;
	request->list = NULL;
	if (list->table_open)
		table_writer_done(&list->table);
	pl_buf_done(&list->after);
	pl_buf_done(&list->page_end);
	pl_buf_done(&list->buf);
	pl_arena_done(&list->scratch);
	pl_arena_done(&list->rows);
	free(list);
}

static bool is_table(const struct request *request)
{
	return request->shape.as == ACCEPT_AS_TABLE;
}

/* "PodList" and its version. */
static enum pl_code begin_plain(struct request *request, struct list_stream *list)
{
	const struct schema_resource *resource = request->path.resource;
	char version[128];

	if (request->shape.as == ACCEPT_AS_METADATA)
		return pl_buf_printf(&list->buf,
		                     "{\"kind\":\"PartialObjectMetadataList\","
		                     "\"apiVersion\":\"%s\",\"items\":[",
		                     request->shape.beta ? "meta.k8s.io/v1beta1"
		                                         : "meta.k8s.io/v1");
	return pl_buf_printf(&list->buf,
	                     "{\"kind\":\"%sList\",\"apiVersion\":\"%s\",\"items\":[",
	                     resource->kind, schema_api_version(resource, version));
}

static struct pl_span next_token(struct request *request, const struct list_stream *list)
{
	if (!list->more)
		return (struct pl_span){0};
	return continue_token_print(&request->arena, list->revision,
	                            list->page_end.len > 0 ? pl_buf_span(&list->page_end)
	                                                   : pl_buf_span(&list->after));
}

static enum pl_code end_plain(struct request *request, struct list_stream *list)
{
	struct pl_span token = next_token(request, list);
	enum pl_code code = pl_buf_printf(
		&list->buf, "],\"metadata\":{\"resourceVersion\":\"%" PRId64 "\"",
		list->revision);

	if (code == PL_OK && token.len > 0)
		code = pl_buf_printf(&list->buf, ",\"continue\":\"" PL_SPAN_FMT "\"",
		                     PL_SPAN_ARG(token));
	return code == PL_OK ? pl_buf_add_str(&list->buf, "}}\n") : code;
}

static void begin_table(struct request *request, struct list_stream *list)
{
	const struct schema_resource *resource = request->path.resource;
	struct list_meta head = {.revision = list->revision};

	/* A page of a Table is written whole, so that its token is known first. */
	head.continue_token = next_token(request, list);
	pl_json_out_init(&list->out, &list->buf);
	list->table = (struct table_writer){
		.out = &list->out,
		.arena = &list->rows,
		.kind = table_kind_find(resource->group, resource->plural),
		.now_ms = request->api->wall_ms(request->api->clock_ctx),
		.include = request->shape.include,
		.beta = request->shape.beta,
	};
	table_writer_init(&list->table);
	list->table_open = true;
	table_begin(&list->table, &head, true);
}

static enum pl_code add_row(struct list_stream *list, const struct object *object)
{
	struct pl_buf whole;
	struct pl_json value;
	struct pl_err err = {0};
	enum pl_code code;

	pl_arena_reset(&list->scratch);
	pl_arena_reset(&list->rows);
	pl_buf_init(&whole, OBJECT_TEXT_MAX);
	code = object_write(object, &whole);
	if (code == PL_OK)
		code = pl_json_parse(&list->scratch, pl_buf_span(&whole), NULL, &value,
		                     &err);
	if (code == PL_OK)
		table_add(&list->table, value);
	pl_buf_done(&whole);
	return code;
}

static enum pl_code add_object(struct request *request, struct list_stream *list,
                               const struct object *object)
{
	enum pl_code code = PL_OK;

	list->after.len = 0;
	code = pl_buf_add(&list->after, source_object_order(object));
	if (code != PL_OK)
		return code;
	if (is_table(request))
		return add_row(list, object);
	if (list->some)
		code = pl_buf_add_str(&list->buf, ",");
	list->some = true;
	if (code == PL_OK)
		code = object_shape_write(request->shape, object, false, 0,
		                          &list->scratch, &list->buf);
	return code;
}

static enum pl_code list_end(struct request *request, struct list_stream *list)
{
	if (!is_table(request))
		return end_plain(request, list);
	table_end(&list->table);
	return pl_json_out_done(&list->out);
}

/* The objects behind the last one that was written. */
static enum pl_code walk_begin(struct request *request, struct list_stream *list,
                               struct shown_walk *walk)
{
	return shown_walk_begin(request->api->sources, request->path.resource,
	                        pl_span(list->prefix, list->prefix_len),
	                        pl_buf_span(&list->after), list->revision, &list->filter,
	                        walk);
}

/* Behind a page's last object the walk looks for one more; a Table knew before. */
static bool list_goes_on(const struct request *request, const struct list_stream *list)
{
	return list->limit > 0 || (!list->more && !is_table(request));
}

/* Writes objects until a piece is full (PL_BUSY) or the list is whole (PL_OK). */
static enum pl_code list_fill(struct request *request, struct list_stream *list)
{
	struct shown_walk walk;
	struct object object;
	enum pl_code code = walk_begin(request, list, &walk);

	while (code == PL_OK && list_goes_on(request, list) &&
	       shown_walk_next(&walk, &object)) {
		if (!object_filter_matches(&list->filter, &object))
			continue;
		if (list->limit == 0) {
			list->more = true;
			break;
		}
		list->limit--;
		code = add_object(request, list, &object);
		if (code == PL_OK && list->buf.len >= PIECE_BYTES && list->limit > 0 &&
		    request->accept.format == ACCEPT_JSON)
			return PL_BUSY;
	}
	return code == PL_OK ? list_end(request, list) : code;
}

/* Whether more objects than limit pass the filter. */
static enum pl_code find_more(struct request *request, struct list_stream *list)
{
	struct shown_walk walk;
	struct object object;
	int64_t count = 0;
	enum pl_code code = walk_begin(request, list, &walk);

	if (code != PL_OK || list->limit == INT64_MAX)
		return code;
	while (!list->more && shown_walk_next(&walk, &object))
		if (object_filter_matches(&list->filter, &object))
			list->more = ++count > list->limit;
	return PL_OK;
}

/* The order of the last object of a page, which a Table's head needs before its rows. */
static enum pl_code find_last(struct request *request, struct list_stream *list,
                              struct pl_buf *last)
{
	struct shown_walk walk;
	struct object object;
	int64_t count = 0;
	enum pl_code code = walk_begin(request, list, &walk);

	while (code == PL_OK && count < list->limit && shown_walk_next(&walk, &object)) {
		if (!object_filter_matches(&list->filter, &object))
			continue;
		count++;
		if (count == list->limit)
			code = pl_buf_add(last, source_object_order(&object));
	}
	return code;
}

static enum pl_code list_begin(struct request *request, struct list_stream *list)
{
	enum pl_code code = PL_OK;

	if (!is_table(request))
		return begin_plain(request, list);
	if (list->more)
		code = find_last(request, list, &list->page_end);
	if (code == PL_OK)
		begin_table(request, list);
	return code;
}

static void send_piece(struct request *request, struct list_stream *list)
{
	http_stream_send_copy(request->exchange, pl_buf_span(&list->buf));
	list->buf.len = 0;
}

static void answer_bad_token(struct request *request)
{
	struct api_status status = status_bad_request(
		PL_SPAN_LIT("continue: the token is not one of this list"));

	answer_status(request, &status);
}

static void list_failed(struct request *request, enum pl_code code)
{
	struct list_stream *list = request->list;
	struct api_status status;

	if (list->streaming) { /* the head says 200 already */
		http_exchange_cut(request->exchange);
	} else if (code == PL_COMPACTED) {
		status = status_expired(pl_span_str(status_continue_expired_message));
		answer_status(request, &status);
	} else if (code == PL_FUTURE) { /* a token that was made up */
		answer_bad_token(request);
	} else {
		answer_no_memory(request);
	}
	list_stream_free(request);
}

void list_stream_room(struct request *request)
{
	const struct http_field field = {PL_SPAN_LIT("content-type"),
	                                 PL_SPAN_LIT("application/json")};
	struct list_stream *list = request->list;
	enum pl_code code;

	while (http_exchange_pending(request->exchange) < AHEAD_BYTES) {
		code = list_fill(request, list);
		if (code != PL_OK && code != PL_BUSY) {
			list_failed(request, code);
			return;
		}
		if (code == PL_OK && !list->streaming) {
			answer_json(request, 200, pl_buf_span(&list->buf));
			list_stream_free(request);
			return;
		}
		if (!list->streaming) {
			request->answered = true;
			http_stream_begin(request->exchange, 200, &field, 1);
			list->streaming = true;
		}
		send_piece(request, list);
		if (code == PL_OK) {
			http_stream_end(request->exchange);
			list_stream_free(request);
			return;
		}
	}
}

bool request_filter(struct request *request, struct object_filter *filter)
{
	struct pl_span why = {0};
	struct api_status status;
	enum pl_code code = label_selector_parse(
		&request->arena, request->query.labelSelector, &filter->labels, &why);

	if (code == PL_OK)
		code = field_selector_parse(
			&request->arena, request->path.resource->group,
			request->path.resource->plural, request->query.fieldSelector,
			&filter->fields, &why);
	if (code == PL_OK)
		return true;
	if (code == PL_NOMEM)
		status = status_internal(&request->arena, PL_SPAN_LIT("out of memory"));
	else
		status = status_bad_request(why);
	answer_status(request, &status);
	return false;
}

static void parse_limit(const struct request *request, struct list_stream *list)
{
	if (!request_number(request->query.limit, &list->limit) || list->limit == 0)
		list->limit = INT64_MAX;
}

static void list_fresh(struct request *request)
{
	struct list_stream *list = request->list;
	enum pl_code code = PL_OK;

	if (list->revision == 0)
		list->revision =
			shown_revision(request->api->sources, request->path.resource);
	if (is_table(request))
		code = find_more(request, list);
	if (code == PL_OK)
		code = list_begin(request, list);
	if (code == PL_OK)
		list_stream_room(request);
	else
		list_failed(request, code);
}

static bool begin_at(struct request *request, struct list_stream *list)
{
	struct pl_span order;
	int64_t revision;

	if (request->query.continue_.len == 0) {
		if (pl_span_eq(request->query.resourceVersionMatch,
		               PL_SPAN_LIT("Exact")) &&
		    request_number(request->query.resourceVersion, &revision))
			list->revision = revision;
		return true;
	}
	if (!continue_token_parse(&request->arena, request->query.continue_,
	                          &list->revision, &order) ||
	    pl_buf_add(&list->after, order) != PL_OK ||
	    !pl_span_starts(order, pl_span(list->prefix, list->prefix_len))) {
		answer_bad_token(request);
		return false;
	}
	return true;
}

void request_list(struct request *request)
{
	struct list_stream *list = pl_calloc(1, sizeof *list);

	if (list == NULL) {
		answer_no_memory(request);
		return;
	}
	request->list = list;
	/* An answer to HEAD has no body: one object shows what its head would be. */
	list->head_only = pl_span_eq(request->http->method, PL_SPAN_LIT("HEAD"));
	pl_buf_init(&list->after, SOURCE_ORDER_MAX);
	pl_buf_init(&list->page_end, SOURCE_ORDER_MAX);
	pl_buf_init(&list->buf, OBJECT_TEXT_MAX);
	pl_arena_init(&list->scratch, 16 << 10, REQUEST_ARENA_MAX);
	pl_arena_init(&list->rows, 4096, REQUEST_ARENA_MAX);
	list->prefix_len = source_prefix(request->path.resource, request->path.namespace,
	                                 (struct pl_span){0}, list->prefix);
	parse_limit(request, list);
	if (list->head_only)
		list->limit = 1;
	if (!request_filter(request, &list->filter) || !begin_at(request, list)) {
		list_stream_free(request);
		return;
	}
	/* The token may come from a server that is ahead of this one. */
	if (request->query.continue_.len > 0)
		request->query.resourceVersion = pl_span_str(
			pl_arena_printf(&request->arena, "%" PRId64, list->revision));
	request_when_fresh(request, list_fresh);
}

/* -- watches ----------------------------------------------------------------------------- */

/* A timeout of the client's, or a random one, so that clients do not come back together. */
static uint64_t watch_timeout_ms(struct request *request)
{
	int64_t seconds;

	if (request_number(request->query.timeoutSeconds, &seconds) && seconds > 0)
		return (uint64_t)(seconds > TIMEOUT_S_MAX ? TIMEOUT_S_MAX : seconds) *
		       1000;
	return WATCH_MS_LEAST + pl_rng_below(&request->api->rng, WATCH_MS_LEAST);
}

static void watch_fresh(struct request *request)
{
	struct pl_span initial = request->query.sendInitialEvents;
	bool initial_end = request_is_true(initial);
	struct watch_opts opts = {
		.resource = request->path.resource,
		.namespace = request->path.namespace,
		.name = request->path.name,
		.label_selector = request->query.labelSelector,
		.field_selector = request->query.fieldSelector,
		.shape = request->shape,
		.bookmarks = request_is_true(request->query.allowWatchBookmarks),
		.initial_end = initial_end,
		.timeout_ms = watch_timeout_ms(request),
	};
	struct api_status status;
	struct pl_err err = {0};
	enum pl_code code;

	(void)request_number(request->query.resourceVersion, &opts.revision);
	opts.initial = initial_end || opts.revision == 0;
	if (initial.at != NULL && !initial_end)
		opts.initial = false;
	code = watch_begin(request->api->hub, &opts, request->exchange, &request->watcher,
	                   &err);
	if (code == PL_OK) {
		request->answered = true;
		return;
	}
	if (code == PL_COMPACTED)
		status = status_expired(pl_span_str(status_watch_expired_message));
	else if (code == PL_INVALID)
		status = status_bad_request(pl_span_str(err.msg));
	else
		status = status_of_store(&request->arena, request_about(request), "watch",
		                         code, &err);
	answer_status(request, &status);
}

void request_watch(struct request *request)
{
	request_when_fresh(request, watch_fresh);
}
