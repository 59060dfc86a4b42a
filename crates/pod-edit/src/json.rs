//! Access to members of JSON objects: lenient for reading, strict for editing.
//!
//! An API server reads an absent member, a `null` and an empty list or map alike; so does everything here.

use serde_json::{Map, Value};

use crate::EditError;

/// A member that is there and not `null`.
pub(crate) fn member<'a>(object: &'a Value, key: &str) -> Option<&'a Value> {
    object.get(key).filter(|value| !value.is_null())
}

/// A list member for reading; empty when it is absent or no list.
pub(crate) fn list<'a>(object: &'a Value, key: &str) -> &'a [Value] {
    object.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// A text member for reading.
pub(crate) fn text<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object.get(key).and_then(Value::as_str)
}

/// A list member before an edit: absent and `null` are empty, any other type is an error.
pub(crate) fn checked_list<'a>(object: &'a Value, key: &str, path: &str) -> Result<&'a [Value], EditError> {
    match object.get(key) {
        None | Some(Value::Null) => Ok(&[]),
        Some(Value::Array(items)) => Ok(items),
        Some(other) => Err(EditError::unexpected(format!("{path}.{key}"), other, "a list")),
    }
}

/// The members of something that has to be an object.
pub(crate) fn object_mut<'a>(value: &'a mut Value, path: &str) -> Result<&'a mut Map<String, Value>, EditError> {
    match value {
        Value::Object(members) => Ok(members),
        other => Err(EditError::unexpected(path, other, "an object")),
    }
}

/// An object member for editing, created when it is absent or `null`.
pub(crate) fn object_member_mut<'a>(
    object: &'a mut Map<String, Value>,
    key: &str,
    path: &str,
) -> Result<&'a mut Map<String, Value>, EditError> {
    let value = object.entry(key).or_insert(Value::Null);
    if value.is_null() {
        *value = Value::Object(Map::new());
    }
    object_mut(value, path)
}

/// A list member for editing, created when it is absent or `null`.
pub(crate) fn list_member_mut<'a>(
    object: &'a mut Map<String, Value>,
    key: &str,
    path: &str,
) -> Result<&'a mut Vec<Value>, EditError> {
    let value = object.entry(key).or_insert(Value::Null);
    if value.is_null() {
        *value = Value::Array(Vec::new());
    }
    match value {
        Value::Array(items) => Ok(items),
        other => Err(EditError::unexpected(format!("{path}.{key}"), other, "a list")),
    }
}

/// The Pod's `spec`. Unlike `metadata` it is never created: a Pod without one has no containers to wire.
pub(crate) fn spec_mut(pod: &mut Value) -> Result<&mut Map<String, Value>, EditError> {
    match pod.get_mut("spec") {
        Some(spec) => object_mut(spec, "spec"),
        None => Err(EditError::new("spec", "nothing", "an object")),
    }
}
