//! The members of a JSON object, their values not yet read.

use serde::de::IgnoredAny;
use serde_json::{Deserializer, Value};
use std::borrow::Cow;

/// Members in their order, each value as the JSON text that stands there. What is no object has none: that is an answer
/// here, not an error.
///
/// serde_json skips the keys and values; only the signs between them are read here. (Its own `RawValue` brings along the
/// texts of all errors that typed reading could raise, with a formatter for floats: 20 kB of a policy.)
#[derive(Debug, Default)]
pub(super) struct Members<'a>(Vec<(Cow<'a, str>, &'a str)>);

impl<'a> Members<'a> {
    /// Splits the text of an object.
    pub fn of(json: &'a str) -> Self {
        Self(split(json).unwrap_or_default())
    }

    /// The value of a member; of several with one name the last, as everywhere in JSON.
    pub fn get(&self, key: &str) -> Option<&'a str> {
        self.0
            .iter()
            .rev()
            .find(|(name, _)| name == key)
            .map(|(_, value)| *value)
    }
}

fn split(json: &str) -> Option<Vec<(Cow<'_, str>, &str)>> {
    let mut members = Vec::new();
    let mut rest = after(json, '{')?;
    if after(rest, '}').is_some() {
        return Some(members);
    }
    loop {
        let (key, behind) = first_value(rest)?;
        let (value, behind) = first_value(after(behind, ':')?)?;
        members.push((text(key)?, value));
        match after(behind, ',') {
            Some(more) => rest = more,
            None => return after(behind, '}').map(|_| members),
        }
    }
}

/// What follows a sign, white space in front of it aside.
fn after(json: &str, sign: char) -> Option<&str> {
    json.trim_ascii_start().strip_prefix(sign)
}

/// The first JSON value of a text and what follows it.
fn first_value(json: &str) -> Option<(&str, &str)> {
    let json = json.trim_ascii_start();
    let mut values = Deserializer::from_str(json).into_iter::<IgnoredAny>();
    values.next()?.ok()?;
    json.split_at_checked(values.byte_offset())
}

/// The text of a JSON string; `None` for another value.
pub(super) fn text(json: &str) -> Option<Cow<'_, str>> {
    // A text without escapes stands there as it is, which is nearly always the case.
    let inner = json.strip_prefix('"')?.strip_suffix('"')?;
    if !inner.contains('\\') {
        return Some(Cow::Borrowed(inner));
    }
    match serde_json::from_str(json) {
        Ok(Value::String(text)) => Some(Cow::Owned(text)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn members_are_found_by_name_and_come_as_they_stand() {
        let json =
            " { \"a\" : 1.50 ,\n\"b\":[ {\"a\":2} ] , \"\\u0061/x\":\"\\\"}\", \"t\":true,\"n\":null,\"a\": {} } ";
        let members = Members::of(json);
        for (key, value) in [
            ("a", Some("{}")),
            ("b", Some("[ {\"a\":2} ]")),
            ("a/x", Some("\"\\\"}\"")),
            ("t", Some("true")),
            ("n", Some("null")),
            ("x", None),
        ] {
            assert_eq!(members.get(key), value, "{key}");
        }
    }

    #[test]
    fn what_is_no_object_has_no_members() {
        for json in [
            "",
            "{",
            "{\"a\"",
            "{\"a\":",
            "{\"a\":1",
            "{\"a\":1,",
            "{\"a\":1,}",
            "{a:1}",
            "{1:1}",
            "[{}]",
            "\"{}\"",
            "{}x",
            "{\"a\" 1}",
        ] {
            assert!(Members::of(json).get("a").is_none(), "{json}");
        }
        assert!(Members::of("{}").get("").is_none());
    }

    #[test]
    fn texts() {
        assert_eq!(text("\"a/b\""), Some("a/b".into()));
        assert_eq!(text("\"a\\n\\u00e9\""), Some("a\n\u{e9}".into()));
        for other in ["1", "null", "\"", "{}", "\"\\x\""] {
            assert_eq!(text(other), None, "{other}");
        }
    }
}
