/*
 * The inside of a watch hub, shared by its files.
 *
 *	watch_hub.c    channels, watchers, initial objects, bookmarks
 *	watch_batch.c  events of a channel with many watchers that are sent together
 */
#ifndef COORD_API_WATCH_WATCH_HUB_INT_H
#define COORD_API_WATCH_WATCH_HUB_INT_H

#include "coord/api/watch/watch_hub.h"

/* Events that wait to be sent to all live watchers of a channel. */
struct watch_batch {
	struct pl_list link; /* of the hub's channels that have some */
	struct pl_buf bytes; /* empty: none waits */
	uint32_t events;
	int64_t revision; /* of the last one */
	uint64_t sent_ms; /* when the watchers were last sent anything */
};

/* All watchers of the same objects in the same shape. */
struct watch_channel {
	struct pl_list link; /* of its source's channels */
	struct pl_map_node node;
	enum source_kind kind;
	const struct schema_resource *resource;
	struct object_shape shape;
	struct object_filter filter;
	struct pl_arena arena; /* of the filter and the key */
	struct pl_span namespace, name;
	size_t prefix_len;
	char prefix[SOURCE_ORDER_MAX]; /* of the objects' orders */
	struct pl_list live, initial;  /* of struct watcher */
	uint32_t users;                /* watchers, ended ones included */
	uint64_t bookmark_ms;          /* of the next one */
	struct watch_batch batch;      /* for the live ones */
};

void watcher_send(struct watcher *watcher, struct http_blob *blob, int64_t revision);
void watch_channel_expire(struct watch_channel *channel);

/* -- watch_batch.c ---------------------------------------------------------------------- */

/* Whether an event is to wait; otherwise the caller sends it now. */
bool watch_batch_waits(struct watch_hub *hub, struct watch_channel *channel);
/* Adds an event; without memory for it, the watchers' streams end. */
void watch_batch_add(struct watch_hub *hub, struct watch_channel *channel,
                     const struct http_blob *blob, int64_t revision);
/* Sends what waits. */
void watch_batch_flush(struct watch_hub *hub, struct watch_channel *channel);
/* The hub's timer: sends what is due. */
void watch_batch_on_timer(void *ctx); /* the hub */

#endif
