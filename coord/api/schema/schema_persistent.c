/* The schema of persistent volumes and claims. */
#include "coord/api/schema/schema_table.h"

CHOICES(choices_persistent_volume_access_mode, "ReadOnlyMany", "ReadWriteMany",
        "ReadWriteOnce", "ReadWriteOncePod");
CHOICES(choices_persistent_volume_mode, "Block", "Filesystem");
CHOICES(choices_persistent_volume_reclaim_policy, "Delete", "Recycle", "Retain");

FIELDS(core_persistent_volume_claim_template) = {
	OBJECT_META,
	OBJ(2, core_persistent_volume_claim_spec, "spec", IS(REQUIRED),
            DOC("What is wanted.")),
	END,
};
TYPE(core_persistent_volume_claim_template, CORE_V1 "PersistentVolumeClaimTemplate",
     "The claim that is made for an ephemeral volume.");

FIELDS(core_persistent_volume_claim_spec) = {
	STRS(1, "accessModes", IS(NEEDED | USED),
             ONE_OF(choices_persistent_volume_access_mode),
             DOC("How the volume is used; ReadWriteOncePod: by one pod only.")),
	OBJ(4, meta_label_selector, "selector", IS(USED),
            DOC("Labels of volumes that may be bound.")),
	OBJ(2, core_volume_resource_requirements, "resources", IS(USED),
            DOC("How much storage is needed.")),
	STR(3, "volumeName", IS(USED), DOC("The volume that the claim is bound to.")),
	STR(5, "storageClassName", IS(ZERO_COUNTS | USED),
            DOC("The class; empty: no class.")),
	STR(6, "volumeMode", IS(ZERO_COUNTS | USED), NORMAL("\"Filesystem\""),
            ONE_OF(choices_persistent_volume_mode), DOC("Filesystem or Block.")),
	OBJ(7, core_typed_local_object_reference, "dataSource"),
	OBJ(8, core_typed_object_reference, "dataSourceRef"),
	STR(9, "volumeAttributesClassName", IS(ZERO_COUNTS)),
	END,
};
TYPE(core_persistent_volume_claim_spec, CORE_V1 "PersistentVolumeClaimSpec",
     "Storage that is asked for: how much, of which class, and how it is to be used.");

FIELDS(core_volume_resource_requirements) = {
	QTYM(1, "limits"),
	QTYM(2, "requests"),
	END,
};
TYPE(core_volume_resource_requirements, CORE_V1 "VolumeResourceRequirements",
     "The least and the most storage of a claim.");

FIELDS(core_typed_local_object_reference) = {
	STR(1, "apiGroup", IS(ZERO_COUNTS)),
	STR(2, "kind", IS(REQUIRED)),
	STR(3, "name", IS(REQUIRED)),
	END,
};
ATOMIC_TYPE(core_typed_local_object_reference, CORE_V1 "TypedLocalObjectReference",
            "Names an object of any kind in the same namespace.");

FIELDS(core_typed_object_reference) = {
	STR(1, "apiGroup", IS(ZERO_COUNTS)),
	STR(2, "kind", IS(REQUIRED)),
	STR(3, "name", IS(REQUIRED)),
	STR(4, "namespace", IS(ZERO_COUNTS)),
	END,
};
TYPE(core_typed_object_reference, CORE_V1 "TypedObjectReference",
     "Names an object of any kind, also in another namespace.");

FIELDS(core_object_reference) = {
	STR(1, "kind", DOC("Type of the object.")),
	STR(2, "namespace", DOC("Namespace of the object.")),
	STR(3, "name", DOC("Name of the object.")),
	STR(4, "uid", DOC("Uid of the object.")),
	STR(5, "apiVersion"),
	STR(6, "resourceVersion"),
	STR(7, "fieldPath"),
	END,
};
ATOMIC_TYPE(core_object_reference, CORE_V1 "ObjectReference",
            "Names an object of any kind, and a part of it.");

FIELDS(core_persistent_volume) = {
	TYPE_META,
	OBJECT_META,
	OBJ(2, core_persistent_volume_spec, "spec", DOC("What is wanted.")),
	OBJ(3, core_persistent_volume_status, "status", IS(STATUS), NORMAL("{}"),
            DOC("What is: written by controllers, through the status subresource.")),
	END,
};
TYPE(core_persistent_volume, CORE_V1 "PersistentVolume",
     "A piece of storage that a claim can be bound to.");

FIELDS(core_persistent_volume_spec) = {
	QTYM(1, "capacity", IS(NEEDED | USED), DOC("How much the volume holds.")),
	OBJ(1, core_gce_persistent_disk_volume_source, "gcePersistentDisk", INSIDE(2)),
	OBJ(2, core_aws_elastic_block_store_volume_source, "awsElasticBlockStore",
            INSIDE(2)),
	OBJ(3, core_host_path_volume_source, "hostPath", INSIDE(2)),
	OBJ(4, core_glusterfs_persistent_volume_source, "glusterfs", INSIDE(2)),
	OBJ(5, core_nfs_volume_source, "nfs", INSIDE(2)),
	OBJ(6, core_rbd_persistent_volume_source, "rbd", INSIDE(2)),
	OBJ(7, core_iscsi_persistent_volume_source, "iscsi", INSIDE(2)),
	OBJ(8, core_cinder_persistent_volume_source, "cinder", INSIDE(2)),
	OBJ(9, core_cephfs_persistent_volume_source, "cephfs", INSIDE(2)),
	OBJ(10, core_fc_volume_source, "fc", INSIDE(2)),
	OBJ(11, core_flocker_volume_source, "flocker", INSIDE(2)),
	OBJ(12, core_flex_persistent_volume_source, "flexVolume", INSIDE(2)),
	OBJ(13, core_azure_file_persistent_volume_source, "azureFile", INSIDE(2)),
	OBJ(14, core_vsphere_virtual_disk_volume_source, "vsphereVolume", INSIDE(2)),
	OBJ(15, core_quobyte_volume_source, "quobyte", INSIDE(2)),
	OBJ(16, core_azure_disk_volume_source, "azureDisk", INSIDE(2)),
	OBJ(17, core_photon_persistent_disk_volume_source, "photonPersistentDisk",
            INSIDE(2)),
	OBJ(18, core_portworx_volume_source, "portworxVolume", INSIDE(2)),
	OBJ(19, core_scale_io_persistent_volume_source, "scaleIO", INSIDE(2)),
	OBJ(20, core_local_volume_source, "local", INSIDE(2)),
	OBJ(21, core_storageos_persistent_volume_source, "storageos", INSIDE(2)),
	OBJ(22, core_csi_persistent_volume_source, "csi", INSIDE(2)),
	STRS(3, "accessModes", IS(NEEDED | USED),
             ONE_OF(choices_persistent_volume_access_mode),
             DOC("Ways in which the volume can be used.")),
	OBJ(4, core_object_reference, "claimRef", IS(USED),
            DOC("The claim that the volume is bound to.")),
	STR(5, "persistentVolumeReclaimPolicy", NORMAL("\"Retain\""),
            ONE_OF(choices_persistent_volume_reclaim_policy)),
	STR(6, "storageClassName", IS(USED),
            DOC("The class of the volume; empty: none.")),
	STRS(7, "mountOptions"),
	STR(8, "volumeMode", IS(ZERO_COUNTS | IMMUTABLE | USED), NORMAL("\"Filesystem\""),
            ONE_OF(choices_persistent_volume_mode), DOC("Filesystem or Block.")),
	OBJ(9, core_volume_node_affinity, "nodeAffinity", IS(USED),
            DOC("The nodes that can reach the volume.")),
	STR(10, "volumeAttributesClassName", IS(ZERO_COUNTS)),
	END,
};
TYPE(core_persistent_volume_spec, CORE_V1 "PersistentVolumeSpec",
     "Where a volume is, how much it holds, and from which nodes it can be reached.");

FIELDS(core_glusterfs_persistent_volume_source) = {
	STR(1, "endpoints", IS(REQUIRED)),
	STR(2, "path", IS(REQUIRED)),
	BOOL(3, "readOnly"),
	STR(4, "endpointsNamespace", IS(ZERO_COUNTS)),
	END,
};
TYPE(core_glusterfs_persistent_volume_source, CORE_V1 "GlusterfsPersistentVolumeSource",
     "A Glusterfs volume.");

FIELDS(core_rbd_persistent_volume_source) = {
	STRS(1, "monitors", IS(REQUIRED)),
	STR(2, "image", IS(REQUIRED)),
	STR(3, "fsType"),
	STR(4, "pool", NORMAL("\"rbd\"")),
	STR(5, "user", NORMAL("\"admin\"")),
	STR(6, "keyring", NORMAL("\"/etc/ceph/keyring\"")),
	OBJ(7, core_secret_reference, "secretRef"),
	BOOL(8, "readOnly"),
	END,
};
TYPE(core_rbd_persistent_volume_source, CORE_V1 "RBDPersistentVolumeSource",
     "A Ceph block device.");

FIELDS(core_secret_reference) = {
	STR(1, "name"),
	STR(2, "namespace"),
	END,
};
ATOMIC_TYPE(core_secret_reference, CORE_V1 "SecretReference",
            "Names a Secret in any namespace.");

FIELDS(core_iscsi_persistent_volume_source) = {
	STR(1, "targetPortal", IS(REQUIRED)),
	STR(2, "iqn", IS(REQUIRED)),
	I32(3, "lun", IS(REQUIRED | MAY_LACK)),
	STR(4, "iscsiInterface", NORMAL("\"default\"")),
	STR(5, "fsType"),
	BOOL(6, "readOnly"),
	STRS(7, "portals"),
	BOOL(8, "chapAuthDiscovery"),
	BOOL(11, "chapAuthSession"),
	OBJ(10, core_secret_reference, "secretRef"),
	STR(12, "initiatorName", IS(ZERO_COUNTS)),
	END,
};
TYPE(core_iscsi_persistent_volume_source, CORE_V1 "ISCSIPersistentVolumeSource",
     "An iSCSI disk.");

FIELDS(core_cinder_persistent_volume_source) = {
	STR(1, "volumeID", IS(REQUIRED)),
	STR(2, "fsType"),
	BOOL(3, "readOnly"),
	OBJ(4, core_secret_reference, "secretRef"),
	END,
};
TYPE(core_cinder_persistent_volume_source, CORE_V1 "CinderPersistentVolumeSource",
     "An OpenStack Cinder volume.");

FIELDS(core_cephfs_persistent_volume_source) = {
	STRS(1, "monitors", IS(REQUIRED)),
	STR(2, "path"),
	STR(3, "user"),
	STR(4, "secretFile"),
	OBJ(5, core_secret_reference, "secretRef"),
	BOOL(6, "readOnly"),
	END,
};
TYPE(core_cephfs_persistent_volume_source, CORE_V1 "CephFSPersistentVolumeSource",
     "A Ceph file system.");

FIELDS(core_flex_persistent_volume_source) = {
	STR(1, "driver", IS(REQUIRED)),
	STR(2, "fsType"),
	OBJ(3, core_secret_reference, "secretRef"),
	BOOL(4, "readOnly"),
	STRM(5, "options"),
	END,
};
TYPE(core_flex_persistent_volume_source, CORE_V1 "FlexPersistentVolumeSource",
     "A volume of an exec based plugin, for any namespace.");

FIELDS(core_azure_file_persistent_volume_source) = {
	STR(1, "secretName", IS(REQUIRED)),
	STR(2, "shareName", IS(REQUIRED)),
	BOOL(3, "readOnly"),
	STR(4, "secretNamespace", IS(ZERO_COUNTS)),
	END,
};
TYPE(core_azure_file_persistent_volume_source, CORE_V1 "AzureFilePersistentVolumeSource",
     "An Azure file share.");

FIELDS(core_scale_io_persistent_volume_source) = {
	STR(1, "gateway", IS(REQUIRED)),
	STR(2, "system", IS(REQUIRED)),
	OBJ(3, core_secret_reference, "secretRef", IS(REQUIRED)),
	BOOL(4, "sslEnabled"),
	STR(5, "protectionDomain"),
	STR(6, "storagePool"),
	STR(7, "storageMode", NORMAL("\"ThinProvisioned\"")),
	STR(8, "volumeName"),
	STR(9, "fsType", NORMAL("\"xfs\"")),
	BOOL(10, "readOnly"),
	END,
};
TYPE(core_scale_io_persistent_volume_source, CORE_V1 "ScaleIOPersistentVolumeSource",
     "A ScaleIO volume.");

FIELDS(core_local_volume_source) = {
	STR(1, "path", IS(REQUIRED)),
	STR(2, "fsType", IS(ZERO_COUNTS)),
	END,
};
TYPE(core_local_volume_source, CORE_V1 "LocalVolumeSource", "A disk of one node.");

FIELDS(core_storageos_persistent_volume_source) = {
	STR(1, "volumeName"),
	STR(2, "volumeNamespace"),
	STR(3, "fsType"),
	BOOL(4, "readOnly"),
	OBJ(5, core_object_reference, "secretRef"),
	END,
};
TYPE(core_storageos_persistent_volume_source, CORE_V1 "StorageOSPersistentVolumeSource",
     "A StorageOS volume.");

FIELDS(core_csi_persistent_volume_source) = {
	STR(1, "driver", IS(REQUIRED)),
	STR(2, "volumeHandle", IS(REQUIRED)),
	BOOL(3, "readOnly"),
	STR(4, "fsType"),
	STRM(5, "volumeAttributes"),
	OBJ(6, core_secret_reference, "controllerPublishSecretRef"),
	OBJ(7, core_secret_reference, "nodeStageSecretRef"),
	OBJ(8, core_secret_reference, "nodePublishSecretRef"),
	OBJ(9, core_secret_reference, "controllerExpandSecretRef"),
	OBJ(10, core_secret_reference, "nodeExpandSecretRef"),
	END,
};
TYPE(core_csi_persistent_volume_source, CORE_V1 "CSIPersistentVolumeSource",
     "A volume of a CSI driver.");

FIELDS(core_volume_node_affinity) = {
	OBJ(1, core_node_selector, "required", IS(USED),
            DOC("The node must fulfil one of the terms.")),
	END,
};
TYPE(core_volume_node_affinity, CORE_V1 "VolumeNodeAffinity",
     "The nodes that can reach a volume.");

FIELDS(core_persistent_volume_status) = {
	STR(1, "phase", NORMAL("\"Pending\"")),
	STR(2, "message"),
	STR(3, "reason"),
	TIME(4, "lastPhaseTransitionTime"),
	END,
};
TYPE(core_persistent_volume_status, CORE_V1 "PersistentVolumeStatus",
     "Whether a volume is free, bound or released.");

FIELDS(core_persistent_volume_claim) = {
	TYPE_META,
	OBJECT_META,
	OBJ(2, core_persistent_volume_claim_spec, "spec", DOC("What is wanted.")),
	OBJ(3, core_persistent_volume_claim_status, "status", IS(STATUS), NORMAL("{}"),
            DOC("What is: written by controllers, through the status subresource.")),
	END,
};
TYPE(core_persistent_volume_claim, CORE_V1 "PersistentVolumeClaim",
     "A request for storage of a namespace.");

FIELDS(core_persistent_volume_claim_status) = {
	STR(1, "phase", IS(USED), NORMAL("\"Pending\""), DOC("Pending, Bound or Lost.")),
	STRS(2, "accessModes"),
	QTYM(3, "capacity"),
	OBJS(4, core_persistent_volume_claim_condition, "conditions", KEYS("type")),
	QTYM(5, "allocatedResources"),
	STRM(7, "allocatedResourceStatuses"),
	STR(8, "currentVolumeAttributesClassName", IS(ZERO_COUNTS)),
	OBJ(9, core_modify_volume_status, "modifyVolumeStatus"),
	END,
};
TYPE(core_persistent_volume_claim_status, CORE_V1 "PersistentVolumeClaimStatus",
     "Whether a claim has its volume, and how large that is.");

FIELDS(core_persistent_volume_claim_condition) = {
	STR(1, "type", IS(REQUIRED)),
	STR(2, "status", IS(REQUIRED)),
	TIME(3, "lastProbeTime"),
	TIME(4, "lastTransitionTime"),
	STR(5, "reason"),
	STR(6, "message"),
	END,
};
TYPE(core_persistent_volume_claim_condition, CORE_V1 "PersistentVolumeClaimCondition",
     "One aspect of a claim's state.");

FIELDS(core_modify_volume_status) = {
	STR(1, "targetVolumeAttributesClassName"),
	STR(2, "status", IS(REQUIRED | MAY_LACK)),
	END,
};
TYPE(core_modify_volume_status, CORE_V1 "ModifyVolumeStatus",
     "A change of a volume's class that is under way.");
