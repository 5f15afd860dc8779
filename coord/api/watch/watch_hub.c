#include <stdio.h>
#include <stdlib.h>

#include "coord/api/objects/pod_event.h"
#include "coord/api/objects/shown_walk.h"
#include "coord/api/watch/watch_event.h"
#include "coord/api/watch/watch_hub_int.h"
#include "store/base/alloc.h"

enum { TICK_MS = 1000, KEY_MAX = 200 * 1024, SCRATCH_BYTES = 64 << 10 };

/* -- sending ------------------------------------------------------------------------- */

static void watcher_end(struct watcher *watcher)
{
	if (watcher->state == WATCHER_ENDED)
		return;
	watcher->state = WATCHER_ENDED;
	pl_list_del(&watcher->link);
	http_stream_end(watcher->exchange);
}

/* Ends the stream so that the client lists again. */
static void watcher_expire(struct watcher *watcher)
{
	struct http_blob *blob;

	if (watcher->state == WATCHER_ENDED)
		return;
	blob = watch_expired_blob();
	watcher->hub->cut++;
	if (blob != NULL)
		http_stream_send(watcher->exchange, blob);
	http_blob_unref(blob);
	watcher_end(watcher);
}

void watcher_send(struct watcher *watcher, struct http_blob *blob, int64_t revision)
{
	watcher->hub->deliveries++;
	watcher->revision = revision;
	http_stream_send(watcher->exchange, blob);
}

/* -- one change, encoded once -------------------------------------------------------- */

enum { ENCODED_MAX = 8 };

/* The texts of one change, by type, shape and whether a Table has its columns. */
struct encoded {
	const struct source_change *change;
	struct {
		enum watch_event_type type;
		const struct schema_resource *resource;
		struct object_shape shape;
		bool headers;
		struct http_blob *blob;
	} at[ENCODED_MAX];
	unsigned count;
};

/* A reference for the caller; NULL: no memory. */
static struct http_blob *encode(struct watch_channel *channel, struct watch_hub *hub,
                                struct encoded *encoded, enum watch_event_type type,
                                bool headers)
{
	struct object_shape shape = channel->shape;
	const struct object *object = type == WATCH_DELETED ? &encoded->change->before
	                                                    : &encoded->change->after;
	struct object shown = *object;
	struct http_blob *blob;

	for (unsigned i = 0; i < encoded->count; i++)
		if (encoded->at[i].type == type && encoded->at[i].headers == headers &&
		    encoded->at[i].resource == channel->resource &&
		    object_shape_eq(encoded->at[i].shape, shape))
			return http_blob_ref(encoded->at[i].blob);
	shown.resource = channel->resource;
	if (type == WATCH_DELETED) /* the version at which it went */
		shown.revision = encoded->change->revision;
	blob = watch_event_blob(type, shape, &shown, headers, hub->wall_ms(hub->ctx),
	                        &hub->scratch);
	hub->events++;
	if (blob != NULL && encoded->count < ENCODED_MAX) {
		unsigned at = encoded->count++;

		encoded->at[at].type = type;
		encoded->at[at].resource = channel->resource;
		encoded->at[at].shape = shape;
		encoded->at[at].headers = headers;
		encoded->at[at].blob = http_blob_ref(blob);
	}
	return blob;
}

static void encoded_done(struct encoded *encoded)
{
	for (unsigned i = 0; i < encoded->count; i++)
		http_blob_unref(encoded->at[i].blob);
}

/* The type of the change for watchers that see only what the filter lets pass. False:
 * none. */
static bool event_type(const struct watch_channel *channel,
                       const struct source_change *change, enum watch_event_type *out)
{
	bool before = object_filter_matches(&channel->filter, &change->before);
	bool after = object_filter_matches(&channel->filter, &change->after);

	if (!before && !after)
		return false;
	*out = !before ? WATCH_ADDED : !after ? WATCH_DELETED : WATCH_MODIFIED;
	/* An object whose uid is another one was deleted and created again: clients see
	 * that by the uid. */
	return true;
}

static bool in_place(const struct watch_channel *channel, const struct object *object)
{
	return (channel->namespace.len == 0 ||
	        pl_span_eq(channel->namespace, object->namespace)) &&
	       (channel->name.len == 0 || pl_span_eq(channel->name, object->name));
}

static void deliver(struct watcher *watcher, struct encoded *encoded,
                    enum watch_event_type type)
{
	struct watch_channel *channel = watcher->channel;
	bool is_table = channel->shape.as == ACCEPT_AS_TABLE;
	struct http_blob *blob = encode(channel, watcher->hub, encoded, type,
	                                is_table && !watcher->headers);

	if (blob == NULL) {
		watcher_expire(watcher);
		return;
	}
	watcher->headers = true;
	watcher_send(watcher, blob, encoded->change->revision);
	http_blob_unref(blob);
}

/* The same bytes for all watchers of a channel, sent later. */
static void deliver_later(struct watch_hub *hub, struct watch_channel *channel,
                          struct encoded *encoded, enum watch_event_type type)
{
	struct http_blob *blob = encode(channel, hub, encoded, type, false);

	if (blob == NULL) {
		watch_batch_flush(hub, channel);
		watch_channel_expire(channel);
		return;
	}
	watch_batch_add(hub, channel, blob, encoded->change->revision);
	http_blob_unref(blob);
}

/* Whether the objects of the channel are those of the resource: events have two. */
static bool shows(const struct watch_channel *channel,
                  const struct schema_resource *resource)
{
	return channel->resource == resource ||
	       (resource_is_events(resource) && resource_is_events(channel->resource));
}

static void fan_out(struct watch_hub *hub, enum source_kind kind,
                    const struct source_change *change)
{
	struct encoded encoded = {.change = change};
	const struct object *object = change->after.part[OBJECT_MAIN] != NULL
	                                      ? &change->after
	                                      : &change->before;

	PL_LIST_EACH (link, &hub->channels[kind]) {
		struct watch_channel *channel =
			PL_LIST_ITEM(link, struct watch_channel, link);
		enum watch_event_type type;

		if (!shows(channel, object->resource) || pl_list_empty(&channel->live) ||
		    !in_place(channel, object) || !event_type(channel, change, &type))
			continue;
		if (watch_batch_waits(hub, channel)) {
			deliver_later(hub, channel, &encoded, type);
			continue;
		}
		PL_LIST_EACH (at, &channel->live)
			deliver(PL_LIST_ITEM(at, struct watcher, link), &encoded, type);
	}
	encoded_done(&encoded);
}

static void fan_out_event(void *ctx, const struct source_change *change)
{
	fan_out(ctx, SOURCE_OBJECTS, change);
}

void watch_hub_changed(struct watch_hub *hub, enum source_kind kind,
                       const struct source_change *change)
{
	fan_out(hub, kind, change);
	if (kind == SOURCE_PODS && hub->event_channels > 0)
		pod_event_changes(change, fan_out_event, hub);
}

void watch_channel_expire(struct watch_channel *channel)
{
	while (!pl_list_empty(&channel->live))
		watcher_expire(PL_LIST_ITEM(channel->live.next, struct watcher, link));
	while (!pl_list_empty(&channel->initial))
		watcher_expire(PL_LIST_ITEM(channel->initial.next, struct watcher, link));
}

void watch_hub_lost(struct watch_hub *hub, enum source_kind kind,
                    const struct pl_err *err)
{
	(void)err;
	PL_LIST_EACH (link, &hub->channels[kind]) {
		struct watch_channel *channel =
			PL_LIST_ITEM(link, struct watch_channel, link);

		watch_batch_flush(hub, channel);
		watch_channel_expire(channel);
	}
	if (kind != SOURCE_PODS)
		return;
	/* Events of pods are lost with the pods. */
	PL_LIST_EACH (link, &hub->channels[SOURCE_OBJECTS]) {
		struct watch_channel *channel =
			PL_LIST_ITEM(link, struct watch_channel, link);

		if (!resource_is_events(channel->resource))
			continue;
		watch_batch_flush(hub, channel);
		watch_channel_expire(channel);
	}
}

/* -- bookmarks and time --------------------------------------------------------------- */

static void send_bookmark(struct watcher *watcher, bool last)
{
	struct watch_channel *channel = watcher->channel;
	int64_t revision = shown_revision(watcher->hub->sources, channel->resource);
	struct http_blob *blob =
		watch_bookmark_blob(channel->resource, channel->shape, revision, last);

	if (blob == NULL) {
		watcher_expire(watcher);
		return;
	}
	watcher_send(watcher, blob, revision);
	http_blob_unref(blob);
}

static void end_late(struct pl_list *watchers, uint64_t now_ms)
{
	PL_LIST_EACH (link, watchers) {
		struct watcher *watcher = PL_LIST_ITEM(link, struct watcher, link);

		if (watcher->deadline_ms <= now_ms) {
			if (watcher->state == WATCHER_LIVE && watcher->bookmarks)
				send_bookmark(watcher, false);
			watcher_end(watcher);
		}
	}
}

static void channel_tick(struct watch_hub *hub, struct watch_channel *channel,
                         uint64_t now_ms)
{
	watch_batch_flush(hub, channel); /* before what says that all has been sent */
	end_late(&channel->live, now_ms);
	end_late(&channel->initial, now_ms);
	if (now_ms < channel->bookmark_ms)
		return;
	channel->bookmark_ms = now_ms + WATCH_BOOKMARK_MS;
	PL_LIST_EACH (link, &channel->live) {
		struct watcher *watcher = PL_LIST_ITEM(link, struct watcher, link);

		if (watcher->bookmarks)
			send_bookmark(watcher, false);
	}
}

static void on_tick(void *ctx)
{
	struct watch_hub *hub = ctx;
	uint64_t now_ms = hub->now_ms(hub->ctx);

	for (unsigned i = 0; i < SOURCE_KINDS; i++)
		PL_LIST_EACH (link, &hub->channels[i])
			channel_tick(hub, PL_LIST_ITEM(link, struct watch_channel, link),
			             now_ms);
	pl_timer_set(&hub->tick, now_ms + TICK_MS);
}

/* -- initial objects -------------------------------------------------------------------- */

static bool watcher_is_full(const struct watcher *watcher)
{
	return http_exchange_pending(watcher->exchange) >= WATCH_AHEAD_BYTES;
}

static void replay_one(void *ctx, const struct source_change *change)
{
	struct watcher *watcher = ctx;
	struct watch_channel *channel = watcher->channel;
	struct encoded encoded = {.change = change};
	const struct object *object = change->after.part[OBJECT_MAIN] != NULL
	                                      ? &change->after
	                                      : &change->before;
	enum watch_event_type type;

	if (watcher->state != WATCHER_ENDED && in_place(channel, object) &&
	    event_type(channel, change, &type))
		deliver(watcher, &encoded, type);
	encoded_done(&encoded);
}

static void replay_pod(void *ctx, const struct source_change *change)
{
	pod_event_changes(change, replay_one, ctx);
}

/* The events that pods' changes after the watcher's revision tell. */
static enum pl_code replay_pods(struct watcher *watcher, int64_t revision)
{
	struct watch_channel *channel = watcher->channel;
	struct watch_hub *hub = watcher->hub;
	char prefix[SOURCE_ORDER_MAX];
	size_t len;

	if (!resource_is_events(channel->resource) ||
	    !shown_event_pods(channel->namespace, &channel->filter, prefix, &len) ||
	    revision == source_revision(hub->sources, SOURCE_PODS))
		return PL_OK;
	return source_replay(hub->sources, shown_event_resource(), pl_span(prefix, len),
	                     revision, replay_pod, watcher);
}

/* The changes after the watcher's revision; then it is live. */
static enum pl_code watcher_catch_up(struct watcher *watcher)
{
	struct watch_channel *channel = watcher->channel;
	struct watch_hub *hub = watcher->hub;
	int64_t revision = watcher->revision;
	enum pl_code code = PL_OK;

	if (revision != source_revision(hub->sources, channel->kind))
		code = source_replay(hub->sources, channel->resource,
		                     pl_span(channel->prefix, channel->prefix_len),
		                     revision, replay_one, watcher);
	if (code == PL_OK)
		code = replay_pods(watcher, revision);
	if (code != PL_OK || watcher->state == WATCHER_ENDED)
		return code;
	watch_batch_flush(hub, channel); /* the watcher has those events */
	watcher->state = WATCHER_LIVE;
	pl_list_del(&watcher->link);
	pl_list_add_tail(&channel->live, &watcher->link);
	return PL_OK;
}

static bool remember_place(struct watcher *watcher, const struct object *object)
{
	watcher->after.len = 0;
	return pl_buf_add(&watcher->after, source_object_order(object)) == PL_OK;
}

static bool send_initial(struct watcher *watcher, const struct object *object)
{
	struct watch_channel *channel = watcher->channel;
	struct watch_hub *hub = watcher->hub;
	bool headers = channel->shape.as == ACCEPT_AS_TABLE && !watcher->headers;
	struct http_blob *blob =
		watch_event_blob(WATCH_ADDED, channel->shape, object, headers,
	                         hub->wall_ms(hub->ctx), &hub->scratch);

	if (blob == NULL)
		return false;
	watcher->headers = true;
	hub->events++;
	hub->deliveries++;
	http_stream_send(watcher->exchange, blob);
	http_blob_unref(blob);
	return true;
}

/* Sends objects until enough wait for the client, or all have been sent. */
static enum pl_code watcher_go_on(struct watcher *watcher)
{
	struct watch_channel *channel = watcher->channel;
	struct shown_walk walk;
	struct object object;
	enum pl_code code = shown_walk_begin(
		watcher->hub->sources, channel->resource,
		pl_span(channel->prefix, channel->prefix_len),
		pl_buf_span(&watcher->after), watcher->revision, &channel->filter, &walk);

	if (code != PL_OK)
		return code;
	while (shown_walk_next(&walk, &object)) {
		if (!in_place(channel, &object) ||
		    !object_filter_matches(&channel->filter, &object))
			continue;
		if (!send_initial(watcher, &object))
			return PL_NOMEM;
		if (watcher_is_full(watcher))
			return remember_place(watcher, &object) ? PL_BUSY : PL_NOMEM;
	}
	code = watcher_catch_up(watcher);
	if (code == PL_OK && watcher->state == WATCHER_LIVE && watcher->initial_end)
		send_bookmark(watcher, true);
	return code;
}

void watcher_room(struct watcher *watcher)
{
	if (watcher->state != WATCHER_INITIAL || watcher->continuing ||
	    watcher_is_full(watcher))
		return;
	watcher->continuing = true;
	switch (watcher_go_on(watcher)) {
	case PL_OK:
	case PL_BUSY:
		break;
	default:
		watcher_expire(watcher);
		break;
	}
	watcher->continuing = false;
}

/* -- channels -------------------------------------------------------------------------- */

static void channel_free(struct watch_hub *hub, struct watch_channel *channel)
{
	if (pl_map_has(&channel->node)) {
		pl_map_del(&hub->by_key, &channel->node);
		hub->event_channels -= resource_is_events(channel->resource);
	}
	pl_list_del(&channel->link);
	pl_list_del(&channel->batch.link);
	pl_buf_done(&channel->batch.bytes);
	pl_arena_done(&channel->arena);
	free(channel);
}

static struct pl_span channel_key(const struct watch_opts *opts, struct pl_arena *arena)
{
	char *text = pl_arena_printf(
		arena,
		"%p %d %d %d\n" PL_SPAN_FMT "\n" PL_SPAN_FMT "\n" PL_SPAN_FMT
		"\n" PL_SPAN_FMT,
		(const void *)opts->resource, (int)opts->shape.as, (int)opts->shape.beta,
		(int)opts->shape.include, PL_SPAN_ARG(opts->namespace),
		PL_SPAN_ARG(opts->name), PL_SPAN_ARG(opts->label_selector),
		PL_SPAN_ARG(opts->field_selector));

	return pl_span_str(text);
}

static enum pl_code channel_filter(struct watch_channel *channel,
                                   const struct watch_opts *opts, struct pl_err *err)
{
	struct pl_span why = {0};
	enum pl_code code = label_selector_parse(&channel->arena, opts->label_selector,
	                                         &channel->filter.labels, &why);

	if (code == PL_OK)
		code = field_selector_parse(&channel->arena, opts->resource->group,
		                            opts->resource->plural, opts->field_selector,
		                            &channel->filter.fields, &why);
	if (code != PL_OK)
		return pl_err_set(err, code, PL_SPAN_FMT, PL_SPAN_ARG(why));
	return PL_OK;
}

static enum pl_code channel_new(struct watch_hub *hub, const struct watch_opts *opts,
                                struct watch_channel **out, struct pl_err *err)
{
	struct watch_channel *channel = pl_calloc(1, sizeof *channel);
	bool has_source;

	if (channel == NULL)
		return pl_err_set(err, PL_NOMEM, "a watch");
	pl_list_init(&channel->link);
	pl_list_init(&channel->batch.link);
	pl_list_init(&channel->live);
	pl_list_init(&channel->initial);
	pl_arena_init(&channel->arena, 512, 4 << 20);
	channel->resource = opts->resource;
	channel->shape = opts->shape;
	channel->bookmark_ms = hub->now_ms(hub->ctx) + WATCH_BOOKMARK_MS;
	has_source = source_of_resource(opts->resource, &channel->kind);
	PL_ASSERT(has_source);
	channel->namespace = pl_arena_dup(&channel->arena, opts->namespace);
	channel->name = pl_arena_dup(&channel->arena, opts->name);
	/* An event of a pod stands elsewhere than its name says. */
	if (opts->namespace.len + opts->name.len <= SOURCE_NAMES_MAX &&
	    (opts->name.len == 0 || opts->namespace.len > 0 ||
	     !opts->resource->namespaced) &&
	    (opts->name.len == 0 || !resource_is_events(opts->resource)))
		channel->prefix_len = source_prefix(opts->resource, opts->namespace,
		                                    opts->name, channel->prefix);
	else
		channel->prefix_len = source_prefix(opts->resource,
		                                    resource_is_events(opts->resource)
		                                            ? opts->namespace
		                                            : (struct pl_span){0},
		                                    (struct pl_span){0}, channel->prefix);
	*out = channel;
	if (channel->namespace.len != opts->namespace.len ||
	    channel->name.len != opts->name.len)
		return pl_err_set(err, PL_NOMEM, "a watch");
	return channel_filter(channel, opts, err);
}

static enum pl_code channel_find(struct watch_hub *hub, const struct watch_opts *opts,
                                 struct watch_channel **out, struct pl_err *err)
{
	struct pl_map_node *node;
	struct pl_span key;
	enum pl_code code;

	pl_arena_reset(&hub->scratch);
	key = channel_key(opts, &hub->scratch);
	if (key.at == NULL)
		return pl_err_set(err, PL_NOMEM, "a watch");
	node = pl_map_get(&hub->by_key, key);
	if (node != NULL) {
		*out = PL_CONTAINER_OF(node, struct watch_channel, node);
		return PL_OK;
	}
	if (hub->by_key.count >= WATCH_CHANNELS_MAX)
		return pl_err_set(err, PL_LIMIT, "too many different watches");
	code = channel_new(hub, opts, out, err);
	if (code == PL_OK) {
		key = pl_arena_dup(&(*out)->arena, key);
		if (key.at == NULL)
			code = pl_err_set(err, PL_NOMEM, "a watch");
	}
	if (code != PL_OK) {
		if (*out != NULL)
			channel_free(hub, *out);
		*out = NULL;
		return code;
	}
	PL_ASSERT(*out != NULL);
	node = pl_map_add(&hub->by_key, &(*out)->node, key);
	PL_ASSERT(node == NULL);
	pl_list_add_tail(&hub->channels[(*out)->kind], &(*out)->link);
	hub->event_channels += resource_is_events((*out)->resource);
	return PL_OK;
}

static void channel_drop_if_empty(struct watch_hub *hub, struct watch_channel *channel)
{
	if (pl_list_empty(&channel->live) && pl_list_empty(&channel->initial) &&
	    channel->users == 0)
		channel_free(hub, channel);
}

/* -- life ------------------------------------------------------------------------------- */

static enum pl_code check_revision(struct watch_hub *hub,
                                   const struct watch_channel *channel,
                                   const struct watch_opts *opts)
{
	struct shown_walk walk;

	if (opts->initial)
		return PL_OK;
	return shown_walk_begin(hub->sources, channel->resource,
	                        pl_span(channel->prefix, channel->prefix_len),
	                        (struct pl_span){0}, opts->revision, &channel->filter,
	                        &walk);
}

enum pl_code watch_begin(struct watch_hub *hub, const struct watch_opts *opts,
                         struct http_exchange *exchange, struct watcher **out,
                         struct pl_err *err)
{
	const struct http_field field = {PL_SPAN_LIT("content-type"),
	                                 PL_SPAN_LIT("application/json")};
	struct watch_channel *channel = NULL;
	struct watcher *watcher;
	enum pl_code code = channel_find(hub, opts, &channel, err);

	if (code != PL_OK || channel == NULL)
		return code;
	watcher = pl_calloc(1, sizeof *watcher);
	code = watcher == NULL ? PL_NOMEM : check_revision(hub, channel, opts);
	if (code != PL_OK || watcher == NULL) {
		free(watcher);
		channel_drop_if_empty(hub, channel);
		return pl_err_set(err, code, "the watch cannot begin at this revision");
	}
	*watcher = (struct watcher){
		.hub = hub,
		.channel = channel,
		.exchange = exchange,
		.state = WATCHER_INITIAL,
		.bookmarks = opts->bookmarks,
		.initial_end = opts->initial && opts->initial_end,
		.revision = opts->initial ? shown_revision(hub->sources, opts->resource)
	                                  : opts->revision,
		.deadline_ms = hub->now_ms(hub->ctx) + opts->timeout_ms,
	};
	pl_buf_init(&watcher->after, SOURCE_ORDER_MAX);
	pl_list_init(&watcher->link);
	pl_list_add_tail(&channel->initial, &watcher->link);
	channel->users++;
	hub->watchers++;
	*out = watcher;
	http_stream_begin(exchange, 200, &field, 1);
	if (opts->initial) {
		watcher_room(watcher);
		return PL_OK;
	}
	if (watcher_catch_up(watcher) != PL_OK)
		watcher_expire(watcher);
	return PL_OK;
}

void watcher_gone(struct watcher *watcher)
{
	struct watch_hub *hub = watcher->hub;
	struct watch_channel *channel = watcher->channel;

	watcher->state = WATCHER_ENDED;
	pl_list_del(&watcher->link);
	pl_buf_done(&watcher->after);
	free(watcher);
	hub->watchers--;
	channel->users--;
	channel_drop_if_empty(hub, channel);
}

enum pl_code watch_hub_init(struct watch_hub *hub, struct pl_err *err)
{
	for (unsigned i = 0; i < SOURCE_KINDS; i++)
		pl_list_init(&hub->channels[i]);
	pl_map_init(&hub->by_key);
	pl_list_init(&hub->batched);
	pl_arena_init(&hub->scratch, SCRATCH_BYTES, 64 << 20);
	if (pl_timer_init(&hub->tick, hub->timers, on_tick, hub) != PL_OK)
		return pl_err_set(err, PL_NOMEM, "the timer of watches");
	if (pl_timer_init(&hub->batches, hub->timers, watch_batch_on_timer, hub) !=
	    PL_OK) {
		pl_timer_done(&hub->tick);
		return pl_err_set(err, PL_NOMEM, "the timer of batches");
	}
	pl_timer_set(&hub->tick, hub->now_ms(hub->ctx) + TICK_MS);
	return PL_OK;
}

void watch_hub_done(struct watch_hub *hub)
{
	PL_ASSERT(hub->watchers == 0);
	pl_timer_done(&hub->tick);
	pl_timer_done(&hub->batches);
	pl_map_done(&hub->by_key);
	pl_arena_done(&hub->scratch);
}

void watch_hub_stop(struct watch_hub *hub)
{
	for (unsigned i = 0; i < SOURCE_KINDS; i++) {
		PL_LIST_EACH (link, &hub->channels[i]) {
			struct watch_channel *channel =
				PL_LIST_ITEM(link, struct watch_channel, link);

			watch_batch_flush(hub, channel);
			while (!pl_list_empty(&channel->live))
				watcher_end(PL_LIST_ITEM(channel->live.next,
				                         struct watcher, link));
			while (!pl_list_empty(&channel->initial))
				watcher_end(PL_LIST_ITEM(channel->initial.next,
				                         struct watcher, link));
		}
	}
}
