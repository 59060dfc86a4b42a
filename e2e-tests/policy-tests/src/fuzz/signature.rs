//! What a policy did, without what hangs on names and numbers: to see when it does something new.

use policy_host::Evaluation;
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash, Hasher};

/// A number for the behaviour of a policy on one input.
pub fn of(evaluation: &Evaluation) -> u64 {
    // Its keys are fixed: the same behaviour has the same number in every run.
    let mut hasher = DefaultHasher::new();
    let response = &evaluation.response;
    (response.allowed, response.code(), skeleton(response.message())).hash(&mut hasher);
    for warning in response.warnings() {
        skeleton(warning).hash(&mut hasher);
    }
    for (key, value) in response.audit_annotations.iter().flatten() {
        (key, if key.ends_with("engine") { "" } else { value }).hash(&mut hasher);
    }
    for call in &evaluation.calls {
        (call.request.resource(), call.answer.is_ok()).hash(&mut hasher);
    }
    for operation in response.patch.iter().flat_map(|patch| patch.iter()) {
        let mut kind = String::new();
        let _ = write!(kind, "{:?}", std::mem::discriminant(operation));
        (kind, skeleton(operation.path().as_str())).hash(&mut hasher);
    }
    hasher.finish()
}

/// A text without what stands in quotes, and without digits.
pub fn skeleton(text: &str) -> String {
    let mut quoted = false;
    let mut short = String::new();
    for character in text.chars() {
        match character {
            '"' | '\'' | '`' => quoted = !quoted,
            _ if quoted || character.is_ascii_digit() => {}
            _ => short.push(character),
        }
    }
    short.truncate(short.char_indices().nth(200).map_or(short.len(), |(at, _)| at));
    short
}

/// The beginning of a text, up to where it quotes an input: two findings with one beginning are one.
pub fn beginning(text: &str) -> &str {
    text.split(['"', '\'', '[', '{']).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_make_no_difference() {
        assert_eq!(
            skeleton("engine \"a\" has 3 faults"),
            skeleton("engine \"b\" has 12 faults")
        );
        assert_ne!(skeleton("engine \"a\""), skeleton("image \"a\""));
        assert_eq!(beginning("/spec: was [1]"), "/spec: was ");
        assert_eq!(skeleton(&"\u{e9}".repeat(500)).chars().count(), 200);
    }
}
