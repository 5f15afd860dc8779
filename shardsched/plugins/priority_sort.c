/* PrioritySort: kube-scheduler's order, by priority and then by time of queueing. */
#include "shardsched/plugins/plugins.h"

static const enum queue_sort sort = QUEUE_BY_PRIORITY;

const struct plugin plugin_priority_sort = {
	.name = "PrioritySort",
	.sort = &sort,
};
