//! How one object differs from another, for people.

use serde_json::{Map, Value};

use super::lists;
use super::settled::{is_amount, is_same_amount};

/// Paths at which `live` is not what `wanted` says; empty if it is. What `live` has beyond that is left out: the API
/// server's defaults, and what others added.
///
/// Amounts are compared by value, and a zero value counts as none.
pub(super) fn lacking(wanted: &Value, live: &Value) -> Vec<String> {
    let mut paths = Vec::new();
    compare("", "", wanted, live, &mut paths);
    paths
}

fn compare(path: &str, field: &str, wanted: &Value, live: &Value, paths: &mut Vec<String>) {
    match (wanted, live) {
        // The API server takes selectors as one value: an entry too many is a difference.
        (Value::Object(wanted), Value::Object(live)) if is_atomic_map(field) && wanted.len() != live.len() => {
            paths.push(path.to_owned());
        }
        (Value::Object(wanted), Value::Object(live)) => members(path, field, wanted, live, paths),
        (Value::Array(wanted), Value::Array(live)) => items(path, field, wanted, live, paths),
        _ if wanted == live || is_amount(field) && is_same_amount(wanted, live) => {}
        _ => paths.push(path.to_owned()),
    }
}

fn members(path: &str, field: &str, wanted: &Map<String, Value>, live: &Map<String, Value>, paths: &mut Vec<String>) {
    for (name, wanted) in wanted {
        let path = join(path, name);
        match live.get(name) {
            Some(live) => compare(&path, if is_amount(field) { field } else { name }, wanted, live, paths),
            None if is_zero(wanted) => {}
            None => paths.push(path),
        }
    }
}

fn items(path: &str, field: &str, wanted: &[Value], live: &[Value], paths: &mut Vec<String>) {
    let keys = lists::keys(field);
    if keys.is_empty() {
        let same = wanted.len() == live.len()
            && wanted
                .iter()
                .zip(live)
                .all(|(wanted, live)| lacking(wanted, live).is_empty());
        if !same {
            paths.push(path.to_owned());
        }
        return;
    }
    for wanted in wanted {
        let key = lists::key_of(keys, wanted);
        let name = key
            .as_ref()
            .and_then(|key| key.values().next())
            .map_or_else(String::new, label);
        let path = format!("{path}[{name}]");
        match key.and_then(|key| lists::find(keys, live, &key)) {
            Some(live) => compare(&path, "", wanted, live, paths),
            None => paths.push(path),
        }
    }
}

fn label(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

/// Maps that are one value to the API server.
fn is_atomic_map(field: &str) -> bool {
    matches!(field, "selector" | "matchLabels" | "nodeSelector")
}

/// What says no more than its absence, in nearly every field.
fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.values().all(is_zero),
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::Bool(true) => false,
    }
}

/// What `live` has of the structure of `rendered`: what a server-side apply has to say so that it owns the fields of
/// `rendered` and changes no value of `live`.
pub(super) fn project(rendered: &Value, live: &Value) -> Value {
    project_field("", rendered, live)
}

fn project_field(field: &str, rendered: &Value, live: &Value) -> Value {
    match (rendered, live) {
        (Value::Object(rendered), Value::Object(live)) if !is_atomic_map(field) => {
            let members = rendered.iter();
            let kept = members
                .filter_map(|(name, rendered)| Some((name.clone(), project_field(name, rendered, live.get(name)?))));
            Value::Object(kept.collect())
        }
        (Value::Array(rendered), Value::Array(items)) if !lists::keys(field).is_empty() => {
            let keys = lists::keys(field);
            let kept = rendered.iter().filter_map(|rendered| {
                let key = lists::key_of(keys, rendered)?;
                let mut item = project_field("", rendered, lists::find(keys, items, &key)?);
                // Every key takes part, also the one that was left to its default.
                if let (Some(item), true) = (item.as_object_mut(), keys.contains(&"protocol")) {
                    item.extend(key);
                }
                Some(item)
            });
            Value::Array(kept.collect())
        }
        _ => live.clone(),
    }
}
