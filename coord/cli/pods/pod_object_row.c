/*
 * Placet's phases, read back from Kubernetes' fields:
 *
 *	status.phase Succeeded, Failed                    the same
 *	deletionTimestamp                                 Terminating
 *	nodeName, and the pod runs, or reason Bound       Bound
 *	nodeName without                                  Terminating: it is placed again
 *	no nodeName                                       Pending
 */
#include "coord/cli/pods/pod_object_row.h"

#include "coord/cli/pods/pod_row.h"
#include "coord/cli/session/api_object.h"

static enum state_phase phase_of(struct pl_json pod)
{
	struct pl_span phase = api_text(pod, "status.phase");
	bool waits = pl_span_eq(phase, PL_SPAN_LIT("Pending"));

	if (pl_span_eq(phase, PL_SPAN_LIT("Succeeded")))
		return STATE_SUCCEEDED;
	if (pl_span_eq(phase, PL_SPAN_LIT("Failed")))
		return STATE_FAILED;
	if (field_is_set(pod, "metadata.deletionTimestamp"))
		return STATE_TERMINATING;
	if (api_text(pod, "spec.nodeName").len == 0)
		return STATE_PENDING;
	if (waits && api_text(pod, "status.reason").len == 0 &&
	    !field_is_set(pod, "status.containerStatuses"))
		return STATE_TERMINATING;
	return STATE_BOUND;
}

/* Reads what a shard has decided, as far as the API tells. */
static void read_decision(struct pl_json pod, struct pod_state *out)
{
	struct pl_json scheduled = api_condition(pod, "PodScheduled");

	out->uid = api_text(pod, "metadata.uid");
	api_node_name(api_text(pod, "spec.nodeName"), &out->cluster, &out->node);
	api_node_name(api_text(pod, "status.nominatedNodeName"), &out->nominated_cluster,
	              &out->nominated_node);
	if (out->phase == STATE_PENDING) {
		out->reason = api_text(scheduled, "reason");
		out->message = api_text(scheduled, "message");
	}
}

enum pl_code pod_object_row(struct pl_json pod, int64_t now_ms, struct pl_arena *arena,
                            struct output_row *out)
{
	struct pl_json scheduled = api_condition(pod, "PodScheduled");
	struct pod_state state = {.phase = phase_of(pod)};
	struct pod_decided decided = {
		.namespace = api_text(pod, "metadata.namespace"),
		.name = api_text(pod, "metadata.name"),
		.state = &state,
		.gated = pl_json_count(field_at(pod, "spec.schedulingGates")) > 0,
		.now_ms = now_ms};

	read_decision(pod, &state);
	decided.has_since = api_time(scheduled, "lastTransitionTime", &state.since_ms) ||
	                    api_time(pod, "metadata.deletionTimestamp", &state.since_ms);
	return pod_row_decided(&decided, arena, out);
}
