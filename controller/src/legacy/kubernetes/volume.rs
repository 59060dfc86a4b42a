//! Volumes.

use super::super::schema::Kind::{Bool, Object, Quantity, Text, TextMap, Texts};
use super::super::schema::{INT32, Shape, field};
use super::claim::EPHEMERAL_VOLUME_SOURCE;
use super::env::LOCAL_OBJECT_REFERENCE;
use super::projected::{
    CONFIG_MAP_VOLUME_SOURCE, DOWNWARD_API_VOLUME_SOURCE, PROJECTED_VOLUME_SOURCE, SECRET_VOLUME_SOURCE,
};

pub(in crate::legacy) static VOLUME: Shape = Shape(&[
    field("name", Text).required(),
    field("hostPath", Object(&HOST_PATH_VOLUME_SOURCE)).pointer(),
    field("emptyDir", Object(&EMPTY_DIR_VOLUME_SOURCE)).pointer(),
    field("gcePersistentDisk", Object(&GCE_PERSISTENT_DISK_VOLUME_SOURCE)).pointer(),
    field("awsElasticBlockStore", Object(&AWS_ELASTIC_BLOCK_STORE_VOLUME_SOURCE)).pointer(),
    field("gitRepo", Object(&GIT_REPO_VOLUME_SOURCE)).pointer(),
    field("secret", Object(&SECRET_VOLUME_SOURCE)).pointer(),
    field("nfs", Object(&NFS_VOLUME_SOURCE)).pointer(),
    field("iscsi", Object(&ISCSI_VOLUME_SOURCE)).pointer(),
    field("glusterfs", Object(&GLUSTERFS_VOLUME_SOURCE)).pointer(),
    field("persistentVolumeClaim", Object(&PERSISTENT_VOLUME_CLAIM_VOLUME_SOURCE)).pointer(),
    field("rbd", Object(&RBD_VOLUME_SOURCE)).pointer(),
    field("flexVolume", Object(&FLEX_VOLUME_SOURCE)).pointer(),
    field("cinder", Object(&CINDER_VOLUME_SOURCE)).pointer(),
    field("cephfs", Object(&CEPH_FS_VOLUME_SOURCE)).pointer(),
    field("flocker", Object(&FLOCKER_VOLUME_SOURCE)).pointer(),
    field("downwardAPI", Object(&DOWNWARD_API_VOLUME_SOURCE)).pointer(),
    field("fc", Object(&FC_VOLUME_SOURCE)).pointer(),
    field("azureFile", Object(&AZURE_FILE_VOLUME_SOURCE)).pointer(),
    field("configMap", Object(&CONFIG_MAP_VOLUME_SOURCE)).pointer(),
    field("vsphereVolume", Object(&VSPHERE_VIRTUAL_DISK_VOLUME_SOURCE)).pointer(),
    field("quobyte", Object(&QUOBYTE_VOLUME_SOURCE)).pointer(),
    field("azureDisk", Object(&AZURE_DISK_VOLUME_SOURCE)).pointer(),
    field("photonPersistentDisk", Object(&PHOTON_PERSISTENT_DISK_VOLUME_SOURCE)).pointer(),
    field("projected", Object(&PROJECTED_VOLUME_SOURCE)).pointer(),
    field("portworxVolume", Object(&PORTWORX_VOLUME_SOURCE)).pointer(),
    field("scaleIO", Object(&SCALE_IO_VOLUME_SOURCE)).pointer(),
    field("storageos", Object(&STORAGE_OS_VOLUME_SOURCE)).pointer(),
    field("csi", Object(&CSI_VOLUME_SOURCE)).pointer(),
    field("ephemeral", Object(&EPHEMERAL_VOLUME_SOURCE)).pointer(),
    field("image", Object(&IMAGE_VOLUME_SOURCE)).pointer(),
]);

pub(in crate::legacy) static IMAGE_VOLUME_SOURCE: Shape = Shape(&[field("reference", Text), field("pullPolicy", Text)]);

pub(in crate::legacy) static CSI_VOLUME_SOURCE: Shape = Shape(&[
    field("driver", Text).required(),
    field("readOnly", Bool).pointer(),
    field("fsType", Text).pointer(),
    field("volumeAttributes", TextMap),
    field("nodePublishSecretRef", Object(&LOCAL_OBJECT_REFERENCE)).pointer(),
]);

pub(in crate::legacy) static STORAGE_OS_VOLUME_SOURCE: Shape = Shape(&[
    field("volumeName", Text),
    field("volumeNamespace", Text),
    field("fsType", Text),
    field("readOnly", Bool),
    field("secretRef", Object(&LOCAL_OBJECT_REFERENCE)).pointer(),
]);

pub(in crate::legacy) static SCALE_IO_VOLUME_SOURCE: Shape = Shape(&[
    field("gateway", Text).required(),
    field("system", Text).required(),
    field("secretRef", Object(&LOCAL_OBJECT_REFERENCE)).pointer().required(),
    field("sslEnabled", Bool),
    field("protectionDomain", Text),
    field("storagePool", Text),
    field("storageMode", Text).default("\"ThinProvisioned\""),
    field("volumeName", Text),
    field("fsType", Text).default("\"xfs\""),
    field("readOnly", Bool),
]);

pub(in crate::legacy) static PORTWORX_VOLUME_SOURCE: Shape = Shape(&[
    field("volumeID", Text).required(),
    field("fsType", Text),
    field("readOnly", Bool),
]);

pub(in crate::legacy) static PHOTON_PERSISTENT_DISK_VOLUME_SOURCE: Shape =
    Shape(&[field("pdID", Text).required(), field("fsType", Text)]);

pub(in crate::legacy) static AZURE_DISK_VOLUME_SOURCE: Shape = Shape(&[
    field("diskName", Text).required(),
    field("diskURI", Text).required(),
    field("cachingMode", Text).pointer().in_pod("\"ReadWrite\""),
    field("fsType", Text).pointer().default("\"ext4\""),
    field("readOnly", Bool).pointer().default("false"),
    field("kind", Text).pointer().in_pod("\"Shared\""),
]);

pub(in crate::legacy) static QUOBYTE_VOLUME_SOURCE: Shape = Shape(&[
    field("registry", Text).required(),
    field("volume", Text).required(),
    field("readOnly", Bool),
    field("user", Text),
    field("group", Text),
    field("tenant", Text),
]);

pub(in crate::legacy) static VSPHERE_VIRTUAL_DISK_VOLUME_SOURCE: Shape = Shape(&[
    field("volumePath", Text).required(),
    field("fsType", Text),
    field("storagePolicyName", Text),
    field("storagePolicyID", Text),
]);

pub(in crate::legacy) static AZURE_FILE_VOLUME_SOURCE: Shape = Shape(&[
    field("secretName", Text).required(),
    field("shareName", Text).required(),
    field("readOnly", Bool),
]);

pub(in crate::legacy) static FC_VOLUME_SOURCE: Shape = Shape(&[
    field("targetWWNs", Texts),
    field("lun", INT32).pointer(),
    field("fsType", Text),
    field("readOnly", Bool),
    field("wwids", Texts),
]);

pub(in crate::legacy) static FLOCKER_VOLUME_SOURCE: Shape =
    Shape(&[field("datasetName", Text), field("datasetUUID", Text)]);

pub(in crate::legacy) static CEPH_FS_VOLUME_SOURCE: Shape = Shape(&[
    field("monitors", Texts).required(),
    field("path", Text),
    field("user", Text),
    field("secretFile", Text),
    field("secretRef", Object(&LOCAL_OBJECT_REFERENCE)).pointer(),
    field("readOnly", Bool),
]);

pub(in crate::legacy) static CINDER_VOLUME_SOURCE: Shape = Shape(&[
    field("volumeID", Text).required(),
    field("fsType", Text),
    field("readOnly", Bool),
    field("secretRef", Object(&LOCAL_OBJECT_REFERENCE)).pointer(),
]);

pub(in crate::legacy) static FLEX_VOLUME_SOURCE: Shape = Shape(&[
    field("driver", Text).required(),
    field("fsType", Text),
    field("secretRef", Object(&LOCAL_OBJECT_REFERENCE)).pointer(),
    field("readOnly", Bool),
    field("options", TextMap),
]);

pub(in crate::legacy) static RBD_VOLUME_SOURCE: Shape = Shape(&[
    field("monitors", Texts).required(),
    field("image", Text).required(),
    field("fsType", Text),
    field("pool", Text).default("\"rbd\""),
    field("user", Text).default("\"admin\""),
    field("keyring", Text).default("\"/etc/ceph/keyring\""),
    field("secretRef", Object(&LOCAL_OBJECT_REFERENCE)).pointer(),
    field("readOnly", Bool),
]);

pub(in crate::legacy) static PERSISTENT_VOLUME_CLAIM_VOLUME_SOURCE: Shape =
    Shape(&[field("claimName", Text).required(), field("readOnly", Bool)]);

pub(in crate::legacy) static GLUSTERFS_VOLUME_SOURCE: Shape = Shape(&[
    field("endpoints", Text).required(),
    field("path", Text).required(),
    field("readOnly", Bool),
]);

pub(in crate::legacy) static ISCSI_VOLUME_SOURCE: Shape = Shape(&[
    field("targetPortal", Text).required(),
    field("iqn", Text).required(),
    field("lun", INT32).required(),
    field("iscsiInterface", Text).default("\"default\""),
    field("fsType", Text),
    field("readOnly", Bool),
    field("portals", Texts),
    field("chapAuthDiscovery", Bool),
    field("chapAuthSession", Bool),
    field("secretRef", Object(&LOCAL_OBJECT_REFERENCE)).pointer(),
    field("initiatorName", Text).pointer(),
]);

pub(in crate::legacy) static NFS_VOLUME_SOURCE: Shape = Shape(&[
    field("server", Text).required(),
    field("path", Text).required(),
    field("readOnly", Bool),
]);

pub(in crate::legacy) static GIT_REPO_VOLUME_SOURCE: Shape = Shape(&[
    field("repository", Text).required(),
    field("revision", Text),
    field("directory", Text),
]);

pub(in crate::legacy) static AWS_ELASTIC_BLOCK_STORE_VOLUME_SOURCE: Shape = Shape(&[
    field("volumeID", Text).required(),
    field("fsType", Text),
    field("partition", INT32),
    field("readOnly", Bool),
]);

pub(in crate::legacy) static GCE_PERSISTENT_DISK_VOLUME_SOURCE: Shape = Shape(&[
    field("pdName", Text).required(),
    field("fsType", Text),
    field("partition", INT32),
    field("readOnly", Bool),
]);

pub(in crate::legacy) static EMPTY_DIR_VOLUME_SOURCE: Shape =
    Shape(&[field("medium", Text), field("sizeLimit", Quantity).pointer()]);

pub(in crate::legacy) static HOST_PATH_VOLUME_SOURCE: Shape = Shape(&[
    field("path", Text).required(),
    field("type", Text).pointer().in_pod("\"\""),
]);
