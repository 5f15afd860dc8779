/* The schema of the volumes in a pod. */
#include "coord/api/schema/schema_table.h"

CHOICES(choices_host_path_type, "BlockDevice", "CharDevice", "Directory",
        "DirectoryOrCreate", "File", "FileOrCreate", "Socket");
CHOICES(choices_pull_policy, "Always", "IfNotPresent", "Never");

FIELDS(core_volume) = {
	STR(1, "name", IS(REQUIRED | USED), DOC("Unique in the pod.")),
	OBJ(1, core_host_path_volume_source, "hostPath", INSIDE(2)),
	OBJ(2, core_empty_dir_volume_source, "emptyDir", INSIDE(2)),
	OBJ(3, core_gce_persistent_disk_volume_source, "gcePersistentDisk", INSIDE(2),
            IS(USED), DOC("A disk; a node has it for writing once.")),
	OBJ(4, core_aws_elastic_block_store_volume_source, "awsElasticBlockStore",
            INSIDE(2), IS(USED), DOC("A disk; a node has it once.")),
	OBJ(5, core_git_repo_volume_source, "gitRepo", INSIDE(2)),
	OBJ(6, core_secret_volume_source, "secret", INSIDE(2)),
	OBJ(7, core_nfs_volume_source, "nfs", INSIDE(2)),
	OBJ(8, core_iscsi_volume_source, "iscsi", INSIDE(2), IS(USED),
            DOC("A target; writers exclude each other on a node.")),
	OBJ(9, core_glusterfs_volume_source, "glusterfs", INSIDE(2)),
	OBJ(10, core_persistent_volume_claim_volume_source, "persistentVolumeClaim",
            INSIDE(2), IS(USED), DOC("A claim; its volume's place restricts the nodes.")),
	OBJ(11, core_rbd_volume_source, "rbd", INSIDE(2), IS(USED),
            DOC("A Ceph image; writers exclude each other on a node.")),
	OBJ(12, core_flex_volume_source, "flexVolume", INSIDE(2)),
	OBJ(13, core_cinder_volume_source, "cinder", INSIDE(2)),
	OBJ(14, core_cephfs_volume_source, "cephfs", INSIDE(2)),
	OBJ(15, core_flocker_volume_source, "flocker", INSIDE(2)),
	OBJ(16, core_downward_api_volume_source, "downwardAPI", INSIDE(2)),
	OBJ(17, core_fc_volume_source, "fc", INSIDE(2)),
	OBJ(18, core_azure_file_volume_source, "azureFile", INSIDE(2)),
	OBJ(19, core_config_map_volume_source, "configMap", INSIDE(2)),
	OBJ(20, core_vsphere_virtual_disk_volume_source, "vsphereVolume", INSIDE(2)),
	OBJ(21, core_quobyte_volume_source, "quobyte", INSIDE(2)),
	OBJ(22, core_azure_disk_volume_source, "azureDisk", INSIDE(2)),
	OBJ(23, core_photon_persistent_disk_volume_source, "photonPersistentDisk",
            INSIDE(2)),
	OBJ(26, core_projected_volume_source, "projected", INSIDE(2)),
	OBJ(24, core_portworx_volume_source, "portworxVolume", INSIDE(2)),
	OBJ(25, core_scale_io_volume_source, "scaleIO", INSIDE(2)),
	OBJ(27, core_storageos_volume_source, "storageos", INSIDE(2)),
	OBJ(28, core_csi_volume_source, "csi", INSIDE(2)),
	OBJ(29, core_ephemeral_volume_source, "ephemeral", INSIDE(2), IS(USED),
            DOC("A claim that is made for the pod.")),
	OBJ(30, core_image_volume_source, "image", INSIDE(2)),
	END,
};
TYPE(core_volume, CORE_V1 "Volume",
     "A directory or device that containers of the pod can mount by its name.");

FIELDS(core_host_path_volume_source) = {
	STR(1, "path", IS(REQUIRED)),
	STR(2, "type", IS(ZERO_COUNTS), NORMAL("\"\""), ONE_OF(choices_host_path_type)),
	END,
};
TYPE(core_host_path_volume_source, CORE_V1 "HostPathVolumeSource",
     "A file or directory of the node itself.");

FIELDS(core_empty_dir_volume_source) = {
	STR(1, "medium"),
	QTY(2, "sizeLimit"),
	END,
};
TYPE(core_empty_dir_volume_source, CORE_V1 "EmptyDirVolumeSource",
     "Scratch space that begins empty and goes with the pod.");

FIELDS(core_gce_persistent_disk_volume_source) = {
	STR(1, "pdName", IS(REQUIRED)),
	STR(2, "fsType"),
	I32(3, "partition"),
	BOOL(4, "readOnly"),
	END,
};
TYPE(core_gce_persistent_disk_volume_source, CORE_V1 "GCEPersistentDiskVolumeSource",
     "A persistent disk of Google Compute Engine.");

FIELDS(core_aws_elastic_block_store_volume_source) = {
	STR(1, "volumeID", IS(REQUIRED)),
	STR(2, "fsType"),
	I32(3, "partition"),
	BOOL(4, "readOnly"),
	END,
};
TYPE(core_aws_elastic_block_store_volume_source,
     CORE_V1 "AWSElasticBlockStoreVolumeSource", "A disk of AWS Elastic Block Store.");

FIELDS(core_git_repo_volume_source) = {
	STR(1, "repository", IS(REQUIRED)),
	STR(2, "revision"),
	STR(3, "directory"),
	END,
};
TYPE(core_git_repo_volume_source, CORE_V1 "GitRepoVolumeSource",
     "A clone of a git repository (retired by Kubernetes).");

FIELDS(core_secret_volume_source) = {
	STR(1, "secretName"),
	OBJS(2, core_key_to_path, "items"),
	I32(3, "defaultMode", IS(ZERO_COUNTS), NORMAL("420")),
	BOOL(4, "optional", IS(ZERO_COUNTS)),
	END,
};
TYPE(core_secret_volume_source, CORE_V1 "SecretVolumeSource",
     "Files made from the entries of a Secret.");

FIELDS(core_key_to_path) = {
	STR(1, "key", IS(REQUIRED)),
	STR(2, "path", IS(REQUIRED)),
	I32(3, "mode", IS(ZERO_COUNTS)),
	END,
};
TYPE(core_key_to_path, CORE_V1 "KeyToPath",
     "Puts one entry of a ConfigMap or Secret at a path.");

FIELDS(core_nfs_volume_source) = {
	STR(1, "server", IS(REQUIRED)),
	STR(2, "path", IS(REQUIRED)),
	BOOL(3, "readOnly"),
	END,
};
TYPE(core_nfs_volume_source, CORE_V1 "NFSVolumeSource",
     "A directory exported by an NFS server.");

FIELDS(core_iscsi_volume_source) = {
	STR(1, "targetPortal", IS(REQUIRED)),
	STR(2, "iqn", IS(REQUIRED)),
	I32(3, "lun", IS(REQUIRED | MAY_LACK)),
	STR(4, "iscsiInterface", NORMAL("\"default\"")),
	STR(5, "fsType"),
	BOOL(6, "readOnly"),
	STRS(7, "portals"),
	BOOL(8, "chapAuthDiscovery"),
	BOOL(11, "chapAuthSession"),
	OBJ(10, core_local_object_reference, "secretRef"),
	STR(12, "initiatorName", IS(ZERO_COUNTS)),
	END,
};
TYPE(core_iscsi_volume_source, CORE_V1 "ISCSIVolumeSource", "An iSCSI disk of a pod.");

FIELDS(core_local_object_reference) = {
	STR(1, "name"),
	END,
};
ATOMIC_TYPE(core_local_object_reference, CORE_V1 "LocalObjectReference",
            "Names an object in the same namespace.");

FIELDS(core_glusterfs_volume_source) = {
	STR(1, "endpoints", IS(REQUIRED)),
	STR(2, "path", IS(REQUIRED)),
	BOOL(3, "readOnly"),
	END,
};
TYPE(core_glusterfs_volume_source, CORE_V1 "GlusterfsVolumeSource",
     "A Glusterfs mount of a pod.");

FIELDS(core_persistent_volume_claim_volume_source) = {
	STR(1, "claimName", IS(REQUIRED | USED),
            DOC("Name of the claim, in the pod's namespace.")),
	BOOL(2, "readOnly", IS(USED), DOC("The pod does not write.")),
	END,
};
TYPE(core_persistent_volume_claim_volume_source,
     CORE_V1 "PersistentVolumeClaimVolumeSource",
     "Uses a claim of the pod's namespace as a volume.");

FIELDS(core_rbd_volume_source) = {
	STRS(1, "monitors", IS(REQUIRED)),
	STR(2, "image", IS(REQUIRED)),
	STR(3, "fsType"),
	STR(4, "pool", NORMAL("\"rbd\"")),
	STR(5, "user", NORMAL("\"admin\"")),
	STR(6, "keyring", NORMAL("\"/etc/ceph/keyring\"")),
	OBJ(7, core_local_object_reference, "secretRef"),
	BOOL(8, "readOnly"),
	END,
};
TYPE(core_rbd_volume_source, CORE_V1 "RBDVolumeSource", "A Ceph block device of a pod.");

FIELDS(core_flex_volume_source) = {
	STR(1, "driver", IS(REQUIRED)),
	STR(2, "fsType"),
	OBJ(3, core_local_object_reference, "secretRef"),
	BOOL(4, "readOnly"),
	STRM(5, "options"),
	END,
};
TYPE(core_flex_volume_source, CORE_V1 "FlexVolumeSource",
     "A volume of an exec based plugin.");

FIELDS(core_cinder_volume_source) = {
	STR(1, "volumeID", IS(REQUIRED)),
	STR(2, "fsType"),
	BOOL(3, "readOnly"),
	OBJ(4, core_local_object_reference, "secretRef"),
	END,
};
TYPE(core_cinder_volume_source, CORE_V1 "CinderVolumeSource",
     "An OpenStack Cinder volume of a pod.");

FIELDS(core_cephfs_volume_source) = {
	STRS(1, "monitors", IS(REQUIRED)),
	STR(2, "path"),
	STR(3, "user"),
	STR(4, "secretFile"),
	OBJ(5, core_local_object_reference, "secretRef"),
	BOOL(6, "readOnly"),
	END,
};
TYPE(core_cephfs_volume_source, CORE_V1 "CephFSVolumeSource",
     "A Ceph file system of a pod.");

FIELDS(core_flocker_volume_source) = {
	STR(1, "datasetName"),
	STR(2, "datasetUUID"),
	END,
};
TYPE(core_flocker_volume_source, CORE_V1 "FlockerVolumeSource", "A Flocker dataset.");

FIELDS(core_downward_api_volume_source) = {
	OBJS(1, core_downward_api_volume_file, "items"),
	I32(2, "defaultMode", IS(ZERO_COUNTS), NORMAL("420")),
	END,
};
TYPE(core_downward_api_volume_source, CORE_V1 "DownwardAPIVolumeSource",
     "Files made from the pod's own fields.");

FIELDS(core_downward_api_volume_file) = {
	STR(1, "path", IS(REQUIRED)),
	OBJ(2, core_object_field_selector, "fieldRef"),
	OBJ(3, core_resource_field_selector, "resourceFieldRef"),
	I32(4, "mode", IS(ZERO_COUNTS)),
	END,
};
TYPE(core_downward_api_volume_file, CORE_V1 "DownwardAPIVolumeFile",
     "One file with the value of a field of the pod.");

FIELDS(core_object_field_selector) = {
	STR(1, "apiVersion", NORMAL("\"v1\"")),
	STR(2, "fieldPath", IS(REQUIRED)),
	END,
};
ATOMIC_TYPE(core_object_field_selector, CORE_V1 "ObjectFieldSelector",
            "Selects a field of the pod by its path.");

FIELDS(core_resource_field_selector) = {
	STR(1, "containerName"),
	STR(2, "resource", IS(REQUIRED)),
	QTY(3, "divisor"),
	END,
};
ATOMIC_TYPE(core_resource_field_selector, CORE_V1 "ResourceFieldSelector",
            "Selects a request or limit of a container.");

FIELDS(core_fc_volume_source) = {
	STRS(1, "targetWWNs"), I32(2, "lun", IS(ZERO_COUNTS)),
	STR(3, "fsType"),      BOOL(4, "readOnly"),
	STRS(5, "wwids"),      END,
};
TYPE(core_fc_volume_source, CORE_V1 "FCVolumeSource", "A Fibre Channel disk.");

FIELDS(core_azure_file_volume_source) = {
	STR(1, "secretName", IS(REQUIRED)),
	STR(2, "shareName", IS(REQUIRED)),
	BOOL(3, "readOnly"),
	END,
};
TYPE(core_azure_file_volume_source, CORE_V1 "AzureFileVolumeSource",
     "An Azure file share of a pod.");

FIELDS(core_config_map_volume_source) = {
	STR(1, "name", INSIDE(1)),
	OBJS(2, core_key_to_path, "items"),
	I32(3, "defaultMode", IS(ZERO_COUNTS), NORMAL("420")),
	BOOL(4, "optional", IS(ZERO_COUNTS)),
	END,
};
TYPE(core_config_map_volume_source, CORE_V1 "ConfigMapVolumeSource",
     "Files made from the entries of a ConfigMap.");

FIELDS(core_vsphere_virtual_disk_volume_source) = {
	STR(1, "volumePath", IS(REQUIRED)),
	STR(2, "fsType"),
	STR(3, "storagePolicyName"),
	STR(4, "storagePolicyID"),
	END,
};
TYPE(core_vsphere_virtual_disk_volume_source, CORE_V1 "VsphereVirtualDiskVolumeSource",
     "A vSphere disk.");

FIELDS(core_quobyte_volume_source) = {
	STR(1, "registry", IS(REQUIRED)),
	STR(2, "volume", IS(REQUIRED)),
	BOOL(3, "readOnly"),
	STR(4, "user"),
	STR(5, "group"),
	STR(6, "tenant"),
	END,
};
TYPE(core_quobyte_volume_source, CORE_V1 "QuobyteVolumeSource", "A Quobyte volume.");

FIELDS(core_azure_disk_volume_source) = {
	STR(1, "diskName", IS(REQUIRED)),
	STR(2, "diskURI", IS(REQUIRED)),
	STR(3, "cachingMode", IS(ZERO_COUNTS), NORMAL("\"ReadWrite\"")),
	STR(4, "fsType", IS(ZERO_COUNTS), NORMAL("\"ext4\"")),
	BOOL(5, "readOnly", IS(ZERO_COUNTS), NORMAL("false")),
	STR(6, "kind", IS(ZERO_COUNTS), NORMAL("\"Shared\"")),
	END,
};
TYPE(core_azure_disk_volume_source, CORE_V1 "AzureDiskVolumeSource",
     "An Azure data disk.");

FIELDS(core_photon_persistent_disk_volume_source) = {
	STR(1, "pdID", IS(REQUIRED)),
	STR(2, "fsType"),
	END,
};
TYPE(core_photon_persistent_disk_volume_source,
     CORE_V1 "PhotonPersistentDiskVolumeSource", "A Photon controller disk.");

FIELDS(core_projected_volume_source) = {
	OBJS(1, core_volume_projection, "sources"),
	I32(2, "defaultMode", IS(ZERO_COUNTS), NORMAL("420")),
	END,
};
TYPE(core_projected_volume_source, CORE_V1 "ProjectedVolumeSource",
     "Several sources of files in one directory.");

FIELDS(core_volume_projection) = {
	OBJ(1, core_secret_projection, "secret"),
	OBJ(2, core_downward_api_projection, "downwardAPI"),
	OBJ(3, core_config_map_projection, "configMap"),
	OBJ(4, core_service_account_token_projection, "serviceAccountToken"),
	OBJ(5, core_cluster_trust_bundle_projection, "clusterTrustBundle"),
	END,
};
TYPE(core_volume_projection, CORE_V1 "VolumeProjection",
     "One source of a projected volume; exactly one member is set.");

FIELDS(core_secret_projection) = {
	STR(1, "name", INSIDE(1)),
	OBJS(2, core_key_to_path, "items"),
	BOOL(4, "optional", IS(ZERO_COUNTS)),
	END,
};
TYPE(core_secret_projection, CORE_V1 "SecretProjection",
     "Entries of a Secret within a projected volume.");

FIELDS(core_downward_api_projection) = {
	OBJS(1, core_downward_api_volume_file, "items"),
	END,
};
TYPE(core_downward_api_projection, CORE_V1 "DownwardAPIProjection",
     "Fields of the pod within a projected volume.");

FIELDS(core_config_map_projection) = {
	STR(1, "name", INSIDE(1)),
	OBJS(2, core_key_to_path, "items"),
	BOOL(4, "optional", IS(ZERO_COUNTS)),
	END,
};
TYPE(core_config_map_projection, CORE_V1 "ConfigMapProjection",
     "Entries of a ConfigMap within a projected volume.");

FIELDS(core_service_account_token_projection) = {
	STR(1, "audience"),
	I64(2, "expirationSeconds", IS(ZERO_COUNTS), NORMAL("3600")),
	STR(3, "path", IS(REQUIRED)),
	END,
};
TYPE(core_service_account_token_projection, CORE_V1 "ServiceAccountTokenProjection",
     "A token of the pod's service account within a projected volume.");

FIELDS(core_cluster_trust_bundle_projection) = {
	STR(1, "name", IS(ZERO_COUNTS)),
	STR(2, "signerName", IS(ZERO_COUNTS)),
	OBJ(3, meta_label_selector, "labelSelector"),
	BOOL(5, "optional", IS(ZERO_COUNTS)),
	STR(4, "path", IS(REQUIRED)),
	END,
};
TYPE(core_cluster_trust_bundle_projection, CORE_V1 "ClusterTrustBundleProjection",
     "Trust anchors within a projected volume.");

FIELDS(core_portworx_volume_source) = {
	STR(1, "volumeID", IS(REQUIRED)),
	STR(2, "fsType"),
	BOOL(3, "readOnly"),
	END,
};
TYPE(core_portworx_volume_source, CORE_V1 "PortworxVolumeSource", "A Portworx volume.");

FIELDS(core_scale_io_volume_source) = {
	STR(1, "gateway", IS(REQUIRED)),
	STR(2, "system", IS(REQUIRED)),
	OBJ(3, core_local_object_reference, "secretRef", IS(REQUIRED)),
	BOOL(4, "sslEnabled"),
	STR(5, "protectionDomain"),
	STR(6, "storagePool"),
	STR(7, "storageMode", NORMAL("\"ThinProvisioned\"")),
	STR(8, "volumeName"),
	STR(9, "fsType", NORMAL("\"xfs\"")),
	BOOL(10, "readOnly"),
	END,
};
TYPE(core_scale_io_volume_source, CORE_V1 "ScaleIOVolumeSource",
     "A ScaleIO volume of a pod.");

FIELDS(core_storageos_volume_source) = {
	STR(1, "volumeName"),
	STR(2, "volumeNamespace"),
	STR(3, "fsType"),
	BOOL(4, "readOnly"),
	OBJ(5, core_local_object_reference, "secretRef"),
	END,
};
TYPE(core_storageos_volume_source, CORE_V1 "StorageOSVolumeSource",
     "A StorageOS volume of a pod.");

FIELDS(core_csi_volume_source) = {
	STR(1, "driver", IS(REQUIRED)),
	BOOL(2, "readOnly", IS(ZERO_COUNTS)),
	STR(3, "fsType", IS(ZERO_COUNTS)),
	STRM(4, "volumeAttributes"),
	OBJ(5, core_local_object_reference, "nodePublishSecretRef"),
	END,
};
TYPE(core_csi_volume_source, CORE_V1 "CSIVolumeSource",
     "Scratch storage of a CSI driver that goes with the pod.");

FIELDS(core_ephemeral_volume_source) = {
	OBJ(1, core_persistent_volume_claim_template, "volumeClaimTemplate", IS(USED),
            DOC("The claim's metadata and spec.")),
	END,
};
TYPE(core_ephemeral_volume_source, CORE_V1 "EphemeralVolumeSource",
     "A claim that is made for the pod and goes with it.");

FIELDS(core_image_volume_source) = {
	STR(1, "reference"),
	STR(2, "pullPolicy", ONE_OF(choices_pull_policy)),
	END,
};
TYPE(core_image_volume_source, CORE_V1 "ImageVolumeSource",
     "The content of an image, mounted read-only.");
