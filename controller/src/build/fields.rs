//! Fields as Kubernetes wants them written.

use lmcache_api::{DEFAULT_REPOSITORY, ImageSpec, LocalObjectReference, PullPolicy};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Without members that are null, at any depth: an explicit null counts as absent, and builders write null for what is
/// not set. Members of lists stay where they are.
pub(super) fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let kept = members.into_iter().filter(|(_, member)| !member.is_null());
            Value::Object(kept.map(|(key, member)| (key, without_nulls(member))).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(without_nulls).collect()),
        other => other,
    }
}

/// A text; null if it is absent or empty.
pub(super) fn text(text: Option<&str>) -> Value {
    json!(text.filter(|text| !text.is_empty()))
}

/// A map of texts; null if it is absent or empty.
pub(super) fn map(map: Option<&BTreeMap<String, String>>) -> Value {
    json!(map.filter(|map| !map.is_empty()))
}

/// A list; null if it is empty.
pub(super) fn list(items: Vec<Value>) -> Value {
    json!(Some(items).filter(|items| !items.is_empty()))
}

/// What the user gave as it stands; null if it is an empty list.
pub(super) fn given(items: Option<&Vec<Value>>) -> Value {
    list(items.cloned().unwrap_or_default())
}

/// The image of a container.
pub(super) fn image(image: Option<&ImageSpec>) -> String {
    image.cloned().unwrap_or_default().reference(DEFAULT_REPOSITORY)
}

/// When it is pulled.
pub(super) fn pull_policy(image: Option<&ImageSpec>) -> &'static str {
    let policy = image.and_then(|image| image.pull_policy);
    policy.unwrap_or(PullPolicy::IfNotPresent).as_str()
}

/// Pull secrets, each once: server-side apply takes no list that names one twice.
pub(super) fn pull_secrets(secrets: Option<&Vec<LocalObjectReference>>) -> Value {
    let mut names: Vec<&str> = Vec::new();
    for name in secrets.into_iter().flatten().filter_map(LocalObjectReference::name) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    list(names.into_iter().map(|name| json!({"name": name})).collect())
}

/// The first of `base`, `base-2`, `base-3`, ... that no item is called.
pub(super) fn free_name(base: &str, items: Option<&Vec<Value>>) -> String {
    let taken = |name: &str| {
        let mut items = items.into_iter().flatten();
        items.any(|item| item.get("name").is_some_and(|found| found == name))
    };
    let numbered = (2_u32..).map(|number| format!("{base}-{number}"));
    let mut names = std::iter::once(base.to_owned()).chain(numbered);
    names.find(|name| !taken(name)).unwrap_or_default()
}

/// An object's members; none if it is no object.
pub(super) fn members(value: Option<&Value>) -> Map<String, Value> {
    value.and_then(Value::as_object).cloned().unwrap_or_default()
}
