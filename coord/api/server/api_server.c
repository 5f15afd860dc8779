#include "coord/api/server/api_server.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "coord/api/objects/pod_event.h"
#include "coord/api/server/api_server_int.h"
#include "coord/meta/meta.h"
#include "coord/metrics/metrics_table.h"
#include "store/base/alloc.h"
#include "store/base/clock.h"
#include "store/base/log.h"
#include "store/kv/calls.h"

enum {
	STOP_MS = 5000,
	TIMEOUT_MS = 5000,
	META_AGAIN_MS = 200,
	READY_MS = 20,   /* between looks at whether the informers are synced */
	PROBE_MS = 1000, /* between questions to the store whether it answers */
};

static int64_t wall_ms(void *ctx)
{
	(void)ctx;
	return pl_clock_wall_ms();
}

static uint64_t now_ms(void *ctx)
{
	const struct api_server *server = ctx;

	return kv_now_ms(server->opts.kv);
}

/* -- the sources' notes ------------------------------------------------------------- */

static void count_event(struct api_server *server, const struct source_change *change)
{
	bool was = change->before.part[OBJECT_MAIN] != NULL;
	bool is = change->after.part[OBJECT_MAIN] != NULL;

	if (was != is)
		event_store_counted(server->api.events, change->after.namespace,
		                    is ? 1 : -1);
}

static void read_access(struct api_server *server)
{
	if (!followed_access_read(&server->access, &server->sources))
		return;
	flow_set_limits(&server->flow, &server->access.document.limits);
	api_calls_look(server, false);
}

static void on_changed(void *ctx, enum source_kind kind,
                       const struct source_change *change)
{
	struct api_server *server = ctx;

	if (kind == SOURCE_CONFIGS)
		read_access(server);

	watch_hub_changed(&server->hub, kind, change);
	if (kind == SOURCE_OBJECTS && server->api.events != NULL &&
	    resource_is_events(change->after.resource))
		count_event(server, change);
	if (kind == SOURCE_OBJECTS && server->emptier != NULL &&
	    strcmp(change->after.resource->plural, "namespaces") == 0)
		namespace_emptier_kick(server->emptier);
}

static void on_progress(void *ctx, enum source_kind kind, int64_t revision)
{
	(void)ctx;
	(void)kind;
	(void)revision;
}

static void on_lost(void *ctx, enum source_kind kind, const struct pl_err *err)
{
	struct api_server *server = ctx;

	PL_LOG(PL_LOG_WARN, "api.watches_ended", pl_log_int("source", (int)kind),
	       pl_log_err("err", err));
	watch_hub_lost(&server->hub, kind, err);
}

/* After a list, the first one or one after changes were lost. */
static void on_synced(void *ctx, enum source_kind kind)
{
	struct api_server *server = ctx;

	if (kind == SOURCE_CONFIGS)
		read_access(server);
	if (kind == SOURCE_OBJECTS && server->api.events != NULL)
		event_store_recount(server->api.events);
}

/* -- the end -------------------------------------------------------------------------- */

/*
 * In this order: the HTTP server is closed, so every client has gone; the requests end;
 * the write queue; the informers; the timer.
 */
static void on_handle_closed(uv_handle_t *handle)
{
	struct api_server *server = handle->data;
	void (*closed)(void *) = server->closed;
	void *ctx = server->closed_ctx;

	metric_set_free(server->metrics);
	free(server);
	closed(ctx);
}

static void close_handles(struct api_server *server)
{
	if (server->has_hub)
		watch_hub_done(&server->hub);
	openapi_cache_free(&server->openapi);
	api_close(&server->api);
	followed_access_done(&server->access);
	flow_done(&server->flow);
	pl_timer_done(&server->turns);
	pl_timer_done(&server->timer);
	uv_close((uv_handle_t *)&server->idle, on_handle_closed);
}

static void on_sources_closed(void *ctx)
{
	struct api_server *server = ctx;

	/* Else they could not all be opened, and the server waits to be stopped. */
	if (server->state == API_SERVER_CUTTING)
		close_handles(server);
}

static void on_writes_closed(void *ctx)
{
	struct api_server *server = ctx;

	server->api.writes = NULL;
	pod_change_queue_free(server->api.pods);
	server->api.pods = NULL;
	if (server->sources.open > 0)
		sources_close(&server->sources);
	else
		close_handles(server);
}

static void on_idle(void *ctx);

static void on_emptier_closed(void *ctx)
{
	struct api_server *server = ctx;

	server->emptier = NULL;
	on_idle(server);
}

/* Changes that the informers still tell are not counted any more. */
static void on_events_closed(void *ctx)
{
	struct api_server *server = ctx;

	server->api.events = NULL;
	on_idle(server);
}

static void on_idle(void *ctx)
{
	struct api_server *server = ctx;

	if (server->emptier != NULL) {
		namespace_emptier_close(server->emptier, on_emptier_closed, server);
		return;
	}
	if (server->api.events != NULL && !server->events_close) {
		server->events_close = true;
		event_store_close(server->api.events, on_events_closed, server);
		return;
	}
	if (server->api.writes != NULL)
		write_queue_close(server->api.writes, on_writes_closed, server);
	else
		on_writes_closed(server);
}

static void on_http_closed(void *ctx)
{
	struct api_server *server = ctx;

	server->http = NULL;
	server->api.stopping = true;
	server->api.idle = on_idle;
	server->api.idle_ctx = server;
	if (server->api.open == 0)
		on_idle(server);
}

static void cut_rest(struct api_server *server)
{
	server->state = API_SERVER_CUTTING;
	http_server_close(server->http, on_http_closed, server);
}

void api_server_stop(struct api_server *server, void (*closed)(void *ctx), void *ctx)
{
	PL_ASSERT(server->state < API_SERVER_STOPPING);
	server->closed = closed;
	server->closed_ctx = ctx;
	if (server->call != NULL)
		kv_cancel(server->opts.kv, server->call);
	server->state = API_SERVER_STOPPING;
	http_server_stop_accepting(server->http);
	if (server->has_hub)
		watch_hub_stop(&server->hub);
	server->stop_at_ms = now_ms(server) + server->opts.stop_ms;
	pl_timer_set(&server->timer, now_ms(server));
}

/* -- the beginning ---------------------------------------------------------------------- */

static void find_meta(struct api_server *server);
static void probe_store(struct api_server *server);

static void open_emptier(struct api_server *server)
{
	struct pl_err err = {0};

	if (namespace_emptier_open(&server->api, &server->emptier, &err) != PL_OK)
		PL_LOG(PL_LOG_ERROR, "api.failed", pl_log_err("err", &err));
}

static void on_timer(void *ctx)
{
	struct api_server *server = ctx;
	struct http_server_counts counts;

	switch (server->state) {
	case API_SERVER_META:
		find_meta(server);
		return;
	case API_SERVER_SYNCING:
		if (!sources_synced(&server->sources)) {
			pl_timer_set(&server->timer, now_ms(server) + READY_MS);
			return;
		}
		server->state = API_SERVER_SERVING;
		/* The pages of the first lists are large, and the heap keeps them. */
		(void)malloc_trim(0);
		first_objects_make(&server->api);
		open_emptier(server);
		PL_LOG(PL_LOG_INFO, "api.ready",
		       pl_log_uint("port", http_server_port(server->http)));
		if (server->opts.ready != NULL)
			server->opts.ready(server->opts.ctx);
		probe_store(server);
		return;
	case API_SERVER_STOPPING:
		http_server_counts(server->http, &counts);
		if (counts.open_exchanges == 0 || now_ms(server) >= server->stop_at_ms)
			cut_rest(server);
		else
			pl_timer_set(&server->timer, now_ms(server) + READY_MS);
		return;
	case API_SERVER_SERVING:
		probe_store(server);
		return;
	case API_SERVER_CUTTING:
		return;
	}
}

/* A Node as the informer has it, for bindings. */
static bool know_node(void *ctx, struct pl_span cluster, struct pl_span name,
                      struct pod_value *out)
{
	struct api_server *server = ctx;
	const struct schema_resource *nodes = schema_resource_find(
		(struct pl_span){0}, PL_SPAN_LIT("v1"), PL_SPAN_LIT("nodes"));
	char text[MEMBER_NAME_SIZE];
	size_t len = member_name_join(cluster, name, text);
	struct object object;

	if (!source_get(&server->sources, nodes, (struct pl_span){0}, pl_span(text, len),
	                &object))
		return false;
	*out = (struct pod_value){object.part[OBJECT_MAIN]->mod_revision,
	                          object.part[OBJECT_MAIN]->value};
	return true;
}

static void open_sources(struct api_server *server, const struct meta *meta)
{
	struct sources_opts sources = {
		.kv = server->opts.kv,
		.partitions = meta->partitions,
		.fns = {.changed = on_changed,
	                .progress = on_progress,
	                .lost = on_lost,
	                .synced = on_synced,
	                .closed = on_sources_closed,
	                .ctx = server},
	};
	struct write_queue_opts writes = {.kv = server->opts.kv,
	                                  .timeout_ms = TIMEOUT_MS};
	const struct pod_change_queue_opts pods = {.service = &server->api.service,
	                                           .wall_ms = wall_ms,
	                                           .know = know_node,
	                                           .ctx = server};
	const struct event_store_opts events = {
		.all_max = server->opts.events_max,
		.namespace_max = server->opts.events_in_namespace_max};
	struct pl_err err = {0};

	server->api.service = (struct service){.kv = server->opts.kv,
	                                       .partitions = meta->partitions,
	                                       .timeout_ms = TIMEOUT_MS,
	                                       .user = "api"};
	server->hub = (struct watch_hub){.sources = &server->sources,
	                                 .timers = kv_timers(server->opts.kv),
	                                 .wall_ms = wall_ms,
	                                 .now_ms = now_ms,
	                                 .ctx = server};
	if (watch_hub_init(&server->hub, &err) == PL_OK) {
		server->has_hub = true;
		if (write_queue_open(&writes, &server->api.writes, &err) == PL_OK &&
		    pod_change_queue_open(&pods, &server->api.pods, &err) == PL_OK &&
		    event_store_open(&server->api, &events, &server->api.events, &err) ==
		            PL_OK &&
		    sources_open(&sources, &server->sources, &err) == PL_OK) {
			server->state = API_SERVER_SYNCING;
			pl_timer_set(&server->timer, now_ms(server));
			return;
		}
	}
	/* Only memory can be lacking here. */
	PL_LOG(PL_LOG_ERROR, "api.failed", pl_log_err("err", &err));
}

static void on_meta(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct api_server *server = ctx;
	struct pl_err why = {0};
	struct meta meta;

	server->call = NULL;
	if (server->state != API_SERVER_META)
		return;
	if (err == NULL && result->get.count == 1 &&
	    meta_parse(result->get.records[0].value, &meta, &why) == PL_OK) {
		open_sources(server, &meta);
		return;
	}
	pl_timer_set(&server->timer, now_ms(server) + META_AGAIN_MS);
}

static enum pl_code read_meta(struct api_server *server, kv_done_fn *done,
                              struct pl_err *err)
{
	struct keys_id id = {.kind = KEYS_META};
	struct keys_text key;
	enum pl_code code = keys_build(&id, &key, err);
	struct kv_get get;

	PL_ASSERT(code == PL_OK);
	get = (struct kv_get){.keys = kv_key(keys_span(&key))};
	return kv_get(server->opts.kv, &get, TIMEOUT_MS, done, server, &server->call,
	              err);
}

static void find_meta(struct api_server *server)
{
	struct pl_err err = {0};

	if (read_meta(server, on_meta, &err) != PL_OK)
		pl_timer_set(&server->timer, now_ms(server) + META_AGAIN_MS);
}

static void store_failed(struct api_server *server, const struct pl_err *err)
{
	(void)snprintf(server->store_why, sizeof server->store_why, "%.*s",
	               (int)sizeof server->store_why - 1, err->msg);
}

static void on_probed(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct api_server *server = ctx;

	(void)result;
	server->call = NULL;
	if (server->state != API_SERVER_SERVING)
		return;
	if (err == NULL)
		server->store_ms = now_ms(server);
	else
		store_failed(server, err);
	pl_timer_set(&server->timer, now_ms(server) + PROBE_MS);
}

/* Reads one small key, so that readiness knows whether the store answers. */
static void probe_store(struct api_server *server)
{
	struct pl_err err = {0};

	if (read_meta(server, on_probed, &err) == PL_OK)
		return;
	store_failed(server, &err);
	pl_timer_set(&server->timer, now_ms(server) + PROBE_MS);
}

/* -- turns ------------------------------------------------------------------------------- */

static void on_turn(uv_idle_t *idle)
{
	struct api_server *server = idle->data;
	uint64_t at_ms = api_calls_turn(server, now_ms(server));

	if (at_ms == 0)
		return;
	(void)uv_idle_stop(&server->idle);
	if (at_ms < server->look_ms)
		pl_timer_set(&server->turns, at_ms);
}

void api_server_wake(struct api_server *server)
{
	(void)uv_idle_start(&server->idle, on_turn);
}

static void on_turns_timer(void *ctx)
{
	struct api_server *server = ctx;

	if (now_ms(server) >= server->look_ms) {
		api_calls_look(server, true);
		server->look_ms = now_ms(server) + API_CALL_LOOK_MS;
	}
	pl_timer_set(&server->turns, server->look_ms);
	api_server_wake(server);
}

static enum pl_code identify_local(void *ctx, const struct http_request *http,
                                   struct pl_arena *arena, int64_t now_s,
                                   struct identity *out, struct pl_err *err)
{
	(void)ctx;
	(void)http;
	(void)arena;
	(void)now_s;
	(void)err;
	*out = identity_local();
	return PL_OK;
}

static enum pl_code identify_no_token(void *ctx, struct pl_span token,
                                      struct pl_arena *arena, int64_t now_s,
                                      struct identity *out, struct pl_err *err)
{
	(void)ctx;
	(void)token;
	(void)arena;
	(void)now_s;
	(void)out;
	return pl_err_set(err, PL_DENIED, "no token is known");
}

/* -- exchanges -------------------------------------------------------------------------- */

static void on_request(void *ctx, struct http_exchange *exchange,
                       const struct http_request *request)
{
	api_call_begin(ctx, exchange, request);
}

/* Strangers could fill the room of all bodies. */
static bool wants_body(void *ctx, const struct http_request *request)
{
	return api_client_is_known(ctx, request);
}

static void on_room(void *user, struct http_exchange *exchange)
{
	(void)exchange;
	if (user != NULL)
		api_call_room(user);
}

static void on_gone(void *user, struct http_exchange *exchange)
{
	(void)exchange;
	if (user != NULL)
		api_call_gone(user);
}

/* The parts that need no clean-up. */
static void init_parts(struct api_server *server, uv_loop_t *loop,
                       const struct api_server_opts *opts)
{
	server->loop = loop;
	server->opts = *opts;
	if (server->opts.stop_ms == 0)
		server->opts.stop_ms = STOP_MS;
	server->api = (struct api){.kv = opts->kv,
	                           .sources = &server->sources,
	                           .hub = &server->hub,
	                           .wall_ms = wall_ms,
	                           .now_ms = now_ms,
	                           .clock_ctx = server};
	pl_rng_init(&server->api.rng,
	            opts->seed != 0 ? opts->seed
	                            : uv_hrtime() ^ (uint64_t)pl_clock_wall_ms());
	pl_list_init(&server->calls);
	pl_list_init(&server->held);
	followed_access_init(&server->access);
	flow_init(&server->flow, &server->access.document.limits);
}

static enum pl_code open_parts(struct api_server *server, struct pl_err *err)
{
	struct pl_timers *timers = kv_timers(server->opts.kv);

	if (api_open(&server->api, err) != PL_OK)
		return err->code;
	server->api.access = &server->access.document;
	server->api.identifier = server->opts.identifier;
	if (server->opts.identifier.of_request == NULL)
		server->api.identifier = (struct request_identifier){
			identify_local, identify_no_token, NULL};
	if (pl_timer_init(&server->timer, timers, on_timer, server) == PL_OK &&
	    pl_timer_init(&server->turns, timers, on_turns_timer, server) == PL_OK)
		return PL_OK;
	pl_timer_done(&server->timer);
	api_close(&server->api);
	return pl_err_set(err, PL_NOMEM, "an API server");
}

enum pl_code api_server_open(uv_loop_t *loop, const struct api_server_opts *opts,
                             struct api_server **out, struct pl_err *err)
{
	static const struct http_server_fns fns = {.on_request = on_request,
	                                           .on_room = on_room,
	                                           .on_gone = on_gone,
	                                           .wants_body = wants_body};
	struct http_server_opts http = {.host = opts->host,
	                                .port = opts->port,
	                                .tls = opts->tls,
	                                .limits = opts->limits};
	struct api_server *server = pl_calloc(1, sizeof *server);

	if (server == NULL)
		return pl_err_set(err, PL_NOMEM, "an API server");
	init_parts(server, loop, opts);
	if (open_parts(server, err) != PL_OK) {
		free(server);
		return err->code;
	}
	if (http_server_open(loop, &http, &fns, server, &server->http, err) != PL_OK) {
		pl_timer_done(&server->turns);
		pl_timer_done(&server->timer);
		api_close(&server->api);
		free(server);
		return err->code;
	}
	(void)!metrics_set_new(&server->metrics, NULL);
	(void)uv_idle_init(loop, &server->idle);
	server->idle.data = server;
	uv_unref((uv_handle_t *)&server->idle);
	server->state = API_SERVER_META;
	(void)snprintf(server->address, sizeof server->address, "%.64s:%u", opts->host,
	               (unsigned)http_server_port(server->http));
	server->look_ms = now_ms(server) + API_CALL_LOOK_MS;
	pl_timer_set(&server->turns, server->look_ms);
	pl_timer_set(&server->timer, now_ms(server));
	*out = server;
	return PL_OK;
}

uint16_t api_server_port(const struct api_server *server)
{
	return http_server_port(server->http);
}
