//! Who owns which field of a live object.

use serde_json::{Map, Value, json};

use super::lists;
use crate::live::{Child, FIELD_MANAGER};

/// Whether a field manager owns a field that is not in `wanted`: the next apply takes it away. `owned` is `fieldsV1`.
pub(super) fn has_unwanted(owned: &Value, wanted: &Value) -> bool {
    let Some(owned) = owned.as_object() else {
        return false;
    };
    owned.iter().any(|(step, below)| {
        let (kind, name) = step.split_once(':').unwrap_or((step, ""));
        match kind {
            "f" => match wanted.get(name) {
                Some(member) => has_unwanted(below, member),
                None => true,
            },
            "k" => match item(name, wanted) {
                Some(item) => has_unwanted(below, item),
                None => true,
            },
            "v" => {
                let value = serde_json::from_str::<Value>(name).unwrap_or_default();
                !wanted.as_array().is_some_and(|items| items.contains(&value))
            }
            // `.` is the object itself.
            _ => false,
        }
    })
}

/// The item of a list that has this key, a JSON object.
fn item<'a>(key: &str, list: &'a Value) -> Option<&'a Value> {
    let key: Map<String, Value> = serde_json::from_str(key).ok()?;
    let names: Vec<&str> = key.keys().map(String::as_str).collect();
    lists::find(&names, list.as_array()?, &key)
}

/// The JSON patch that hands everything that the Go operator wrote over to this controller's applies, `None` where there
/// is nothing to hand over. Without it, a field that is no longer wanted would stay for ever, since its former owner never
/// gives it up.
///
/// The patch holds only for the version that it was made from: whoever changed the object in between makes it fail.
pub(super) fn takeover(live: &Child) -> Option<Value> {
    let inherited = live.inherited()?;
    let entry = |index: usize| format!("/metadata/managedFields/{index}");
    let mut patch = vec![json!({"op": "test", "path": "/metadata/resourceVersion", "value": live.resource_version()})];
    match live.applied() {
        Some(mut applied) => {
            unite(&mut applied.fields, &inherited.fields);
            let path = format!("{}/fieldsV1", entry(applied.index));
            patch.push(json!({"op": "replace", "path": path, "value": applied.fields}));
            patch.push(json!({"op": "remove", "path": entry(inherited.index)}));
        }
        None => {
            let path = entry(inherited.index);
            patch.push(json!({"op": "replace", "path": format!("{path}/manager"), "value": FIELD_MANAGER}));
            patch.push(json!({"op": "replace", "path": format!("{path}/operation"), "value": "Apply"}));
        }
    }
    Some(Value::Array(patch))
}

/// Adds the fields of one set to another.
fn unite(fields: &mut Value, more: &Value) {
    if let (Some(fields), Some(more)) = (fields.as_object_mut(), more.as_object()) {
        for (step, below) in more {
            match fields.get_mut(step) {
                Some(own) => unite(own, below),
                None => drop(fields.insert(step.clone(), below.clone())),
            }
        }
    }
}
