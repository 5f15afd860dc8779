/* The schema of containers: resources, environment, probes, rights, status. */
#include "coord/api/schema/schema_table.h"

CHOICES(choices_app_armor_profile_type, "Localhost", "RuntimeDefault", "Unconfined");
CHOICES(choices_container_restart_policy, "Always");
CHOICES(choices_mount_propagation_mode, "Bidirectional", "HostToContainer", "None");
CHOICES(choices_proc_mount_type, "Default", "Unmasked");
CHOICES(choices_protocol, "SCTP", "TCP", "UDP");
CHOICES(choices_pull_policy, "Always", "IfNotPresent", "Never");
CHOICES(choices_recursive_read_only_mode, "Disabled", "Enabled", "IfPossible");
CHOICES(choices_resource_resize_restart_policy, "NotRequired", "RestartContainer");
CHOICES(choices_seccomp_profile_type, "Localhost", "RuntimeDefault", "Unconfined");
CHOICES(choices_termination_message_policy, "FallbackToLogsOnError", "File");
CHOICES(choices_uri_scheme, "HTTP", "HTTPS");

FIELDS(core_container) = {
	STR(1, "name", IS(REQUIRED | USED), DOC("Unique in the pod.")),
	STR(2, "image", IS(NEEDED | USED),
            DOC("Image to run. A node that has the image already is preferred a "
                "little.")),
	STRS(3, "command"),
	STRS(4, "args"),
	STR(5, "workingDir"),
	OBJS(6, core_container_port, "ports", KEYS("containerPort,protocol"), IS(USED),
             DOC("Ports that the container listens on.")),
	OBJS(19, core_env_from_source, "envFrom"),
	OBJS(7, core_env_var, "env", KEYS("name")),
	OBJ(8, core_resource_requirements, "resources", IS(USED), NORMAL("{}"),
            DOC("What the container needs; the requests decide where the pod fits.")),
	OBJS(23, core_container_resize_policy, "resizePolicy"),
	STR(24, "restartPolicy", IS(ZERO_COUNTS),
            ONE_OF(choices_container_restart_policy),
            DOC("Always makes an init container a sidecar.")),
	OBJS(9, core_volume_mount, "volumeMounts", KEYS("mountPath")),
	OBJS(21, core_volume_device, "volumeDevices", KEYS("devicePath")),
	OBJ(10, core_probe, "livenessProbe"),
	OBJ(11, core_probe, "readinessProbe"),
	OBJ(22, core_probe, "startupProbe"),
	OBJ(12, core_lifecycle, "lifecycle"),
	STR(13, "terminationMessagePath", NORMAL("\"/dev/termination-log\"")),
	STR(20, "terminationMessagePolicy", NORMAL("\"File\""),
            ONE_OF(choices_termination_message_policy)),
	STR(14, "imagePullPolicy", ONE_OF(choices_pull_policy)),
	OBJ(15, core_security_context, "securityContext"),
	BOOL(16, "stdin"),
	BOOL(17, "stdinOnce"),
	BOOL(18, "tty"),
	END,
};
TYPE(core_container, CORE_V1 "Container",
     "One program of a pod, with its image and its resources.");

FIELDS(core_container_port) = {
	STR(1, "name", IS(USED), DOC("A name for the port, unique in the pod.")),
	I32(2, "hostPort", IS(USED),
            DOC("The port of the node; no two pods on a node may use the same "
                "address, protocol and port.")),
	I32(3, "containerPort", IS(REQUIRED | USED),
            DOC("The port inside the pod, 1 to 65535.")),
	STR(4, "protocol", IS(USED), NORMAL("\"TCP\""), ONE_OF(choices_protocol),
            DOC("TCP, UDP or SCTP.")),
	STR(5, "hostIP", IS(USED),
            DOC("The address of the node for hostPort; empty: all.")),
	END,
};
TYPE(core_container_port, CORE_V1 "ContainerPort",
     "A port that a container listens on. Only a hostPort matters to placement.");

FIELDS(core_env_from_source) = {
	STR(1, "prefix"),
	OBJ(2, core_config_map_env_source, "configMapRef"),
	OBJ(3, core_secret_env_source, "secretRef"),
	END,
};
TYPE(core_env_from_source, CORE_V1 "EnvFromSource",
     "Takes all entries of a ConfigMap or Secret as variables.");

FIELDS(core_config_map_env_source) = {
	STR(1, "name", INSIDE(1)),
	BOOL(2, "optional", IS(ZERO_COUNTS)),
	END,
};
TYPE(core_config_map_env_source, CORE_V1 "ConfigMapEnvSource",
     "The ConfigMap whose entries become variables.");

FIELDS(core_secret_env_source) = {
	STR(1, "name", INSIDE(1)),
	BOOL(2, "optional", IS(ZERO_COUNTS)),
	END,
};
TYPE(core_secret_env_source, CORE_V1 "SecretEnvSource",
     "The Secret whose entries become variables.");

FIELDS(core_env_var) = {
	STR(1, "name", IS(REQUIRED)),
	STR(2, "value"),
	OBJ(3, core_env_var_source, "valueFrom"),
	END,
};
TYPE(core_env_var, CORE_V1 "EnvVar", "A variable in a container's environment.");

FIELDS(core_env_var_source) = {
	OBJ(1, core_object_field_selector, "fieldRef"),
	OBJ(2, core_resource_field_selector, "resourceFieldRef"),
	OBJ(3, core_config_map_key_selector, "configMapKeyRef"),
	OBJ(4, core_secret_key_selector, "secretKeyRef"),
	END,
};
TYPE(core_env_var_source, CORE_V1 "EnvVarSource",
     "Where a variable's value comes from; one member is set.");

FIELDS(core_config_map_key_selector) = {
	STR(1, "name", INSIDE(1)),
	STR(2, "key", IS(REQUIRED)),
	BOOL(3, "optional", IS(ZERO_COUNTS)),
	END,
};
ATOMIC_TYPE(core_config_map_key_selector, CORE_V1 "ConfigMapKeySelector",
            "An entry of a ConfigMap.");

FIELDS(core_secret_key_selector) = {
	STR(1, "name", INSIDE(1)),
	STR(2, "key", IS(REQUIRED)),
	BOOL(3, "optional", IS(ZERO_COUNTS)),
	END,
};
ATOMIC_TYPE(core_secret_key_selector, CORE_V1 "SecretKeySelector",
            "An entry of a Secret.");

FIELDS(core_resource_requirements) = {
	QTYM(1, "limits", IS(USED), DOC("What may be used at most.")),
	QTYM(2, "requests", IS(USED),
             DOC("What must be free on the node. Absent ones are taken from limits.")),
	OBJS(3, core_resource_claim, "claims", KEYS("name"), IS(NO_PATCH_MERGE),
             DOC("Claims of the pod that the container uses.")),
	END,
};
TYPE(core_resource_requirements, CORE_V1 "ResourceRequirements",
     "What a container, or the pod as a whole, needs and may use at most.");

FIELDS(core_resource_claim) = {
	STR(1, "name", IS(REQUIRED)),
	STR(2, "request"),
	END,
};
TYPE(core_resource_claim, CORE_V1 "ResourceClaim",
     "A claim of the pod's resourceClaims that the container uses.");

FIELDS(core_container_resize_policy) = {
	STR(1, "resourceName", IS(REQUIRED)),
	STR(2, "restartPolicy", IS(REQUIRED),
            ONE_OF(choices_resource_resize_restart_policy)),
	END,
};
TYPE(core_container_resize_policy, CORE_V1 "ContainerResizePolicy",
     "Whether changing a resource restarts the container.");

FIELDS(core_volume_mount) = {
	STR(1, "name", IS(REQUIRED)),
	BOOL(2, "readOnly"),
	STR(7, "recursiveReadOnly", IS(ZERO_COUNTS),
            ONE_OF(choices_recursive_read_only_mode)),
	STR(3, "mountPath", IS(REQUIRED)),
	STR(4, "subPath"),
	STR(5, "mountPropagation", IS(ZERO_COUNTS),
            ONE_OF(choices_mount_propagation_mode)),
	STR(6, "subPathExpr"),
	END,
};
TYPE(core_volume_mount, CORE_V1 "VolumeMount", "Where a volume appears in a container.");

FIELDS(core_volume_device) = {
	STR(1, "name", IS(REQUIRED)),
	STR(2, "devicePath", IS(REQUIRED)),
	END,
};
TYPE(core_volume_device, CORE_V1 "VolumeDevice", "A block device that a container sees.");

FIELDS(core_probe) = {
	OBJ(1, core_exec_action, "exec", INSIDE(1)),
	OBJ(2, core_http_get_action, "httpGet", INSIDE(1)),
	OBJ(3, core_tcp_socket_action, "tcpSocket", INSIDE(1)),
	OBJ(4, core_grpc_action, "grpc", INSIDE(1)),
	I32(2, "initialDelaySeconds"),
	I32(3, "timeoutSeconds", IS(ZERO_ABSENT), NORMAL("1")),
	I32(4, "periodSeconds", IS(ZERO_ABSENT), NORMAL("10")),
	I32(5, "successThreshold", IS(ZERO_ABSENT), NORMAL("1")),
	I32(6, "failureThreshold", IS(ZERO_ABSENT), NORMAL("3")),
	I64(7, "terminationGracePeriodSeconds", IS(ZERO_COUNTS)),
	END,
};
TYPE(core_probe, CORE_V1 "Probe",
     "A check that the kubelet repeats on a container; one kind of check is set.");

FIELDS(core_exec_action) = {
	STRS(1, "command"),
	END,
};
TYPE(core_exec_action, CORE_V1 "ExecAction", "Runs a command in the container.");

FIELDS(core_http_get_action) = {
	STR(1, "path", NORMAL("\"/\"")),
	INT_STR(2, "port", IS(REQUIRED), DOC("Number or name of the port.")),
	STR(3, "host"),
	STR(4, "scheme", NORMAL("\"HTTP\""), ONE_OF(choices_uri_scheme)),
	OBJS(5, core_http_header, "httpHeaders"),
	END,
};
TYPE(core_http_get_action, CORE_V1 "HTTPGetAction",
     "Sends an HTTP GET to the container.");

FIELDS(core_http_header) = {
	STR(1, "name", IS(REQUIRED)),
	STR(2, "value", IS(REQUIRED | MAY_LACK)),
	END,
};
TYPE(core_http_header, CORE_V1 "HTTPHeader", "A header of a probe's request.");

FIELDS(core_tcp_socket_action) = {
	INT_STR(1, "port", IS(REQUIRED)),
	STR(2, "host"),
	END,
};
TYPE(core_tcp_socket_action, CORE_V1 "TCPSocketAction",
     "Opens a TCP connection to the container.");

FIELDS(core_grpc_action) = {
	I32(1, "port", IS(REQUIRED | MAY_LACK)),
	STR(2, "service", IS(ZERO_COUNTS), NORMAL("\"\"")),
	END,
};
TYPE(core_grpc_action, CORE_V1 "GRPCAction",
     "Calls the gRPC health service of the container.");

FIELDS(core_lifecycle) = {
	OBJ(1, core_lifecycle_handler, "postStart"),
	OBJ(2, core_lifecycle_handler, "preStop"),
	END,
};
TYPE(core_lifecycle, CORE_V1 "Lifecycle",
     "What the kubelet does right after a container starts, and before it stops.");

FIELDS(core_lifecycle_handler) = {
	OBJ(1, core_exec_action, "exec"),
	OBJ(2, core_http_get_action, "httpGet"),
	OBJ(3, core_tcp_socket_action, "tcpSocket"),
	OBJ(4, core_sleep_action, "sleep"),
	END,
};
TYPE(core_lifecycle_handler, CORE_V1 "LifecycleHandler",
     "One step of a lifecycle; one member is set.");

FIELDS(core_sleep_action) = {
	I64(1, "seconds", IS(REQUIRED | MAY_LACK)),
	END,
};
TYPE(core_sleep_action, CORE_V1 "SleepAction", "Waits for some seconds.");

FIELDS(core_security_context) = {
	OBJ(1, core_capabilities, "capabilities"),
	BOOL(2, "privileged", IS(ZERO_COUNTS)),
	OBJ(3, core_selinux_options, "seLinuxOptions"),
	OBJ(10, core_windows_security_context_options, "windowsOptions"),
	I64(4, "runAsUser", IS(ZERO_COUNTS)),
	I64(8, "runAsGroup", IS(ZERO_COUNTS)),
	BOOL(5, "runAsNonRoot", IS(ZERO_COUNTS)),
	BOOL(6, "readOnlyRootFilesystem", IS(ZERO_COUNTS)),
	BOOL(7, "allowPrivilegeEscalation", IS(ZERO_COUNTS)),
	STR(9, "procMount", IS(ZERO_COUNTS), ONE_OF(choices_proc_mount_type)),
	OBJ(11, core_seccomp_profile, "seccompProfile"),
	OBJ(12, core_app_armor_profile, "appArmorProfile"),
	END,
};
TYPE(core_security_context, CORE_V1 "SecurityContext",
     "Rights and identity of a container's processes.");

FIELDS(core_capabilities) = {
	STRS(1, "add"),
	STRS(2, "drop"),
	END,
};
TYPE(core_capabilities, CORE_V1 "Capabilities",
     "POSIX capabilities that are added and dropped.");

FIELDS(core_selinux_options) = {
	STR(1, "user"), STR(2, "role"), STR(3, "type"), STR(4, "level"), END,
};
TYPE(core_selinux_options, CORE_V1 "SELinuxOptions", "The SELinux label of processes.");

FIELDS(core_windows_security_context_options) = {
	STR(1, "gmsaCredentialSpecName", IS(ZERO_COUNTS)),
	STR(2, "gmsaCredentialSpec", IS(ZERO_COUNTS)),
	STR(3, "runAsUserName", IS(ZERO_COUNTS)),
	BOOL(4, "hostProcess", IS(ZERO_COUNTS)),
	END,
};
TYPE(core_windows_security_context_options, CORE_V1 "WindowsSecurityContextOptions",
     "Identity of processes on Windows nodes.");

FIELDS(core_seccomp_profile) = {
	STR(1, "type", IS(REQUIRED), ONE_OF(choices_seccomp_profile_type)),
	STR(2, "localhostProfile", IS(ZERO_COUNTS)),
	END,
};
TYPE(core_seccomp_profile, CORE_V1 "SeccompProfile",
     "The system calls that are allowed.");

FIELDS(core_app_armor_profile) = {
	STR(1, "type", IS(REQUIRED), ONE_OF(choices_app_armor_profile_type)),
	STR(2, "localhostProfile", IS(ZERO_COUNTS)),
	END,
};
TYPE(core_app_armor_profile, CORE_V1 "AppArmorProfile",
     "The AppArmor profile of processes.");

FIELDS(core_ephemeral_container) = {
	STR(1, "name", INSIDE(1), IS(REQUIRED)),
	STR(2, "image", INSIDE(1), IS(NEEDED)),
	STRS(3, "command", INSIDE(1)),
	STRS(4, "args", INSIDE(1)),
	STR(5, "workingDir", INSIDE(1)),
	OBJS(6, core_container_port, "ports", KEYS("containerPort,protocol"), INSIDE(1)),
	OBJS(19, core_env_from_source, "envFrom", INSIDE(1)),
	OBJS(7, core_env_var, "env", KEYS("name"), INSIDE(1)),
	OBJ(8, core_resource_requirements, "resources", INSIDE(1), NORMAL("{}")),
	OBJS(23, core_container_resize_policy, "resizePolicy", INSIDE(1)),
	STR(24, "restartPolicy", INSIDE(1), IS(ZERO_COUNTS)),
	OBJS(9, core_volume_mount, "volumeMounts", KEYS("mountPath"), INSIDE(1)),
	OBJS(21, core_volume_device, "volumeDevices", KEYS("devicePath"), INSIDE(1)),
	OBJ(10, core_probe, "livenessProbe", INSIDE(1)),
	OBJ(11, core_probe, "readinessProbe", INSIDE(1)),
	OBJ(22, core_probe, "startupProbe", INSIDE(1)),
	OBJ(12, core_lifecycle, "lifecycle", INSIDE(1)),
	STR(13, "terminationMessagePath", INSIDE(1), NORMAL("\"/dev/termination-log\"")),
	STR(20, "terminationMessagePolicy", INSIDE(1), NORMAL("\"File\""),
            ONE_OF(choices_termination_message_policy)),
	STR(14, "imagePullPolicy", INSIDE(1), ONE_OF(choices_pull_policy)),
	OBJ(15, core_security_context, "securityContext", INSIDE(1)),
	BOOL(16, "stdin", INSIDE(1)),
	BOOL(17, "stdinOnce", INSIDE(1)),
	BOOL(18, "tty", INSIDE(1)),
	STR(2, "targetContainerName"),
	END,
};
TYPE(core_ephemeral_container, CORE_V1 "EphemeralContainer",
     "A container that is added to a running pod for debugging.");

FIELDS(core_container_status) = {
	STR(1, "name", IS(REQUIRED | MAY_LACK)),
	OBJ(2, core_container_state, "state"),
	OBJ(3, core_container_state, "lastState"),
	BOOL(4, "ready", IS(REQUIRED | MAY_LACK)),
	I32(5, "restartCount", IS(REQUIRED | MAY_LACK)),
	STR(6, "image", IS(REQUIRED | MAY_LACK)),
	STR(7, "imageID", IS(REQUIRED | MAY_LACK)),
	STR(8, "containerID"),
	BOOL(9, "started", IS(ZERO_COUNTS)),
	QTYM(10, "allocatedResources"),
	OBJ(11, core_resource_requirements, "resources"),
	OBJS(12, core_volume_mount_status, "volumeMounts", KEYS("mountPath")),
	OBJ(13, core_container_user, "user"),
	OBJS(14, core_resource_status, "allocatedResourcesStatus", KEYS("name")),
	END,
};
TYPE(core_container_status, CORE_V1 "ContainerStatus",
     "What is known about one container.");

FIELDS(core_container_state) = {
	OBJ(1, core_container_state_waiting, "waiting"),
	OBJ(2, core_container_state_running, "running"),
	OBJ(3, core_container_state_terminated, "terminated"),
	END,
};
TYPE(core_container_state, CORE_V1 "ContainerState",
     "Waiting, running or terminated; one member is set.");

FIELDS(core_container_state_waiting) = {
	STR(1, "reason"),
	STR(2, "message"),
	END,
};
TYPE(core_container_state_waiting, CORE_V1 "ContainerStateWaiting",
     "Why the container has not started.");

FIELDS(core_container_state_running) = {
	TIME(1, "startedAt"),
	END,
};
TYPE(core_container_state_running, CORE_V1 "ContainerStateRunning",
     "Since when the container runs.");

FIELDS(core_container_state_terminated) = {
	I32(1, "exitCode", IS(REQUIRED | MAY_LACK)),
	I32(2, "signal"),
	STR(3, "reason"),
	STR(4, "message"),
	TIME(5, "startedAt"),
	TIME(6, "finishedAt"),
	STR(7, "containerID"),
	END,
};
TYPE(core_container_state_terminated, CORE_V1 "ContainerStateTerminated",
     "How the container ended.");

FIELDS(core_volume_mount_status) = {
	STR(1, "name", IS(REQUIRED | MAY_LACK)),
	STR(2, "mountPath", IS(REQUIRED | MAY_LACK)),
	BOOL(3, "readOnly"),
	STR(4, "recursiveReadOnly", IS(ZERO_COUNTS)),
	END,
};
TYPE(core_volume_mount_status, CORE_V1 "VolumeMountStatus",
     "A mount as the node carried it out.");

FIELDS(core_container_user) = {
	OBJ(1, core_linux_container_user, "linux"),
	END,
};
TYPE(core_container_user, CORE_V1 "ContainerUser",
     "The identity that the container began with.");

FIELDS(core_linux_container_user) = {
	I64(1, "uid", IS(REQUIRED | MAY_LACK)),
	I64(2, "gid", IS(REQUIRED | MAY_LACK)),
	I64S(3, "supplementalGroups"),
	END,
};
TYPE(core_linux_container_user, CORE_V1 "LinuxContainerUser",
     "Ids of the container's first process on Linux.");

FIELDS(core_resource_status) = {
	STR(1, "name", IS(REQUIRED | MAY_LACK)),
	OBJS(2, core_resource_health, "resources", KEYS("resourceID"),
             IS(NO_PATCH_MERGE)),
	END,
};
TYPE(core_resource_status, CORE_V1 "ResourceStatus",
     "Health of the devices of one resource.");

FIELDS(core_resource_health) = {
	STR(1, "resourceID", IS(REQUIRED)),
	STR(2, "health"),
	END,
};
TYPE(core_resource_health, CORE_V1 "ResourceHealth", "Health of one device.");
