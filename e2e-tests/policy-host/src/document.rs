//! Reading YAML and JSON files into [`serde_json::Value`].

use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use serde::Deserialize;
use serde_json::Value;

/// Reads a whole text file; `-` is standard input. Errors name the file.
pub fn read_text(path: &Path) -> Result<String> {
    if path == Path::new("-") {
        let mut text = String::new();
        std::io::stdin()
            .read_to_string(&mut text)
            .context("cannot read standard input")?;
        return Ok(text);
    }
    std::fs::read_to_string(path).map_err(|e| anyhow!("cannot read {}: {e}", path.display()))
}

/// Writes a file whole. Errors name the file.
pub fn write_file(path: &Path, content: &[u8]) -> Result<()> {
    std::fs::write(path, content).map_err(|e| anyhow!("cannot write {}: {e}", path.display()))
}

/// Parses every document of a YAML stream; documents that hold nothing are left out. Text that starts like JSON is
/// read as JSON, which keeps numbers exactly.
pub fn parse_all(text: &str) -> Result<Vec<Value>> {
    if text.trim_start().starts_with(['{', '['])
        && let Ok(value) = serde_json::from_str::<Value>(text)
    {
        return Ok(vec![value]);
    }
    let mut documents = Vec::new();
    for document in yaml_serde::Deserializer::from_str(text) {
        match Value::deserialize(document)? {
            Value::Null => {}
            value => documents.push(value),
        }
    }
    Ok(documents)
}

/// Parses a text that holds at most one document; an empty text is `null`.
pub fn parse_one(text: &str) -> Result<Value> {
    let mut documents = parse_all(text)?;
    if documents.len() > 1 {
        bail!("expected one document, found {}", documents.len());
    }
    Ok(documents.pop().unwrap_or(Value::Null))
}

/// Reads a file of one document. Errors name the file.
pub fn read_one(path: &Path) -> Result<Value> {
    parse_one(&read_text(path)?).map_err(|e| anyhow!("{}: {e}", path.display()))
}

/// Reads every document of a file. Errors name the file.
pub fn read_all(path: &Path) -> Result<Vec<Value>> {
    parse_all(&read_text(path)?).map_err(|e| anyhow!("{}: {e}", path.display()))
}

/// Policy settings from YAML or JSON text: a map, or nothing (an empty map), as Kubewarden demands.
pub fn parse_settings(text: &str) -> Result<Value> {
    match parse_one(text)? {
        Value::Null => Ok(Value::Object(serde_json::Map::new())),
        settings @ Value::Object(_) => Ok(settings),
        other => bail!("settings must be a map or null, found {}", kind_of(&other)),
    }
}

/// The JSON type of a value, for messages.
pub fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "a map",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reads_streams_and_keeps_order_and_numbers() {
        let docs = parse_all("---\n# nothing\n---\nb: 1\na: 0.1\n---\nc: [x]\n").unwrap();
        assert_eq!(docs, [json!({"b": 1, "a": 0.1}), json!({"c": ["x"]})]);
        assert_eq!(docs[0].to_string(), r#"{"b":1,"a":0.1}"#);
        assert_eq!(
            parse_one(r#"{"n": 18446744073709551615}"#).unwrap()["n"],
            json!(u64::MAX)
        );
        assert_eq!(parse_one("{a: 1}").unwrap(), json!({"a": 1}));
        assert!(
            parse_one("a: 1\n---\nb: 2\n")
                .unwrap_err()
                .to_string()
                .contains("found 2")
        );
    }

    #[test]
    fn settings_are_a_map_or_nothing() {
        assert_eq!(parse_settings("").unwrap(), json!({}));
        assert_eq!(parse_settings("null").unwrap(), json!({}));
        assert_eq!(parse_settings("a: 1").unwrap(), json!({"a": 1}));
        for text in ["[1]", "x", "3", "true"] {
            let error = parse_settings(text).unwrap_err().to_string();
            assert!(error.starts_with("settings must be a map or null, found a "), "{error}");
        }
    }
}
