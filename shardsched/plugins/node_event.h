/* Events about a node, as hints of rows that look at one node see them. */
#ifndef SHARDSCHED_PLUGINS_NODE_EVENT_H
#define SHARDSCHED_PLUGINS_NODE_EVENT_H

#include "shardsched/framework/plugin.h"

/* What tells of nodes that are somebody else's, too: nothing is known of them here. */
#define NODE_EVENTS (QUEUE_ON(NODE_ADDED) | QUEUE_ON(DIGEST))

/* Its slot, if there is a node and it is ours; else SNAPSHOT_NONE: it may help. */
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
