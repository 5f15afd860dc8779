/* The sentence of kube-scheduler from the message of a state. */
#include "coord/api/objects/pod_event.h"
#include "tests/harness/t.h"

static void says(const char *message, const char *want)
{
	struct pl_buf out;

	pl_buf_init(&out, 4096);
	T_EQ(pod_event_sentence(pl_span_str(message), &out), PL_OK);
	T_SPAN(pl_buf_span(&out), pl_span_str(want));
	pl_buf_done(&out);
}

T_CASE(reasons_are_counted_and_ordered_as_kube_scheduler_does)
{
	says("12 nodes: Insufficient cpu; 1 node: node(s) were unschedulable",
	     "0/13 nodes are available: 1 node(s) were unschedulable, 12 Insufficient cpu.");
	says("3 nodes: Insufficient cpu", "0/3 nodes are available: 3 Insufficient cpu.");
	/* A reason of all nodes comes first. */
	says("persistentvolumeclaim \\\"a\\\" not found; 2 nodes: Insufficient memory",
	     "0/2 nodes are available: persistentvolumeclaim \\\"a\\\" not found, 2 "
	     "Insufficient memory.");
}

T_CASE(a_separator_inside_a_reason_separates_nothing)
{
	says("2 nodes: node(s) had untolerated taint {a: b; 1 c}; 1 node: Too many pods",
	     "0/3 nodes are available: 1 Too many pods, 2 node(s) had untolerated taint "
	     "{a: b; 1 c}.");
}

T_CASE(other_messages_stay_as_they_are)
{
	says("no nodes", "no nodes available to schedule pods");
	says("more members of its gang have to come",
	     "more members of its gang have to come");
	says("", "");
	says("12 nodes", "12 nodes");
	says("1 node: ", "0/1 nodes are available: 1 .");
}
