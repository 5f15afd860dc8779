/* The order of kube-scheduler: priority, then who came to the queue first. */
#include "shardsched/plugins/plugins.h"

static const enum queue_sort sort = QUEUE_BY_PRIORITY;

const struct plugin plugin_priority_sort = {
	.name = "PrioritySort",
	.sort = &sort,
};
