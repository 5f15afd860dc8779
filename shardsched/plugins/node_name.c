/*
 * NodeName exists for profiles that name it. kube-scheduler compares spec.nodeName with
 * the node; here a pod that names its node is on it already and is never decided, so no
 * class has a node name and nothing is refused.
 */
#include "shardsched/plugins/node_event.h"
#include "shardsched/plugins/plugins.h"

static void filter_nodes(const struct plugin_call *call, struct node_span span)
{
	(void)call;
	(void)span;
}

static void explain_refusal(const struct plugin_call *call, uint32_t slot,
                            struct verdict *verdict)
{
	(void)call;
	(void)slot;
	(void)verdict;
}

const struct plugin plugin_node_name = {
	.name = "NodeName",
	.refusal = PLUGIN_REFUSES_UNRESOLVABLE,
	.events = NODE_EVENTS,
	.filter = filter_nodes,
	.why = explain_refusal,
};
