/* Host ports: what a pod wants must not be taken on the node. "0.0.0.0" takes a port on
 * every address, and is in the way of every other. */
#include "shardsched/plugins/node_event.h"
#include "shardsched/plugins/plugins.h"
#include "shardsched/plugins/words.h"

struct own {
	uint32_t everywhere; /* "0.0.0.0", held */
};

static enum pl_code on_open(struct snapshot *snapshot, const struct plugin_call *call,
                            struct pl_err *err)
{
	struct own *own = call->own;
	enum pl_code code;

	if (call->spec->form->ports.count == 0)
		return PL_OK;
	code = strings_add(&snapshot->model->strings, PL_SPAN_LIT("0.0.0.0"),
	                   &own->everywhere);
	return code == PL_OK ? PL_OK : pl_err_set(err, code, "remember host ports");
}

static void on_close(struct snapshot *snapshot, const struct plugin_call *call)
{
	struct own *own = call->own;

	strings_unref(&snapshot->model->strings, own->everywhere);
}

static bool in_the_way(const struct own *own, const struct spec_port *a,
                       const struct spec_port *b)
{
	return a->port == b->port && a->protocol == b->protocol &&
	       (a->ip == b->ip || a->ip == own->everywhere || b->ip == own->everywhere);
}

/* The first of the pod's ports that is taken there, or NULL. */
static const struct spec_port *taken(const struct plugin_call *call, uint32_t slot)
{
	const struct snapshot *snapshot = call->snapshot;
	const struct spec_port *port = spec_ports(call->spec);
	uint32_t at = snapshot->row[slot].first_port;

	for (; at != SNAPSHOT_NONE; at = snapshot->port_use[at].next) {
		const struct port_use *use = &snapshot->port_use[at];

		for (uint32_t i = 0;
		     port_is_taken(use) && i < call->spec->form->ports.count; i++)
			if (in_the_way(call->own, &port[i], &use->port))
				return &port[i];
	}
	return NULL;
}

static enum verdict_code pre_filter(const struct plugin_call *call,
                                    struct plugin_narrow *narrow, struct verdict *say)
{
	(void)narrow;
	(void)say;
	return call->spec->form->ports.count == 0 ? VERDICT_SKIP : VERDICT_SUCCESS;
}

static void filter(const struct plugin_call *call, struct node_span span)
{
	const uint64_t *used = call->snapshot->with_ports.word + span.word;

	SPAN_EACH_WORD(i, span)
	{
		uint32_t first = (span.word + i) * 64;

		WORDS_EACH (bit, span.bits[i] & used[i])
			if (taken(call, first + (uint32_t)bit) != NULL)
				span.bits[i] &= ~(UINT64_C(1) << bit);
	}
}

static void why(const struct plugin_call *call, uint32_t slot, struct verdict *say)
{
	const struct spec_port *port = taken(call, slot);

	if (port != NULL)
		verdict_add(say, VERDICT_UNSCHEDULABLE,
		            &(struct reason){.code = REASON_PORTS, .detail = port->port});
}

const struct plugin plugin_node_ports = {
	.name = "NodePorts",
	.refusal = PLUGIN_REFUSES_UNSCHEDULABLE,
	.events = NODE_EVENTS | QUEUE_ON(POD_REMOVED),
	.own_size = sizeof(struct own),
	.open = on_open,
	.close = on_close,
	.pre_filter = pre_filter,
	.filter = filter,
	.why = why,
};
