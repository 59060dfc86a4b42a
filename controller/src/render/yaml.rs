//! JSON as YAML.
//!
//! `kubectl` reads YAML 1.1, where `on`, `1_000` and `12:30` are no texts. So a text is written plainly only where no reader
//! takes it for something else; everything else is quoted as in JSON, or a literal block where it has several lines.

use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Words that some reader takes for a truth value or for nothing, in lower case.
const WORDS: [&str; 9] = ["y", "n", "yes", "no", "on", "off", "true", "false", "null"];

/// Documents, each after a line `---`. Members are sorted by key, as `kubectl get -o yaml` has them, so that what is printed
/// can be compared with what is in a cluster, and does not hang on the order in which a user wrote something.
pub(crate) fn documents(objects: &[Value]) -> String {
    let mut out = String::new();
    for object in objects {
        out.push_str("---\n");
        match object {
            Value::Object(members) if !members.is_empty() => mapping(members, 0, &mut out),
            other => value(other, 0, &mut out),
        }
    }
    out
}

/// The members of a mapping, each on its own lines. The first one stands where the text is at, the others are indented.
fn mapping(members: &Map<String, Value>, indent: usize, out: &mut String) {
    let members: BTreeMap<&String, &Value> = members.iter().collect();
    for (index, (key, member)) in members.into_iter().enumerate() {
        if index > 0 {
            spaces(indent, out);
        }
        out.push_str(&word(key));
        out.push(':');
        match member {
            Value::Object(members) if !members.is_empty() => {
                out.push('\n');
                spaces(indent + 2, out);
                mapping(members, indent + 2, out);
            }
            Value::Array(items) if !items.is_empty() => {
                out.push('\n');
                // As kubectl writes it: the dashes stand under the key.
                spaces(indent, out);
                sequence(items, indent, out);
            }
            other => {
                out.push(' ');
                value(other, indent + 2, out);
            }
        }
    }
}

fn sequence(items: &[Value], indent: usize, out: &mut String) {
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            spaces(indent, out);
        }
        out.push_str("- ");
        match item {
            Value::Object(members) if !members.is_empty() => mapping(members, indent + 2, out),
            Value::Array(items) if !items.is_empty() => sequence(items, indent + 2, out),
            other => value(other, indent + 2, out),
        }
    }
}

/// What fits behind a key, with its line break. The lines of a block are indented by `indent`.
fn value(value: &Value, indent: usize, out: &mut String) {
    match value {
        Value::String(text) if is_block(text) => {
            out.push_str(if text.ends_with('\n') { "|" } else { "|-" });
            out.push('\n');
            for line in text.lines() {
                if !line.is_empty() {
                    spaces(indent, out);
                    out.push_str(line);
                }
                out.push('\n');
            }
            return;
        }
        Value::String(text) => out.push_str(&word(text)),
        Value::Object(_) => out.push_str("{}"),
        Value::Array(_) => out.push_str("[]"),
        other => out.push_str(&other.to_string()),
    }
    out.push('\n');
}

fn spaces(count: usize, out: &mut String) {
    out.extend(std::iter::repeat_n(' ', count));
}

/// A text on one line. One with quotes of its own, JSON as a rule, stays readable in the other kind.
fn word(text: &str) -> String {
    let ascii = |c: char| c == ' ' || c.is_ascii_graphic();
    if is_plain(text) {
        text.to_owned()
    } else if text.contains('"') && text.chars().all(ascii) {
        format!("'{}'", text.replace('\'', "''"))
    } else {
        quoted(text)
    }
}

/// Whether every reader takes the bare text for itself.
fn is_plain(text: &str) -> bool {
    // `-c` and `--flag` are texts, `-1`, `- x` and `---` are not.
    let behind = text
        .strip_prefix("--")
        .or_else(|| text.strip_prefix('-'))
        .unwrap_or(text);
    let starts_well =
        behind.starts_with(|c: char| c.is_ascii_alphabetic() || (behind == text && (c == '/' || c == '_')));
    let inside = |c: char| c.is_ascii_alphanumeric() || " ._-/:@%+,=()$~*?;'\"<>|&!{}[]".contains(c);
    let ends_well = !text.ends_with([' ', ':']);
    starts_well
        && ends_well
        && text.chars().all(inside)
        && !text.contains(": ")
        && !WORDS.contains(&text.to_ascii_lowercase().as_str())
}

/// Whether a literal block gives back the text: several lines, at most one line break at the end, nothing that a reader
/// might change.
fn is_block(text: &str) -> bool {
    let last = text.strip_suffix('\n').unwrap_or(text);
    let printable = |c: char| c == '\n' || !(c.is_control() || is_break(c));
    last.contains('\n') && !last.ends_with('\n') && !text.starts_with([' ', '\n']) && text.chars().all(printable)
}

/// Characters that YAML takes for line breaks or for the mark of an encoding.
fn is_break(c: char) -> bool {
    matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}')
}

/// As in JSON, with more of the characters escaped.
fn quoted(text: &str) -> String {
    let mut out = String::new();
    for c in Value::from(text).to_string().chars() {
        if c.is_control() || is_break(c) {
            out.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// What yaml_serde reads from what was written.
    fn read_back(value: &Value) -> Value {
        let text = documents(std::slice::from_ref(value));
        yaml_serde::from_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    #[test]
    fn what_is_written_reads_back() {
        let value = json!({
            "empty": {"map": {}, "list": [], "text": "", "nothing": null},
            "lists": [[1, [2, {"deep": ["a", {"b": "c"}]}]], {"first": {"nested": true}, "second": [false]}],
            "numbers": [0, -1, 60.25, 1e300, 18446744073709551615_u64],
            "blocks": ["a\nb", "a\nb\n", "{\n  \"a\": 1\n}", "a\n\n  b\n"],
            "quoted": ["a\r\nb", " lead\nb", "a\n\n", "\n", "\u{85}", "\u{2028}\n\u{2029}", "\u{feff}", "tab\tb", "\u{7f}", "é"],
            "kv-transfer-config.json": "{\n  \"kv_role\": \"kv_both\"\n}",
            "a: b": "a: b", "#": "a #b", "- ": "- a", "x:": "x:", "9": "9",
        });
        assert_eq!(read_back(&value), value);
    }

    #[test]
    fn texts_that_some_reader_takes_for_something_else_are_quoted() {
        for text in [
            "on",
            "Off",
            "YES",
            "no",
            "y",
            "N",
            "true",
            "Null",
            "~",
            "",
            "60",
            "-1",
            "+1",
            "0400",
            "0x1F",
            "0X1F",
            "1e3",
            "1_000",
            "0_7",
            "12:30",
            "190:20:30",
            "2001-01-01",
            ".5",
            ".inf",
            "-.inf",
            "1.",
            "0.80",
            "=",
            "<<",
            "-",
            "--",
            "---",
            "...",
            "- a",
            "? a",
            "&a",
            "*a",
            "!a",
            "|",
            ">",
            "%a",
            "@a",
            "`a",
            "{a",
            "[a",
            "a: b",
            "a:",
            "a #b",
            "a ",
            "'a'",
            "\"a\"",
            "a\u{a0}b",
        ] {
            let written = word(text);
            let quoted = |quote: char| written.len() > 1 && written.starts_with(quote) && written.ends_with(quote);
            assert!(quoted('"') || quoted('\''), "{text:?} as {written}");
            assert_eq!(read_back(&json!({"a": text})), json!({"a": text}));
        }
    }

    #[test]
    fn ordinary_texts_are_not() {
        for text in [
            "kv-cache",
            "v0.5.6",
            "--l1-size-gb",
            "-c",
            "/opt/venv/bin/lmcache",
            "http://a.b.svc:9300",
            "app.kubernetes.io/name",
        ] {
            assert_eq!(word(text), text);
            assert_eq!(read_back(&json!({"a": text})), json!({"a": text}));
        }
    }

    #[test]
    fn lists_stand_as_kubectl_writes_them() {
        let text = documents(&[json!({"a": [{"b": 1, "c": ["x", "z"]}], "d": "1\n2"})]);
        assert_eq!(text, "---\na:\n- b: 1\n  c:\n  - x\n  - z\nd: |-\n  1\n  2\n");
    }
}
