/* Channels: watchers of the same objects in the same shape. */
#include <stdio.h>
#include <stdlib.h>

#include "coord/api/objects/pod_event.h"
#include "coord/api/watch/watch_hub_int.h"
#include "store/base/alloc.h"

bool watch_channel_has(const struct watch_channel *channel, const struct object *object)
{
	return (channel->namespace.len == 0 ||
	        pl_span_eq(channel->namespace, object->namespace)) &&
	       (channel->name.len == 0 || pl_span_eq(channel->name, object->name));
}

/* The object that a change is about. */
static const struct object *object_of(const struct source_change *change)
{
	return change->after.part[OBJECT_MAIN] != NULL ? &change->after : &change->before;
}

bool watch_channel_sees(const struct watch_channel *channel,
                        const struct source_change *change, enum watch_event_type *out)
{
	bool before, after;

	if (!watch_channel_has(channel, object_of(change)))
		return false;
	before = object_filter_matches(&channel->filter, &change->before);
	after = object_filter_matches(&channel->filter, &change->after);
	if (!before && !after)
		return false;
	/* An object whose uid is another one was deleted and created again: clients see
	 * that by the uid. */
	*out = !before ? WATCH_ADDED : !after ? WATCH_DELETED : WATCH_MODIFIED;
	return true;
}

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

enum pl_code watch_channel_find(struct watch_hub *hub, const struct watch_opts *opts,
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

void watch_channel_drop_if_empty(struct watch_hub *hub, struct watch_channel *channel)
{
	if (pl_list_empty(&channel->live) && pl_list_empty(&channel->initial) &&
	    channel->users == 0)
		channel_free(hub, channel);
}
