/* NodeUnschedulable: cordoned nodes take only pods that tolerate their taint. */
#include "shardsched/plugins/node_event.h"
#include "shardsched/plugins/plugins.h"

struct node_unschedulable_class {
	bool tolerated;
};

/* Strings that do not exist are 0, and no pod can have named them. */
static enum pl_code on_open(struct snapshot *snapshot, const struct plugin_call *call,
                            struct pl_err *err)
{
	const struct strings *strings = &snapshot->model->strings;
	struct taint cordon = {
		.key = strings_find(strings,
	                            PL_SPAN_LIT("node.kubernetes.io/unschedulable")),
		.value = strings_find(strings, PL_SPAN_LIT("")),
		.effect = TAINT_NO_SCHEDULE,
	};
	struct node_unschedulable_class *class_state = call->class_state;

	(void)err;
	class_state->tolerated =
		tolerations_cover(call->spec->template->tolerations, &cordon);
	return PL_OK;
}

static void filter_nodes(const struct plugin_call *call, struct node_span span)
{
	const struct node_unschedulable_class *class_state = call->class_state;
	const uint64_t *cordoned = call->snapshot->unschedulable.word + span.word;

	if (class_state->tolerated)
		return;
	SPAN_EACH_WORD(i, span)
	span.bits[i] &= ~cordoned[i];
}

static void explain_refusal(const struct plugin_call *call, uint32_t slot,
                            struct verdict *verdict)
{
	const struct node_unschedulable_class *class_state = call->class_state;

	if (!class_state->tolerated && call->snapshot->row[slot].node.unschedulable)
		verdict_add(verdict, VERDICT_UNRESOLVABLE,
		            &(struct reason){.code = REASON_UNSCHEDULABLE});
}

static bool queueing_hint(const struct plugin_call *call, const struct queue_event *event)
{
	uint32_t slot = node_event_slot(call, event);

	return slot == SNAPSHOT_NONE || !call->snapshot->row[slot].node.unschedulable;
}

const struct plugin plugin_node_unschedulable = {
	.name = "NodeUnschedulable",
	.refusal = PLUGIN_REFUSES_UNRESOLVABLE,
	.events = NODE_EVENTS | QUEUE_ON(NODE_TAINTS),
	.hint = queueing_hint,
	.class_state_size = sizeof(struct node_unschedulable_class),
	.open = on_open,
	.filter = filter_nodes,
	.why = explain_refusal,
};
