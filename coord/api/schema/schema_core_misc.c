/* The schema of the other objects of core/v1. */
#include "coord/api/schema/schema_table.h"

CHOICES(choices_ip_family, "IPv4", "IPv6");
CHOICES(choices_ip_family_policy, "PreferDualStack", "RequireDualStack", "SingleStack");
CHOICES(choices_protocol, "SCTP", "TCP", "UDP");
CHOICES(choices_service_affinity, "ClientIP", "None");
CHOICES(choices_service_external_traffic_policy, "Cluster", "Local");
CHOICES(choices_service_internal_traffic_policy, "Cluster", "Local");
CHOICES(choices_service_type, "ClusterIP", "ExternalName", "LoadBalancer", "NodePort");

FIELDS(core_namespace) = {
	TYPE_META,
	OBJECT_META,
	OBJ(2, core_namespace_spec, "spec", DOC("What is wanted.")),
	OBJ(3, core_namespace_status, "status", IS(STATUS), NORMAL("{}"),
            DOC("What is: written by controllers, through the status subresource.")),
	END,
};
TYPE(core_namespace, CORE_V1 "Namespace",
     "A name space for objects, with labels that selectors can use.");

FIELDS(core_namespace_spec) = {
	STRS(1, "finalizers"),
	END,
};
TYPE(core_namespace_spec, CORE_V1 "NamespaceSpec",
     "What must be done before a namespace goes.");

FIELDS(core_namespace_status) = {
	STR(1, "phase", IS(USED), NORMAL("\"Active\""), DOC("Active or Terminating.")),
	OBJS(2, core_namespace_condition, "conditions", KEYS("type")),
	END,
};
TYPE(core_namespace_status, CORE_V1 "NamespaceStatus",
     "Whether a namespace is in use or on its way out.");

FIELDS(core_namespace_condition) = {
	STR(1, "type", IS(REQUIRED)),
	STR(2, "status", IS(REQUIRED)),
	TIME(4, "lastTransitionTime"),
	STR(5, "reason"),
	STR(6, "message"),
	END,
};
TYPE(core_namespace_condition, CORE_V1 "NamespaceCondition",
     "One aspect of a namespace's removal.");

FIELDS(core_event) = {
	TYPE_META,
	OBJ(1, meta_object_meta, "metadata", IS(REQUIRED | MAY_LACK)),
	OBJ(2, core_object_reference, "involvedObject", IS(REQUIRED | MAY_LACK),
            DOC("The object that the event is about.")),
	STR(3, "reason", DOC("A stable word.")),
	STR(4, "message", DOC("A sentence for people.")),
	OBJ(5, core_event_source, "source"),
	TIME(6, "firstTimestamp"),
	TIME(7, "lastTimestamp"),
	I32(8, "count", DOC("How often the event occurred.")),
	STR(9, "type", DOC("Normal or Warning.")),
	MTIME(10, "eventTime"),
	OBJ(11, core_event_series, "series"),
	STR(12, "action"),
	OBJ(13, core_object_reference, "related"),
	STR(14, "reportingComponent"),
	STR(15, "reportingInstance"),
	END,
};
TYPE(core_event, CORE_V1 "Event", "Something that happened to an object.");

FIELDS(core_event_source) = {
	STR(1, "component"),
	STR(2, "host"),
	END,
};
TYPE(core_event_source, CORE_V1 "EventSource", "Who reported an event.");

FIELDS(core_event_series) = {
	I32(1, "count"),
	MTIME(2, "lastObservedTime"),
	END,
};
TYPE(core_event_series, CORE_V1 "EventSeries", "How often an event was repeated.");

FIELDS(core_config_map) = {
	TYPE_META,
	OBJECT_META,
	BOOL(4, "immutable", IS(ZERO_COUNTS),
             DOC("True: data can not be changed any more.")),
	STRM(2, "data", DOC("Entries as text.")),
	BYTESM(3, "binaryData", DOC("Entries as bytes.")),
	END,
};
TYPE(core_config_map, CORE_V1 "ConfigMap", "Configuration data for pods.");

FIELDS(core_service_account) = {
	TYPE_META,
	OBJECT_META,
	OBJS(2, core_object_reference, "secrets", KEYS("name")),
	OBJS(3, core_local_object_reference, "imagePullSecrets"),
	BOOL(4, "automountServiceAccountToken", IS(ZERO_COUNTS)),
	END,
};
TYPE(core_service_account, CORE_V1 "ServiceAccount",
     "An identity for the processes of pods.");

FIELDS(core_service) = {
	TYPE_META,
	OBJECT_META,
	OBJ(2, core_service_spec, "spec", DOC("What is wanted.")),
	OBJ(3, core_service_status, "status", IS(STATUS),
            DOC("What is: written by controllers, through the status subresource.")),
	END,
};
TYPE(core_service, CORE_V1 "Service",
     "A name and ports for the pods that a selector finds. Default spreading looks "
     "at the selector.");

FIELDS(core_service_spec) = {
	OBJS(1, core_service_port, "ports", KEYS("port,protocol")),
	STRM_ATOMIC(2, "selector", IS(USED), DOC("Labels of the service's pods.")),
	STR(3, "clusterIP"),
	STRS(18, "clusterIPs"),
	STR(4, "type", NORMAL("\"ClusterIP\""), ONE_OF(choices_service_type)),
	STRS(5, "externalIPs"),
	STR(7, "sessionAffinity", NORMAL("\"None\""), ONE_OF(choices_service_affinity)),
	STR(8, "loadBalancerIP"),
	STRS(9, "loadBalancerSourceRanges"),
	STR(10, "externalName"),
	STR(11, "externalTrafficPolicy", ONE_OF(choices_service_external_traffic_policy)),
	I32(12, "healthCheckNodePort"),
	BOOL(13, "publishNotReadyAddresses"),
	OBJ(14, core_session_affinity_config, "sessionAffinityConfig"),
	STRS(19, "ipFamilies", ONE_OF(choices_ip_family)),
	STR(17, "ipFamilyPolicy", IS(ZERO_COUNTS), ONE_OF(choices_ip_family_policy)),
	BOOL(20, "allocateLoadBalancerNodePorts", IS(ZERO_COUNTS)),
	STR(21, "loadBalancerClass", IS(ZERO_COUNTS)),
	STR(22, "internalTrafficPolicy", IS(ZERO_COUNTS),
            ONE_OF(choices_service_internal_traffic_policy)),
	STR(23, "trafficDistribution", IS(ZERO_COUNTS)),
	END,
};
TYPE(core_service_spec, CORE_V1 "ServiceSpec",
     "The pods and ports of a service, and how it is reached.");

FIELDS(core_service_port) = {
	STR(1, "name"),
	STR(2, "protocol", NORMAL("\"TCP\""), ONE_OF(choices_protocol)),
	STR(6, "appProtocol", IS(ZERO_COUNTS)),
	I32(3, "port", IS(REQUIRED | MAY_LACK)),
	INT_STR(4, "targetPort"),
	I32(5, "nodePort"),
	END,
};
TYPE(core_service_port, CORE_V1 "ServicePort", "A port of a service.");

FIELDS(core_session_affinity_config) = {
	OBJ(1, core_client_ip_config, "clientIP"),
	END,
};
TYPE(core_session_affinity_config, CORE_V1 "SessionAffinityConfig",
     "Settings of session affinity.");

FIELDS(core_client_ip_config) = {
	I32(1, "timeoutSeconds", IS(ZERO_COUNTS)),
	END,
};
TYPE(core_client_ip_config, CORE_V1 "ClientIPConfig",
     "How long a client stays with one pod.");

FIELDS(core_service_status) = {
	OBJ(1, core_load_balancer_status, "loadBalancer"),
	OBJS(2, meta_condition, "conditions", KEYS("type")),
	END,
};
TYPE(core_service_status, CORE_V1 "ServiceStatus", "Where a service can be reached.");

FIELDS(core_load_balancer_status) = {
	OBJS(1, core_load_balancer_ingress, "ingress"),
	END,
};
TYPE(core_load_balancer_status, CORE_V1 "LoadBalancerStatus",
     "The addresses of a load balancer.");

FIELDS(core_load_balancer_ingress) = {
	STR(1, "ip"),
	STR(2, "hostname"),
	STR(3, "ipMode", IS(ZERO_COUNTS)),
	OBJS(4, core_port_status, "ports"),
	END,
};
TYPE(core_load_balancer_ingress, CORE_V1 "LoadBalancerIngress",
     "One address of a load balancer.");

FIELDS(core_port_status) = {
	I32(1, "port", IS(REQUIRED | MAY_LACK)),
	STR(2, "protocol", IS(REQUIRED | MAY_LACK)),
	STR(3, "error", IS(ZERO_COUNTS)),
	END,
};
TYPE(core_port_status, CORE_V1 "PortStatus", "State of a port of a load balancer.");

FIELDS(core_pod_template) = {
	TYPE_META,
	OBJECT_META,
	OBJ(2, core_pod_template_spec, "template"),
	END,
};
TYPE(core_pod_template, CORE_V1 "PodTemplate", "A template that pods can be made of.");

FIELDS(core_replication_controller) = {
	TYPE_META,
	OBJECT_META,
	OBJ(2, core_replication_controller_spec, "spec", DOC("What is wanted.")),
	OBJ(3, core_replication_controller_status, "status", IS(STATUS),
            DOC("What is: written by controllers, through the status subresource.")),
	END,
};
TYPE(core_replication_controller, CORE_V1 "ReplicationController",
     "Keeps a number of equal pods running (the forerunner of ReplicaSet).");

FIELDS(core_replication_controller_spec) = {
	I32(1, "replicas", IS(ZERO_COUNTS | USED), NORMAL("1"), DOC("Number of pods.")),
	I32(4, "minReadySeconds"),
	STRM_ATOMIC(2, "selector", IS(USED), DOC("Labels of the controller's pods.")),
	OBJ(3, core_pod_template_spec, "template", IS(USED),
            DOC("Of which pods are made.")),
	END,
};
TYPE(core_replication_controller_spec, CORE_V1 "ReplicationControllerSpec",
     "How many pods, made of which template.");

FIELDS(core_replication_controller_status) = {
	I32(1, "replicas", IS(REQUIRED | MAY_LACK)),
	I32(2, "fullyLabeledReplicas"),
	I32(4, "readyReplicas"),
	I32(5, "availableReplicas"),
	I64(3, "observedGeneration"),
	OBJS(6, core_replication_controller_condition, "conditions", KEYS("type")),
	END,
};
TYPE(core_replication_controller_status, CORE_V1 "ReplicationControllerStatus",
     "How many pods there are.");

FIELDS(core_replication_controller_condition) = {
	STR(1, "type", IS(REQUIRED)),
	STR(2, "status", IS(REQUIRED)),
	TIME(3, "lastTransitionTime"),
	STR(4, "reason"),
	STR(5, "message"),
	END,
};
TYPE(core_replication_controller_condition, CORE_V1 "ReplicationControllerCondition",
     "One aspect of a controller's state.");

FIELDS(core_binding) = {
	TYPE_META,
	OBJECT_META,
	OBJ(2, core_object_reference, "target", IS(REQUIRED),
            DOC("The node; its kind is Node.")),
	END,
};
TYPE(core_binding, CORE_V1 "Binding", "Assigns a pod to a node.");

FIELDS(core_topology_selector_term) = {
	OBJS(1, core_topology_selector_label_requirement, "matchLabelExpressions"),
	END,
};
ATOMIC_TYPE(core_topology_selector_term, CORE_V1 "TopologySelectorTerm",
            "A place where volumes may be made.");

FIELDS(core_topology_selector_label_requirement) = {
	STR(1, "key", IS(REQUIRED)),
	STRS(2, "values", IS(REQUIRED)),
	END,
};
TYPE(core_topology_selector_label_requirement, CORE_V1 "TopologySelectorLabelRequirement",
     "Values that a node's label may have.");
