/* NodePorts: the host ports of a pod must be free on the node. "0.0.0.0" stands for every
 * address, and conflicts with all of them. */
#include "shardsched/plugins/node_event.h"
#include "shardsched/plugins/plugins.h"
#include "shardsched/plugins/slot_words.h"

struct node_ports_class {
	uint32_t everywhere; /* string "0.0.0.0", with a reference */
};

static enum pl_code on_open(struct snapshot *snapshot, const struct plugin_call *call,
                            struct pl_err *err)
{
	struct node_ports_class *class_state = call->class_state;
	enum pl_code code;

	if (call->spec->template->ports.count == 0)
		return PL_OK;
	code = strings_add(&snapshot->model->strings, PL_SPAN_LIT("0.0.0.0"),
	                   &class_state->everywhere);
	return code == PL_OK ? PL_OK : pl_err_set(err, code, "host ports");
}

static void on_close(struct snapshot *snapshot, const struct plugin_call *call)
{
	struct node_ports_class *class_state = call->class_state;

	strings_unref(&snapshot->model->strings, class_state->everywhere);
}

static bool ports_conflict(const struct node_ports_class *class_state,
                           const struct spec_port *a, const struct spec_port *b)
{
	return a->port == b->port && a->protocol == b->protocol &&
	       (a->ip == b->ip || a->ip == class_state->everywhere ||
	        b->ip == class_state->everywhere);
}

/* The first of the pod's ports that is taken on the node, or NULL. */
static const struct spec_port *first_taken(const struct plugin_call *call, uint32_t slot)
{
	const struct snapshot *snapshot = call->snapshot;
	const struct spec_port *port = spec_ports(call->spec);
	uint32_t at = snapshot->row[slot].first_port;

	for (; at != SNAPSHOT_NONE; at = snapshot->port_use[at].next) {
		const struct port_use *use = &snapshot->port_use[at];

		for (uint32_t i = 0;
		     port_is_taken(use) && i < call->spec->template->ports.count; i++)
			if (ports_conflict(call->class_state, &port[i], &use->port))
				return &port[i];
	}
	return NULL;
}

static enum verdict_code pre_filter(const struct plugin_call *call,
                                    struct plugin_narrow *narrow, struct verdict *verdict)
{
	(void)narrow;
	(void)verdict;
	return call->spec->template->ports.count == 0 ? VERDICT_SKIP : VERDICT_SUCCESS;
}

static void filter_nodes(const struct plugin_call *call, struct node_span span)
{
	const uint64_t *used = call->snapshot->with_ports.word + span.word;

	SPAN_EACH_WORD(i, span)
	{
		uint32_t first = (span.word + i) * 64;

		SLOT_WORDS_EACH(bit, span.bits[i] & used[i])
		if (first_taken(call, first + (uint32_t)bit) != NULL)
			span.bits[i] &= ~(UINT64_C(1) << bit);
	}
}

static void explain_refusal(const struct plugin_call *call, uint32_t slot,
                            struct verdict *verdict)
{
	const struct spec_port *port = first_taken(call, slot);

	if (port != NULL)
		verdict_add(verdict, VERDICT_UNSCHEDULABLE,
		            &(struct reason){.code = REASON_PORTS, .detail = port->port});
}

const struct plugin plugin_node_ports = {
	.name = "NodePorts",
	.refusal = PLUGIN_REFUSES_UNSCHEDULABLE,
	.events = NODE_EVENTS | QUEUE_ON(POD_REMOVED),
	.class_state_size = sizeof(struct node_ports_class),
	.open = on_open,
	.close = on_close,
	.pre_filter = pre_filter,
	.filter = filter_nodes,
	.why = explain_refusal,
};
