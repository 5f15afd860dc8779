/* SchedulingGates: a pod with gates is not tried until an edit of the pod removes
 * them. */
#include "shardsched/plugins/plugins.h"

static enum verdict_code pre_enqueue(const struct plugin_call *call,
                                     struct verdict *verdict)
{
	const struct spec *spec = call->spec;

	for (uint32_t i = 0; i < spec->template->gates.count; i++)
		verdict_add(verdict, VERDICT_UNRESOLVABLE,
		            &(struct reason){.code = REASON_GATED,
		                             .subject = spec_gates(spec)[i],
		                             .detail = i});
	return spec->template->gates.count == 0 ? VERDICT_SUCCESS : VERDICT_UNRESOLVABLE;
}

const struct plugin plugin_scheduling_gates = {
	.name = "SchedulingGates",
	.pre_enqueue = pre_enqueue,
};
