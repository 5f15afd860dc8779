/* The schema of batch/v1. */
#include "coord/api/schema/schema_table.h"

CHOICES(choices_completion_mode, "Indexed", "NonIndexed");
CHOICES(choices_concurrency_policy, "Allow", "Forbid", "Replace");
CHOICES(choices_pod_failure_policy_action, "Count", "FailIndex", "FailJob", "Ignore");
CHOICES(choices_pod_failure_policy_on_exit_codes_operator, "In", "NotIn");
CHOICES(choices_pod_replacement_policy, "Failed", "TerminatingOrFailed");

FIELDS(batch_job) = {
	TYPE_META,
	OBJECT_META,
	OBJ(2, batch_job_spec, "spec", DOC("What is wanted.")),
	OBJ(3, batch_job_status, "status", IS(STATUS),
            DOC("What is: written by controllers, through the status subresource.")),
	END,
};
TYPE(batch_job, BATCH_V1 "Job", "Runs pods until enough of them have succeeded.");

FIELDS(batch_job_spec) = {
	I32(1, "parallelism", IS(ZERO_COUNTS | USED), NORMAL("1"),
            DOC("How many pods run at a time.")),
	I32(2, "completions", IS(ZERO_COUNTS | USED), DOC("How many pods must succeed.")),
	I64(3, "activeDeadlineSeconds", IS(ZERO_COUNTS)),
	OBJ(11, batch_pod_failure_policy, "podFailurePolicy", IS(IMMUTABLE)),
	OBJ(16, batch_success_policy, "successPolicy", IS(IMMUTABLE)),
	I32(7, "backoffLimit", IS(ZERO_COUNTS)),
	I32(12, "backoffLimitPerIndex", IS(ZERO_COUNTS | IMMUTABLE)),
	I32(13, "maxFailedIndexes", IS(ZERO_COUNTS)),
	OBJ(4, meta_label_selector, "selector", IS(IMMUTABLE | USED),
            DOC("The pods of the job; made by the server.")),
	BOOL(5, "manualSelector", IS(ZERO_COUNTS), NORMAL("false")),
	OBJ(6, core_pod_template_spec, "template", IS(REQUIRED | USED),
            DOC("Of which pods are made.")),
	I32(8, "ttlSecondsAfterFinished", IS(ZERO_COUNTS)),
	STR(9, "completionMode", IS(ZERO_COUNTS | IMMUTABLE | USED),
            NORMAL("\"NonIndexed\""), ONE_OF(choices_completion_mode),
            DOC("Indexed: each pod has a number of its own.")),
	BOOL(10, "suspend", IS(ZERO_COUNTS | USED), NORMAL("false"),
             DOC("True: no pods are made.")),
	STR(14, "podReplacementPolicy", IS(ZERO_COUNTS),
            ONE_OF(choices_pod_replacement_policy)),
	STR(15, "managedBy", IS(ZERO_COUNTS | IMMUTABLE)),
	END,
};
TYPE(batch_job_spec, BATCH_V1 "JobSpec",
     "How many pods must succeed, how many run at a time, and what counts as "
     "failure.");

FIELDS(batch_pod_failure_policy) = {
	OBJS(1, batch_pod_failure_policy_rule, "rules", IS(REQUIRED)),
	END,
};
TYPE(batch_pod_failure_policy, BATCH_V1 "PodFailurePolicy",
     "Rules for pods that fail, of which the first that matches decides.");

FIELDS(batch_pod_failure_policy_rule) = {
	STR(1, "action", IS(REQUIRED), ONE_OF(choices_pod_failure_policy_action)),
	OBJ(2, batch_pod_failure_policy_on_exit_codes_requirement, "onExitCodes"),
	OBJS(3, batch_pod_failure_policy_on_pod_conditions_pattern, "onPodConditions"),
	END,
};
TYPE(batch_pod_failure_policy_rule, BATCH_V1 "PodFailurePolicyRule",
     "What is done about a pod that failed in a certain way.");

FIELDS(batch_pod_failure_policy_on_exit_codes_requirement) = {
	STR(1, "containerName", IS(ZERO_COUNTS)),
	STR(2, "operator", IS(REQUIRED),
            ONE_OF(choices_pod_failure_policy_on_exit_codes_operator)),
	I32S(3, "values", AS_SET, IS(REQUIRED | NO_PATCH_MERGE)),
	END,
};
TYPE(batch_pod_failure_policy_on_exit_codes_requirement,
     BATCH_V1 "PodFailurePolicyOnExitCodesRequirement",
     "A condition on the exit codes of containers.");

FIELDS(batch_pod_failure_policy_on_pod_conditions_pattern) = {
	STR(1, "type", IS(REQUIRED)),
	STR(2, "status", IS(REQUIRED), NORMAL("\"True\"")),
	END,
};
TYPE(batch_pod_failure_policy_on_pod_conditions_pattern,
     BATCH_V1 "PodFailurePolicyOnPodConditionsPattern",
     "A condition on the conditions of the pod.");

FIELDS(batch_success_policy) = {
	OBJS(1, batch_success_policy_rule, "rules", IS(REQUIRED)),
	END,
};
TYPE(batch_success_policy, BATCH_V1 "SuccessPolicy",
     "Rules by which a job has succeeded before all of its pods have.");

FIELDS(batch_success_policy_rule) = {
	STR(1, "succeededIndexes", IS(ZERO_COUNTS)),
	I32(2, "succeededCount", IS(ZERO_COUNTS)),
	END,
};
TYPE(batch_success_policy_rule, BATCH_V1 "SuccessPolicyRule",
     "Which indexes, or how many of them, must succeed.");

FIELDS(batch_job_status) = {
	OBJS(1, batch_job_condition, "conditions", KEYS("type"), IS(APPLY_WHOLE)),
	TIME(2, "startTime"),
	TIME(3, "completionTime"),
	I32(4, "active"),
	I32(5, "succeeded"),
	I32(6, "failed"),
	I32(11, "terminating", IS(ZERO_COUNTS)),
	STR(7, "completedIndexes"),
	STR(10, "failedIndexes", IS(ZERO_COUNTS)),
	OBJ(8, batch_uncounted_terminated_pods, "uncountedTerminatedPods"),
	I32(9, "ready", IS(ZERO_COUNTS)),
	END,
};
TYPE(batch_job_status, BATCH_V1 "JobStatus", "How far a job is.");

FIELDS(batch_job_condition) = {
	STR(1, "type", IS(REQUIRED)),
	STR(2, "status", IS(REQUIRED)),
	TIME(3, "lastProbeTime"),
	TIME(4, "lastTransitionTime"),
	STR(5, "reason"),
	STR(6, "message"),
	END,
};
TYPE(batch_job_condition, BATCH_V1 "JobCondition", "One aspect of a job's state.");

FIELDS(batch_uncounted_terminated_pods) = {
	STRS(1, "succeeded", AS_SET, IS(NO_PATCH_MERGE)),
	STRS(2, "failed", AS_SET, IS(NO_PATCH_MERGE)),
	END,
};
TYPE(batch_uncounted_terminated_pods, BATCH_V1 "UncountedTerminatedPods",
     "Pods that ended and are in no count yet.");

FIELDS(batch_cron_job) = {
	TYPE_META,
	OBJECT_META,
	OBJ(2, batch_cron_job_spec, "spec", DOC("What is wanted.")),
	OBJ(3, batch_cron_job_status, "status", IS(STATUS),
            DOC("What is: written by controllers, through the status subresource.")),
	END,
};
TYPE(batch_cron_job, BATCH_V1 "CronJob", "Makes jobs by a timetable.");

FIELDS(batch_cron_job_spec) = {
	STR(1, "schedule", IS(REQUIRED), DOC("When, in the format of cron.")),
	STR(8, "timeZone", IS(ZERO_COUNTS)),
	I64(2, "startingDeadlineSeconds", IS(ZERO_COUNTS)),
	STR(3, "concurrencyPolicy", NORMAL("\"Allow\""),
            ONE_OF(choices_concurrency_policy)),
	BOOL(4, "suspend", IS(ZERO_COUNTS), NORMAL("false")),
	OBJ(5, batch_job_template_spec, "jobTemplate", IS(REQUIRED),
            DOC("Of which jobs are made.")),
	I32(6, "successfulJobsHistoryLimit", IS(ZERO_COUNTS), NORMAL("3")),
	I32(7, "failedJobsHistoryLimit", IS(ZERO_COUNTS), NORMAL("1")),
	END,
};
TYPE(batch_cron_job_spec, BATCH_V1 "CronJobSpec",
     "When jobs are made, and of which template.");

FIELDS(batch_job_template_spec) = {
	OBJECT_META,
	OBJ(2, batch_job_spec, "spec", DOC("What is wanted.")),
	END,
};
TYPE(batch_job_template_spec, BATCH_V1 "JobTemplateSpec",
     "Metadata and spec that the jobs made of a template get.");

FIELDS(batch_cron_job_status) = {
	OBJS(1, core_object_reference, "active"),
	TIME(4, "lastScheduleTime"),
	TIME(5, "lastSuccessfulTime"),
	END,
};
TYPE(batch_cron_job_status, BATCH_V1 "CronJobStatus",
     "Which jobs run, and when the last one was made.");
