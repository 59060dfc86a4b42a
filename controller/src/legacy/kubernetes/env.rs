//! Environment variables and what they refer to.

use super::super::schema::Kind::{Bool, Object, Quantity, Text};
use super::super::schema::{Shape, field};

pub(in crate::legacy) static ENV_FROM_SOURCE: Shape = Shape(&[
    field("prefix", Text),
    field("configMapRef", Object(&CONFIG_MAP_ENV_SOURCE)).pointer(),
    field("secretRef", Object(&SECRET_ENV_SOURCE)).pointer(),
]);

pub(in crate::legacy) static SECRET_ENV_SOURCE: Shape =
    Shape(&[field("name", Text).default("\"\""), field("optional", Bool).pointer()]);

pub(in crate::legacy) static CONFIG_MAP_ENV_SOURCE: Shape =
    Shape(&[field("name", Text).default("\"\""), field("optional", Bool).pointer()]);

pub(in crate::legacy) static ENV_VAR: Shape = Shape(&[
    field("name", Text).required(),
    field("value", Text),
    field("valueFrom", Object(&ENV_VAR_SOURCE)).pointer(),
]);

pub(in crate::legacy) static ENV_VAR_SOURCE: Shape = Shape(&[
    field("fieldRef", Object(&OBJECT_FIELD_SELECTOR)).pointer(),
    field("resourceFieldRef", Object(&RESOURCE_FIELD_SELECTOR)).pointer(),
    field("configMapKeyRef", Object(&CONFIG_MAP_KEY_SELECTOR)).pointer(),
    field("secretKeyRef", Object(&SECRET_KEY_SELECTOR)).pointer(),
    field("fileKeyRef", Object(&FILE_KEY_SELECTOR)).pointer(),
]);

pub(in crate::legacy) static FILE_KEY_SELECTOR: Shape = Shape(&[
    field("volumeName", Text).required(),
    field("path", Text).required(),
    field("key", Text).required(),
    field("optional", Bool).pointer().default("false"),
]);

pub(in crate::legacy) static SECRET_KEY_SELECTOR: Shape = Shape(&[
    field("name", Text).default("\"\""),
    field("key", Text).required(),
    field("optional", Bool).pointer(),
]);

pub(in crate::legacy) static CONFIG_MAP_KEY_SELECTOR: Shape = Shape(&[
    field("name", Text).default("\"\""),
    field("key", Text).required(),
    field("optional", Bool).pointer(),
]);

pub(in crate::legacy) static LOCAL_OBJECT_REFERENCE: Shape = Shape(&[field("name", Text).default("\"\"")]);

pub(in crate::legacy) static RESOURCE_FIELD_SELECTOR: Shape = Shape(&[
    field("containerName", Text),
    field("resource", Text).required(),
    field("divisor", Quantity).in_pod("\"0\""),
]);

pub(in crate::legacy) static OBJECT_FIELD_SELECTOR: Shape = Shape(&[
    field("apiVersion", Text).in_pod("\"v1\""),
    field("fieldPath", Text).required(),
]);
