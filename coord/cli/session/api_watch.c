#include "coord/cli/session/api_watch.h"

#include <string.h>

#include "coord/api/reply/field_get.h"

enum {
	EVENT_MAX = 64 << 20,
	AGAIN_MS = 1000,
	IDLE_MS = 180000, /* a server sends bookmarks more often */
};

static const struct pl_json_limits limits = {
	.bytes = EVENT_MAX, .depth = 100, .values = 8000000};

struct api_watch {
	struct api_session *api;
	const struct api_watch_opts *opts;
	struct pl_arena arena;          /* of one event */
	char version[API_VERSION_SIZE]; /* seen last */
	struct pl_buf in;               /* of the stream, not taken yet */
	struct kube_call *call;         /* NULL: over */
	struct pl_err end;              /* of the stream */
	bool again;                     /* the version is gone */
};

/* -- the stream --------------------------------------------------------------------------- */

static void on_piece(void *ctx, struct pl_span piece)
{
	struct api_watch *watch = ctx;

	uv_stop(&watch->api->loop); /* events are taken before more are waited for */
	if (watch->end.code == PL_OK && pl_buf_add(&watch->in, piece) != PL_OK)
		(void)pl_err_set(&watch->end, PL_LIMIT, "an event is too large");
}

static void on_done(void *ctx, struct pl_span body, const struct pl_err *err)
{
	struct api_watch *watch = ctx;

	(void)body;
	uv_stop(&watch->api->loop);
	watch->call = NULL;
	if (err != NULL && watch->end.code == PL_OK)
		watch->end = *err;
}

/* An ERROR event ends the stream: its object is a Status. */
static void take_error(struct api_watch *watch, struct pl_json status)
{
	watch->again = field_int(status, "code", 0) == 410;
	if (!watch->again && watch->end.code == PL_OK)
		(void)pl_err_set(&watch->end, PL_UNAVAIL, "%s",
		                 field_text_or(status, "message", "the watch failed"));
}

static enum pl_code take_event(struct api_watch *watch, struct pl_span line,
                               struct pl_err *err)
{
	struct pl_json event, object;
	const char *type, *version;
	enum pl_code code;

	pl_arena_reset(&watch->arena);
	code = pl_json_parse(&watch->arena, line, &limits, &event, err);
	if (code != PL_OK)
		return pl_err_wrap(err, "an event of the server");
	type = field_text_or(event, "type", "");
	object = pl_json_member(event, "object");
	if (strcmp(type, "ERROR") == 0) {
		take_error(watch, object);
		return PL_OK;
	}
	version = field_text_or(object, "metadata.resourceVersion", "");
	if (*version != 0 && strlen(version) < sizeof watch->version)
		memcpy(watch->version, version, strlen(version) + 1);
	if (strcmp(type, "BOOKMARK") == 0)
		return PL_OK;
	return watch->opts->object(watch->opts->ctx, object, strcmp(type, "DELETED") == 0,
	                           err);
}

/* An event is a line. */
static enum pl_code take_events(struct api_watch *watch, struct pl_err *err)
{
	size_t taken = 0;
	enum pl_code code = PL_OK;

	while (code == PL_OK && !watch->again && taken < watch->in.len) {
		const uint8_t *at = watch->in.at + taken;
		const uint8_t *end = memchr(at, '\n', watch->in.len - taken);

		if (end == NULL)
			break;
		if (end > at)
			code = take_event(watch, pl_span(at, (size_t)(end - at)), err);
		taken += (size_t)(end - at) + 1;
	}
	if (taken > 0)
		pl_buf_drop(&watch->in, taken);
	return code;
}

static enum pl_code start_stream(struct api_watch *watch, struct pl_err *err)
{
	struct kube_request request = {
		.idle_ms = IDLE_MS, .data = on_piece, .done = on_done, .ctx = watch};
	struct pl_span query = watch->opts->query;
	struct pl_buf path;
	enum pl_code code;

	pl_buf_init(&path, HTTP_URL_MAX);
	code = pl_buf_printf(&path,
	                     "%s?watch=true&allowWatchBookmarks=true&resourceVersion=",
	                     watch->opts->path);
	if (code == PL_OK)
		code = kube_path_escape(&path, pl_span_str(watch->version));
	if (code == PL_OK)
		code = pl_buf_printf(&path, "%s" PL_SPAN_FMT, query.len > 0 ? "&" : "",
		                     PL_SPAN_ARG(query));
	if (code == PL_OK)
		code = pl_buf_add(&path, pl_span("", 1));
	request.path = (const char *)path.at;
	if (code != PL_OK)
		(void)pl_err_set(err, code, "the watch's path is too long");
	else
		code = kube_call_start(watch->api->client, &request, &watch->call, err);
	pl_buf_done(&path);
	return code;
}

static void end_stream(struct api_watch *watch)
{
	if (watch->call != NULL)
		kube_call_cancel(watch->call);
	while (watch->call != NULL)
		(void)uv_run(&watch->api->loop, UV_RUN_ONCE);
	pl_buf_clear(&watch->in, 0);
}

/* PL_OK: the stream has ended, and watch->end says why. */
static enum pl_code follow(struct api_watch *watch, struct pl_err *err)
{
	enum pl_code code = PL_OK;

	watch->end = (struct pl_err){0};
	watch->again = false;
	if (start_stream(watch, &watch->end) != PL_OK)
		return PL_OK;
	while (code == PL_OK && watch->call != NULL && !watch->again &&
	       watch->end.code == PL_OK) {
		(void)uv_run(&watch->api->loop, UV_RUN_ONCE);
		code = take_events(watch, err);
	}
	end_stream(watch);
	return code;
}

/* -- lists -------------------------------------------------------------------------------- */

static enum pl_code on_item(void *ctx, struct pl_json item, struct pl_err *err)
{
	struct api_watch *watch = ctx;

	return watch->opts->object(watch->opts->ctx, item, false, err);
}

static enum pl_code list_all(struct api_watch *watch, struct pl_err *err)
{
	const struct api_watch_opts *opts = watch->opts;
	enum pl_code code;

	opts->begin(opts->ctx);
	code = api_session_list_at(watch->api, opts->path, opts->query, on_item, watch,
	                           watch->version, err);
	return code == PL_OK ? opts->end(opts->ctx, err) : code;
}

static bool passes(enum pl_code code)
{
	return code == PL_UNAVAIL || code == PL_TIMEOUT || code == PL_THROTTLED ||
	       code == PL_COMPACTED;
}

/* PL_OK: all was listed. What may pass is waited for, but not at the first time. */
static enum pl_code list_until(struct api_watch *watch, bool first, struct pl_err *err)
{
	enum pl_code code;

	for (;;) {
		code = list_all(watch, err);
		if (first || !passes(code))
			return code;
		watch->opts->trouble(watch->opts->ctx, err);
		*err = (struct pl_err){0};
		api_session_pause(watch->api, AGAIN_MS);
	}
}

static enum pl_code watch_on(struct api_watch *watch, struct pl_err *err)
{
	enum pl_code code = list_until(watch, true, err);

	while (code == PL_OK) {
		code = follow(watch, err);
		if (code != PL_OK || watch->again || watch->end.code == PL_COMPACTED) {
			if (code == PL_OK)
				code = list_until(watch, false, err);
			continue;
		}
		if (watch->end.code != PL_OK) {
			watch->opts->trouble(watch->opts->ctx, &watch->end);
			api_session_pause(watch->api, AGAIN_MS);
			code = list_until(watch, false, err);
		}
	}
	return code;
}

enum pl_code api_watch_run(struct api_session *api, const struct api_watch_opts *opts,
                           struct pl_err *err)
{
	struct api_watch watch = {.api = api, .opts = opts};
	enum pl_code code;

	pl_arena_init(&watch.arena, 0, 0);
	pl_buf_init(&watch.in, EVENT_MAX);
	code = watch_on(&watch, err);
	pl_buf_done(&watch.in);
	pl_arena_done(&watch.arena);
	return code;
}
