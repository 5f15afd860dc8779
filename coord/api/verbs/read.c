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
	TURN_OBJECTS = 1000, /* that a list looks at before others come */
	WATCH_MS_LEAST = 1800 * 1000,
	TIMEOUT_S_MAX = 86400,
};

enum list_stage {
	LIST_FINDING, /* of a Table: whether there is a next page, and where this one ends */
	LIST_WRITING,
};

/* -- lists ----------------------------------------------------------------------------- */

struct list_stream {
	struct object_filter filter;
	char prefix[SOURCE_ORDER_MAX];
	size_t prefix_len;
	int64_t revision;
	int64_t limit; /* objects that may still come; INT64_MAX: all */
	int64_t found; /* LIST_FINDING: objects that pass the filter */
	enum list_stage stage;
	unsigned looked;       /* at objects, in this turn */
	struct pl_timer again; /* the next turn */
	struct pl_span begin;  /* the page comes behind it; in the request's arena */
	/* order of the last object that was looked at; in the end, that was written */
	struct pl_buf after;
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
	pl_timer_done(&list->again);
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

/* The objects behind the last one that was looked at. */
static enum pl_code walk_begin(struct request *request, struct list_stream *list,
                               struct shown_walk *walk)
{
	return shown_walk_begin(request->api->sources, request->path.resource,
	                        pl_span(list->prefix, list->prefix_len),
	                        pl_buf_span(&list->after), list->revision, &list->filter,
	                        walk);
}

static enum pl_code remember(struct pl_buf *place, const struct object *object)
{
	place->len = 0;
	return pl_buf_add(place, source_object_order(object));
}

/* The next object that passes the filter. PL_NOTFOUND: there are no more. PL_BUSY: others
 * come first now. */
static enum pl_code list_next(struct list_stream *list, struct shown_walk *walk,
                              struct object *out)
{
	while (list->looked < TURN_OBJECTS) {
		if (!shown_walk_next(walk, out))
			return PL_NOTFOUND;
		list->looked++;
		if (object_filter_matches(&list->filter, out))
			return PL_OK;
		if (remember(&list->after, out) != PL_OK)
			return PL_NOMEM;
	}
	return PL_BUSY;
}

/* Behind a page's last object the walk looks for one more; a Table knew before. */
static bool list_goes_on(const struct request *request, const struct list_stream *list)
{
	return list->limit > 0 || (!list->more && !is_table(request));
}

static bool piece_is_full(const struct request *request, const struct list_stream *list)
{
	return list->buf.len >= PIECE_BYTES && list->limit > 0 &&
	       request->accept.format == ACCEPT_JSON;
}

/* Writes objects until a piece is full or others come first (PL_BUSY), or the list is whole
 * (PL_OK). */
static enum pl_code list_fill(struct request *request, struct list_stream *list)
{
	struct shown_walk walk;
	struct object object;
	enum pl_code code = walk_begin(request, list, &walk);

	while (code == PL_OK && list_goes_on(request, list)) {
		code = list_next(list, &walk, &object);
		if (code != PL_OK)
			break;
		if (list->limit == 0) {
			list->more = true;
			break;
		}
		list->limit--;
		code = remember(&list->after, &object);
		if (code == PL_OK)
			code = add_object(request, list, &object);
		if (code == PL_OK && piece_is_full(request, list))
			return PL_BUSY;
	}
	return code == PL_OK || code == PL_NOTFOUND ? list_end(request, list) : code;
}

/* Looks for the end of a page, which a Table's head needs before its rows. PL_BUSY: goes on
 * later. */
static enum pl_code list_find(struct request *request, struct list_stream *list)
{
	struct shown_walk walk;
	struct object object;
	enum pl_code code = walk_begin(request, list, &walk);

	while (code == PL_OK && list->limit != INT64_MAX) {
		code = list_next(list, &walk, &object);
		if (code != PL_OK)
			break;
		if (++list->found > list->limit) {
			list->more = true;
			break;
		}
		code = remember(&list->after, &object);
		if (code == PL_OK && list->found == list->limit)
			code = remember(&list->page_end, &object);
	}
	if (code != PL_OK && code != PL_NOTFOUND)
		return code;
	if (!list->more)
		list->page_end.len = 0;
	return PL_OK;
}

/* Writes the head. */
static enum pl_code list_begin(struct request *request, struct list_stream *list)
{
	enum pl_code code = PL_OK;

	list->stage = LIST_WRITING;
	if (!is_table(request))
		return begin_plain(request, list);
	begin_table(request, list);
	/* From the beginning of the page again. */
	list->after.len = 0;
	if (list->begin.len > 0)
		code = pl_buf_add(&list->after, list->begin);
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

/* Sends what is written. False: the list is over. */
static bool list_send(struct request *request, struct list_stream *list, bool whole)
{
	const struct http_field field = {PL_SPAN_LIT("content-type"),
	                                 PL_SPAN_LIT("application/json")};

	if (whole && !list->streaming) {
		answer_json(request, 200, pl_buf_span(&list->buf));
		list_stream_free(request);
		return false;
	}
	if (!list->streaming) {
		request->answered = true;
		http_stream_begin(request->exchange, 200, &field, 1);
		list->streaming = true;
	}
	send_piece(request, list);
	if (!whole)
		return true;
	http_stream_end(request->exchange);
	list_stream_free(request);
	return false;
}

void list_stream_room(struct request *request)
{
	struct list_stream *list = request->list;
	enum pl_code code = PL_OK;

	list->looked = 0;
	if (list->stage == LIST_FINDING)
		code = list_find(request, list);
	if (code == PL_OK && list->stage == LIST_FINDING)
		code = list_begin(request, list);
	while (code == PL_OK && http_exchange_pending(request->exchange) < AHEAD_BYTES) {
		code = list_fill(request, list);
		if (code != PL_OK && !(code == PL_BUSY && piece_is_full(request, list)))
			break;
		if (!list_send(request, list, code == PL_OK))
			return;
		code = PL_OK;
	}
	if (code == PL_BUSY)
		pl_timer_set(&list->again, request->api->now_ms(request->api->clock_ctx));
	else if (code != PL_OK)
		list_failed(request, code);
}

static void on_again(void *ctx)
{
	struct request *request = ctx;

	if (request->exchange != NULL)
		list_stream_room(request);
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

	if (list->revision == 0)
		list->revision =
			shown_revision(request->api->sources, request->path.resource);
	list->stage = LIST_FINDING;
	if (!is_table(request) && list_begin(request, list) != PL_OK)
		list_failed(request, PL_NOMEM);
	else
		list_stream_room(request);
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
	list->begin = order;
	return true;
}

void request_list(struct request *request)
{
	struct list_stream *list = pl_calloc(1, sizeof *list);

	if (list == NULL || pl_timer_init(&list->again, kv_timers(request->api->kv),
	                                  on_again, request) != PL_OK) {
		free(list);
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
