//! Handing fields of a live object over.

use serde_json::{Value, json};

use crate::live::{Child, FIELD_MANAGER};

/// The JSON patch that hands everything that the Go operator wrote over to this controller's applies, `None` where there
/// is nothing to hand over. Without it, a field that is no longer wanted would stay for ever, since its former owner never
/// gives it up.
///
/// The patch holds only for the version that it was made from: whoever changed the object in between makes it fail.
pub(super) fn takeover(live: &Child) -> Option<Value> {
    let inherited = live.inherited()?;
    // Many operators have a program of that name. Once this is done, one that keeps a label or annotation here is not
    // the Go operator, which writes contents, and is left what is its own.
    let writes_contents = ["f:spec", "f:data"]
        .iter()
        .any(|step| inherited.fields.get(step).is_some());
    if live.applied().is_some() && !writes_contents {
        return None;
    }
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
