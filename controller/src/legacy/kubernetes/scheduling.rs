//! Where Pods may run: affinity and tolerations.

use super::super::schema::Kind::{Object, Objects, Text, TextMap, Texts};
use super::super::schema::{INT32, INT64, Shape, field};

pub(in crate::legacy) static TOLERATION: Shape = Shape(&[
    field("key", Text),
    field("operator", Text),
    field("value", Text),
    field("effect", Text),
    field("tolerationSeconds", INT64).pointer(),
]);

pub(in crate::legacy) static AFFINITY: Shape = Shape(&[
    field("nodeAffinity", Object(&NODE_AFFINITY)).pointer(),
    field("podAffinity", Object(&POD_AFFINITY)).pointer(),
    field("podAntiAffinity", Object(&POD_ANTI_AFFINITY)).pointer(),
]);

pub(in crate::legacy) static POD_ANTI_AFFINITY: Shape = Shape(&[
    field(
        "requiredDuringSchedulingIgnoredDuringExecution",
        Objects(&POD_AFFINITY_TERM),
    ),
    field(
        "preferredDuringSchedulingIgnoredDuringExecution",
        Objects(&WEIGHTED_POD_AFFINITY_TERM),
    ),
]);

pub(in crate::legacy) static POD_AFFINITY: Shape = Shape(&[
    field(
        "requiredDuringSchedulingIgnoredDuringExecution",
        Objects(&POD_AFFINITY_TERM),
    ),
    field(
        "preferredDuringSchedulingIgnoredDuringExecution",
        Objects(&WEIGHTED_POD_AFFINITY_TERM),
    ),
]);

pub(in crate::legacy) static WEIGHTED_POD_AFFINITY_TERM: Shape = Shape(&[
    field("weight", INT32).required(),
    field("podAffinityTerm", Object(&POD_AFFINITY_TERM)).required(),
]);

pub(in crate::legacy) static POD_AFFINITY_TERM: Shape = Shape(&[
    field("labelSelector", Object(&LABEL_SELECTOR)).pointer(),
    field("namespaces", Texts),
    field("topologyKey", Text).required(),
    field("namespaceSelector", Object(&LABEL_SELECTOR)).pointer(),
    field("matchLabelKeys", Texts),
    field("mismatchLabelKeys", Texts),
]);

pub(in crate::legacy) static LABEL_SELECTOR: Shape = Shape(&[
    field("matchLabels", TextMap),
    field("matchExpressions", Objects(&LABEL_SELECTOR_REQUIREMENT)),
]);

pub(in crate::legacy) static LABEL_SELECTOR_REQUIREMENT: Shape = Shape(&[
    field("key", Text).required(),
    field("operator", Text).required(),
    field("values", Texts),
]);

pub(in crate::legacy) static NODE_AFFINITY: Shape = Shape(&[
    field("requiredDuringSchedulingIgnoredDuringExecution", Object(&NODE_SELECTOR)).pointer(),
    field(
        "preferredDuringSchedulingIgnoredDuringExecution",
        Objects(&PREFERRED_SCHEDULING_TERM),
    ),
]);

pub(in crate::legacy) static PREFERRED_SCHEDULING_TERM: Shape = Shape(&[
    field("weight", INT32).required(),
    field("preference", Object(&NODE_SELECTOR_TERM)).required(),
]);

pub(in crate::legacy) static NODE_SELECTOR: Shape =
    Shape(&[field("nodeSelectorTerms", Objects(&NODE_SELECTOR_TERM)).required()]);

pub(in crate::legacy) static NODE_SELECTOR_TERM: Shape = Shape(&[
    field("matchExpressions", Objects(&NODE_SELECTOR_REQUIREMENT)),
    field("matchFields", Objects(&NODE_SELECTOR_REQUIREMENT)),
]);

pub(in crate::legacy) static NODE_SELECTOR_REQUIREMENT: Shape = Shape(&[
    field("key", Text).required(),
    field("operator", Text).required(),
    field("values", Texts),
]);
