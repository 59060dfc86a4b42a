//! Settings: read strictly, complained about in full.
//!
//! The host validates settings when a policy is loaded and refuses to serve it with bad ones, so the complaint must name
//! each key as the user wrote it, what stands there and what may stand there. All complaints come at once, sorted.

use crate::text::quoted;
use kubewarden_policy_sdk::settings::SettingsValidationResponse;
use kubewarden_policy_sdk::wapc_guest::CallResult;
use serde_json::{Map, Value};

/// Reads settings member by member and collects every complaint.
#[derive(Debug)]
pub struct Reader {
    members: Map<String, Value>,
    complaints: Vec<String>,
    known: Vec<&'static str>,
}

/// A setting with a closed list of values.
pub trait Choice: Sized + Copy + 'static {
    /// Every value with the word for it; the first is the default.
    const CHOICES: &'static [(&'static str, Self)];

    /// The value of a word.
    fn from_word(word: &str) -> Option<Self> {
        Self::CHOICES
            .iter()
            .find(|(name, _)| *name == word)
            .map(|(_, value)| *value)
    }
}

impl Reader {
    /// Starts with settings as JSON. Anything but an object (or `null`) is itself a complaint.
    pub fn new(json: &str) -> Self {
        let mut complaints = Vec::new();
        let members = match serde_json::from_str::<Value>(json) {
            Ok(Value::Object(members)) => members,
            Ok(Value::Null) => Map::new(),
            Ok(other) => {
                complaints.push(format!("settings: expected an object, found {}", describe(&other)));
                Map::new()
            }
            Err(error) => {
                complaints.push(format!("settings: not JSON: {error}"));
                Map::new()
            }
        };
        Self {
            members,
            complaints,
            known: Vec::new(),
        }
    }

    pub(crate) fn complain(&mut self, complaint: String) {
        insert_sorted(&mut self.complaints, complaint);
    }

    fn take(&mut self, key: &'static str) -> Option<Value> {
        insert_sorted(&mut self.known, key);
        // An explicit null says the same as leaving the key out.
        self.members.shift_remove(key).filter(|value| !value.is_null())
    }

    /// One of a closed list of words; the default where the key is absent.
    pub fn choice<T: Choice>(&mut self, key: &'static str) -> Option<T> {
        let value = self.take(key)?;
        let found = value.as_str().and_then(T::from_word);
        if found.is_none() {
            let words: Vec<&str> = T::CHOICES.iter().map(|(word, _)| *word).collect();
            self.complain(format!(
                "{key}: expected one of {}, found {}",
                words.join(", "),
                describe(&value)
            ));
        }
        found
    }

    /// `true` or `false`.
    pub fn flag(&mut self, key: &'static str) -> Option<bool> {
        let value = self.take(key)?;
        let found = value.as_bool();
        if found.is_none() {
            self.complain(format!("{key}: expected true or false, found {}", describe(&value)));
        }
        found
    }

    /// A text that `check` accepts; `check` answers what was expected.
    pub fn text(&mut self, key: &'static str, check: fn(&str) -> Result<(), &'static str>) -> Option<String> {
        let value = self.take(key)?;
        match value.as_str().map(|text| (text, check(text))) {
            Some((text, Ok(()))) => Some(text.to_owned()),
            Some((_, Err(expected))) => {
                self.complain(format!("{key}: expected {expected}, found {}", describe(&value)));
                None
            }
            None => {
                self.complain(format!("{key}: expected a text, found {}", describe(&value)));
                None
            }
        }
    }

    /// A list of texts, each of which `check` accepts. `None` where one is not, as where the key is absent.
    pub fn texts(&mut self, key: &'static str, check: fn(&str) -> Result<(), &'static str>) -> Option<Vec<String>> {
        let value = self.take(key)?;
        let Value::Array(items) = value else {
            self.complain(format!("{key}: expected a list of texts, found {}", describe(&value)));
            return None;
        };
        let mut texts = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            let expected = match item.as_str().map(|text| (text, check(text))) {
                Some((text, Ok(()))) => {
                    texts.push(text.to_owned());
                    continue;
                }
                Some((_, Err(expected))) => expected,
                None => "a text",
            };
            self.complain(format!("{key}[{index}]: expected {expected}, found {}", describe(item)));
        }
        (texts.len() == items.len()).then_some(texts)
    }

    /// Every complaint, sorted; a key that nobody asked for is one too.
    ///
    /// # Errors
    /// The complaints as one text.
    pub fn finish<T>(mut self, settings: T) -> Result<T, String> {
        for key in self.members.keys() {
            let complaint = format!(
                "{}: unknown setting, known are {}",
                text_key(key),
                self.known.join(", ")
            );
            insert_sorted(&mut self.complaints, complaint);
        }
        if self.complaints.is_empty() {
            return Ok(settings);
        }
        Err(self.complaints.join("; "))
    }
}

/// Keeps a short list in order. A sort would be ten times the code.
fn insert_sorted<T: Ord>(list: &mut Vec<T>, item: T) {
    let place = list.iter().position(|other| *other > item).unwrap_or(list.len());
    list.insert(place, item);
}

/// A key of the user's, as it was written but for what a terminal could not show.
fn text_key(key: &str) -> String {
    crate::text::cut(&crate::text::ascii_line(key), 60)
}

/// What stands in place of the expected value: the kind of value, and the value where it is short.
fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => quoted(text),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

/// A check for texts that may be anything but empty.
///
/// # Errors
/// What was expected.
pub fn not_empty(text: &str) -> Result<(), &'static str> {
    if text.trim().is_empty() {
        Err("a text that is not empty")
    } else {
        Ok(())
    }
}

/// The answer to `validate_settings`.
///
/// # Errors
/// Never in practice: the answer is plain JSON.
pub fn validate<T>(payload: &[u8], read: fn(&str) -> Result<T, String>) -> CallResult {
    let json = String::from_utf8_lossy(payload);
    // The host sends `{}` for "no settings"; an empty payload is taken for the same.
    let outcome = read(if json.trim().is_empty() { "{}" } else { &json });
    let message = outcome.err();
    Ok(serde_json::to_vec(&SettingsValidationResponse {
        valid: message.is_none(),
        message,
    })?)
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[derive(Debug, Clone, Copy, PartialEq)]
    enum Mode {
        Skip,
        Warn,
    }

    impl Choice for Mode {
        const CHOICES: &'static [(&'static str, Self)] = &[("Skip", Self::Skip), ("Warn", Self::Warn)];
    }

    type Read = (Option<Mode>, Option<bool>, Option<Vec<String>>);

    fn read(json: &str) -> Result<Read, String> {
        let mut reader = Reader::new(json);
        let settings = (
            reader.choice("podSecurity"),
            reader.flag("pinned"),
            reader.texts("allowed", not_empty),
        );
        reader.finish(settings)
    }

    #[test]
    fn all_complaints_at_once_sorted_and_named_as_written() {
        let error =
            read(r#"{"pinned":"yes","podSecurity":"skip","allowed":["a",1," "],"podsecurity":"Skip"}"#).unwrap_err();
        assert_eq!(
            error.split("; ").collect::<Vec<_>>(),
            [
                "allowed[1]: expected a text, found 1",
                "allowed[2]: expected a text that is not empty, found \" \"",
                "pinned: expected true or false, found \"yes\"",
                "podSecurity: expected one of Skip, Warn, found \"skip\"",
                "podsecurity: unknown setting, known are allowed, pinned, podSecurity",
            ]
        );
    }

    #[test]
    fn absent_and_null_mean_the_default() {
        for json in ["{}", "null", r#"{"pinned":null,"podSecurity":null,"allowed":null}"#] {
            assert_eq!(read(json).unwrap(), (None, None, None));
        }
    }

    #[test]
    fn settings_that_are_no_object() {
        assert!(read("[]").unwrap_err().contains("expected an object"));
        assert!(read("{").unwrap_err().contains("not JSON"));
    }

    #[test]
    fn the_answer_to_the_host() {
        let answer: Value = serde_json::from_slice(&validate(b"", read).unwrap()).unwrap();
        assert_eq!(answer, serde_json::json!({"valid": true, "message": null}));
        let answer: Value = serde_json::from_slice(&validate(b"{\"x\":1}", read).unwrap()).unwrap();
        assert_eq!(answer["valid"], false);
    }
}
