#include "store/etcd/admin.h"

#include <stdio.h>
#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/base/json.h"

enum { ANSWER_MAX = 8 * 1024 * 1024, URL_SIZE = 512, JSON_MAX = 64 * 1024 };

enum admin_query { HEALTH, VERSION, METRICS };

struct admin_call {
	enum admin_query what;
	union {
		etcd_health_fn *health;
		etcd_version_fn *version;
		etcd_metrics_fn *metrics;
	} done;
	void *ctx;
};

static enum pl_code not_etcd(struct pl_err *err)
{
	/* A malformed text means another kind of server: the endpoint is wrong. */
	if (err != NULL && err->code != PL_NOMEM)
		err->code = PL_PROTO;
	return err == NULL ? PL_PROTO : pl_err_wrap(err, "not etcd's answer");
}

static enum pl_code copy_text(struct pl_json object, const char *name,
                              enum pl_json_need need, char *out, struct pl_err *err)
{
	const char *text = "";
	enum pl_code code = pl_json_string(object, name, need, &text, err);

	if (code == PL_OK)
		(void)snprintf(out, ETCD_TEXT_SIZE, "%s", text);
	return code;
}

static enum pl_code read_health(struct pl_json root, void *to, struct pl_err *err)
{
	struct etcd_health *out = to;
	char health[ETCD_TEXT_SIZE];
	enum pl_code code = copy_text(root, "health", PL_JSON_REQUIRED, health, err);

	if (code == PL_OK)
		code = copy_text(root, "reason", PL_JSON_OPTIONAL, out->reason, err);
	if (code == PL_OK && strcmp(health, "true") != 0 && strcmp(health, "false") != 0)
		code = pl_err_set(err, PL_INVALID, "health is '%s'", health);
	out->healthy = code == PL_OK && strcmp(health, "true") == 0;
	return code;
}

static enum pl_code read_version(struct pl_json root, void *to, struct pl_err *err)
{
	struct etcd_version *out = to;
	enum pl_code code =
		copy_text(root, "etcdserver", PL_JSON_REQUIRED, out->server, err);

	if (code == PL_OK)
		code = copy_text(root, "etcdcluster", PL_JSON_REQUIRED, out->cluster,
		                 err);
	return code;
}

static enum pl_code parse_object(struct pl_arena *arena, struct pl_span body,
                                 struct pl_json *root, struct pl_err *err)
{
	static const struct pl_json_limits limits = {
		.bytes = 4096, .depth = 4, .values = 64};
	enum pl_code code = pl_json_parse(arena, body, &limits, root, err);

	if (code == PL_OK && pl_json_type(*root) != PL_JSON_OBJECT)
		code = pl_err_set(err, PL_INVALID, "no JSON object");
	return code;
}

/* Reads the answer's JSON object into *to with read. */
static enum pl_code parse_answer(struct pl_span body,
                                 enum pl_code (*read)(struct pl_json root, void *to,
                                                      struct pl_err *err),
                                 void *to, struct pl_err *err)
{
	struct pl_json root = {0};
	struct pl_arena arena;
	struct pl_err why = {0};
	enum pl_code code;

	pl_arena_init(&arena, 0, JSON_MAX);
	code = parse_object(&arena, body, &root, &why);
	if (code == PL_OK)
		code = read(root, to, &why);
	pl_arena_done(&arena);
	if (code == PL_OK)
		return PL_OK;
	code = not_etcd(&why);
	if (err != NULL)
		*err = why;
	return code;
}

enum pl_code etcd_health_parse(struct pl_span body, struct etcd_health *out,
                               struct pl_err *err)
{
	struct etcd_health health = {0};
	enum pl_code code = parse_answer(body, read_health, &health, err);

	if (code == PL_OK)
		*out = health;
	return code;
}

enum pl_code etcd_version_parse(struct pl_span body, struct etcd_version *out,
                                struct pl_err *err)
{
	struct etcd_version version = {0};
	enum pl_code code = parse_answer(body, read_version, &version, err);

	if (code == PL_OK)
		*out = version;
	return code;
}

/* etcd 3.4 answers 503 with a valid body when it is not healthy. */
static enum pl_code check_status(const struct admin_call *call,
                                 const struct http_answer *answer, struct pl_err *err)
{
	if (answer->status == 200 || (call->what == HEALTH && answer->status == 503))
		return PL_OK;
	return pl_err_set(err, PL_PROTO, "not etcd's answer: HTTP status %d",
	                  answer->status);
}

static void report_health(struct admin_call *call, struct pl_span body,
                          struct pl_err *err)
{
	struct etcd_health health;

	if (err->code == PL_OK && etcd_health_parse(body, &health, err) == PL_OK)
		call->done.health(call->ctx, &health, NULL);
	else
		call->done.health(call->ctx, NULL, err);
}

static void report_version(struct admin_call *call, struct pl_span body,
                           struct pl_err *err)
{
	struct etcd_version version;

	if (err->code == PL_OK && etcd_version_parse(body, &version, err) == PL_OK)
		call->done.version(call->ctx, &version, NULL);
	else
		call->done.version(call->ctx, NULL, err);
}

static void report_metrics(struct admin_call *call, struct pl_span body,
                           struct pl_err *err)
{
	struct etcd_metrics metrics;

	if (err->code == PL_OK && etcd_metrics_parse(body, &metrics, err) == PL_OK)
		call->done.metrics(call->ctx, &metrics, NULL);
	else
		call->done.metrics(call->ctx, NULL, err);
}

static void on_end(void *ctx, const struct http_end *end)
{
	struct admin_call call = *(struct admin_call *)ctx;
	struct pl_err err = {0};

	free(ctx);
	if (end->err != NULL)
		err = *end->err;
	else
		(void)check_status(&call, &end->answer, &err);
	switch (call.what) {
	case HEALTH:
		report_health(&call, end->answer.body, &err);
		break;
	case VERSION:
		report_version(&call, end->answer.body, &err);
		break;
	case METRICS:
		report_metrics(&call, end->answer.body, &err);
		break;
	}
}

static enum pl_code admin_start(struct http *http, const char *endpoint, const char *path,
                                uint32_t timeout_ms, const struct admin_call *call,
                                struct pl_err *err)
{
	struct admin_call *own = pl_malloc(sizeof *own);
	char url[URL_SIZE];
	size_t len = strlen(endpoint);
	struct http_call_opts opts = {.url = url,
	                              .timeout_ms = timeout_ms,
	                              .connect_timeout_ms = timeout_ms,
	                              .body_max = ANSWER_MAX,
	                              .on_end = on_end,
	                              .ctx = own};
	enum pl_code code = PL_OK;

	if (own == NULL)
		return pl_err_set(err, PL_NOMEM, "%s", path);
	*own = *call;
	while (len > 0 && endpoint[len - 1] == '/')
		len--;
	if (snprintf(url, sizeof url, "%.*s%s", (int)len, endpoint, path) >=
	    (int)sizeof url)
		code = pl_err_set(err, PL_LIMIT, "endpoint of %zu bytes", len);
	if (code == PL_OK)
		code = http_call_start(http, &opts, NULL, err);
	if (code != PL_OK)
		free(own);
	return code;
}

enum pl_code etcd_health_start(struct http *http, const char *endpoint,
                               uint32_t timeout_ms, etcd_health_fn *done, void *ctx,
                               struct pl_err *err)
{
	struct admin_call call = {.what = HEALTH, .done.health = done, .ctx = ctx};

	return admin_start(http, endpoint, "/health", timeout_ms, &call, err);
}

enum pl_code etcd_version_start(struct http *http, const char *endpoint,
                                uint32_t timeout_ms, etcd_version_fn *done, void *ctx,
                                struct pl_err *err)
{
	struct admin_call call = {.what = VERSION, .done.version = done, .ctx = ctx};

	return admin_start(http, endpoint, "/version", timeout_ms, &call, err);
}

enum pl_code etcd_metrics_start(struct http *http, const char *endpoint,
                                uint32_t timeout_ms, etcd_metrics_fn *done, void *ctx,
                                struct pl_err *err)
{
	struct admin_call call = {.what = METRICS, .done.metrics = done, .ctx = ctx};

	return admin_start(http, endpoint, "/metrics", timeout_ms, &call, err);
}
