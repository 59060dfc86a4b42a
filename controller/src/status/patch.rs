//! What has to be written.

use serde_json::{Map, Value, json};

/// The JSON merge patch of a custom resource, `{"status": ...}`, that makes the status `live` (null where there is
/// none) into `wanted`; `None` where nothing differs. Lists are sent whole.
///
/// A zero differs from nothing: the Go operator leaves zeros out, so each of them is written once.
pub fn patch(live: &Value, wanted: &Value) -> Option<Value> {
    difference(live, wanted).map(|status| json!({"status": status}))
}

fn difference(live: &Value, wanted: &Value) -> Option<Value> {
    let (Value::Object(live), Value::Object(wanted)) = (live, wanted) else {
        return (live != wanted).then(|| wanted.clone());
    };
    let mut patch = Map::new();
    for (name, wanted) in wanted {
        let live = live.get(name).unwrap_or(&Value::Null);
        patch.extend(difference(live, wanted).map(|difference| (name.clone(), difference)));
    }
    let gone = live
        .iter()
        .filter(|(name, live)| !live.is_null() && !wanted.contains_key(*name));
    patch.extend(gone.map(|(name, _)| (name.clone(), Value::Null)));
    (!patch.is_empty()).then_some(Value::Object(patch))
}
