//! Status objects: only the schema needs them, the decoder reads no status.

use super::{Bool, Field, INT32, Int64, Object, Objects, Shape, Text, Type, Word, field};

const fn keyed(field: Field, keywords: &'static str) -> Field {
    Field { keywords, ..field }
}

const INT64: Type = Int64(i64::MIN);
const CONDITIONS: Field = keyed(
    field("conditions", Objects(&CONDITION)),
    r#"{"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["type"]}"#,
);

pub(crate) static ENGINE_STATUS: Shape = Shape::new(&[
    field("phase", Text),
    field("observedGeneration", INT64),
    field("desiredInstances", INT32),
    field("readyInstances", INT32),
    field("endpoints", Objects(&ENDPOINT)),
    field("clients", Object(&CLIENTS)),
    CONDITIONS,
]);

pub(crate) static ENDPOINT: Shape = Shape::new(&[
    field("nodeName", Text).required(),
    field("hostIP", Text).required(),
    field("podName", Text).required(),
    field("port", INT32).required(),
    field("metricsPort", INT32).required(),
    field("ready", Bool).required(),
]);

pub(crate) static CLIENTS: Shape = Shape::new(&[
    field("wired", INT32),
    field("skipped", INT32),
    field("drifted", INT32),
    field("uncovered", INT32),
]);

pub(crate) static COORDINATOR_STATUS: Shape = Shape::new(&[
    field("phase", Text),
    field("observedGeneration", INT64),
    field("replicas", INT32),
    field("readyReplicas", INT32),
    field("endpoint", Text),
    CONDITIONS,
]);

pub(crate) static CONDITION: Shape = Shape::new(&[
    keyed(
        field("type", Text),
        r#"{"maxLength":316,"pattern":"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"}"#,
    )
    .required(),
    field("status", Word(&["True", "False", "Unknown"])).required(),
    field("observedGeneration", Int64(0)),
    keyed(field("lastTransitionTime", Text), r#"{"format":"date-time"}"#).required(),
    keyed(
        field("reason", Text),
        r#"{"minLength":1,"maxLength":1024,"pattern":"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"}"#,
    )
    .required(),
    keyed(field("message", Text), r#"{"maxLength":32768}"#).required(),
]);
