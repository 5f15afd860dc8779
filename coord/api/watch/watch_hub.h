/*
 * The fan-out of changes to the clients that watch: each event is encoded once for all who
 * want it in one shape, and its bytes are shared.
 *
 *	source --change--> channel (resource, place, selectors, shape) --blob--> watchers
 *
 *	watcher   INITIAL --all objects sent--> LIVE --+--> ENDED
 *	             `--- too slow, lost ---------------'
 *
 * A watcher that begins with the present objects sends them in pieces, as its client reads
 * them, as they were at one revision; then the changes since; then it is live. A watcher
 * that begins at a revision sends the changes since, and is live at once.
 *
 * Invariants:
 *  - Every watcher gets each change of its objects after its revision once, in order; or
 *    its stream ends (with an ERROR event where it must list again).
 *  - A stream that was cut goes on behind any of its events without a loss: the changes of
 *    one revision leave in one piece, a bookmark names a revision that was told whole, and a
 *    watch that begins at a revision which changed several of its objects is told those
 *    changes again.
 *  - A watcher that does not read costs no memory beyond the server's limit for it: it is
 *    cut, and others do not notice.
 *  - A channel with many watchers sends events that follow each other closely together
 *    (watch_batch.c).
 *  - A watch of events gets those that follow from pods' states, too; between these and the
 *    stored ones the order of revisions is that in which the two sources hear of them.
 *  - A selector that an object enters or leaves makes the change ADDED or DELETED.
 */
#ifndef COORD_API_WATCH_WATCH_HUB_H
#define COORD_API_WATCH_WATCH_HUB_H

#include "coord/api/objects/object_filter.h"
#include "coord/api/objects/object_shape.h"
#include "coord/api/objects/sources.h"
#include "store/base/map.h"
#include "store/net/http_server.h"

enum {
	WATCH_BOOKMARK_MS = 60000,
	/* that may wait to be sent while they are sent; the server says that there is
	 * room when what waits has been as much, half of its limit */
	WATCH_AHEAD_BYTES = 8 << 20,
	WATCH_CHANNELS_MAX = 100000,
	WATCH_TURN_OBJECTS = 1000, /* that a new watch looks at before others come */
};

struct watch_hub {
	struct sources *sources;
	struct pl_timers *timers;
	int64_t (*wall_ms)(void *ctx);
	uint64_t (*now_ms)(void *ctx);
	void *ctx;
	struct pl_list channels[SOURCE_KINDS]; /* of struct watch_channel */
	struct pl_map by_key;
	bool stopped;            /* no watch begins any more */
	uint32_t event_channels; /* of these: of events, which follow from pods, too */
	struct pl_timer tick;    /* bookmarks, and streams whose time is over */
	struct pl_timer batches; /* events that are sent together */
	uint64_t batches_ms;     /* when that is due */
	struct pl_list batched;  /* channels that have such events */
	struct pl_timer walks;   /* watchers that go on in the next turn */
	struct pl_list walking;
	struct pl_arena scratch;
	uint64_t watchers, events, deliveries, cut; /* counts; watchers: open now */
};

struct watch_channel;

enum watcher_state { WATCHER_INITIAL, WATCHER_LIVE, WATCHER_ENDED };

/* The options of a watch. Borrowed during watch_begin; selectors are parsed again from
 * their text by the channel. */
struct watch_opts {
	const struct schema_resource *resource;
	struct pl_span namespace, name; /* empty: all */
	struct pl_span label_selector, field_selector;
	struct object_shape shape;
	bool bookmarks;
	bool initial;     /* the present objects come first */
	bool initial_end; /* a bookmark says that they have all come */
	/* Without initial: changes after it, and its own where it changed several objects.
	 * 0: from now on. */
	int64_t revision;
	uint64_t timeout_ms;
};

struct watcher {
	struct pl_list link; /* in its channel, or initial */
	struct pl_list walk; /* of hub->walking */
	struct watch_hub *hub;
	struct watch_channel *channel;
	struct http_exchange *exchange;
	enum watcher_state state;
	bool headers; /* columns of the Table have been sent */
	bool bookmarks, initial_end;
	bool continuing;      /* a piece is being sent: no recursion */
	int64_t revision;     /* INITIAL: of the objects; else of the last event */
	uint64_t deadline_ms; /* the stream ends then */
	struct pl_buf after;  /* INITIAL: the order of the last object that was sent */
};

/* PL_NOMEM. */
PL_NODISCARD enum pl_code watch_hub_init(struct watch_hub *hub, struct pl_err *err);
/* All watchers have ended and gone. */
void watch_hub_done(struct watch_hub *hub);
/* Ends all streams, and none begins any more. */
void watch_hub_stop(struct watch_hub *hub);

void watch_hub_changed(struct watch_hub *hub, enum source_kind kind,
                       const struct source_change *change);
void watch_hub_lost(struct watch_hub *hub, enum source_kind kind,
                    const struct pl_err *err);

/* Begins a stream on the exchange; PL_OK: the head of the answer has been sent, and
 * watcher_room and watcher_gone are to be called for the exchange. PL_COMPACTED,
 * PL_NOMEM, PL_INVALID (a selector): nothing was sent. PL_LIMIT: too many channels.
 * PL_UNAVAIL: the hub has been stopped. */
PL_NODISCARD enum pl_code watch_begin(struct watch_hub *hub,
                                      const struct watch_opts *opts,
                                      struct http_exchange *exchange,
                                      struct watcher **out, struct pl_err *err);
void watcher_room(struct watcher *watcher);
/* Ends the stream; watcher_gone follows. */
void watcher_stop(struct watcher *watcher);
void watcher_gone(struct watcher *watcher); /* frees it */

#endif
