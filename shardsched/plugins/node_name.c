/*
 * Here for profiles that name it. kube-scheduler holds spec.nodeName against the node;
 * but a pod that names its node is on it, in the snapshot's eyes, and is never decided
 * about: no class carries a node's name, and nothing is refused.
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
