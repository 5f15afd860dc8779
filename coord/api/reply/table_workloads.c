/* Objects that make pods, and budgets. */
#include <inttypes.h>

#include "coord/api/reply/table_int.h"
#include "store/base/human_duration.h"

#define PODS_WANTED TABLE_INT("Desired", "Pods that are wanted.")
#define PODS_THERE TABLE_INT("Current", "Pods that there are.")
#define PODS_READY TABLE_INT("Ready", "Pods that are ready.")

const struct table_column table_columns_controllers[] = {
	TABLE_NAME, PODS_WANTED,      PODS_THERE,     PODS_READY,
	TABLE_AGE,  TABLE_CONTAINERS, TABLE_SELECTOR, TABLE_END,
};

static void cells_of_replicas(struct table_row *row, struct pl_json object)
{
	cell_name(row, object);
	cell_int(row, field_int(object, "spec.replicas", 0));
	cell_field_int(row, object, "status.replicas");
	cell_field_int(row, object, "status.readyReplicas");
	cell_age(row, object);
	cell_containers(row, field_at(object, "spec.template.spec"));
}

void table_cells_controllers(struct table_row *row, struct pl_json object)
{
	cells_of_replicas(row, object);
	cell_labels(row, field_at(object, "spec.selector"));
}

const struct table_column table_columns_replicasets[] = {
	TABLE_NAME, PODS_WANTED,      PODS_THERE,     PODS_READY,
	TABLE_AGE,  TABLE_CONTAINERS, TABLE_SELECTOR, TABLE_END,
};

void table_cells_replicasets(struct table_row *row, struct pl_json object)
{
	cells_of_replicas(row, object);
	cell_selector(row, field_at(object, "spec.selector"), "<none>");
}

const struct table_column table_columns_daemonsets[] = {
	TABLE_NAME,
	TABLE_INT("Desired", "Nodes that are to run a pod."),
	TABLE_INT("Current", "Nodes that run a pod as they should."),
	TABLE_INT("Ready", "Nodes whose pod is ready."),
	TABLE_INT("Up-to-date", "Nodes whose pod is of the newest template."),
	TABLE_INT("Available", "Nodes whose pod is available."),
	TABLE_TEXT("Node Selector", "Labels of the nodes that are to run a pod."),
	TABLE_AGE,
	TABLE_CONTAINERS,
	TABLE_SELECTOR,
	TABLE_END,
};

void table_cells_daemonsets(struct table_row *row, struct pl_json object)
{
	cell_name(row, object);
	cell_field_int(row, object, "status.desiredNumberScheduled");
	cell_field_int(row, object, "status.currentNumberScheduled");
	cell_field_int(row, object, "status.numberReady");
	cell_field_int(row, object, "status.updatedNumberScheduled");
	cell_field_int(row, object, "status.numberAvailable");
	cell_labels(row, field_at(object, "spec.template.spec.nodeSelector"));
	cell_age(row, object);
	cell_containers(row, field_at(object, "spec.template.spec"));
	cell_selector(row, field_at(object, "spec.selector"), "<none>");
}

const struct table_column table_columns_deployments[] = {
	TABLE_NAME,
	TABLE_TEXT("Ready", "Pods that are ready, of those that are wanted."),
	TABLE_TEXT("Up-to-date", "Pods of the newest template."),
	TABLE_TEXT("Available", "Pods that are available."),
	TABLE_AGE,
	TABLE_CONTAINERS,
	TABLE_SELECTOR,
	TABLE_END,
};

static void cell_ready(struct table_row *row, struct pl_json object)
{
	cell_ratio(row, field_int(object, "status.readyReplicas", 0),
	           field_int(object, "spec.replicas", 0));
}

void table_cells_deployments(struct table_row *row, struct pl_json object)
{
	cell_name(row, object);
	cell_ready(row, object);
	cell_field_int(row, object, "status.updatedReplicas");
	cell_field_int(row, object, "status.availableReplicas");
	cell_age(row, object);
	cell_containers(row, field_at(object, "spec.template.spec"));
	cell_selector(row, field_at(object, "spec.selector"), "");
}

const struct table_column table_columns_statefulsets[] = {
	TABLE_NAME, TABLE_TEXT("Ready", "Pods that are ready, of those that are wanted."),
	TABLE_AGE,  TABLE_CONTAINERS,
	TABLE_END,
};

void table_cells_statefulsets(struct table_row *row, struct pl_json object)
{
	cell_name(row, object);
	cell_ready(row, object);
	cell_age(row, object);
	cell_containers(row, field_at(object, "spec.template.spec"));
}

/* -- jobs --------------------------------------------------------------------------------- */

const struct table_column table_columns_jobs[] = {
	TABLE_NAME,
	TABLE_TEXT("Status", "How far the job is, in a word."),
	TABLE_TEXT("Completions", "Pods that have succeeded, of those that have to."),
	TABLE_TEXT("Duration", "Time that the job took, or has taken so far."),
	TABLE_AGE,
	TABLE_CONTAINERS,
	TABLE_SELECTOR,
	TABLE_END,
};

static const char *job_status(struct pl_json job)
{
	if (condition_is_true(job, "Complete"))
		return "Complete";
	if (condition_is_true(job, "Failed"))
		return "Failed";
	if (field_is_set(job, "metadata.deletionTimestamp"))
		return "Terminating";
	if (condition_is_true(job, "Suspended"))
		return "Suspended";
	return condition_is_true(job, "FailureTarget") ? "FailureTarget" : "Running";
}

/* A job without a number of completions ends with the first pod that succeeds. */
static void cell_completions(struct table_row *row, struct pl_json job)
{
	int64_t done = field_int(job, "status.succeeded", 0);
	int64_t parallel = field_int(job, "spec.parallelism", 0);

	if (field_is_set(job, "spec.completions")) {
		cell_ratio(row, done, field_int(job, "spec.completions", 0));
		return;
	}
	cell_printf(row, "%" PRId64 "/1", done);
	if (parallel > 1)
		cell_printf(row, " of %" PRId64, parallel);
	cell_end(row, "");
}

static void cell_job_duration(struct table_row *row, struct pl_json job)
{
	int64_t from, to = row->writer->now_ms;
	char out[PL_HUMAN_DURATION_SIZE];

	if (!field_time(job, "status.startTime", &from)) {
		cell_text(row, "");
		return;
	}
	(void)field_time(job, "status.completionTime", &to);
	cell_text(row, pl_human_duration(to - from, out));
}

void table_cells_jobs(struct table_row *row, struct pl_json job)
{
	cell_name(row, job);
	cell_text(row, job_status(job));
	cell_completions(row, job);
	cell_job_duration(row, job);
	cell_age(row, job);
	cell_containers(row, field_at(job, "spec.template.spec"));
	cell_selector(row, field_at(job, "spec.selector"), "<none>");
}

const struct table_column table_columns_cronjobs[] = {
	TABLE_NAME,
	TABLE_TEXT("Schedule", "When jobs are started, as cron spells it."),
	TABLE_TEXT("Timezone", "Time zone of the schedule."),
	TABLE_BOOL("Suspend", "Whether no jobs are started."),
	TABLE_INT("Active", "Jobs that run."),
	TABLE_TEXT("Last Schedule", "Time since a job was started last."),
	TABLE_AGE,
	TABLE_CONTAINERS,
	TABLE_SELECTOR,
	TABLE_END,
};

static void cell_suspend(struct table_row *row, struct pl_json object)
{
	if (!field_is_set(object, "spec.suspend"))
		cell_text(row, "<unset>");
	else
		cell_text(row,
		          field_bool(object, "spec.suspend", false) ? "True" : "False");
}

void table_cells_cronjobs(struct table_row *row, struct pl_json object)
{
	struct pl_json job = field_at(object, "spec.jobTemplate.spec");

	cell_name(row, object);
	cell_field(row, object, "spec.schedule", "");
	cell_field(row, object, "spec.timeZone", "<none>");
	cell_suspend(row, object);
	cell_count(row, object, "status.active");
	cell_since(row, object, "status.lastScheduleTime", "<none>");
	cell_age(row, object);
	cell_containers(row, field_at(job, "template.spec"));
	cell_selector(row, field_at(job, "selector"), "<none>");
}

/* -- budgets and scales ------------------------------------------------------------------- */

const struct table_column table_columns_budgets[] = {
	TABLE_NAME,
	TABLE_TEXT("Min Available", "Pods that must stay available."),
	TABLE_TEXT("Max Unavailable", "Pods that may be unavailable."),
	TABLE_INT("Allowed Disruptions", "Pods that may be disrupted now."),
	TABLE_AGE,
	TABLE_END,
};

void table_cells_budgets(struct table_row *row, struct pl_json object)
{
	cell_name(row, object);
	cell_scalar(row, object, "spec.minAvailable", "N/A");
	cell_scalar(row, object, "spec.maxUnavailable", "N/A");
	cell_field_int(row, object, "status.disruptionsAllowed");
	cell_age(row, object);
}

const struct table_column table_columns_scales[] = {
	{"Name", "string", "", 0, TABLE_NAME_DOC},
	PODS_WANTED,
	TABLE_INT("Available", "Pods that there are."),
	TABLE_AGE,
	TABLE_END,
};

void table_cells_scales(struct table_row *row, struct pl_json object)
{
	cell_name(row, object);
	cell_field_int(row, object, "spec.replicas");
	cell_field_int(row, object, "status.replicas");
	cell_age(row, object);
}
