//! What Pods of engines and of coordinators have in common.

use serde_json::{Map, Value, json};

use super::kubernetes::{
    AFFINITY, ENV_VAR, LOCAL_OBJECT_REFERENCE, RESOURCE_REQUIREMENTS, TOLERATION, VOLUME, VOLUME_MOUNT,
};
use super::resource::Resource;
use super::{State, go};

/// Sets a member unless there is nothing to set: `None`, an empty map or list.
pub(super) fn set(members: &mut Map<String, Value>, name: &str, value: Option<Value>) {
    let empty = |value: &Value| match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(entries) => entries.is_empty(),
        _ => false,
    };
    if let Some(value) = value.filter(|value| !empty(value)) {
        members.insert(name.to_owned(), value);
    }
}

/// Metadata of the template: `podLabels` over the standard labels, and since the newest state the selector's over both.
pub(super) fn metadata(resource: &Resource) -> Value {
    let mut labels = resource.labels();
    labels.extend(resource.entries("/podLabels"));
    if resource.state >= State::Newest {
        labels.extend(resource.selector_labels());
    }
    let mut metadata = Map::new();
    set(&mut metadata, "labels", Some(Value::Object(labels)));
    set(
        &mut metadata,
        "annotations",
        Some(Value::Object(resource.entries("/podAnnotations"))),
    );
    Value::Object(metadata)
}

/// The fields of the Pod that come from the spec as they are.
pub(super) fn spec(resource: &Resource) -> Map<String, Value> {
    let mut pod = Map::new();
    for name in ["serviceAccountName", "priorityClassName"] {
        let text = resource.text(&format!("/{name}"), "");
        set(&mut pod, name, (!text.is_empty()).then(|| json!(text)));
    }
    set(&mut pod, "nodeSelector", Some(Value::Object(resource.node_selector())));
    if let Some(affinity) = resource.at("/affinity") {
        // A pointer: sent as `{}` when it is empty.
        pod.insert("affinity".to_owned(), go::object(&AFFINITY, affinity));
    }
    set(
        &mut pod,
        "tolerations",
        go::objects(&TOLERATION, resource.at("/tolerations")),
    );
    let secrets = resource.at("/imagePullSecrets");
    set(
        &mut pod,
        "imagePullSecrets",
        go::objects(&LOCAL_OBJECT_REFERENCE, secrets),
    );
    pod
}

/// Image, pull policy, command and arguments of the one container.
pub(super) fn container(resource: &Resource, name: &str, subcommand: &str, args: Vec<String>) -> Map<String, Value> {
    let repository = resource.text("/image/repository", "lmcache/vllm-openai");
    let tag = resource.text("/image/tag", "latest");
    let policy = match resource.text("/image/pullPolicy", "IfNotPresent") {
        policy @ ("Always" | "Never") => policy,
        _ => "IfNotPresent",
    };
    Map::from_iter([
        ("name".to_owned(), json!(name)),
        ("image".to_owned(), json!(format!("{repository}:{tag}"))),
        ("imagePullPolicy".to_owned(), json!(policy)),
        ("command".to_owned(), json!(["/opt/venv/bin/lmcache", subcommand])),
        ("args".to_owned(), json!(args)),
    ])
}

/// The user's environment, appended to the operator's.
pub(super) fn env(resource: &Resource, mut own: Vec<Value>) -> Value {
    let user = go::objects(&ENV_VAR, resource.at("/env"));
    own.extend(user.and_then(|user| user.as_array().cloned()).unwrap_or_default());
    Value::Array(own)
}

pub(super) fn log_level(resource: &Resource) -> Value {
    json!({"name": "LMCACHE_LOG_LEVEL", "value": resource.text("/logLevel", "INFO")})
}

/// `resourceOverrides`, verbatim.
pub(super) fn resource_overrides(resource: &Resource) -> Option<Value> {
    let overrides = resource.at("/resourceOverrides")?;
    Some(go::object(&RESOURCE_REQUIREMENTS, overrides))
}

/// The user's volumes.
pub(super) fn volumes(resource: &Resource) -> Vec<Value> {
    list(go::objects(&VOLUME, resource.at("/volumes")))
}

/// The user's mounts.
pub(super) fn volume_mounts(resource: &Resource) -> Vec<Value> {
    list(go::objects(&VOLUME_MOUNT, resource.at("/volumeMounts")))
}

fn list(value: Option<Value>) -> Vec<Value> {
    match value {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    }
}

/// A port of a container.
pub(super) fn port(name: &str, number: i64) -> Value {
    json!({"name": name, "containerPort": number, "protocol": "TCP"})
}
