//! Volumes made of files: ConfigMaps, Secrets, the downward API, and projections of them.

use super::super::schema::Kind::{Bool, Object, Objects, Text, TextMap};
use super::super::schema::{INT32, INT64, Shape, field};
use super::env::{OBJECT_FIELD_SELECTOR, RESOURCE_FIELD_SELECTOR};
use super::scheduling::LABEL_SELECTOR;

pub(in crate::legacy) static PROJECTED_VOLUME_SOURCE: Shape = Shape(&[
    // No pointer, but sent in any case.
    field("sources", Objects(&VOLUME_PROJECTION)).pointer(),
    field("defaultMode", INT32).pointer().in_pod("420"),
]);

pub(in crate::legacy) static VOLUME_PROJECTION: Shape = Shape(&[
    field("secret", Object(&SECRET_PROJECTION)).pointer(),
    field("downwardAPI", Object(&DOWNWARD_API_PROJECTION)).pointer(),
    field("configMap", Object(&CONFIG_MAP_PROJECTION)).pointer(),
    field("serviceAccountToken", Object(&SERVICE_ACCOUNT_TOKEN_PROJECTION)).pointer(),
    field("clusterTrustBundle", Object(&CLUSTER_TRUST_BUNDLE_PROJECTION)).pointer(),
    field("podCertificate", Object(&POD_CERTIFICATE_PROJECTION)).pointer(),
]);

pub(in crate::legacy) static POD_CERTIFICATE_PROJECTION: Shape = Shape(&[
    field("signerName", Text).required(),
    field("keyType", Text).required(),
    field("maxExpirationSeconds", INT32).pointer().in_pod("86400"),
    field("credentialBundlePath", Text),
    field("keyPath", Text),
    field("certificateChainPath", Text),
    field("userAnnotations", TextMap),
]);

pub(in crate::legacy) static CLUSTER_TRUST_BUNDLE_PROJECTION: Shape = Shape(&[
    field("name", Text).pointer(),
    field("signerName", Text).pointer(),
    field("labelSelector", Object(&LABEL_SELECTOR)).pointer(),
    field("optional", Bool).pointer(),
    field("path", Text).required(),
]);

pub(in crate::legacy) static SERVICE_ACCOUNT_TOKEN_PROJECTION: Shape = Shape(&[
    field("audience", Text),
    field("expirationSeconds", INT64).pointer().in_pod("3600"),
    field("path", Text).required(),
]);

pub(in crate::legacy) static CONFIG_MAP_PROJECTION: Shape = Shape(&[
    field("name", Text).default("\"\""),
    field("items", Objects(&KEY_TO_PATH)),
    field("optional", Bool).pointer(),
]);

pub(in crate::legacy) static DOWNWARD_API_PROJECTION: Shape =
    Shape(&[field("items", Objects(&DOWNWARD_API_VOLUME_FILE))]);

pub(in crate::legacy) static SECRET_PROJECTION: Shape = Shape(&[
    field("name", Text).default("\"\""),
    field("items", Objects(&KEY_TO_PATH)),
    field("optional", Bool).pointer(),
]);

pub(in crate::legacy) static DOWNWARD_API_VOLUME_SOURCE: Shape = Shape(&[
    field("items", Objects(&DOWNWARD_API_VOLUME_FILE)),
    field("defaultMode", INT32).pointer().in_pod("420"),
]);

pub(in crate::legacy) static CONFIG_MAP_VOLUME_SOURCE: Shape = Shape(&[
    field("name", Text).default("\"\""),
    field("items", Objects(&KEY_TO_PATH)),
    field("defaultMode", INT32).pointer().in_pod("420"),
    field("optional", Bool).pointer(),
]);

pub(in crate::legacy) static SECRET_VOLUME_SOURCE: Shape = Shape(&[
    field("secretName", Text),
    field("items", Objects(&KEY_TO_PATH)),
    field("defaultMode", INT32).pointer().in_pod("420"),
    field("optional", Bool).pointer(),
]);

pub(in crate::legacy) static DOWNWARD_API_VOLUME_FILE: Shape = Shape(&[
    field("path", Text).required(),
    field("fieldRef", Object(&OBJECT_FIELD_SELECTOR)).pointer(),
    field("resourceFieldRef", Object(&RESOURCE_FIELD_SELECTOR)).pointer(),
    field("mode", INT32).pointer(),
]);

pub(in crate::legacy) static KEY_TO_PATH: Shape = Shape(&[
    field("key", Text).required(),
    field("path", Text).required(),
    field("mode", INT32).pointer(),
]);
