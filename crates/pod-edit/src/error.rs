//! Why an edit was refused.

use serde_json::Value;

/// How much of an offending value is quoted, in bytes.
const QUOTED: usize = 80;

/// An edit that could not be made. The Pod is as it was before.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: found {found}, expected {expected}")]
pub struct EditError {
    /// Where, as a field path: `spec.containers[0].args`.
    pub path: String,
    /// What stands there now. Quotes at most 80 bytes of the Pod.
    pub found: String,
    /// What the edit needs to find there.
    pub expected: &'static str,
    /// Whether a member has a type that it has in no Pod, rather than a content that stands in the way.
    pub malformed: bool,
}

impl EditError {
    pub(crate) fn new(path: impl Into<String>, found: impl Into<String>, expected: &'static str) -> Self {
        Self {
            path: path.into(),
            found: found.into(),
            expected,
            malformed: false,
        }
    }

    /// For a member of the wrong type.
    pub(crate) fn unexpected(path: impl Into<String>, found: &Value, expected: &'static str) -> Self {
        Self {
            malformed: true,
            ..Self::new(path, describe(found), expected)
        }
    }
}

/// A value in a few words: its type, and its text where that is short.
pub(crate) fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(b) => format!("the boolean {b}"),
        Value::Number(n) => format!("the number {n}"),
        Value::String(s) => format!("the string {}", quote(s)),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

/// `"text"`, shortened on a character boundary.
pub(crate) fn quote(text: &str) -> String {
    let mut end = text.len().min(QUOTED);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let shown = text.get(..end).unwrap_or_default();
    let more = if end < text.len() { "..." } else { "" };
    format!("\"{shown}{more}\"")
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn says_what_where_and_what_was_expected() {
        let error = EditError::unexpected("spec.volumes", &Value::String("x".into()), "a list");
        assert_eq!(
            error.to_string(),
            "spec.volumes: found the string \"x\", expected a list"
        );
    }

    #[test]
    fn shortens_long_text_on_a_character_boundary() {
        let quoted = quote(&"ä".repeat(100));
        assert_eq!(quoted, format!("\"{}...\"", "ä".repeat(40)));
        let odd = quote(&format!("a{}", "ä".repeat(100)));
        assert_eq!(odd, format!("\"a{}...\"", "ä".repeat(39)));
    }
}
