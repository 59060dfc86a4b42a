//! Answers to requests, and JSON patches.

use serde_json::{Value, json};

use super::call::{Call, Verb};
use super::store::{Id, Refusal, Store};

/// Does what a request asks for.
pub fn serve(store: &mut Store, call: &Call) -> Result<Value, Refusal> {
    let id: Id = (call.resource.clone(), call.namespace.clone(), call.name.clone());
    if store.not_served.iter().any(|plural| *plural == call.resource) {
        return Err((404, "404 page not found".to_owned()));
    }
    match call.verb {
        _ if call.is_event() => Ok(call.body.clone()),
        Verb::Get => store.get(&id).cloned(),
        Verb::Post => Err((405, "nothing but Events is created like this".to_owned())),
        Verb::Apply => store.apply(id, &call.body, &call.field_manager, false),
        Verb::ForceApply => store.apply(id, &call.body, &call.field_manager, true),
        Verb::JsonPatch => {
            let mut patched = store.get(&id)?.clone();
            json_patch(&mut patched, &call.body)?;
            store.edit(&id, &call.field_manager, &call.subresource, |object| *object = patched)
        }
        Verb::MergePatch => {
            let uid = &call.body["metadata"]["uid"];
            if !uid.is_null() && *uid != store.get(&id)?["metadata"]["uid"] {
                return Err((422, "metadata.uid: Invalid value: field is immutable".to_owned()));
            }
            let version = &call.body["metadata"]["resourceVersion"];
            if !version.is_null() && *version != store.get(&id)?["metadata"]["resourceVersion"] {
                return Err((
                    409,
                    "the object has been modified; please apply your changes to the latest version".to_owned(),
                ));
            }
            let mut patch = call.body.clone();
            if let Some(metadata) = patch["metadata"].as_object_mut() {
                metadata.shift_remove("resourceVersion");
            }
            store.edit(&id, &call.field_manager, &call.subresource, |object| {
                merge_patch(object, &patch);
            })
        }
        Verb::Delete => {
            let uid = call.body["preconditions"]["uid"].as_str();
            store.delete(&id, uid)?;
            Ok(json!({"apiVersion": "v1", "kind": "Status", "status": "Success"}))
        }
    }
}

/// RFC 7396.
fn merge_patch(object: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *object = patch.clone();
        return;
    };
    if !object.is_object() {
        *object = json!({});
    }
    let object = object.as_object_mut().unwrap();
    for (name, value) in patch {
        if value.is_null() {
            object.shift_remove(name);
        } else {
            merge_patch(object.entry(name.clone()).or_insert(Value::Null), value);
        }
    }
}

/// RFC 6902, as far as `test`, `replace` and `remove` go.
fn json_patch(object: &mut Value, patch: &Value) -> Result<(), Refusal> {
    for operation in patch.as_array().unwrap() {
        let path = operation["path"].as_str().unwrap();
        let refused = |why: &str| (422, format!("the server rejected our request: {why}: {operation}"));
        match operation["op"].as_str().unwrap() {
            "test" if object.pointer(path) == Some(&operation["value"]) => {}
            "test" => return Err(refused("test failed")),
            "replace" => {
                let place = object.pointer_mut(path).ok_or_else(|| refused("no such path"))?;
                *place = operation["value"].clone();
            }
            "remove" => {
                let (around, last) = path.rsplit_once('/').unwrap();
                match object.pointer_mut(around) {
                    Some(Value::Array(items)) => drop(items.remove(last.parse().unwrap())),
                    Some(Value::Object(members)) => drop(members.shift_remove(last)),
                    _ => return Err(refused("no such path")),
                }
            }
            _ => return Err(refused("not known here")),
        }
    }
    Ok(())
}
