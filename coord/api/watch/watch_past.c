/* The changes since the revision at which a watcher begins, out of the windows of the
 * sources. */
#include "coord/api/objects/pod_event.h"
#include "coord/api/objects/shown_walk.h"
#include "coord/api/watch/watch_hub_int.h"

static void past_pod(void *ctx, const struct source_change *change)
{
	const struct watch_past *past = ctx;

	pod_event_changes(change, past->fn, past->ctx);
}

/* The events that pods' changes tell. */
static enum pl_code past_pods(struct watch_past *past)
{
	struct watch_channel *channel = past->watcher->channel;
	struct watch_hub *hub = past->watcher->hub;
	char prefix[SOURCE_ORDER_MAX];
	size_t len;

	if (!resource_is_events(channel->resource) ||
	    !shown_event_pods(channel->namespace, &channel->filter, prefix, &len) ||
	    past->after == source_revision(hub->sources, SOURCE_PODS))
		return PL_OK;
	return source_replay(hub->sources, shown_event_resource(), pl_span(prefix, len),
	                     past->after, past->until, past_pod, past);
}

enum pl_code watch_past_tell(struct watch_past *past)
{
	struct watch_channel *channel = past->watcher->channel;
	struct watch_hub *hub = past->watcher->hub;
	enum pl_code code = PL_OK;

	if (past->after != source_revision(hub->sources, channel->kind))
		code = source_replay(hub->sources, channel->resource,
		                     pl_span(channel->prefix, channel->prefix_len),
		                     past->after, past->until, past->fn, past->ctx);
	return code == PL_OK ? past_pods(past) : code;
}

struct counted {
	const struct watch_channel *channel;
	unsigned events;
};

static void count_one(void *ctx, const struct source_change *change)
{
	struct counted *counted = ctx;
	enum watch_event_type type;

	if (watch_channel_sees(counted->channel, change, &type))
		counted->events++;
}

/* All objects of a transaction have its revision, so the last event of a stream that was cut
 * may be one of several: then they are all told, some of them once more. */
int64_t watcher_revision_behind(struct watcher *watcher)
{
	struct counted counted = {.channel = watcher->channel};
	struct watch_past past = {.watcher = watcher,
	                          .after = watcher->revision - 1,
	                          .until = watcher->revision,
	                          .fn = count_one,
	                          .ctx = &counted};

	/* A window that begins at the revision does not know them. */
	if (past.after < 1 || watch_past_tell(&past) != PL_OK || counted.events < 2)
		return watcher->revision;
	return past.after;
}
