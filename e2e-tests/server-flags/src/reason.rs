//! Whether admission and parser speak of the same thing.

use std::collections::BTreeSet;

/// Words of both sides that say nothing about the matter.
const COMMON: &str = "\
    adapter an and args argument arguments as backend be by cannot config does error extra extraargs first \
    for from has have in invalid is it l1 l2 lmcache must no not of on one optional or raw release releases \
    server spec start that the to type value valueerror which with without you";

/// Whether a message of the parser and texts of admission have a telling word in common. Names are compared by their
/// words, however they are spelled: `--isolated-ipc`, `isolatedIPC`, `trigger_watermark`.
pub fn is_shared(message: &str, texts: &[String]) -> bool {
    let ours: BTreeSet<String> = texts.iter().flat_map(|text| words(text)).collect();
    words(message).iter().any(|word| ours.contains(word))
}

/// The telling words, in small letters; of what is written with dashes or underscores also the whole.
fn words(text: &str) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    for name in text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_') {
        words.insert(name.trim_start_matches('-').replace('_', "-").to_ascii_lowercase());
        for token in name.split(['-', '_']) {
            words.insert(token.to_ascii_lowercase());
            words.extend(humps(token));
        }
    }
    words.retain(|word| {
        let is_number = word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        word.len() > 1 && !is_number && !COMMON.split_whitespace().any(|common| common == word)
    });
    words
}

/// `triggerWatermark` is two words, `isolatedIPC` too.
fn humps(token: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_small = false;
    for c in token.chars() {
        if c.is_ascii_uppercase() && was_small {
            words.push(String::new());
        }
        was_small = c.is_ascii_lowercase();
        if let Some(word) = words.last_mut() {
            word.push(c.to_ascii_lowercase());
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_in_any_spelling() {
        let shared = |message: &str, text: &str| is_shared(message, &[text.to_owned()]);
        assert!(shared(
            "lmcache: error: unrecognized arguments: --isolated-ipc",
            "spec.isolatedIPC: Forbidden: 0.5.4"
        ));
        assert!(shared(
            "ValueError: trigger_watermark must be in (0, 1]",
            "spec.triggerWatermark: Invalid value: 2"
        ));
        assert!(shared(
            "base_path must be a non-empty string",
            "spec.l2Backend.raw.config.base_path: Required value"
        ));
    }

    #[test]
    fn different_matters_share_nothing() {
        let shared = |message: &str, text: &str| is_shared(message, &[text.to_owned()]);
        assert!(!shared(
            "lmcache: error: unrecognized arguments: --isolated-ipc",
            "spec.l2Backend.raw.type: Forbidden"
        ));
        assert!(!shared(
            "ValueError: the value must not be that",
            "spec.l1: the value must not be that"
        ));
        assert!(!shared(
            "unrecognized arguments: --extra-config []",
            "spec.extraArgs[0] \"--verbose\" is no flag"
        ));
        assert!(!shared(
            "argument --port: invalid int value: '10'",
            "10: must be more than 10"
        ));
        assert!(!shared("", ""));
    }
}
