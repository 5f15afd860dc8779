/* The schema of nodes. */
#include "coord/api/schema/schema_table.h"

CHOICES(choices_taint_effect, "NoExecute", "NoSchedule", "PreferNoSchedule");

FIELDS(core_node) = {
	TYPE_META,
	OBJECT_META,
	OBJ(2, core_node_spec, "spec", DOC("What is wanted.")),
	OBJ(3, core_node_status, "status", IS(STATUS),
            DOC("What is: written by controllers, through the status subresource.")),
	END,
};
TYPE(core_node, CORE_V1 "Node",
     "A machine of a member cluster that pods can be placed on.");

FIELDS(core_node_spec) = {
	STR(1, "podCIDR"),
	STRS(7, "podCIDRs", AS_SET),
	STR(3, "providerID", DOC("Id of the machine at its provider.")),
	BOOL(4, "unschedulable", IS(USED),
             DOC("Cordoned: no new pods, except those that tolerate it.")),
	OBJS(5, core_taint, "taints", IS(USED),
             DOC("Keep pods away that do not tolerate them.")),
	OBJ(6, core_node_config_source, "configSource"),
	STR(2, "externalID"),
	END,
};
TYPE(core_node_spec, CORE_V1 "NodeSpec",
     "What is set for a node: its taints, and whether it takes pods.");

FIELDS(core_taint) = {
	STR(1, "key", IS(REQUIRED | USED), DOC("Name of the taint.")),
	STR(2, "value", IS(USED), DOC("Value of the taint.")),
	STR(3, "effect", IS(REQUIRED | USED), ONE_OF(choices_taint_effect),
            DOC("NoSchedule: no new pods; PreferNoSchedule: rather not; NoExecute: "
                "running pods go, too.")),
	TIME(4, "timeAdded", IS(USED), DOC("When a NoExecute taint was added.")),
	END,
};
TYPE(core_taint, CORE_V1 "Taint", "Keeps pods off the node that do not tolerate it.");

FIELDS(core_node_config_source) = {
	OBJ(2, core_config_map_node_config_source, "configMap"),
	END,
};
TYPE(core_node_config_source, CORE_V1 "NodeConfigSource",
     "A kubelet configuration (retired by Kubernetes).");

FIELDS(core_config_map_node_config_source) = {
	STR(1, "namespace", IS(REQUIRED)),
	STR(2, "name", IS(REQUIRED)),
	STR(3, "uid"),
	STR(4, "resourceVersion"),
	STR(5, "kubeletConfigKey", IS(REQUIRED)),
	END,
};
TYPE(core_config_map_node_config_source, CORE_V1 "ConfigMapNodeConfigSource",
     "The ConfigMap of a kubelet configuration (retired by Kubernetes).");

FIELDS(core_node_status) = {
	QTYM(1, "capacity", IS(USED), DOC("What the machine has.")),
	QTYM(2, "allocatable", IS(USED),
             DOC("What pods may take; absent: the capacity.")),
	STR(3, "phase"),
	OBJS(4, core_node_condition, "conditions", KEYS("type"), IS(USED),
             DOC("Ready and others.")),
	OBJS(5, core_node_address, "addresses", KEYS("type")),
	OBJ(6, core_node_daemon_endpoints, "daemonEndpoints"),
	OBJ(7, core_node_system_info, "nodeInfo"),
	OBJS(8, core_container_image, "images", IS(USED),
             DOC("Images that the node has; the score of image locality looks at "
                 "them.")),
	STRS(9, "volumesInUse"),
	OBJS(10, core_attached_volume, "volumesAttached"),
	OBJ(11, core_node_config_status, "config"),
	OBJS(12, core_node_runtime_handler, "runtimeHandlers"),
	OBJ(13, core_node_features, "features"),
	END,
};
TYPE(core_node_status, CORE_V1 "NodeStatus", "What a node has, and how it is.");

FIELDS(core_node_condition) = {
	STR(1, "type", IS(REQUIRED)),
	STR(2, "status", IS(REQUIRED)),
	TIME(3, "lastHeartbeatTime"),
	TIME(4, "lastTransitionTime"),
	STR(5, "reason"),
	STR(6, "message"),
	END,
};
TYPE(core_node_condition, CORE_V1 "NodeCondition", "One aspect of a node's state.");

FIELDS(core_node_address) = {
	STR(1, "type", IS(REQUIRED | MAY_LACK)),
	STR(2, "address", IS(REQUIRED | MAY_LACK)),
	END,
};
TYPE(core_node_address, CORE_V1 "NodeAddress", "An address of a node.");

FIELDS(core_node_daemon_endpoints) = {
	OBJ(1, core_daemon_endpoint, "kubeletEndpoint"),
	END,
};
TYPE(core_node_daemon_endpoints, CORE_V1 "NodeDaemonEndpoints",
     "Ports of the daemons on a node.");

FIELDS(core_daemon_endpoint) = {
	I32(1, "Port", IS(REQUIRED | MAY_LACK)),
	END,
};
TYPE(core_daemon_endpoint, CORE_V1 "DaemonEndpoint", "A port of a daemon.");

FIELDS(core_node_system_info) = {
	STR(1, "machineID", IS(REQUIRED | MAY_LACK)),
	STR(2, "systemUUID", IS(REQUIRED | MAY_LACK)),
	STR(3, "bootID", IS(REQUIRED | MAY_LACK)),
	STR(4, "kernelVersion", IS(REQUIRED | MAY_LACK)),
	STR(5, "osImage", IS(REQUIRED | MAY_LACK)),
	STR(6, "containerRuntimeVersion", IS(REQUIRED | MAY_LACK)),
	STR(7, "kubeletVersion", IS(REQUIRED | MAY_LACK)),
	STR(8, "kubeProxyVersion", IS(REQUIRED | MAY_LACK)),
	STR(9, "operatingSystem", IS(REQUIRED | MAY_LACK)),
	STR(10, "architecture", IS(REQUIRED | MAY_LACK)),
	END,
};
TYPE(core_node_system_info, CORE_V1 "NodeSystemInfo", "Versions and ids of a node.");

FIELDS(core_container_image) = {
	STRS(1, "names", IS(USED), DOC("Names of the image.")),
	I64(2, "sizeBytes", IS(USED), DOC("Size of the image.")),
	END,
};
TYPE(core_container_image, CORE_V1 "ContainerImage",
     "An image that is present on a node.");

FIELDS(core_attached_volume) = {
	STR(1, "name", IS(REQUIRED | MAY_LACK)),
	STR(2, "devicePath", IS(REQUIRED | MAY_LACK)),
	END,
};
TYPE(core_attached_volume, CORE_V1 "AttachedVolume",
     "A volume that is attached to a node.");

FIELDS(core_node_config_status) = {
	OBJ(1, core_node_config_source, "assigned"),
	OBJ(2, core_node_config_source, "active"),
	OBJ(3, core_node_config_source, "lastKnownGood"),
	STR(4, "error"),
	END,
};
TYPE(core_node_config_status, CORE_V1 "NodeConfigStatus",
     "State of a kubelet configuration (retired by Kubernetes).");

FIELDS(core_node_runtime_handler) = {
	STR(1, "name"),
	OBJ(2, core_node_runtime_handler_features, "features"),
	END,
};
TYPE(core_node_runtime_handler, CORE_V1 "NodeRuntimeHandler",
     "A runtime handler of a node.");

FIELDS(core_node_runtime_handler_features) = {
	BOOL(1, "recursiveReadOnlyMounts", IS(ZERO_COUNTS)),
	BOOL(2, "userNamespaces", IS(ZERO_COUNTS)),
	END,
};
TYPE(core_node_runtime_handler_features, CORE_V1 "NodeRuntimeHandlerFeatures",
     "What a runtime handler can do.");

FIELDS(core_node_features) = {
	BOOL(1, "supplementalGroupsPolicy", IS(ZERO_COUNTS)),
	END,
};
TYPE(core_node_features, CORE_V1 "NodeFeatures", "What a node's runtime can do.");
