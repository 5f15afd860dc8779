/* Queue events about a node, as the hints of plugins that look at one node see them. */
#ifndef SHARDSCHED_PLUGINS_NODE_EVENT_H
#define SHARDSCHED_PLUGINS_NODE_EVENT_H

#include "shardsched/framework/plugin.h"

/* Events that may be about nodes of another shard, of which nothing is known here. */
#define NODE_EVENTS (QUEUE_ON(NODE_ADDED) | QUEUE_ON(DIGEST))

/* The slot of the event's node if it is live here; else SNAPSHOT_NONE: the event may
 * help. */
static inline uint32_t node_event_slot(const struct plugin_call *call,
                                       const struct queue_event *event)
{
	const struct snapshot *snapshot = call->snapshot;

	if (event->kind == QUEUE_EV_DIGEST || event->object >= snapshot->slots ||
	    !pl_bitset_has(snapshot->live, event->object))
		return SNAPSHOT_NONE;
	return (uint32_t)event->object;
}

#endif
