//! Volumes that come with a claim of their own.

use super::super::schema::Kind::{Object, Quantities, Text, Texts};
use super::super::schema::{PRUNED, Shape, field};
use super::scheduling::LABEL_SELECTOR;

pub(in crate::legacy) static EPHEMERAL_VOLUME_SOURCE: Shape =
    Shape(&[field("volumeClaimTemplate", Object(&PERSISTENT_VOLUME_CLAIM_TEMPLATE)).pointer()]);

pub(in crate::legacy) static PERSISTENT_VOLUME_CLAIM_TEMPLATE: Shape = Shape(&[
    field("metadata", Object(&PRUNED)),
    field("spec", Object(&PERSISTENT_VOLUME_CLAIM_SPEC)).required(),
]);

pub(in crate::legacy) static PERSISTENT_VOLUME_CLAIM_SPEC: Shape = Shape(&[
    field("accessModes", Texts),
    field("selector", Object(&LABEL_SELECTOR)).pointer(),
    field("resources", Object(&VOLUME_RESOURCE_REQUIREMENTS)),
    field("volumeName", Text),
    field("storageClassName", Text).pointer(),
    field("volumeMode", Text).pointer().in_pod("\"Filesystem\""),
    field("dataSource", Object(&TYPED_LOCAL_OBJECT_REFERENCE)).pointer(),
    field("dataSourceRef", Object(&TYPED_OBJECT_REFERENCE)).pointer(),
    field("volumeAttributesClassName", Text).pointer(),
]);

pub(in crate::legacy) static TYPED_OBJECT_REFERENCE: Shape = Shape(&[
    field("apiGroup", Text).pointer(),
    field("kind", Text).required(),
    field("name", Text).required(),
    field("namespace", Text).pointer(),
]);

pub(in crate::legacy) static TYPED_LOCAL_OBJECT_REFERENCE: Shape = Shape(&[
    field("apiGroup", Text).pointer(),
    field("kind", Text).required(),
    field("name", Text).required(),
]);

pub(in crate::legacy) static VOLUME_RESOURCE_REQUIREMENTS: Shape =
    Shape(&[field("limits", Quantities), field("requests", Quantities)]);
