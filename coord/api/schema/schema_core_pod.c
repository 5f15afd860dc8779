/* The schema of pods: the spec, rules about placement, the status. */
#include "coord/api/schema/schema_table.h"

CHOICES(choices_dns_policy, "ClusterFirst", "ClusterFirstWithHostNet", "Default", "None");
CHOICES(choices_node_inclusion_policy, "Honor", "Ignore");
CHOICES(choices_node_selector_operator, "DoesNotExist", "Exists", "Gt", "In", "Lt",
        "NotIn");
CHOICES(choices_os_name, "linux", "windows");
CHOICES(choices_pod_fs_group_change_policy, "Always", "OnRootMismatch");
CHOICES(choices_pod_selinux_change_policy, "MountOption", "Recursive");
CHOICES(choices_preemption_policy, "Never", "PreemptLowerPriority");
CHOICES(choices_restart_policy, "Always", "Never", "OnFailure");
CHOICES(choices_supplemental_groups_policy, "Merge", "Strict");
CHOICES(choices_taint_effect, "NoExecute", "NoSchedule", "PreferNoSchedule");
CHOICES(choices_toleration_operator, "Equal", "Exists");
CHOICES(choices_unsatisfiable_constraint_action, "DoNotSchedule", "ScheduleAnyway");

FIELDS(core_pod) = {
	TYPE_META,
	OBJECT_META,
	OBJ(2, core_pod_spec, "spec", DOC("What is wanted.")),
	OBJ(3, core_pod_status, "status", IS(STATUS),
            DOC("What is: written by controllers, through the status subresource.")),
	END,
};
TYPE(core_pod, CORE_V1 "Pod",
     "Containers that are placed together on one node; the unit that Placet "
     "schedules.");

FIELDS(core_pod_spec) = {
	OBJS(1, core_volume, "volumes", KEYS("name"), IS(RETAIN_KEYS | USED),
             DOC("Volumes that containers may mount. Claims and disks among them "
                 "restrict the nodes.")),
	OBJS(20, core_container, "initContainers", KEYS("name"), IS(USED),
             DOC("Run one after another before the containers. Each one's requests "
                 "must fit; with restartPolicy Always they count beside the "
                 "containers.")),
	OBJS(2, core_container, "containers", KEYS("name"), IS(REQUIRED | USED),
             DOC("At least one. Their requests are added up.")),
	OBJS(34, core_ephemeral_container, "ephemeralContainers", KEYS("name"),
             DOC("Containers added for debugging; their resources are not counted.")),
	STR(3, "restartPolicy", NORMAL("\"Always\""), ONE_OF(choices_restart_policy),
            DOC("When ended containers are started again.")),
	I64(4, "terminationGracePeriodSeconds", IS(ZERO_COUNTS), NORMAL("30"),
            DOC("Seconds between asking the pod to end and killing it.")),
	I64(5, "activeDeadlineSeconds", IS(ZERO_COUNTS),
            DOC("Seconds after which the pod is ended as failed.")),
	STR(6, "dnsPolicy", NORMAL("\"ClusterFirst\""), ONE_OF(choices_dns_policy)),
	STRM_ATOMIC(7, "nodeSelector", IS(USED), DOC("Labels that the node must have.")),
	STR(8, "serviceAccountName"),
	STR(9, "serviceAccount"),
	BOOL(21, "automountServiceAccountToken", IS(ZERO_COUNTS)),
	STR(10, "nodeName", IS(USED),
            DOC("The node that the pod is on. Set at creation it bypasses the "
                "scheduler.")),
	BOOL(11, "hostNetwork", IS(USED),
             DOC("Uses the node's network; container ports are then host ports.")),
	BOOL(12, "hostPID"),
	BOOL(13, "hostIPC"),
	BOOL(27, "shareProcessNamespace", IS(ZERO_COUNTS)),
	OBJ(14, core_pod_security_context, "securityContext", NORMAL("{}")),
	OBJS(15, core_local_object_reference, "imagePullSecrets", KEYS("name")),
	STR(16, "hostname"),
	STR(17, "subdomain"),
	OBJ(18, core_affinity, "affinity", IS(USED),
            DOC("Rules about nodes and other pods.")),
	STR(19, "schedulerName", IS(USED), NORMAL("\"default-scheduler\""),
            DOC("The scheduler that is to place the pod. Placet places those of its "
                "profiles.")),
	OBJS(22, core_toleration, "tolerations", IS(USED),
             DOC("Taints that do not keep the pod away.")),
	OBJS(23, core_host_alias, "hostAliases", KEYS("ip")),
	STR(24, "priorityClassName", IS(USED),
            DOC("Name of the PriorityClass that gives the priority.")),
	I32(25, "priority", IS(ZERO_COUNTS | USED),
            DOC("Greater goes first, and may displace lower ones. Computed from the "
                "class.")),
	OBJ(26, core_pod_dns_config, "dnsConfig"),
	OBJS(28, core_pod_readiness_gate, "readinessGates"),
	STR(29, "runtimeClassName", IS(ZERO_COUNTS | USED),
            DOC("Name of the runtime class; its overhead counts.")),
	BOOL(30, "enableServiceLinks", IS(ZERO_COUNTS)),
	STR(31, "preemptionPolicy", IS(ZERO_COUNTS | USED),
            ONE_OF(choices_preemption_policy),
            DOC("Never: the pod displaces no others.")),
	QTYM(32, "overhead", IS(USED),
             DOC("Resources that the runtime needs beside the containers; counted "
                 "with the requests.")),
	OBJS(33, core_topology_spread_constraint, "topologySpreadConstraints",
             KEYS("topologyKey,whenUnsatisfiable"), IS(USED),
             DOC("Bounds on how unevenly pods spread.")),
	BOOL(35, "setHostnameAsFQDN", IS(ZERO_COUNTS)),
	OBJ(36, core_pod_os, "os",
            DOC("The operating system of the pod; restricts some fields.")),
	BOOL(37, "hostUsers", IS(ZERO_COUNTS)),
	OBJS(38, core_pod_scheduling_gate, "schedulingGates", KEYS("name"), IS(USED),
             DOC("The pod waits until all gates are removed.")),
	OBJS(39, core_pod_resource_claim, "resourceClaims", KEYS("name"), IS(RETAIN_KEYS),
             DOC("Claims for devices.")),
	OBJ(40, core_resource_requirements, "resources", IS(USED),
            DOC("Requests and limits of the pod as a whole: cpu, memory and huge "
                "pages.")),
	END,
};
TYPE(core_pod_spec, CORE_V1 "PodSpec", "What is to run, and where it may be placed.");

FIELDS(core_pod_security_context) = {
	OBJ(1, core_selinux_options, "seLinuxOptions"),
	OBJ(8, core_windows_security_context_options, "windowsOptions"),
	I64(2, "runAsUser", IS(ZERO_COUNTS)),
	I64(6, "runAsGroup", IS(ZERO_COUNTS)),
	BOOL(3, "runAsNonRoot", IS(ZERO_COUNTS)),
	I64S(4, "supplementalGroups"),
	STR(12, "supplementalGroupsPolicy", IS(ZERO_COUNTS),
            ONE_OF(choices_supplemental_groups_policy)),
	I64(5, "fsGroup", IS(ZERO_COUNTS)),
	OBJS(7, core_sysctl, "sysctls"),
	STR(9, "fsGroupChangePolicy", IS(ZERO_COUNTS),
            ONE_OF(choices_pod_fs_group_change_policy)),
	OBJ(10, core_seccomp_profile, "seccompProfile"),
	OBJ(11, core_app_armor_profile, "appArmorProfile"),
	STR(13, "seLinuxChangePolicy", IS(ZERO_COUNTS),
            ONE_OF(choices_pod_selinux_change_policy)),
	END,
};
TYPE(core_pod_security_context, CORE_V1 "PodSecurityContext",
     "Rights and identity for all containers of a pod.");

FIELDS(core_sysctl) = {
	STR(1, "name", IS(REQUIRED)),
	STR(2, "value", IS(REQUIRED | MAY_LACK)),
	END,
};
TYPE(core_sysctl, CORE_V1 "Sysctl", "A kernel parameter of the pod.");

FIELDS(core_affinity) = {
	OBJ(1, core_node_affinity, "nodeAffinity", IS(USED),
            DOC("Rules about the node.")),
	OBJ(2, core_pod_affinity, "podAffinity", IS(USED),
            DOC("Rules that draw the pod to other pods.")),
	OBJ(3, core_pod_anti_affinity, "podAntiAffinity", IS(USED),
            DOC("Rules that keep other pods away.")),
	END,
};
TYPE(core_affinity, CORE_V1 "Affinity",
     "Rules about the nodes, and the other pods, that the pod wants to be near to or "
     "apart from.");

FIELDS(core_node_affinity) = {
	OBJ(1, core_node_selector, "requiredDuringSchedulingIgnoredDuringExecution",
            IS(USED), DOC("The node must fulfil one of the terms.")),
	OBJS(2, core_preferred_scheduling_term,
             "preferredDuringSchedulingIgnoredDuringExecution", IS(USED),
             DOC("Nodes that fulfil them are preferred by the sum of their weights.")),
	END,
};
TYPE(core_node_affinity, CORE_V1 "NodeAffinity", "Rules about the node's labels.");

FIELDS(core_node_selector) = {
	OBJS(1, core_node_selector_term, "nodeSelectorTerms",
             IS(REQUIRED | MAY_LACK | USED), DOC("The terms, of which one must hold.")),
	END,
};
ATOMIC_TYPE(core_node_selector, CORE_V1 "NodeSelector",
            "Nodes that fulfil at least one of the terms.");

FIELDS(core_node_selector_term) = {
	OBJS(1, core_node_selector_requirement, "matchExpressions", IS(USED),
             DOC("Conditions on the node's labels.")),
	OBJS(2, core_node_selector_requirement, "matchFields", IS(USED),
             DOC("Conditions on the node's fields; only metadata.name is known.")),
	END,
};
ATOMIC_TYPE(core_node_selector_term, CORE_V1 "NodeSelectorTerm",
            "Conditions on a node that must all hold; an empty term selects no node.");

FIELDS(core_node_selector_requirement) = {
	STR(1, "key", IS(REQUIRED | USED), DOC("Name of the label or field.")),
	STR(2, "operator", IS(REQUIRED | USED), ONE_OF(choices_node_selector_operator),
            DOC("In, NotIn, Exists, DoesNotExist, Gt or Lt.")),
	STRS(3, "values", IS(USED),
             DOC("Values for In and NotIn, one whole number for Gt and Lt, none for "
                 "the others.")),
	END,
};
TYPE(core_node_selector_requirement, CORE_V1 "NodeSelectorRequirement",
     "One condition on a label or field of a node.");

FIELDS(core_preferred_scheduling_term) = {
	I32(1, "weight", IS(REQUIRED | MAY_LACK | USED), DOC("1 to 100.")),
	OBJ(2, core_node_selector_term, "preference", IS(REQUIRED | MAY_LACK | USED),
            DOC("The condition that earns the weight.")),
	END,
};
TYPE(core_preferred_scheduling_term, CORE_V1 "PreferredSchedulingTerm",
     "A preferred condition on nodes, with its weight.");

FIELDS(core_pod_affinity) = {
	OBJS(1, core_pod_affinity_term, "requiredDuringSchedulingIgnoredDuringExecution",
             IS(USED), DOC("All terms must hold.")),
	OBJS(2, core_weighted_pod_affinity_term,
             "preferredDuringSchedulingIgnoredDuringExecution", IS(USED),
             DOC("Nodes that fulfil them are preferred by the sum of their weights.")),
	END,
};
TYPE(core_pod_affinity, CORE_V1 "PodAffinity",
     "Rules that draw the pod to where other pods run.");

FIELDS(core_pod_affinity_term) = {
	OBJ(1, meta_label_selector, "labelSelector", IS(USED),
            DOC("The pods that the term is about; absent: none.")),
	STRS(2, "namespaces", IS(USED),
             DOC("Namespaces of these pods; with namespaceSelector both count. "
                 "Neither: the pod's own.")),
	STR(3, "topologyKey", IS(REQUIRED | USED),
            DOC("Label of nodes; nodes with the same value are one domain.")),
	OBJ(4, meta_label_selector, "namespaceSelector", IS(USED),
            DOC("Selects namespaces by their labels; empty: all.")),
	STRS(5, "matchLabelKeys", IS(USED),
             DOC("Labels of the pod itself that the others must share.")),
	STRS(6, "mismatchLabelKeys",
             DOC("Labels of the pod itself in which the others must differ.")),
	END,
};
TYPE(core_pod_affinity_term, CORE_V1 "PodAffinityTerm",
     "A set of pods, and the topology in which to be with them or apart from them.");

FIELDS(core_weighted_pod_affinity_term) = {
	I32(1, "weight", IS(REQUIRED | MAY_LACK | USED), DOC("1 to 100.")),
	OBJ(2, core_pod_affinity_term, "podAffinityTerm", IS(REQUIRED | USED),
            DOC("The term that earns the weight.")),
	END,
};
TYPE(core_weighted_pod_affinity_term, CORE_V1 "WeightedPodAffinityTerm",
     "A preferred affinity term, with its weight.");

FIELDS(core_pod_anti_affinity) = {
	OBJS(1, core_pod_affinity_term, "requiredDuringSchedulingIgnoredDuringExecution",
             IS(USED), DOC("No term may hold.")),
	OBJS(2, core_weighted_pod_affinity_term,
             "preferredDuringSchedulingIgnoredDuringExecution", IS(USED),
             DOC("Nodes that fulfil them are avoided by the sum of their weights.")),
	END,
};
TYPE(core_pod_anti_affinity, CORE_V1 "PodAntiAffinity",
     "Rules that keep the pod apart from other pods.");

FIELDS(core_toleration) = {
	STR(1, "key", IS(USED), DOC("Key of the taint; empty with Exists: every taint.")),
	STR(2, "operator", IS(USED), ONE_OF(choices_toleration_operator),
            DOC("Equal or Exists.")),
	STR(3, "value", IS(USED), DOC("Value of the taint, for Equal.")),
	STR(4, "effect", IS(USED), ONE_OF(choices_taint_effect),
            DOC("Effect of the taint; empty: every effect.")),
	I64(5, "tolerationSeconds", IS(ZERO_COUNTS | USED),
            DOC("With NoExecute: how long the pod may stay.")),
	END,
};
TYPE(core_toleration, CORE_V1 "Toleration",
     "Lets the pod onto nodes with the taints that match.");

FIELDS(core_host_alias) = {
	STR(1, "ip", IS(REQUIRED)),
	STRS(2, "hostnames"),
	END,
};
TYPE(core_host_alias, CORE_V1 "HostAlias", "Lines of the pod's hosts file.");

FIELDS(core_pod_dns_config) = {
	STRS(1, "nameservers"),
	STRS(2, "searches"),
	OBJS(3, core_pod_dns_config_option, "options"),
	END,
};
TYPE(core_pod_dns_config, CORE_V1 "PodDNSConfig",
     "Settings of the pod's name resolution.");

FIELDS(core_pod_dns_config_option) = {
	STR(1, "name"),
	STR(2, "value", IS(ZERO_COUNTS)),
	END,
};
TYPE(core_pod_dns_config_option, CORE_V1 "PodDNSConfigOption",
     "One option of the resolver.");

FIELDS(core_pod_readiness_gate) = {
	STR(1, "conditionType", IS(REQUIRED)),
	END,
};
TYPE(core_pod_readiness_gate, CORE_V1 "PodReadinessGate",
     "A condition that must be true before the pod counts as ready.");

FIELDS(core_topology_spread_constraint) = {
	I32(1, "maxSkew", IS(REQUIRED | MAY_LACK | USED),
            DOC("How many more matching pods a domain may have than the one with "
                "the fewest; at least 1.")),
	STR(2, "topologyKey", IS(REQUIRED | USED),
            DOC("Label of nodes; nodes with the same value are one domain.")),
	STR(3, "whenUnsatisfiable", IS(REQUIRED | USED),
            ONE_OF(choices_unsatisfiable_constraint_action),
            DOC("DoNotSchedule: the bound must hold. ScheduleAnyway: a preference.")),
	OBJ(4, meta_label_selector, "labelSelector", IS(USED),
            DOC("The pods that are counted.")),
	I32(5, "minDomains", IS(ZERO_COUNTS | USED),
            DOC("With fewer domains than this, the fewest counts as zero.")),
	STR(6, "nodeAffinityPolicy", IS(ZERO_COUNTS | USED),
            ONE_OF(choices_node_inclusion_policy),
            DOC("Whether nodes that the pod may not use are counted: Honor leaves "
                "them out.")),
	STR(7, "nodeTaintsPolicy", IS(ZERO_COUNTS | USED),
            ONE_OF(choices_node_inclusion_policy),
            DOC("Whether nodes with taints that are not tolerated are counted: "
                "Honor leaves them out.")),
	STRS(8, "matchLabelKeys", IS(USED),
             DOC("Labels of the pod itself that counted pods must share.")),
	END,
};
TYPE(core_topology_spread_constraint, CORE_V1 "TopologySpreadConstraint",
     "Bounds how unevenly matching pods spread over a topology.");

FIELDS(core_pod_os) = {
	STR(1, "name", IS(REQUIRED), ONE_OF(choices_os_name)),
	END,
};
TYPE(core_pod_os, CORE_V1 "PodOS", "The operating system that the pod is made for.");

FIELDS(core_pod_scheduling_gate) = {
	STR(1, "name", IS(REQUIRED | USED), DOC("Unique among the gates of the pod.")),
	END,
};
TYPE(core_pod_scheduling_gate, CORE_V1 "PodSchedulingGate",
     "As long as a pod has a gate it is not scheduled.");

FIELDS(core_pod_resource_claim) = {
	STR(1, "name", IS(REQUIRED | USED), DOC("Unique among the claims of the pod.")),
	STR(3, "resourceClaimName", IS(ZERO_COUNTS), DOC("The ResourceClaim to use.")),
	STR(4, "resourceClaimTemplateName", IS(ZERO_COUNTS),
            DOC("The template of which a claim is made.")),
	END,
};
TYPE(core_pod_resource_claim, CORE_V1 "PodResourceClaim",
     "A resource claim of the pod, and where it comes from.");

FIELDS(core_pod_status) = {
	STR(1, "phase", IS(USED), DOC("Pending, Running, Succeeded, Failed or Unknown.")),
	OBJS(2, core_pod_condition, "conditions", KEYS("type"), IS(USED),
             DOC("PodScheduled tells why a pod has no node yet.")),
	STR(3, "message", DOC("A sentence for people.")),
	STR(4, "reason", IS(USED), DOC("A stable word.")),
	STR(11, "nominatedNodeName", IS(USED),
            DOC("Where room is being made for the pod.")),
	STR(5, "hostIP"),
	OBJS(16, core_host_ip, "hostIPs", KEYS("ip"), IS(APPLY_WHOLE)),
	STR(6, "podIP"),
	OBJS(12, core_pod_ip, "podIPs", KEYS("ip")),
	TIME(7, "startTime", IS(USED), DOC("When the pod began to run on its node.")),
	OBJS(10, core_container_status, "initContainerStatuses"),
	OBJS(8, core_container_status, "containerStatuses"),
	STR(9, "qosClass"),
	OBJS(13, core_container_status, "ephemeralContainerStatuses"),
	STR(14, "resize"),
	OBJS(15, core_pod_resource_claim_status, "resourceClaimStatuses", KEYS("name"),
             IS(RETAIN_KEYS)),
	END,
};
TYPE(core_pod_status, CORE_V1 "PodStatus",
     "What is known about the pod: written by Placet and by the member that runs it.");

FIELDS(core_pod_condition) = {
	STR(1, "type", IS(REQUIRED), DOC("What the condition is about.")),
	STR(2, "status", IS(REQUIRED), DOC("True, False or Unknown.")),
	TIME(3, "lastProbeTime"),
	TIME(4, "lastTransitionTime"),
	STR(5, "reason"),
	STR(6, "message"),
	END,
};
TYPE(core_pod_condition, CORE_V1 "PodCondition", "One aspect of the pod's state.");

FIELDS(core_host_ip) = {
	STR(1, "ip", IS(REQUIRED)),
	END,
};
TYPE(core_host_ip, CORE_V1 "HostIP", "An address of the pod's node.");

FIELDS(core_pod_ip) = {
	STR(1, "ip", IS(REQUIRED)),
	END,
};
TYPE(core_pod_ip, CORE_V1 "PodIP", "An address of the pod.");

FIELDS(core_pod_resource_claim_status) = {
	STR(1, "name", IS(REQUIRED | MAY_LACK)),
	STR(2, "resourceClaimName", IS(ZERO_COUNTS)),
	END,
};
TYPE(core_pod_resource_claim_status, CORE_V1 "PodResourceClaimStatus",
     "The claim that was made for an entry of resourceClaims.");

FIELDS(core_pod_template_spec) = {
	OBJ(1, meta_object_meta, "metadata", IS(USED),
            DOC("Labels and annotations of the pods.")),
	OBJ(2, core_pod_spec, "spec", IS(USED), DOC("The pods' spec.")),
	END,
};
TYPE(core_pod_template_spec, CORE_V1 "PodTemplateSpec",
     "Metadata and spec that the pods made of a template get.");
