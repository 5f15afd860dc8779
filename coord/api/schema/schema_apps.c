/* The schema of apps/v1. */
#include "coord/api/schema/schema_table.h"

CHOICES(choices_daemon_set_update_strategy_type, "OnDelete", "RollingUpdate");
CHOICES(choices_deployment_strategy_type, "Recreate", "RollingUpdate");
CHOICES(choices_persistent_volume_claim_retention_policy_type, "Delete", "Retain");
CHOICES(choices_pod_management_policy_type, "OrderedReady", "Parallel");
CHOICES(choices_stateful_set_update_strategy_type, "OnDelete", "RollingUpdate");

FIELDS(apps_deployment) = {
	TYPE_META,
	OBJECT_META,
	OBJ(2, apps_deployment_spec, "spec", DOC("What is wanted.")),
	OBJ(3, apps_deployment_status, "status", IS(STATUS),
            DOC("What is: written by controllers, through the status subresource.")),
	END,
};
TYPE(apps_deployment, APPS_V1 "Deployment",
     "Keeps equal pods running, and replaces them step by step when their template "
     "changes.");

FIELDS(apps_deployment_spec) = {
	I32(1, "replicas", IS(ZERO_COUNTS | USED), NORMAL("1"), DOC("Number of pods.")),
	OBJ(2, meta_label_selector, "selector", IS(REQUIRED | IMMUTABLE | USED),
            DOC("The pods of the deployment; must match the template's labels.")),
	OBJ(3, core_pod_template_spec, "template", IS(REQUIRED | USED),
            DOC("Of which pods are made.")),
	OBJ(4, apps_deployment_strategy, "strategy", IS(RETAIN_KEYS), NORMAL("{}")),
	I32(5, "minReadySeconds"),
	I32(6, "revisionHistoryLimit", IS(ZERO_COUNTS), NORMAL("10")),
	BOOL(7, "paused"),
	I32(9, "progressDeadlineSeconds", IS(ZERO_COUNTS), NORMAL("600")),
	END,
};
TYPE(apps_deployment_spec, APPS_V1 "DeploymentSpec",
     "How many pods, made of which template, and how they are replaced.");

FIELDS(apps_deployment_strategy) = {
	STR(1, "type", NORMAL("\"RollingUpdate\""),
            ONE_OF(choices_deployment_strategy_type)),
	OBJ(2, apps_rolling_update_deployment, "rollingUpdate"),
	END,
};
TYPE(apps_deployment_strategy, APPS_V1 "DeploymentStrategy",
     "How old pods give way to new ones.");

FIELDS(apps_rolling_update_deployment) = {
	INT_STR(1, "maxUnavailable", NORMAL("\"25%\"")),
	INT_STR(2, "maxSurge", NORMAL("\"25%\"")),
	END,
};
TYPE(apps_rolling_update_deployment, APPS_V1 "RollingUpdateDeployment",
     "How many pods may be missing, or too many, during an update.");

FIELDS(apps_deployment_status) = {
	I64(1, "observedGeneration"),
	I32(2, "replicas"),
	I32(3, "updatedReplicas"),
	I32(7, "readyReplicas"),
	I32(4, "availableReplicas"),
	I32(5, "unavailableReplicas"),
	OBJS(6, apps_deployment_condition, "conditions", KEYS("type")),
	I32(8, "collisionCount", IS(ZERO_COUNTS)),
	END,
};
TYPE(apps_deployment_status, APPS_V1 "DeploymentStatus", "How far a deployment is.");

FIELDS(apps_deployment_condition) = {
	STR(1, "type", IS(REQUIRED)),
	STR(2, "status", IS(REQUIRED)),
	TIME(6, "lastUpdateTime"),
	TIME(7, "lastTransitionTime"),
	STR(4, "reason"),
	STR(5, "message"),
	END,
};
TYPE(apps_deployment_condition, APPS_V1 "DeploymentCondition",
     "One aspect of a deployment's state.");

FIELDS(apps_replica_set) = {
	TYPE_META,
	OBJECT_META,
	OBJ(2, apps_replica_set_spec, "spec", DOC("What is wanted.")),
	OBJ(3, apps_replica_set_status, "status", IS(STATUS),
            DOC("What is: written by controllers, through the status subresource.")),
	END,
};
TYPE(apps_replica_set, APPS_V1 "ReplicaSet",
     "Keeps a number of equal pods running. Default spreading looks at the selector.");

FIELDS(apps_replica_set_spec) = {
	I32(1, "replicas", IS(ZERO_COUNTS | USED), NORMAL("1"), DOC("Number of pods.")),
	I32(4, "minReadySeconds"),
	OBJ(2, meta_label_selector, "selector", IS(REQUIRED | IMMUTABLE | USED),
            DOC("The pods of the set; must match the template's labels.")),
	OBJ(3, core_pod_template_spec, "template", IS(USED),
            DOC("Of which pods are made.")),
	END,
};
TYPE(apps_replica_set_spec, APPS_V1 "ReplicaSetSpec",
     "How many pods, made of which template.");

FIELDS(apps_replica_set_status) = {
	I32(1, "replicas", IS(REQUIRED | MAY_LACK)),
	I32(2, "fullyLabeledReplicas"),
	I32(4, "readyReplicas"),
	I32(5, "availableReplicas"),
	I64(3, "observedGeneration"),
	OBJS(6, apps_replica_set_condition, "conditions", KEYS("type")),
	END,
};
TYPE(apps_replica_set_status, APPS_V1 "ReplicaSetStatus", "How many pods there are.");

FIELDS(apps_replica_set_condition) = {
	STR(1, "type", IS(REQUIRED)),
	STR(2, "status", IS(REQUIRED)),
	TIME(3, "lastTransitionTime"),
	STR(4, "reason"),
	STR(5, "message"),
	END,
};
TYPE(apps_replica_set_condition, APPS_V1 "ReplicaSetCondition",
     "One aspect of a replica set's state.");

FIELDS(apps_stateful_set) = {
	TYPE_META,
	OBJECT_META,
	OBJ(2, apps_stateful_set_spec, "spec", DOC("What is wanted.")),
	OBJ(3, apps_stateful_set_status, "status", IS(STATUS),
            DOC("What is: written by controllers, through the status subresource.")),
	END,
};
TYPE(apps_stateful_set, APPS_V1 "StatefulSet",
     "Keeps pods with stable names and claims running. Default spreading looks at "
     "the selector.");

FIELDS(apps_stateful_set_spec) = {
	I32(1, "replicas", IS(ZERO_COUNTS | USED), NORMAL("1"), DOC("Number of pods.")),
	OBJ(2, meta_label_selector, "selector", IS(REQUIRED | USED),
            DOC("The pods of the set; must match the template's labels.")),
	OBJ(3, core_pod_template_spec, "template", IS(REQUIRED | USED),
            DOC("Of which pods are made.")),
	OBJS(4, core_persistent_volume_claim, "volumeClaimTemplates", IS(USED),
             DOC("Claims that each pod gets of its own.")),
	STR(5, "serviceName", IS(REQUIRED | MAY_LACK)),
	STR(6, "podManagementPolicy", NORMAL("\"OrderedReady\""),
            ONE_OF(choices_pod_management_policy_type)),
	OBJ(7, apps_stateful_set_update_strategy, "updateStrategy"),
	I32(8, "revisionHistoryLimit", IS(ZERO_COUNTS), NORMAL("10")),
	I32(9, "minReadySeconds"),
	OBJ(10, apps_stateful_set_persistent_volume_claim_retention_policy,
            "persistentVolumeClaimRetentionPolicy", NORMAL("{}")),
	OBJ(11, apps_stateful_set_ordinals, "ordinals", IS(USED),
            DOC("Number of the first pod.")),
	END,
};
TYPE(apps_stateful_set_spec, APPS_V1 "StatefulSetSpec",
     "How many pods, made of which template, with which claims, and in which order.");

FIELDS(apps_stateful_set_update_strategy) = {
	STR(1, "type", ONE_OF(choices_stateful_set_update_strategy_type)),
	OBJ(2, apps_rolling_update_stateful_set_strategy, "rollingUpdate"),
	END,
};
TYPE(apps_stateful_set_update_strategy, APPS_V1 "StatefulSetUpdateStrategy",
     "How pods are replaced when the template changes.");

FIELDS(apps_rolling_update_stateful_set_strategy) = {
	I32(1, "partition", IS(ZERO_COUNTS), NORMAL("0")),
	INT_STR(2, "maxUnavailable"),
	END,
};
TYPE(apps_rolling_update_stateful_set_strategy,
     APPS_V1 "RollingUpdateStatefulSetStrategy",
     "Which pods are replaced, and how many at a time.");

FIELDS(apps_stateful_set_persistent_volume_claim_retention_policy) = {
	STR(1, "whenDeleted", NORMAL("\"Retain\""),
            ONE_OF(choices_persistent_volume_claim_retention_policy_type)),
	STR(2, "whenScaled", NORMAL("\"Retain\""),
            ONE_OF(choices_persistent_volume_claim_retention_policy_type)),
	END,
};
TYPE(apps_stateful_set_persistent_volume_claim_retention_policy,
     APPS_V1 "StatefulSetPersistentVolumeClaimRetentionPolicy",
     "What becomes of claims when their pods go.");

FIELDS(apps_stateful_set_ordinals) = {
	I32(1, "start", IS(USED), DOC("Number of the first pod.")),
	END,
};
TYPE(apps_stateful_set_ordinals, APPS_V1 "StatefulSetOrdinals",
     "How the pods are numbered.");

FIELDS(apps_stateful_set_status) = {
	I64(1, "observedGeneration"),
	I32(2, "replicas", IS(REQUIRED | MAY_LACK)),
	I32(3, "readyReplicas"),
	I32(4, "currentReplicas"),
	I32(5, "updatedReplicas"),
	STR(6, "currentRevision"),
	STR(7, "updateRevision"),
	I32(9, "collisionCount", IS(ZERO_COUNTS)),
	OBJS(10, apps_stateful_set_condition, "conditions", KEYS("type")),
	I32(11, "availableReplicas"),
	END,
};
TYPE(apps_stateful_set_status, APPS_V1 "StatefulSetStatus", "How far a stateful set is.");

FIELDS(apps_stateful_set_condition) = {
	STR(1, "type", IS(REQUIRED)),
	STR(2, "status", IS(REQUIRED)),
	TIME(3, "lastTransitionTime"),
	STR(4, "reason"),
	STR(5, "message"),
	END,
};
TYPE(apps_stateful_set_condition, APPS_V1 "StatefulSetCondition",
     "One aspect of a stateful set's state.");

FIELDS(apps_daemon_set) = {
	TYPE_META,
	OBJECT_META,
	OBJ(2, apps_daemon_set_spec, "spec", DOC("What is wanted.")),
	OBJ(3, apps_daemon_set_status, "status", IS(STATUS),
            DOC("What is: written by controllers, through the status subresource.")),
	END,
};
TYPE(apps_daemon_set, APPS_V1 "DaemonSet", "Keeps a pod on every node that matches.");

FIELDS(apps_daemon_set_spec) = {
	OBJ(1, meta_label_selector, "selector", IS(REQUIRED | IMMUTABLE | USED),
            DOC("The pods of the set; must match the template's labels.")),
	OBJ(2, core_pod_template_spec, "template", IS(REQUIRED | USED),
            DOC("Of which pods are made.")),
	OBJ(3, apps_daemon_set_update_strategy, "updateStrategy", NORMAL("{}")),
	I32(4, "minReadySeconds"),
	I32(6, "revisionHistoryLimit", IS(ZERO_COUNTS), NORMAL("10")),
	END,
};
TYPE(apps_daemon_set_spec, APPS_V1 "DaemonSetSpec",
     "The template of the pods, and how they are replaced.");

FIELDS(apps_daemon_set_update_strategy) = {
	STR(1, "type", NORMAL("\"RollingUpdate\""),
            ONE_OF(choices_daemon_set_update_strategy_type)),
	OBJ(2, apps_rolling_update_daemon_set, "rollingUpdate"),
	END,
};
TYPE(apps_daemon_set_update_strategy, APPS_V1 "DaemonSetUpdateStrategy",
     "How pods are replaced when the template changes.");

FIELDS(apps_rolling_update_daemon_set) = {
	INT_STR(1, "maxUnavailable", NORMAL("1")),
	INT_STR(2, "maxSurge", NORMAL("0")),
	END,
};
TYPE(apps_rolling_update_daemon_set, APPS_V1 "RollingUpdateDaemonSet",
     "How many nodes may be without their pod, or have two, during an update.");

FIELDS(apps_daemon_set_status) = {
	I32(1, "currentNumberScheduled", IS(REQUIRED | MAY_LACK)),
	I32(2, "numberMisscheduled", IS(REQUIRED | MAY_LACK)),
	I32(3, "desiredNumberScheduled", IS(REQUIRED | MAY_LACK)),
	I32(4, "numberReady", IS(REQUIRED | MAY_LACK)),
	I64(5, "observedGeneration"),
	I32(6, "updatedNumberScheduled"),
	I32(7, "numberAvailable"),
	I32(8, "numberUnavailable"),
	I32(9, "collisionCount", IS(ZERO_COUNTS)),
	OBJS(10, apps_daemon_set_condition, "conditions", KEYS("type")),
	END,
};
TYPE(apps_daemon_set_status, APPS_V1 "DaemonSetStatus", "How far a daemon set is.");

FIELDS(apps_daemon_set_condition) = {
	STR(1, "type", IS(REQUIRED)),
	STR(2, "status", IS(REQUIRED)),
	TIME(3, "lastTransitionTime"),
	STR(4, "reason"),
	STR(5, "message"),
	END,
};
TYPE(apps_daemon_set_condition, APPS_V1 "DaemonSetCondition",
     "One aspect of a daemon set's state.");
