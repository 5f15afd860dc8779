/*
 * The inside of a watch hub, shared by its files.
 *
 *	watch_hub.c      watchers, initial objects, bookmarks
 *	watch_channel.c  who watches which objects
 *	watch_past.c     the changes since a revision
 *	watch_batch.c    events of a channel with many watchers that are sent together
 */
#ifndef COORD_API_WATCH_WATCH_HUB_INT_H
#define COORD_API_WATCH_WATCH_HUB_INT_H

#include "coord/api/watch/watch_event.h"
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

/* -- watch_channel.c -------------------------------------------------------------------- */

/* The channel of a watch, found or made. Errors as of watch_begin. */
PL_NODISCARD enum pl_code watch_channel_find(struct watch_hub *hub,
                                             const struct watch_opts *opts,
                                             struct watch_channel **out,
                                             struct pl_err *err);
void watch_channel_drop_if_empty(struct watch_hub *hub, struct watch_channel *channel);
/* Whether the object is one of its namespace and name. */
bool watch_channel_has(const struct watch_channel *channel, const struct object *object);
/* The type of a change for watchers that see only what the filter lets pass. False: they
 * do not see it. */
bool watch_channel_sees(const struct watch_channel *channel,
                        const struct source_change *change, enum watch_event_type *out);

/* -- watch_past.c ------------------------------------------------------------------------ */

/* Changes of the past, and who is told them. */
struct watch_past {
	struct watcher *watcher;
	int64_t after, until;
	void (*fn)(void *ctx, const struct source_change *change);
	void *ctx;
};

/* Errors as of source_replay. */
PL_NODISCARD enum pl_code watch_past_tell(struct watch_past *past);
/* The revision behind which the changes begin for a client that names the watcher's. */
int64_t watcher_revision_behind(struct watcher *watcher);

/* -- watch_batch.c ---------------------------------------------------------------------- */

/* Whether events wait for others; otherwise the caller sends them at once. */
bool watch_batch_takes(const struct watch_channel *channel);
/* Adds an event; without memory for it, the watchers' streams end. */
void watch_batch_add(struct watch_hub *hub, struct watch_channel *channel,
                     const struct http_blob *blob, int64_t revision);
/* Sends what waits. */
void watch_batch_flush(struct watch_hub *hub, struct watch_channel *channel);
/* The hub's timer: sends what is due. */
void watch_batch_on_timer(void *ctx); /* the hub */

#endif
