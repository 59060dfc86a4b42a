//! Reading JSON of which nothing is certain.

use serde_json::Value;

/// The text at a JSON pointer; empty if there is none.
pub(super) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Likewise, `None` if there is none or it is empty.
pub(super) fn some_text(object: &Value, pointer: &str) -> Option<String> {
    Some(text(object, pointer))
        .filter(|text| !text.is_empty())
        .map(str::to_owned)
}

/// The whole number at a JSON pointer, 0 if there is none.
pub(super) fn number(object: &Value, pointer: &str) -> i64 {
    object.pointer(pointer).and_then(Value::as_i64).unwrap_or_default()
}

/// The items of the list at a JSON pointer.
pub(super) fn items<'a>(object: &'a Value, pointer: &str) -> impl Iterator<Item = &'a Value> {
    object.pointer(pointer).and_then(Value::as_array).into_iter().flatten()
}
