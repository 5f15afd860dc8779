#include "coord/cli/session/api_session.h"

#include <stdio.h>
#include <string.h>

#include "coord/api/reply/field_get.h"
#include "coord/cli/output/message.h"

enum { PAGE = 500, TOKEN_MAX = 2048, ARENA_CHUNK = 1 << 20 };

/* Answers of a server are as large as a page of large objects. */
static const struct pl_json_limits limits = {
	.bytes = (size_t)64 << 20, .depth = 100, .values = 8000000};

/* -- one call ------------------------------------------------------------------------- */

struct api_wait {
	uv_loop_t *loop;
	bool over;
	struct pl_err err;
	struct pl_arena *arena;
	struct pl_json *out; /* NULL: the answer does not matter */
};

static void on_done(void *ctx, struct pl_span body, const struct pl_err *err)
{
	struct api_wait *wait = ctx;

	wait->over = true;
	uv_stop(wait->loop); /* else it may wait for the next event first */
	if (err != NULL)
		wait->err = *err;
	else if (wait->out != NULL && pl_json_parse(wait->arena, body, &limits, wait->out,
	                                            &wait->err) != PL_OK)
		(void)pl_err_wrap(&wait->err, "the server's answer");
}

enum pl_code api_session_send(struct api_session *api, const struct api_request *request,
                              struct pl_arena *arena, struct pl_json *out,
                              struct pl_err *err)
{
	struct api_wait wait = {.loop = &api->loop, .arena = arena, .out = out};
	const struct kube_request kube = {.method = request->method,
	                                  .path = request->path,
	                                  .content_type = request->content_type,
	                                  .body = request->body,
	                                  .timeout_ms = api->timeout_ms,
	                                  .done = on_done,
	                                  .ctx = &wait};
	enum pl_code code = kube_call_start(api->client, &kube, NULL, err);

	if (code != PL_OK)
		return code;
	while (!wait.over)
		(void)uv_run(&api->loop, UV_RUN_ONCE);
	if (wait.err.code != PL_OK)
		*err = wait.err;
	return wait.err.code;
}

enum pl_code api_session_get(struct api_session *api, const char *path,
                             struct pl_arena *arena, struct pl_json *out,
                             struct pl_err *err)
{
	const struct api_request request = {.method = "GET", .path = path};

	return api_session_send(api, &request, arena, out, err);
}

/* -- time ----------------------------------------------------------------------------- */

static void on_pause_closed(uv_handle_t *handle)
{
	*(bool *)handle->data = true;
}

static void on_pause_over(uv_timer_t *timer)
{
	uv_close((uv_handle_t *)timer, on_pause_closed);
}

void api_session_pause(struct api_session *api, uint64_t ms)
{
	bool over = false;
	uv_timer_t timer;
	int rc = uv_timer_init(&api->loop, &timer);

	PL_ASSERT(rc == 0);
	timer.data = &over;
	uv_update_time(&api->loop); /* else the time of a long step counts */
	rc = uv_timer_start(&timer, on_pause_over, ms, 0);
	PL_ASSERT(rc == 0);
	while (!over)
		(void)uv_run(&api->loop, UV_RUN_ONCE);
}

/* -- lists ---------------------------------------------------------------------------- */

static enum pl_code page_path(const char *path, struct pl_span query, const char *token,
                              struct pl_buf *out)
{
	enum pl_code code = pl_buf_printf(out, "%s?limit=%d%s" PL_SPAN_FMT, path, PAGE,
	                                  query.len == 0 ? "" : "&", PL_SPAN_ARG(query));

	if (code == PL_OK && *token != 0)
		code = pl_buf_add_str(out, "&continue=");
	if (code == PL_OK)
		code = kube_path_escape(out, pl_span_str(token));
	return code == PL_OK ? pl_buf_add(out, pl_span("", 1)) : code;
}

/* token: of the page before, then of this one. */
static enum pl_code read_page(struct api_session *api, const char *path,
                              struct pl_span query, char token[TOKEN_MAX],
                              struct pl_arena *arena, struct pl_json *out,
                              struct pl_err *err)
{
	const char *next;
	struct pl_buf whole;
	enum pl_code code;

	pl_buf_init(&whole, HTTP_URL_MAX);
	code = page_path(path, query, token, &whole);
	if (code == PL_OK)
		code = api_session_get(api, (const char *)whole.at, arena, out, err);
	else
		(void)pl_err_set(err, code, "the list's path is too long");
	pl_buf_done(&whole);
	if (code != PL_OK)
		return code;
	next = field_text_or(*out, "metadata.continue", "");
	if (strlen(next) >= TOKEN_MAX)
		return pl_err_set(err, PL_PROTO, "metadata.continue: too long");
	memcpy(token, next, strlen(next) + 1);
	return PL_OK;
}

enum pl_code api_session_list(struct api_session *api, const char *path,
                              struct pl_span query, api_item_fn *fn, void *ctx,
                              struct pl_err *err)
{
	char version[API_VERSION_SIZE];

	return api_session_list_at(api, path, query, fn, ctx, version, err);
}

enum pl_code api_session_list_at(struct api_session *api, const char *path,
                                 struct pl_span query, api_item_fn *fn, void *ctx,
                                 char version[API_VERSION_SIZE], struct pl_err *err)
{
	char token[TOKEN_MAX] = "";
	struct pl_arena arena;
	enum pl_code code;

	pl_arena_init(&arena, ARENA_CHUNK, 0);
	do {
		struct pl_json page;

		pl_arena_reset(&arena);
		code = read_page(api, path, query, token, &arena, &page, err);
		if (code != PL_OK)
			break;
		(void)snprintf(version, API_VERSION_SIZE, "%s",
		               field_text_or(page, "metadata.resourceVersion", ""));
		PL_JSON_EACH (item, pl_json_member(page, "items")) {
			code = fn(ctx, item, err);
			if (code != PL_OK)
				break;
		}
	} while (code == PL_OK && token[0] != 0);
	pl_arena_done(&arena);
	return code;
}

/* Begins the next parameter. */
static enum pl_code query_next(struct pl_buf *query, const char *name)
{
	return pl_buf_printf(query, "%s%s=", query->len == 0 ? "" : "&", name);
}

enum pl_code api_query_labels(struct pl_buf *query, const struct label_query *labels)
{
	struct pl_buf text;
	enum pl_code code;

	if (labels == NULL || labels->requirements == 0)
		return PL_OK;
	pl_buf_init(&text, HTTP_URL_MAX);
	code = label_query_print(labels, &text);
	if (code == PL_OK)
		code = query_next(query, "labelSelector");
	if (code == PL_OK)
		code = kube_path_escape(query, pl_buf_span(&text));
	pl_buf_done(&text);
	return code;
}

enum pl_code api_query_field(struct pl_buf *query, const char *field, struct pl_span text)
{
	enum pl_code code = query_next(query, "fieldSelector");

	if (code == PL_OK)
		code = pl_buf_printf(query, "%s%%3D", field);
	return code == PL_OK ? kube_path_escape(query, text) : code;
}

enum pl_code api_path(char out[API_PATH_MAX], const char *root, struct pl_span namespace,
                      const char *resource, struct pl_span name, struct pl_err *err)
{
	struct pl_buf path;
	enum pl_code code;

	pl_buf_init(&path, API_PATH_MAX - 1);
	code = pl_buf_add_str(&path, root);
	if (code == PL_OK && namespace.len > 0) {
		code = pl_buf_add_str(&path, "/namespaces/");
		if (code == PL_OK)
			code = kube_path_escape(&path, namespace);
	}
	if (code == PL_OK)
		code = pl_buf_printf(&path, "/%s", resource);
	if (code == PL_OK && name.len > 0) {
		code = pl_buf_add_str(&path, "/");
		if (code == PL_OK)
			code = kube_path_escape(&path, name);
	}
	if (code == PL_OK) {
		memcpy(out, path.at, path.len);
		out[path.len] = 0;
	} else {
		(void)pl_err_set(err, code, "a name is too long");
	}
	pl_buf_done(&path);
	return code;
}

/* -- life ----------------------------------------------------------------------------- */

/* Once, however many sessions a command opens. */
static void warn_unverified(const char *server)
{
	static bool warned;

	if (!warned)
		print_message(
			"WARNING: the certificate of %s is NOT CHECKED "
			"(insecure-skip-tls-verify): anybody between here and there "
			"can read and change everything, your credentials too",
			server);
	warned = true;
}

static enum pl_code open_client(struct api_session *api, struct pl_err *err)
{
	int rc = uv_loop_init(&api->loop);
	enum pl_code code;

	if (rc != 0)
		return pl_err_set(err, PL_IO, "loop: %s", uv_strerror(rc));
	code = kube_client_open(&api->loop, &api->target, &api->client, err);
	if (code == PL_OK)
		return PL_OK;
	(void)uv_run(&api->loop, UV_RUN_DEFAULT);
	(void)uv_loop_close(&api->loop);
	return code;
}

enum pl_code api_session_open(struct api_session *api, const struct options *options,
                              struct pl_err *err)
{
	enum pl_code code;

	api->options = options;
	api->timeout_ms = options->store.timeout_ms;
	kubeconfig_init(&api->config);
	code = api_opts_target(&options->api, &options->store.tls, &api->config,
	                       &api->target, err);
	if (code == PL_OK && api->target.unverified)
		warn_unverified(api->target.server);
	if (code == PL_OK)
		code = open_client(api, err);
	if (code != PL_OK)
		kubeconfig_done(&api->config);
	return code;
}

enum pl_code api_session_open_url(struct api_session *api, const char *url,
                                  uint64_t timeout_ms, struct pl_err *err)
{
	enum pl_code code;

	*api = (struct api_session){.timeout_ms = timeout_ms};
	kubeconfig_init(&api->config);
	code = kubeconfig_server(&api->config.arena, url, &api->target.server, err);
	if (code == PL_OK)
		code = open_client(api, err);
	if (code != PL_OK)
		kubeconfig_done(&api->config);
	return code;
}

static void on_closed(void *ctx)
{
	*(bool *)ctx = true;
}

void api_session_close(struct api_session *api)
{
	bool closed = false;
	int rc;

	kube_client_close(api->client, on_closed, &closed);
	while (!closed)
		(void)uv_run(&api->loop, UV_RUN_ONCE);
	(void)uv_run(&api->loop, UV_RUN_DEFAULT);
	rc = uv_loop_close(&api->loop);
	PL_ASSERT(rc == 0);
	kubeconfig_done(&api->config);
}
