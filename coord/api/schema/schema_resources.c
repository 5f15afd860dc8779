/* The resources that are served, the groups together, in the order of discovery. */
#include "coord/api/schema/schema_types.h"

enum {
	READ = SCHEMA_GET | SCHEMA_LIST_VERB | SCHEMA_WATCH,
	CHANGE = SCHEMA_UPDATE | SCHEMA_PATCH,
	ALL = READ | CHANGE | SCHEMA_CREATE | SCHEMA_DELETE | SCHEMA_DELETE_COLLECTION,
	HAS_STATUS = SCHEMA_SUB_STATUS,
	HAS_SCALE = SCHEMA_SUB_STATUS | SCHEMA_SUB_SCALE,
	OF_PODS = SCHEMA_SUB_STATUS | SCHEMA_SUB_BINDING | SCHEMA_SUB_EVICTION |
	          SCHEMA_SUB_LOG | SCHEMA_SUB_EXEC,
};

static const char *const none[] = {NULL};
static const char *const all[] = {"all", NULL};

/* NOLINTBEGIN(bugprone-macro-parentheses): parts of initialisers */
#define SHORT(...) ((const char *const[]){__VA_ARGS__, NULL})
#define RESOURCE(group_, version_, plural_, singular_, kind_, shorts, groups, inside, \
                 can, sub, word)                                                      \
	{                                                                             \
		.group = group_, .version = version_, .plural = plural_,              \
		.singular = singular_, .kind = kind_, .short_names = shorts,          \
		.categories = groups, .namespaced = inside, .verbs = can,             \
		.subresources = sub, .type = &schema_##word                           \
	}
#define CORE(...) RESOURCE("", "v1", __VA_ARGS__)
#define APPS(...) RESOURCE("apps", "v1", __VA_ARGS__)
#define BATCH(...) RESOURCE("batch", "v1", __VA_ARGS__)
#define STORAGE(...) RESOURCE("storage.k8s.io", "v1", __VA_ARGS__)
#define REVIEW(group, plural, singular, kind, inside, word)                              \
	RESOURCE(group, "v1", plural, singular, kind, none, none, inside, SCHEMA_CREATE, \
	         0, word)
#define PLACET(...) RESOURCE("placet.io", "v1", __VA_ARGS__)
/* NOLINTEND(bugprone-macro-parentheses) */

static const struct schema_resource resources[] = {
	CORE("bindings", "binding", "Binding", none, none, true, SCHEMA_CREATE, 0,
             core_binding),
	CORE("configmaps", "configmap", "ConfigMap", SHORT("cm"), none, true, ALL, 0,
             core_config_map),
	CORE("events", "event", "Event", SHORT("ev"), none, true, ALL, 0, core_event),
	CORE("namespaces", "namespace", "Namespace", SHORT("ns"), none, false,
             ALL & ~SCHEMA_DELETE_COLLECTION, HAS_STATUS | SCHEMA_SUB_FINALIZE,
             core_namespace),
	CORE("nodes", "node", "Node", SHORT("no"), none, false, ALL, HAS_STATUS,
             core_node),
	CORE("persistentvolumeclaims", "persistentvolumeclaim", "PersistentVolumeClaim",
             SHORT("pvc"), none, true, ALL, HAS_STATUS, core_persistent_volume_claim),
	CORE("persistentvolumes", "persistentvolume", "PersistentVolume", SHORT("pv"),
             none, false, ALL, HAS_STATUS, core_persistent_volume),
	CORE("pods", "pod", "Pod", SHORT("po"), all, true, ALL, OF_PODS, core_pod),
	CORE("podtemplates", "podtemplate", "PodTemplate", none, none, true, ALL, 0,
             core_pod_template),
	CORE("replicationcontrollers", "replicationcontroller", "ReplicationController",
             SHORT("rc"), all, true, ALL, HAS_SCALE, core_replication_controller),
	CORE("serviceaccounts", "serviceaccount", "ServiceAccount", SHORT("sa"), none,
             true, ALL, 0, core_service_account),
	CORE("services", "service", "Service", SHORT("svc"), all, true, ALL, HAS_STATUS,
             core_service),

	APPS("daemonsets", "daemonset", "DaemonSet", SHORT("ds"), all, true, ALL,
             HAS_STATUS, apps_daemon_set),
	APPS("deployments", "deployment", "Deployment", SHORT("deploy"), all, true, ALL,
             HAS_SCALE, apps_deployment),
	APPS("replicasets", "replicaset", "ReplicaSet", SHORT("rs"), all, true, ALL,
             HAS_SCALE, apps_replica_set),
	APPS("statefulsets", "statefulset", "StatefulSet", SHORT("sts"), all, true, ALL,
             HAS_SCALE, apps_stateful_set),

	RESOURCE("events.k8s.io", "v1", "events", "event", "Event", SHORT("ev"), none,
                 true, ALL, 0, events_event),

	BATCH("cronjobs", "cronjob", "CronJob", SHORT("cj"), all, true, ALL, HAS_STATUS,
              batch_cron_job),
	BATCH("jobs", "job", "Job", none, all, true, ALL, HAS_STATUS, batch_job),

	RESOURCE("policy", "v1", "poddisruptionbudgets", "poddisruptionbudget",
                 "PodDisruptionBudget", SHORT("pdb"), none, true, ALL, HAS_STATUS,
                 policy_pod_disruption_budget),

	STORAGE("csidrivers", "csidriver", "CSIDriver", none, none, false, ALL, 0,
                storage_csi_driver),
	STORAGE("csinodes", "csinode", "CSINode", none, none, false, ALL, 0,
                storage_csi_node),
	STORAGE("csistoragecapacities", "csistoragecapacity", "CSIStorageCapacity", none,
                none, true, ALL, 0, storage_csi_storage_capacity),
	STORAGE("storageclasses", "storageclass", "StorageClass", SHORT("sc"), none,
                false, ALL, 0, storage_storage_class),

	RESOURCE("scheduling.k8s.io", "v1", "priorityclasses", "priorityclass",
                 "PriorityClass", SHORT("pc"), none, false, ALL, 0,
                 scheduling_priority_class),
	RESOURCE("coordination.k8s.io", "v1", "leases", "lease", "Lease", none, none,
                 true, ALL, 0, coordination_lease),

	REVIEW("authentication.k8s.io", "selfsubjectreviews", "selfsubjectreview",
               "SelfSubjectReview", false, authentication_self_subject_review),
	REVIEW("authentication.k8s.io", "tokenreviews", "tokenreview", "TokenReview",
               false, authentication_token_review),
	REVIEW("authorization.k8s.io", "localsubjectaccessreviews",
               "localsubjectaccessreview", "LocalSubjectAccessReview", true,
               authorization_local_subject_access_review),
	REVIEW("authorization.k8s.io", "selfsubjectaccessreviews",
               "selfsubjectaccessreview", "SelfSubjectAccessReview", false,
               authorization_self_subject_access_review),
	REVIEW("authorization.k8s.io", "selfsubjectrulesreviews",
               "selfsubjectrulesreview", "SelfSubjectRulesReview", false,
               authorization_self_subject_rules_review),
	REVIEW("authorization.k8s.io", "subjectaccessreviews", "subjectaccessreview",
               "SubjectAccessReview", false, authorization_subject_access_review),

	PLACET("clusters", "cluster", "Cluster", none, SHORT("placet"), false, READ, 0,
               placet_cluster),
	PLACET("configs", "config", "Config", none, SHORT("placet"), false, READ | CHANGE,
               0, placet_config),
	PLACET("explanations", "explanation", "Explanation", none, none, true, SCHEMA_GET,
               0, placet_explanation),
	PLACET("gangs", "gang", "Gang", none, SHORT("placet"), true, READ, 0,
               placet_gang),
	PLACET("partitions", "partition", "Partition", none, SHORT("placet"), false, READ,
               0, placet_partition),
	PLACET("plans", "plan", "Plan", none, none, true, SCHEMA_CREATE, 0, placet_plan),
	PLACET("shards", "shard", "Shard", none, SHORT("placet"), false,
               READ | CHANGE | SCHEMA_DELETE, 0, placet_shard),
	PLACET("tokens", "token", "Token", none, none, false,
               READ | SCHEMA_CREATE | SCHEMA_DELETE, 0, placet_token),
};

const struct schema_resource *schema_resources(size_t *count)
{
	*count = sizeof resources / sizeof *resources;
	return resources;
}
