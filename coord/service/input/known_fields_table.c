/* Kubernetes 1.35's fields, with those of earlier versions. Sorted by bytes. */
#include "coord/service/input/unknown_fields.h"
#include "shardsched/model/pod_template.h"

#define SHAPE(of, ...)                                                        \
	static const struct known_fields_field of##_fields[] = {__VA_ARGS__}; \
	static const struct known_fields_shape of = {                         \
		of##_fields, sizeof of##_fields / sizeof *of##_fields, "", NULL}

SHAPE(match, {"key", NULL}, {"operator", NULL}, {"values", NULL});
SHAPE(label_selector, {"matchExpressions", &match}, {"matchLabels", NULL});
SHAPE(node_term, {"matchExpressions", &match}, {"matchFields", &match});
SHAPE(node_selector, {"nodeSelectorTerms", &node_term});
SHAPE(node_preferred, {"preference", &node_term}, {"weight", NULL});
SHAPE(node_affinity, {"preferredDuringSchedulingIgnoredDuringExecution", &node_preferred},
      {"requiredDuringSchedulingIgnoredDuringExecution", &node_selector});
SHAPE(pod_term, {"labelSelector", &label_selector}, {"matchLabelKeys", NULL},
      {"mismatchLabelKeys", NULL}, {"namespaceSelector", &label_selector},
      {"namespaces", NULL}, {"topologyKey", NULL});
SHAPE(pod_preferred, {"podAffinityTerm", &pod_term}, {"weight", NULL});
SHAPE(pod_affinity, {"preferredDuringSchedulingIgnoredDuringExecution", &pod_preferred},
      {"requiredDuringSchedulingIgnoredDuringExecution", &pod_term});
SHAPE(affinity, {"nodeAffinity", &node_affinity}, {"podAffinity", &pod_affinity},
      {"podAntiAffinity", &pod_affinity});
SHAPE(toleration, {"effect", NULL}, {"key", NULL}, {"operator", NULL},
      {"tolerationSeconds", NULL}, {"value", NULL});
SHAPE(spread, {"labelSelector", &label_selector}, {"matchLabelKeys", NULL},
      {"maxSkew", NULL}, {"minDomains", NULL}, {"nodeAffinityPolicy", NULL},
      {"nodeTaintsPolicy", NULL}, {"topologyKey", NULL}, {"whenUnsatisfiable", NULL});
SHAPE(port, {"containerPort", NULL}, {"hostIP", NULL}, {"hostPort", NULL}, {"name", NULL},
      {"protocol", NULL});
SHAPE(resources, {"claims", NULL}, {"limits", NULL}, {"requests", NULL});
SHAPE(gate, {"name", NULL});
SHAPE(claim, {"name", NULL}, {"resourceClaimName", NULL},
      {"resourceClaimTemplateName", NULL});
SHAPE(volume_claim, {"claimName", NULL}, {"readOnly", NULL});
SHAPE(volume, {"awsElasticBlockStore", NULL}, {"azureDisk", NULL}, {"azureFile", NULL},
      {"cephfs", NULL}, {"cinder", NULL}, {"configMap", NULL}, {"csi", NULL},
      {"downwardAPI", NULL}, {"emptyDir", NULL}, {"ephemeral", NULL}, {"fc", NULL},
      {"flexVolume", NULL}, {"flocker", NULL}, {"gcePersistentDisk", NULL},
      {"gitRepo", NULL}, {"glusterfs", NULL}, {"hostPath", NULL}, {"image", NULL},
      {"iscsi", NULL}, {"name", NULL}, {"nfs", NULL},
      {"persistentVolumeClaim", &volume_claim}, {"photonPersistentDisk", NULL},
      {"portworxVolume", NULL}, {"projected", NULL}, {"quobyte", NULL}, {"rbd", NULL},
      {"scaleIO", NULL}, {"secret", NULL}, {"storageos", NULL}, {"vsphereVolume", NULL});
SHAPE(container, {"args", NULL}, {"command", NULL}, {"env", NULL}, {"envFrom", NULL},
      {"image", NULL}, {"imagePullPolicy", NULL}, {"lifecycle", NULL},
      {"livenessProbe", NULL}, {"name", NULL}, {"ports", &port}, {"readinessProbe", NULL},
      {"resizePolicy", NULL}, {"resources", &resources}, {"restartPolicy", NULL},
      {"restartPolicyRules", NULL}, {"securityContext", NULL}, {"startupProbe", NULL},
      {"stdin", NULL}, {"stdinOnce", NULL}, {"targetContainerName", NULL},
      {"terminationMessagePath", NULL}, {"terminationMessagePolicy", NULL}, {"tty", NULL},
      {"volumeDevices", NULL}, {"volumeMounts", NULL}, {"workingDir", NULL});
SHAPE(pod_spec, {"activeDeadlineSeconds", NULL}, {"affinity", &affinity},
      {"automountServiceAccountToken", NULL}, {"containers", &container},
      {"dnsConfig", NULL}, {"dnsPolicy", NULL}, {"enableServiceLinks", NULL},
      {"ephemeralContainers", &container}, {"hostAliases", NULL}, {"hostIPC", NULL},
      {"hostNetwork", NULL}, {"hostPID", NULL}, {"hostUsers", NULL}, {"hostname", NULL},
      {"hostnameOverride", NULL}, {"imagePullSecrets", NULL},
      {"initContainers", &container}, {"nodeName", NULL}, {"nodeSelector", NULL},
      {"os", NULL}, {"overhead", NULL}, {"preemptionPolicy", NULL}, {"priority", NULL},
      {"priorityClassName", NULL}, {"readinessGates", NULL}, {"resourceClaims", &claim},
      {"resources", &resources}, {"restartPolicy", NULL}, {"runtimeClassName", NULL},
      {"schedulerName", NULL}, {"schedulingGates", &gate}, {"securityContext", NULL},
      {"serviceAccount", NULL}, {"serviceAccountName", NULL}, {"setHostnameAsFQDN", NULL},
      {"shareProcessNamespace", NULL}, {"subdomain", NULL},
      {"terminationGracePeriodSeconds", NULL}, {"tolerations", &toleration},
      {"topologySpreadConstraints", &spread}, {"volumes", &volume},
      {"workloadRef", NULL});
static const struct known_fields_field gang_fields[] = {
	{SPEC_GANG_ANNOTATION, NULL},
	{SPEC_GANG_DOMAIN_ANNOTATION, NULL},
	{SPEC_GANG_MIN_ANNOTATION, NULL}};
static const struct known_fields_shape annotations = {
	gang_fields, sizeof gang_fields / sizeof *gang_fields, "placet.io/", NULL};
/* Objects that contain pods: the pods' annotations are those of the template. */
static const struct known_fields_shape no_annotations = {
	NULL, 0, "placet.io/", "spec.template.metadata.annotations"};

#define META(of, annotations)                                                            \
	SHAPE(of, {"annotations", annotations}, {"clusterName", NULL},                   \
	      {"creationTimestamp", NULL}, {"deletionGracePeriodSeconds", NULL},         \
	      {"deletionTimestamp", NULL}, {"finalizers", NULL}, {"generateName", NULL}, \
	      {"generation", NULL}, {"initializers", NULL}, {"labels", NULL},            \
	      {"managedFields", NULL}, {"name", NULL}, {"namespace", NULL},              \
	      {"ownerReferences", NULL}, {"resourceVersion", NULL}, {"selfLink", NULL},  \
	      {"uid", NULL})
META(meta, NULL);
META(pod_meta, &annotations);
META(maker_meta, &no_annotations);
SHAPE(template, {"apiVersion", NULL}, {"kind", NULL}, {"metadata", &pod_meta},
      {"spec", &pod_spec});
SHAPE(pod, {"apiVersion", NULL}, {"kind", NULL}, {"metadata", &pod_meta},
      {"spec", &pod_spec}, {"status", NULL});
SHAPE(deployment_spec, {"minReadySeconds", NULL}, {"paused", NULL},
      {"progressDeadlineSeconds", NULL}, {"replicas", NULL},
      {"revisionHistoryLimit", NULL}, {"rollbackTo", NULL}, {"selector", &label_selector},
      {"strategy", NULL}, {"template", &template});
SHAPE(deployment, {"apiVersion", NULL}, {"kind", NULL}, {"metadata", &maker_meta},
      {"spec", &deployment_spec}, {"status", NULL});
SHAPE(replica_set_spec, {"minReadySeconds", NULL}, {"replicas", NULL},
      {"selector", &label_selector}, {"template", &template});
SHAPE(replica_set, {"apiVersion", NULL}, {"kind", NULL}, {"metadata", &maker_meta},
      {"spec", &replica_set_spec}, {"status", NULL});
SHAPE(stateful_set_spec, {"minReadySeconds", NULL}, {"ordinals", NULL},
      {"persistentVolumeClaimRetentionPolicy", NULL}, {"podManagementPolicy", NULL},
      {"replicas", NULL}, {"revisionHistoryLimit", NULL}, {"selector", &label_selector},
      {"serviceName", NULL}, {"template", &template}, {"updateStrategy", NULL},
      {"volumeClaimTemplates", NULL});
SHAPE(stateful_set, {"apiVersion", NULL}, {"kind", NULL}, {"metadata", &maker_meta},
      {"spec", &stateful_set_spec}, {"status", NULL});
SHAPE(job_spec, {"activeDeadlineSeconds", NULL}, {"backoffLimit", NULL},
      {"backoffLimitPerIndex", NULL}, {"completionMode", NULL}, {"completions", NULL},
      {"managedBy", NULL}, {"manualSelector", NULL}, {"maxFailedIndexes", NULL},
      {"parallelism", NULL}, {"podFailurePolicy", NULL}, {"podReplacementPolicy", NULL},
      {"selector", &label_selector}, {"successPolicy", NULL}, {"suspend", NULL},
      {"template", &template}, {"ttlSecondsAfterFinished", NULL});
SHAPE(job, {"apiVersion", NULL}, {"kind", NULL}, {"metadata", &maker_meta},
      {"spec", &job_spec}, {"status", NULL});
SHAPE(class, {"apiVersion", NULL}, {"description", NULL}, {"globalDefault", NULL},
      {"kind", NULL}, {"metadata", &meta}, {"preemptionPolicy", NULL}, {"value", NULL});
SHAPE(budget_spec, {"maxUnavailable", NULL}, {"minAvailable", NULL},
      {"selector", &label_selector}, {"unhealthyPodEvictionPolicy", NULL});
SHAPE(budget, {"apiVersion", NULL}, {"kind", NULL}, {"metadata", &meta},
      {"spec", &budget_spec}, {"status", NULL});

const struct known_fields_shape *known_fields_of(enum expand_source source)
{
	switch (source) {
	case EXPAND_POD:
		return &pod;
	case EXPAND_DEPLOYMENT:
		return &deployment;
	case EXPAND_REPLICA_SET:
		return &replica_set;
	case EXPAND_STATEFUL_SET:
		return &stateful_set;
	case EXPAND_JOB:
		return &job;
	case EXPAND_CLASS:
		return &class;
	case EXPAND_BUDGET:
		return &budget;
	case EXPAND_NOTHING:
		return NULL;
	}
	PL_UNREACHABLE("what pods are made of");
}
