#include <stdio.h>
#include <stdlib.h>

#include "coord/api/objects/pod_event.h"
#include "coord/api/objects/shown_walk.h"
#include "coord/api/watch/watch_event.h"
#include "coord/api/watch/watch_hub_int.h"
#include "store/base/alloc.h"

enum { TICK_MS = 1000, SCRATCH_BYTES = 64 << 10 };

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
		    !watch_channel_sees(channel, change, &type))
			continue;
		if (watch_batch_takes(channel)) {
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
	enum watch_event_type type;

	if (watcher->state != WATCHER_ENDED && watch_channel_sees(channel, change, &type))
		deliver(watcher, &encoded, type);
	encoded_done(&encoded);
}

/* The changes after a revision; then the watcher is live. */
static enum pl_code watcher_catch_up(struct watcher *watcher, int64_t after)
{
	struct watch_channel *channel = watcher->channel;
	struct watch_past past = {.watcher = watcher,
	                          .after = after,
	                          .until = INT64_MAX,
	                          .fn = replay_one,
	                          .ctx = watcher};
	enum pl_code code = watch_past_tell(&past);

	if (code != PL_OK || watcher->state == WATCHER_ENDED)
		return code;
	watch_batch_flush(watcher->hub, channel); /* the watcher has those events */
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

/* The watcher goes on behind the object, in the next turn. */
static enum pl_code watcher_pause(struct watcher *watcher, const struct object *object)
{
	struct watch_hub *hub = watcher->hub;

	if (!remember_place(watcher, object))
		return PL_NOMEM;
	pl_list_del(&watcher->walk);
	pl_list_add_tail(&hub->walking, &watcher->walk);
	pl_timer_set(&hub->walks, hub->now_ms(hub->ctx));
	return PL_BUSY;
}

static void on_walks(void *ctx)
{
	struct watch_hub *hub = ctx;
	struct pl_list now;

	pl_list_init(&now);
	pl_list_move(&now, &hub->walking);
	while (!pl_list_empty(&now)) {
		struct watcher *watcher = PL_LIST_ITEM(now.next, struct watcher, walk);

		pl_list_del(&watcher->walk);
		watcher_room(watcher);
	}
}

/* Sends objects until enough wait for the client, others come first, or all have been
 * sent. */
static enum pl_code watcher_go_on(struct watcher *watcher)
{
	struct watch_channel *channel = watcher->channel;
	struct shown_walk walk;
	struct object object;
	unsigned looked = 0;
	enum pl_code code = shown_walk_begin(
		watcher->hub->sources, channel->resource,
		pl_span(channel->prefix, channel->prefix_len),
		pl_buf_span(&watcher->after), watcher->revision, &channel->filter, &walk);

	if (code != PL_OK)
		return code;
	while (shown_walk_next(&walk, &object)) {
		bool sees = watch_channel_has(channel, &object) &&
		            object_filter_matches(&channel->filter, &object);

		if (sees && !send_initial(watcher, &object))
			return PL_NOMEM;
		if (sees && watcher_is_full(watcher))
			return remember_place(watcher, &object) ? PL_BUSY : PL_NOMEM;
		if (++looked == WATCH_TURN_OBJECTS)
			return watcher_pause(watcher, &object);
	}
	code = watcher_catch_up(watcher, watcher->revision);
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
	enum pl_code code;

	if (hub->stopped)
		return pl_err_set(err, PL_UNAVAIL, "the server is stopping");
	code = watch_channel_find(hub, opts, &channel, err);
	if (code != PL_OK || channel == NULL)
		return code;
	watcher = pl_calloc(1, sizeof *watcher);
	code = watcher == NULL ? PL_NOMEM : check_revision(hub, channel, opts);
	if (code != PL_OK || watcher == NULL) {
		free(watcher);
		watch_channel_drop_if_empty(hub, channel);
		return pl_err_set(err, code, "the watch cannot begin at this revision");
	}
	*watcher = (struct watcher){
		.hub = hub,
		.channel = channel,
		.exchange = exchange,
		.state = WATCHER_INITIAL,
		.bookmarks = opts->bookmarks,
		.initial_end = opts->initial && opts->initial_end,
		.revision = opts->initial || opts->revision == 0
	                            ? shown_revision(hub->sources, opts->resource)
	                            : opts->revision,
		.deadline_ms = hub->now_ms(hub->ctx) + opts->timeout_ms,
	};
	pl_buf_init(&watcher->after, SOURCE_ORDER_MAX);
	pl_list_init(&watcher->link);
	pl_list_init(&watcher->walk);
	pl_list_add_tail(&channel->initial, &watcher->link);
	channel->users++;
	hub->watchers++;
	*out = watcher;
	http_stream_begin(exchange, 200, &field, 1);
	if (opts->initial) {
		watcher_room(watcher);
		return PL_OK;
	}
	if (watcher_catch_up(watcher, watcher_revision_behind(watcher)) != PL_OK)
		watcher_expire(watcher);
	return PL_OK;
}

void watcher_stop(struct watcher *watcher)
{
	watch_batch_flush(watcher->hub, watcher->channel);
	watcher_end(watcher);
}

void watcher_gone(struct watcher *watcher)
{
	struct watch_hub *hub = watcher->hub;
	struct watch_channel *channel = watcher->channel;

	watcher->state = WATCHER_ENDED;
	pl_list_del(&watcher->link);
	pl_list_del(&watcher->walk);
	pl_buf_done(&watcher->after);
	free(watcher);
	hub->watchers--;
	channel->users--;
	watch_channel_drop_if_empty(hub, channel);
}

enum pl_code watch_hub_init(struct watch_hub *hub, struct pl_err *err)
{
	for (unsigned i = 0; i < SOURCE_KINDS; i++)
		pl_list_init(&hub->channels[i]);
	pl_map_init(&hub->by_key);
	pl_list_init(&hub->batched);
	pl_list_init(&hub->walking);
	pl_arena_init(&hub->scratch, SCRATCH_BYTES, 64 << 20);
	if (pl_timer_init(&hub->tick, hub->timers, on_tick, hub) != PL_OK ||
	    pl_timer_init(&hub->batches, hub->timers, watch_batch_on_timer, hub) !=
	            PL_OK ||
	    pl_timer_init(&hub->walks, hub->timers, on_walks, hub) != PL_OK) {
		pl_timer_done(&hub->tick);
		pl_timer_done(&hub->batches);
		return pl_err_set(err, PL_NOMEM, "the timers of watches");
	}
	pl_timer_set(&hub->tick, hub->now_ms(hub->ctx) + TICK_MS);
	return PL_OK;
}

void watch_hub_done(struct watch_hub *hub)
{
	PL_ASSERT(hub->watchers == 0);
	pl_timer_done(&hub->tick);
	pl_timer_done(&hub->batches);
	pl_timer_done(&hub->walks);
	pl_map_done(&hub->by_key);
	pl_arena_done(&hub->scratch);
}

void watch_hub_stop(struct watch_hub *hub)
{
	hub->stopped = true;
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
