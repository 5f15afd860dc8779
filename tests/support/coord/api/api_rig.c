#include "tests/support/coord/api/api_rig.h"

#include <stdio.h>
#include <stdlib.h>

#include "coord/meta/meta.h"
#include "store/keys/keys.h"
#include "store/keys/partition.h"
#include "store/kv/calls.h"
#include "tests/harness/t.h"
#include "tests/support/store/kv/faulty.h"
#include "tests/support/store/kv/rival.h"

enum { BODY_MAX = 32 << 20, CALL_MS = 60000 };

/* A turn of the loop that has run a timer would then wait for the next one, which may be
 * the end of a lease: whatever sets a flag also stops the turn. */
static void set(struct api_rig *rig, bool *flag)
{
	*flag = true;
	uv_stop(&rig->loop);
}

void api_rig_until(struct api_rig *rig, const bool *flag)
{
	while (!*flag)
		(void)uv_run(&rig->loop, UV_RUN_ONCE);
}

/* -- the store ------------------------------------------------------------------------- */

static void on_kv(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct api_rig *rig = ctx;

	rig->code = err == NULL ? PL_OK : err->code;
	if (err == NULL && result->op == KV_GET && result->get.count > 0) {
		rig->value.len = 0;
		T_EQ(pl_buf_add(&rig->value, result->get.records[0].value), PL_OK);
		T_EQ(pl_buf_add(&rig->value, pl_span("", 1)), PL_OK);
		rig->revision = result->get.records[0].lease;
	} else if (err == NULL) {
		rig->value.len = 0;
		rig->revision = result->header.revision;
	}
	set(rig, &rig->done);
}

static void store_call(struct api_rig *rig, const struct kv_req *req)
{
	struct pl_err err = {0};

	rig->done = false;
	T_OK(kv_start(rig->own, req, CALL_MS, on_kv, rig, NULL, &err), &err);
	api_rig_until(rig, &rig->done);
	T_EQ(rig->code, PL_OK);
}

void api_rig_put(struct api_rig *rig, const char *key, const char *value)
{
	struct kv_req req = kv_op_put(pl_span_str(key), pl_span_str(value));

	store_call(rig, &req);
}

void api_rig_delete(struct api_rig *rig, const char *key)
{
	struct kv_req req = kv_op_delete(kv_key(pl_span_str(key)));

	store_call(rig, &req);
}

const char *api_rig_get(struct api_rig *rig, const char *key, int64_t *lease)
{
	struct kv_req req = kv_op_get(kv_key(pl_span_str(key)));

	store_call(rig, &req);
	if (rig->value.len == 0)
		return NULL;
	if (lease != NULL)
		*lease = rig->revision;
	return (const char *)rig->value.at;
}

static void on_sent(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct api_rig *rig = ctx;

	(void)result;
	T_TRUE(err == NULL);
	rig->sent--;
}

static void send_call(struct api_rig *rig, const struct kv_req *req)
{
	struct pl_err err = {0};

	rig->sent++;
	T_OK(kv_start(rig->own, req, CALL_MS, on_sent, rig, NULL, &err), &err);
}

void api_rig_send_put(struct api_rig *rig, const char *key, const char *value)
{
	struct kv_req req = kv_op_put(pl_span_str(key), pl_span_str(value));

	send_call(rig, &req);
}

void api_rig_send_delete(struct api_rig *rig, const char *key)
{
	struct kv_req req = kv_op_delete(kv_key(pl_span_str(key)));

	send_call(rig, &req);
}

void api_rig_before(struct api_rig *rig, const char *prefix, unsigned times,
                    void (*fn)(void *ctx), void *ctx)
{
	rival_before(rig->kv, prefix, times, fn, ctx);
}

static void put_id(struct api_rig *rig, const struct keys_id *id, const char *value)
{
	struct keys_text key;
	struct pl_err err = {0};

	T_OK(keys_build(id, &key, &err), &err);
	api_rig_put(rig, key.at, value);
}

static uint32_t partitions_of(const char *meta)
{
	struct meta out;
	struct pl_err err = {0};

	T_TRUE(meta != NULL);
	T_OK(meta_parse(pl_span_str(meta), &out, &err), &err);
	return out.partitions;
}

void api_rig_pod(struct api_rig *rig, const char *namespace, const char *name,
                 const char *spec, const char *state)
{
	struct keys_id id = {.kind = KEYS_SPEC,
	                     .scope = pl_span_str(namespace),
	                     .name = pl_span_str(name)};
	char text[4096];
	struct pl_err err = {0};

	T_OK(partition_of_pod(id.scope, id.name,
	                      partitions_of(api_rig_get(rig, "/placet/meta", NULL)),
	                      &id.partition, &err),
	     &err);
	(void)snprintf(text, sizeof text,
	               "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":"
	               "\"%s\",\"namespace\":\"%s\"},\"spec\":%s}",
	               name, namespace, spec);
	put_id(rig, &id, text);
	id.kind = KEYS_STATE;
	if (state != NULL)
		put_id(rig, &id, state);
}

void api_rig_node(struct api_rig *rig, const char *cluster, const char *name,
                  const char *allocatable)
{
	struct keys_id id = {.kind = KEYS_NODE,
	                     .scope = pl_span_str(cluster),
	                     .name = pl_span_str(name)};
	char text[4096];
	struct pl_err err = {0};

	T_OK(partition_of_node(id.scope, id.name,
	                       partitions_of(api_rig_get(rig, "/placet/meta", NULL)),
	                       &id.partition, &err),
	     &err);
	(void)snprintf(text, sizeof text,
	               "{\"metadata\":{\"name\":\"%s\"},\"status\":{\"allocatable\":%s}}",
	               name, allocatable);
	put_id(rig, &id, text);
	id.kind = KEYS_ALLOC;
	put_id(rig, &id, "{\"v\":1,\"generation\":1}");
}

/* -- life ------------------------------------------------------------------------------ */

static void on_ready(void *ctx)
{
	struct api_rig *rig = ctx;

	set(rig, &rig->ready);
}

void api_rig_open(struct api_rig *rig, uint32_t partitions)
{
	const struct api_server_opts opts = {0};

	api_rig_open_with(rig, partitions, &opts);
}

void api_rig_open_with(struct api_rig *rig, uint32_t partitions,
                       const struct api_server_opts *wanted)
{
	api_rig_open_faulty(rig, partitions, wanted, NULL, 0);
}

void api_rig_open_faulty(struct api_rig *rig, uint32_t partitions,
                         const struct api_server_opts *wanted,
                         const struct faulty_rule *rules, size_t count)
{
	static const struct http_opts http;
	struct meta meta = {.partitions = partitions,
	                    .created_ms = API_RIG_CREATED_MS,
	                    .version = "test",
	                    .incarnation = "0123456789abcdef0123456789abcdef"};
	struct api_server_opts opts = *wanted;
	struct pl_err err = {0};

	*rig = (struct api_rig){0};
	pl_arena_init(&rig->arena, 64 << 10, 256 << 20);
	pl_buf_init(&rig->value, BODY_MAX);
	T_EQ(uv_loop_init(&rig->loop), 0);
	T_OK(memkv_new(wanted->ctx, &rig->mem, &err), &err);
	T_OK(memkv_attach(rig->mem, &rig->loop, &rig->driver, &err), &err);
	T_OK(memkv_session(rig->mem, &rig->kv, &err), &err);
	T_OK(faulty_open(rig->kv, t_seed(), rules, count, &rig->kv, &err), &err);
	rig->faulty = rig->kv;
	faulty_pause(rig->faulty, true);
	T_OK(rival_open(rig->kv, &rig->kv, &err), &err);
	T_OK(memkv_session(rig->mem, &rig->own, &err), &err);
	T_OK(meta_print(&meta, &rig->value, &err), &err);
	T_EQ(pl_buf_add(&rig->value, pl_span("", 1)), PL_OK);
	{
		char text[1024];

		(void)snprintf(text, sizeof text, "%s", (const char *)rig->value.at);
		api_rig_put(rig, "/placet/meta", text);
	}
	opts.host = "127.0.0.1";
	opts.version = "test";
	opts.ready = on_ready;
	opts.ctx = rig;
	opts.kv = rig->kv;
	T_OK(api_server_open(&rig->loop, &opts, &rig->server, &err), &err);
	T_OK(http_open(&rig->loop, &http, &rig->http, &err), &err);
	(void)snprintf(rig->base, sizeof rig->base, "http://127.0.0.1:%u",
	               (unsigned)api_server_port(rig->server));
	api_rig_until(rig, &rig->ready);
	/* The first namespaces are made after that. */
	rig->bearer =
		wanted->identifier.of_request == NULL ? NULL : "root,system:masters";
	do {
		api_rig_call(rig, "GET", "/api/v1/namespaces/default", NULL);
	} while (rig->status == 404);
	T_EQ(rig->status, 200);
}

static void on_closed(void *ctx)
{
	struct api_rig *rig = ctx;

	set(rig, &rig->done);
}

void api_rig_close(struct api_rig *rig)
{
	rig->done = false;
	http_close(rig->http, on_closed, rig);
	api_rig_until(rig, &rig->done);
	rig->done = false;
	api_server_stop(rig->server, on_closed, rig);
	api_rig_until(rig, &rig->done);
	rig->done = false;
	kv_close(rig->own, on_closed, rig);
	api_rig_until(rig, &rig->done);
	rig->done = false;
	kv_close(rig->kv, on_closed, rig);
	api_rig_until(rig, &rig->done);
	rig->done = false;
	memkv_detach(rig->driver, on_closed, rig);
	while (uv_run(&rig->loop, UV_RUN_DEFAULT) != 0) {
	}
	T_TRUE(rig->done);
	memkv_free(rig->mem);
	T_EQ(uv_loop_close(&rig->loop), 0);
	pl_buf_done(&rig->value);
	pl_arena_done(&rig->arena);
}

/* -- calls ------------------------------------------------------------------------------ */

static void on_end(void *ctx, const struct http_end *end)
{
	struct api_rig *rig = ctx;
	struct pl_json_limits limits = {
		.bytes = BODY_MAX, .depth = PL_JSON_DEPTH_MAX, .values = 1 << 22};
	struct pl_err err = {0};

	rig->code = end->code;
	rig->status = end->answer.status;
	rig->text = pl_arena_dup(&rig->arena, end->answer.body);
	if (pl_json_parse(&rig->arena, rig->text, &limits, &rig->body, &err) != PL_OK)
		rig->body = (struct pl_json){0};
	set(rig, &rig->done);
}

static struct http_call_opts call_opts(struct api_rig *rig, const char *path,
                                       struct http_header headers[API_RIG_HEADERS],
                                       char url[8192])
{
	struct http_call_opts opts = {
		.url = url, .headers = headers, .timeout_ms = CALL_MS};

	(void)snprintf(url, 8192, "%s%s", rig->base, path);
	if (rig->accept != NULL)
		headers[opts.header_count++] =
			(struct http_header){"Accept", rig->accept};
	if (rig->bearer != NULL)
		headers[opts.header_count++] = (struct http_header){
			"Authorization",
			pl_arena_printf(&rig->arena, "Bearer %s", rig->bearer)};
	if (rig->as != NULL)
		headers[opts.header_count++] =
			(struct http_header){"Impersonate-User", rig->as};
	if (rig->as_group != NULL)
		headers[opts.header_count++] =
			(struct http_header){"Impersonate-Group", rig->as_group};
	headers[opts.header_count++] = (struct http_header){
		"Content-Type",
		rig->content_type == NULL ? "application/json" : rig->content_type};
	return opts;
}

void api_rig_call(struct api_rig *rig, const char *method, const char *path,
                  const char *body)
{
	struct http_header headers[API_RIG_HEADERS];
	char url[8192];
	struct http_call_opts opts;
	struct pl_err err = {0};

	pl_arena_reset(&rig->arena);
	opts = call_opts(rig, path, headers, url);
	rig->done = false;
	opts.method = method;
	opts.body_max = BODY_MAX;
	opts.on_end = on_end;
	opts.ctx = rig;
	if (body != NULL)
		opts.body = pl_span_str(body);
	T_OK(http_call_start(rig->http, &opts, NULL, &err), &err);
	api_rig_until(rig, &rig->done);
	T_EQ(rig->code, PL_OK);
}

void api_rig_want(struct api_rig *rig, const char *method, const char *path,
                  const char *body, int status)
{
	api_rig_call(rig, method, path, body);
	if (rig->status != status)
		t_fail(__FILE__, __LINE__, "%s %s: status %d, want %d: " PL_SPAN_FMT,
		       method, path, rig->status, status, PL_SPAN_ARG(rig->text));
}

/* The value by its path; absent: there is none. */
static struct pl_json value_at(struct pl_json value, const char *path)
{
	while (*path != 0 && value.node != NULL) {
		size_t len = strcspn(path, ".");
		char name[256];

		T_TRUE(len < sizeof name);
		memcpy(name, path, len);
		name[len] = 0;
		if (pl_json_type(value) == PL_JSON_ARRAY) {
			unsigned long index = strtoul(name, NULL, 10);
			struct pl_json at = {0};

			PL_JSON_EACH (item, value)
				if (index-- == 0) {
					at = item;
					break;
				}
			value = at;
		} else if (pl_json_type(value) == PL_JSON_OBJECT) {
			value = pl_json_member(value, name);
		} else {
			value = (struct pl_json){0};
		}
		path += path[len] == '.' ? len + 1 : len;
	}
	return value;
}

static const char *scalar_text(struct pl_arena *arena, struct pl_json value)
{
	const char *text = NULL;
	double number = 0;
	bool yes = false;

	switch (pl_json_type(value)) {
	case PL_JSON_STRING:
		T_EQ(pl_json_as_string(value, &text, NULL), PL_OK);
		return text;
	case PL_JSON_NUMBER:
		T_EQ(pl_json_as_double(value, &number, NULL), PL_OK);
		return pl_arena_printf(arena, "%.15g", number);
	case PL_JSON_BOOL:
		T_EQ(pl_json_as_bool(value, &yes, NULL), PL_OK);
		return yes ? "true" : "false";
	default:
		return NULL;
	}
}

struct pl_json api_rig_at(struct api_rig *rig, const char *path)
{
	return value_at(rig->body, path);
}

const char *api_rig_text(struct api_rig *rig, const char *path)
{
	return scalar_text(&rig->arena, value_at(rig->body, path));
}

size_t api_rig_count(struct api_rig *rig, const char *path)
{
	struct pl_json value = value_at(rig->body, path);

	return value.node == NULL ? 0 : pl_json_count(value);
}

/* -- watches ---------------------------------------------------------------------------- */

static void on_watch_head(void *ctx, const struct http_answer *answer)
{
	struct api_rig_watch *watch = ctx;

	watch->status = answer->status;
	set(watch->rig, &watch->some);
}

static void on_watch_data(void *ctx, struct pl_span data)
{
	struct api_rig_watch *watch = ctx;

	T_EQ(pl_buf_add(&watch->buf, data), PL_OK);
	set(watch->rig, &watch->some);
}

static void on_watch_end(void *ctx, const struct http_end *end)
{
	struct api_rig_watch *watch = ctx;

	(void)end;
	watch->some = true;
	set(watch->rig, &watch->ended);
}

void api_rig_watch_open(struct api_rig *rig, const char *path,
                        struct api_rig_watch *watch)
{
	struct http_header headers[API_RIG_HEADERS];
	char url[8192];
	struct http_call_opts opts = call_opts(rig, path, headers, url);
	struct pl_err err = {0};

	*watch = (struct api_rig_watch){.rig = rig};
	pl_buf_init(&watch->buf, BODY_MAX);
	pl_arena_init(&watch->arena, 16 << 10, 64 << 20);
	opts.timeout_ms = 0;
	opts.on_head = on_watch_head;
	opts.on_data = on_watch_data;
	opts.on_end = on_watch_end;
	opts.ctx = watch;
	T_OK(http_call_start(rig->http, &opts, &watch->call, &err), &err);
	while (watch->status == 0) {
		watch->some = false;
		api_rig_until(rig, &watch->some);
		T_TRUE(!watch->ended);
	}
	T_EQ(watch->status, 200);
}

const char *api_rig_watch_next(struct api_rig_watch *watch)
{
	const uint8_t *end;
	struct pl_err err = {0};
	size_t len;

	while ((end = watch->buf.len == 0
	                      ? NULL
	                      : memchr(watch->buf.at, '\n', watch->buf.len)) == NULL) {
		T_TRUE(!watch->ended);
		watch->some = false;
		api_rig_until(watch->rig, &watch->some);
	}
	pl_arena_reset(&watch->arena);
	len = (size_t)(end - watch->buf.at);
	watch->line = pl_arena_dup(&watch->arena, pl_span(watch->buf.at, len));
	pl_buf_drop(&watch->buf, len + 1);
	T_OK(pl_json_parse(&watch->arena, watch->line, NULL, &watch->event, &err), &err);
	return api_rig_watch_text(watch, "type");
}

const char *api_rig_watch_text(struct api_rig_watch *watch, const char *path)
{
	return scalar_text(&watch->arena, value_at(watch->event, path));
}

void api_rig_watch_close(struct api_rig_watch *watch)
{
	if (!watch->ended)
		http_call_cancel(watch->call);
	api_rig_until(watch->rig, &watch->ended);
	pl_buf_done(&watch->buf);
	pl_arena_done(&watch->arena);
}
