//! What the parts of the table are called.

use lmcache_server::table::{Flag, Span, Takes, Word};
use serde_json::{Map, Value, json};

/// What a flag takes.
pub(super) fn takes(takes: Takes) -> &'static str {
    match takes {
        Takes::Nothing => "-",
        Takes::OnOff => "- (off: --no-...)",
        Takes::Int => "integer",
        Takes::Float => "number",
        Takes::Text => "text",
        Takes::Texts => "texts",
        Takes::Many => "texts, one or more",
    }
}

/// The same for programs.
pub(super) fn takes_key(takes: Takes) -> &'static str {
    match takes {
        Takes::Nothing => "nothing",
        Takes::OnOff => "onOff",
        Takes::Int => "integer",
        Takes::Float => "number",
        Takes::Text => "text",
        Takes::Texts => "texts",
        Takes::Many => "textsOneOrMore",
    }
}

/// The choices of a flag, and what else there is to know about it.
pub(super) fn with_remarks(choices: String, flag: &Flag) -> String {
    let remarks = [
        (flag.required, "required"),
        (flag.repeats, "repeatable"),
        (flag.hidden, "old name, deprecated"),
    ];
    let remarks: Vec<&str> = remarks
        .into_iter()
        .filter_map(|(holds, remark)| holds.then_some(remark))
        .collect();
    if remarks.is_empty() {
        return choices;
    }
    format!("{choices} [{}]", remarks.join(", ")).trim_start().to_owned()
}

/// A run of releases. `within` is a run that it lies in and that need not be said again.
pub(super) fn span(span: Span, within: Span) -> Option<String> {
    let begins = span.first > within.first;
    let ends = span.last < within.last;
    Some(match (begins, span.until().filter(|_| ends)) {
        (false, None) => return None,
        (true, None) => format!("from {}", span.since()),
        (_, Some(last)) if last == span.since() => format!("{last} only"),
        (false, Some(last)) => format!("up to {last}"),
        (true, Some(last)) => format!("{} to {last}", span.since()),
    })
}

/// A word, with its releases where they are not those of the whole.
pub(super) fn word(word: &Word, within: Span) -> String {
    match span(word.span, within) {
        Some(releases) => format!("{} ({releases})", word.text),
        None => word.text.to_owned(),
    }
}

/// A run of releases for programs.
pub(super) fn span_json(span: Span) -> [(String, Value); 2] {
    [
        ("since".to_owned(), json!(span.since().to_string())),
        ("until".to_owned(), json!(span.until().map(|last| last.to_string()))),
    ]
}

/// Words with their releases, for programs.
pub(super) fn words_json(words: &[Word]) -> Vec<Value> {
    words
        .iter()
        .map(|word| {
            let mut row = Map::new();
            row.insert("value".to_owned(), json!(word.text));
            row.extend(span_json(word.span));
            Value::Object(row)
        })
        .collect()
}

/// The words of one release.
pub(super) fn held(words: &[Word], position: usize) -> Vec<&'static str> {
    let held = words.iter().filter(|word| word.span.holds(position));
    held.map(|word| word.text).collect()
}

/// A flag for programs, but for its words and releases.
pub(super) fn flag_json(flag: &Flag) -> Map<String, Value> {
    [
        ("flag", json!(flag.name)),
        ("takes", json!(takes_key(flag.takes))),
        ("required", json!(flag.required)),
        ("repeatable", json!(flag.repeats)),
        ("deprecated", json!(flag.hidden)),
    ]
    .into_iter()
    .map(|(key, value)| (key.to_owned(), value))
    .collect()
}
