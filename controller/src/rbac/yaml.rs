//! Roles as YAML with comments: whoever grants rights wants to read what each is for.

use std::fmt::Write;

use anyhow::Result;
use serde_json::Value;

/// Longest line of a comment.
const WIDTH: usize = 118;

/// An object and what is to be said about it.
pub(super) struct Document {
    /// Comment above it; empty for none.
    pub about: String,
    /// The object but for its rules.
    pub object: Value,
    /// `rules`; left out where there are none.
    pub rules: Vec<Rule>,
}

/// A rule of a role.
pub(super) struct Rule {
    /// Comment above it; empty for none.
    pub why: String,
    /// The rule: lists of words, by key.
    pub rule: Vec<(&'static str, Vec<String>)>,
}

/// The documents in a row. The first comment names the command that prints them.
pub(super) fn write(command: &str, documents: &[Document]) -> Result<String> {
    let mut text = format!("# Written by `{command}`.\n");
    for (index, document) in documents.iter().enumerate() {
        if index > 0 {
            text.push_str("---\n");
        }
        comment("", &document.about, &mut text);
        text.push_str(&yaml_serde::to_string(&document.object)?);
        if !document.rules.is_empty() {
            text.push_str("rules:\n");
        }
        for rule in &document.rules {
            comment("  ", &rule.why, &mut text);
            for (index, (key, words)) in rule.rule.iter().enumerate() {
                let start = if index == 0 { "- " } else { "  " };
                // A list of words in JSON is one in YAML.
                writeln!(
                    text,
                    "  {start}{key}: {}",
                    serde_json::to_string(words)?.replace("\",\"", "\", \"")
                )?;
            }
        }
    }
    Ok(text)
}

fn comment(indent: &str, words: &str, text: &mut String) {
    let mut line = String::new();
    for word in words.split_whitespace() {
        if !line.is_empty() && indent.len() + 2 + line.len() + 1 + word.len() > WIDTH {
            text.push_str(&format!("{indent}# {line}\n"));
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if !line.is_empty() {
        text.push_str(&format!("{indent}# {line}\n"));
    }
}
