/* The schema of storage.k8s.io/v1. */
#include "coord/api/schema/schema_table.h"

CHOICES(choices_fs_group_policy, "File", "None", "ReadWriteOnceWithFSType");
CHOICES(choices_persistent_volume_reclaim_policy, "Delete", "Recycle", "Retain");
CHOICES(choices_volume_binding_mode, "Immediate", "WaitForFirstConsumer");
CHOICES(choices_volume_lifecycle_mode, "Ephemeral", "Persistent");

FIELDS(storage_storage_class) = {
	TYPE_META,
	OBJECT_META,
	STR(2, "provisioner", IS(REQUIRED | IMMUTABLE | USED),
            DOC("Who makes volumes of the class.")),
	STRM(3, "parameters", IS(IMMUTABLE)),
	STR(4, "reclaimPolicy", IS(ZERO_COUNTS | IMMUTABLE), NORMAL("\"Delete\""),
            ONE_OF(choices_persistent_volume_reclaim_policy),
            DOC("What becomes of a volume whose claim goes.")),
	STRS(5, "mountOptions"),
	BOOL(6, "allowVolumeExpansion", IS(ZERO_COUNTS)),
	STR(7, "volumeBindingMode", IS(ZERO_COUNTS | IMMUTABLE | USED),
            NORMAL("\"Immediate\""), ONE_OF(choices_volume_binding_mode),
            DOC("WaitForFirstConsumer: a volume is made where the pod is placed.")),
	OBJS(8, core_topology_selector_term, "allowedTopologies", IS(USED),
             DOC("Where volumes may be made.")),
	END,
};
TYPE(storage_storage_class, STORAGE_V1 "StorageClass",
     "A kind of storage, and who provides it.");

FIELDS(storage_csi_node) = {
	TYPE_META,
	OBJECT_META,
	OBJ(2, storage_csi_node_spec, "spec", IS(REQUIRED | MAY_LACK),
            DOC("What is wanted.")),
	END,
};
TYPE(storage_csi_node, STORAGE_V1 "CSINode", "The CSI drivers of a node.");

FIELDS(storage_csi_node_spec) = {
	OBJS(1, storage_csi_node_driver, "drivers", KEYS("name"),
             IS(REQUIRED | MAY_LACK | USED), DOC("Drivers of the node.")),
	END,
};
TYPE(storage_csi_node_spec, STORAGE_V1 "CSINodeSpec",
     "Drivers that are registered on a node.");

FIELDS(storage_csi_node_driver) = {
	STR(1, "name", IS(REQUIRED | USED), DOC("Name of the driver.")),
	STR(2, "nodeID", IS(REQUIRED), DOC("Name of the node as the driver knows it.")),
	STRS(3, "topologyKeys"),
	OBJ(4, storage_volume_node_resources, "allocatable", IS(USED),
            DOC("How many volumes fit.")),
	END,
};
TYPE(storage_csi_node_driver, STORAGE_V1 "CSINodeDriver",
     "A driver on a node, and how many volumes it can attach there.");

FIELDS(storage_volume_node_resources) = {
	I32(1, "count", IS(ZERO_COUNTS | USED), DOC("Number of volumes.")),
	END,
};
TYPE(storage_volume_node_resources, STORAGE_V1 "VolumeNodeResources",
     "How many volumes of a driver a node can have.");

FIELDS(storage_csi_driver) = {
	TYPE_META,
	OBJECT_META,
	OBJ(2, storage_csi_driver_spec, "spec", IS(REQUIRED | MAY_LACK),
            DOC("What is wanted.")),
	END,
};
TYPE(storage_csi_driver, STORAGE_V1 "CSIDriver",
     "A CSI driver, and how volumes of the driver are handled.");

FIELDS(storage_csi_driver_spec) = {
	BOOL(1, "attachRequired", IS(ZERO_COUNTS | IMMUTABLE | USED), NORMAL("true"),
             DOC("Volumes must be attached before they are mounted.")),
	BOOL(2, "podInfoOnMount", IS(ZERO_COUNTS), NORMAL("false")),
	STRS(3, "volumeLifecycleModes", AS_SET, IS(IMMUTABLE | NO_PATCH_MERGE),
             NORMAL("[\"Persistent\"]"), ONE_OF(choices_volume_lifecycle_mode)),
	BOOL(4, "storageCapacity", IS(ZERO_COUNTS | USED), NORMAL("false"),
             DOC("Free capacity is checked before a volume's node is chosen.")),
	STR(5, "fsGroupPolicy", IS(ZERO_COUNTS | IMMUTABLE),
            NORMAL("\"ReadWriteOnceWithFSType\""), ONE_OF(choices_fs_group_policy)),
	OBJS(6, storage_token_request, "tokenRequests"),
	BOOL(7, "requiresRepublish", IS(ZERO_COUNTS), NORMAL("false")),
	BOOL(8, "seLinuxMount", IS(ZERO_COUNTS), NORMAL("false")),
	END,
};
TYPE(storage_csi_driver_spec, STORAGE_V1 "CSIDriverSpec",
     "What a CSI driver needs and can do.");

FIELDS(storage_token_request) = {
	STR(1, "audience", IS(REQUIRED)),
	I64(2, "expirationSeconds", IS(ZERO_COUNTS)),
	END,
};
TYPE(storage_token_request, STORAGE_V1 "TokenRequest",
     "A token that a driver wants with each mount.");

FIELDS(storage_csi_storage_capacity) = {
	TYPE_META,
	OBJECT_META,
	OBJ(2, meta_label_selector, "nodeTopology", IS(IMMUTABLE | USED),
            DOC("The nodes that can reach the storage.")),
	STR(3, "storageClassName", IS(REQUIRED | IMMUTABLE | USED),
            DOC("The class that the capacity is of.")),
	QTY(4, "capacity", IS(USED), DOC("What is free.")),
	QTY(5, "maximumVolumeSize", IS(USED),
            DOC("The largest volume that can be made.")),
	END,
};
TYPE(storage_csi_storage_capacity, STORAGE_V1 "CSIStorageCapacity",
     "How much storage of a class can still be made in one part of the topology.");
