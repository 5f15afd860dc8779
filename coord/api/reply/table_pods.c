/* Pods, and the status that kubectl shows of them. */
#include <inttypes.h>
#include <stdio.h>

#include "coord/api/reply/table_int.h"
#include "store/base/human_duration.h"

const struct table_column table_columns_pods[] = {
	TABLE_NAME,
	TABLE_TEXT("Ready", "Containers that are ready, of all."),
	TABLE_TEXT("Status", "State of the pod and its containers in a word."),
	TABLE_TEXT("Restarts", "How often containers were restarted, and when last."),
	TABLE_AGE,
	TABLE_WIDE("IP", "Address of the pod."),
	TABLE_WIDE("Node", "The node that the pod is on."),
	TABLE_WIDE("Nominated Node", "The node that is being made free for the pod."),
	TABLE_WIDE("Readiness Gates", "Readiness gates that are true, of all."),
	TABLE_TEXT("Cluster", "The member cluster of the node."),
	TABLE_TEXT("Reason", "Why the pod has no node yet."),
	TABLE_END,
};

enum { REASON_SIZE = 320 };

/* Counts over the containers of a pod. */
struct pod_view {
	struct pl_json pod;
	int64_t restarts, last_restart_ms; /* 0: none */
	int64_t ready, total;
	char reason[REASON_SIZE];
};

/* -- one container ------------------------------------------------------------------------ */

struct restarts {
	int64_t count, last_ms;
};

static void count_restarts(struct restarts *restarts, struct pl_json status)
{
	int64_t ms;

	restarts->count += field_int(status, "restartCount", 0);
	if (field_time(status, "lastState.terminated.finishedAt", &ms) &&
	    ms > restarts->last_ms)
		restarts->last_ms = ms;
}

PL_PRINTF(2, 3) static void set_reason(struct pod_view *view, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(view->reason, sizeof view->reason, fmt, args);
	va_end(args);
}

/* prefix: "Init:" or nothing. */
static void set_exit_reason(struct pod_view *view, const char *prefix,
                            struct pl_json ended)
{
	const char *reason = field_text_or(ended, "reason", "");
	int64_t signal = field_int(ended, "signal", 0);

	if (reason[0] != 0)
		set_reason(view, "%s%s", prefix, reason);
	else if (signal != 0)
		set_reason(view, "%sSignal:%" PRId64, prefix, signal);
	else
		set_reason(view, "%sExitCode:%" PRId64, prefix,
		           field_int(ended, "exitCode", 0));
}

/* -- init containers ---------------------------------------------------------------------- */

/* An init container that goes on beside the others. */
static bool is_sidecar(struct pl_json pod, const char *name)
{
	PL_JSON_EACH (container, field_at(pod, "spec.initContainers"))
		if (strcmp(field_text_or(container, "name", ""), name) == 0)
			return strcmp(field_text_or(container, "restartPolicy", ""),
			              "Always") == 0;
	return false;
}

/* False: the container is done, or runs beside the others. True: the pod waits for it, and
 * the reason says so. */
static bool is_waited_for(struct pod_view *view, struct pl_json status, bool sidecar,
                          size_t index)
{
	struct pl_json ended = field_at(status, "state.terminated");
	const char *waiting = field_text_or(status, "state.waiting.reason", "");
	bool over = pl_json_type(ended) == PL_JSON_OBJECT;

	if (over && field_int(ended, "exitCode", 0) == 0)
		return false;
	if (sidecar && field_bool(status, "started", false)) {
		view->ready += field_bool(status, "ready", false);
		return false;
	}
	if (over)
		set_exit_reason(view, "Init:", ended);
	else if (waiting[0] != 0 && strcmp(waiting, "PodInitializing") != 0)
		set_reason(view, "Init:%s", waiting);
	else
		set_reason(view, "Init:%zu/%zu", index,
		           pl_json_count(field_at(view->pod, "spec.initContainers")));
	return true;
}

/* Whether the pod is still initialised. */
static bool look_at_init(struct pod_view *view, struct restarts *all,
                         struct restarts *sidecars)
{
	size_t index = 0;

	PL_JSON_EACH (status, field_at(view->pod, "status.initContainerStatuses")) {
		bool sidecar = is_sidecar(view->pod, field_text_or(status, "name", ""));

		count_restarts(all, status);
		if (sidecar)
			count_restarts(sidecars, status);
		if (is_waited_for(view, status, sidecar, index))
			return true;
		index++;
	}
	return false;
}

/* -- the containers ----------------------------------------------------------------------- */

struct run_summary {
	bool running; /* one is ready and runs */
	bool named;   /* a container before this one in the list has given the reason */
};

/* The first container that has something to say gives the reason. */
static void look_at_container(struct pod_view *view, struct pl_json status,
                              struct run_summary *summary)
{
	struct pl_json ended = field_at(status, "state.terminated");
	const char *waiting = field_text_or(status, "state.waiting.reason", "");

	if (waiting[0] != 0 || pl_json_type(ended) == PL_JSON_OBJECT) {
		if (summary->named)
			return;
		summary->named = true;
		if (waiting[0] != 0)
			set_reason(view, "%s", waiting);
		else
			set_exit_reason(view, "", ended);
		return;
	}
	if (field_bool(status, "ready", false) && field_is_set(status, "state.running")) {
		summary->running = true;
		view->ready++;
	}
}

static void look_at_containers(struct pod_view *view, struct restarts *restarts)
{
	struct run_summary summary = {.running = false};

	PL_JSON_EACH (status, field_at(view->pod, "status.containerStatuses")) {
		count_restarts(restarts, status);
		look_at_container(view, status, &summary);
	}
	if (summary.running && strcmp(view->reason, "Completed") == 0)
		set_reason(view, "%s",
		           condition_is_true(view->pod, "Ready") ? "Running"
		                                                 : "NotReady");
}

/* -- the pod ------------------------------------------------------------------------------ */

static bool has_ended(const char *phase)
{
	return strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0;
}

static void look_at_phase(struct pod_view *view, const char *phase)
{
	const char *reason = field_text_or(view->pod, "status.reason", "");
	const char *scheduled =
		field_text_or(condition_find(view->pod, "PodScheduled"), "reason", "");

	if (strcmp(scheduled, "SchedulingGated") == 0)
		reason = scheduled;
	set_reason(view, "%s", reason[0] != 0 ? reason : phase);
}

static void look_at_deletion(struct pod_view *view, const char *phase)
{
	if (!field_is_set(view->pod, "metadata.deletionTimestamp"))
		return;
	if (strcmp(field_text_or(view->pod, "status.reason", ""), "NodeLost") == 0)
		set_reason(view, "Unknown");
	else if (!has_ended(phase))
		set_reason(view, "Terminating");
}

static void count_containers(struct pod_view *view)
{
	view->total = (int64_t)pl_json_count(field_at(view->pod, "spec.containers"));
	PL_JSON_EACH (container, field_at(view->pod, "spec.initContainers"))
		view->total += strcmp(field_text_or(container, "restartPolicy", ""),
		                      "Always") == 0;
}

static void look_at_pod(struct pod_view *view, const char *phase)
{
	struct restarts all = {0}, sidecars = {0}, *counted = &all;

	look_at_phase(view, phase);
	count_containers(view);
	if (!look_at_init(view, &all, &sidecars) ||
	    condition_is_true(view->pod, "Initialized")) {
		counted = &sidecars;
		look_at_containers(view, counted);
	}
	look_at_deletion(view, phase);
	view->restarts = counted->count;
	view->last_restart_ms = counted->last_ms;
}

/* -- cells -------------------------------------------------------------------------------- */

static void cell_restarts(struct table_row *row, const struct pod_view *view)
{
	char since[PL_HUMAN_DURATION_SIZE];

	cell_printf(row, "%" PRId64, view->restarts);
	if (view->restarts != 0 && view->last_restart_ms != 0)
		cell_printf(row, " (%s ago)",
		            pl_human_duration(row->writer->now_ms - view->last_restart_ms,
		                              since));
	cell_end(row, "");
}

static void cell_ip(struct table_row *row, struct pl_json pod)
{
	struct pl_json first = pl_json_first(field_at(pod, "status.podIPs"));

	if (first.node == NULL)
		cell_field(row, pod, "status.podIP", "<none>");
	else
		cell_field(row, first, "ip", "<none>");
}

static void cell_readiness(struct table_row *row, struct pl_json pod)
{
	struct pl_json gates = field_at(pod, "spec.readinessGates");
	int64_t good = 0, count = (int64_t)pl_json_count(gates);

	PL_JSON_EACH (gate, gates)
		good += condition_is_true(pod, field_text_or(gate, "conditionType", ""));
	if (count == 0)
		cell_text(row, "<none>");
	else
		cell_ratio(row, good, count);
}

/* Only of a pod that waits for a node. */
static void cell_reason(struct table_row *row, struct pl_json pod)
{
	struct pl_json scheduled = condition_find(pod, "PodScheduled");
	bool waits = strcmp(field_text_or(scheduled, "status", ""), "False") == 0 &&
	             !field_is_set(pod, "spec.nodeName");

	cell_text(row, waits ? field_text_or(scheduled, "reason", "") : "");
}

void table_cells_pods(struct table_row *row, struct pl_json pod)
{
	const char *phase = field_text_or(pod, "status.phase", "");
	struct pod_view view = {.pod = pod};

	look_at_pod(&view, phase);
	if (has_ended(phase))
		row->phase = phase;
	cell_name(row, pod);
	cell_ratio(row, view.ready, view.total);
	cell_text(row, view.reason);
	cell_restarts(row, &view);
	cell_age(row, pod);
	cell_ip(row, pod);
	cell_field(row, pod, "spec.nodeName", "<none>");
	cell_field(row, pod, "status.nominatedNodeName", "<none>");
	cell_readiness(row, pod);
	cell_cluster(row, field_text_or(pod, "spec.nodeName", ""));
	cell_reason(row, pod);
}

const struct table_column table_columns_podtemplates[] = {
	TABLE_NAME,
	TABLE_TEXT("Containers", "Names of the template's containers."),
	TABLE_TEXT("Images", "Images of the template's containers."),
	TABLE_TEXT("Pod Labels", "Labels that the template's pods get."),
	TABLE_END,
};

void table_cells_podtemplates(struct table_row *row, struct pl_json object)
{
	cell_name(row, object);
	cell_containers(row, field_at(object, "template.spec"));
	cell_labels(row, field_at(object, "template.metadata.labels"));
}
