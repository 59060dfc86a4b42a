//! What a reader needs to see of an object.

use serde_json::{Map, Value};

/// Texts of JSON longer than this are shown indented.
const LINE: usize = 60;

/// Labels, annotations and `spec`; the kind unless it is the usual one, a Pod. `data` of objects that have it.
pub(super) fn reduced(object: &Value) -> Value {
    let mut out = Map::new();
    if let Some(kind) = object.get("kind").filter(|kind| *kind != "Pod") {
        out.insert("kind".to_owned(), kind.clone());
    }
    insert_metadata(object, &["labels", "annotations"], &mut out);
    for member in ["spec", "data"] {
        if let Some(value) = object.get(member) {
            out.insert(member.to_owned(), value.clone());
        }
    }
    readable(Value::Object(out))
}

/// The same with the name, for objects of a cluster.
pub(super) fn reduced_with_name(object: &Value) -> Value {
    let mut out = Map::new();
    if let Some(kind) = object.get("kind") {
        out.insert("kind".to_owned(), kind.clone());
    }
    insert_metadata(object, &["name", "namespace", "labels", "annotations"], &mut out);
    for member in ["spec", "data"] {
        if let Some(value) = object.get(member) {
            out.insert(member.to_owned(), value.clone());
        }
    }
    readable(Value::Object(out))
}

fn insert_metadata(object: &Value, members: &[&str], out: &mut Map<String, Value>) {
    let metadata: Map<String, Value> = members
        .iter()
        .filter_map(|&member| Some((member.to_owned(), object.get("metadata")?.get(member)?.clone())))
        .collect();
    if !metadata.is_empty() {
        out.insert("metadata".to_owned(), Value::Object(metadata));
    }
}

/// The same with long JSON texts, which vLLM takes in one argument, indented.
pub(super) fn readable(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(indented(text)),
        Value::Array(items) => items.into_iter().map(readable).collect(),
        Value::Object(members) => members
            .into_iter()
            .map(|(name, value)| (name, readable(value)))
            .collect(),
        other => other,
    }
}

fn indented(text: String) -> String {
    if text.len() <= LINE || text.contains('\n') || !text.starts_with(['{', '[']) {
        return text;
    }
    match serde_json::from_str::<Value>(&text) {
        Ok(json) => serde_json::to_string_pretty(&json).unwrap_or(text),
        Err(_) => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn leaves_out_what_is_beside_the_point() {
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod", "status": {},
            "metadata": {"generateName": "a-", "labels": {"b": "c"}}, "spec": {"containers": []},
        });
        assert_eq!(
            reduced(&pod),
            json!({"metadata": {"labels": {"b": "c"}}, "spec": {"containers": []}})
        );
        let engine = json!({"kind": "Engine", "metadata": {"name": "a", "uid": "u"}, "spec": {}});
        assert_eq!(reduced(&engine), json!({"kind": "Engine", "spec": {}}));
        assert_eq!(
            reduced_with_name(&engine),
            json!({"kind": "Engine", "metadata": {"name": "a"}, "spec": {}})
        );
    }

    #[test]
    fn only_long_json_is_indented() {
        let long = json!({"key": "x".repeat(LINE)}).to_string();
        let shown = readable(json!([long.clone(), "{\"a\":1}", "x".repeat(99), "{".repeat(99)]));
        assert_eq!(shown[0], format!("{{\n  \"key\": \"{}\"\n}}", "x".repeat(LINE)));
        assert_eq!((&shown[1], &shown[2]), (&json!("{\"a\":1}"), &json!("x".repeat(99))));
        assert_eq!(shown[3], "{".repeat(99));
    }
}
