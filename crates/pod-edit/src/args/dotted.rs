//! Putting dotted flags together to JSON.

use serde_json::{Map, Value};

use super::scan::{Form, Occurrence, dashed, rewritten};

/// How deep keys may nest. The line comes from outside; deeper values could not be dropped on a small stack.
const MAX_DEPTH: usize = 32;

/// The object that takes effect, if any of the occurrences is dotted and has a value.
///
/// vLLM collects per name as it is written (`-cc.x` apart from `--compilation-config.x`) and appends the collections in the
/// order in which each began; the last one then wins.
pub(super) fn assemble(occurrences: &[Occurrence<'_>]) -> Option<Value> {
    let mut collected: Vec<(String, Map<String, Value>)> = Vec::new();
    for occurrence in occurrences {
        let Form::Dotted {
            keys,
            value: Some(text),
        } = occurrence.form
        else {
            continue;
        };
        let head = dashed(occurrence.spelling.split('.').next().unwrap_or_default());
        let text = if occurrence.value_at.is_some() {
            rewritten(text)
        } else {
            text.into()
        };
        let (keys, value) = match keys.strip_suffix('+') {
            Some(keys) => (keys, text.split(',').map(Value::from).collect()),
            None => (keys, serde_json::from_str(&text).unwrap_or_else(|_| Value::from(text))),
        };
        let mut nested = value;
        let mut parts: Vec<&str> = keys.splitn(MAX_DEPTH, '.').collect();
        let first = parts.first().copied().unwrap_or_default();
        while parts.len() > 1 {
            let key = parts.pop().unwrap_or_default();
            nested = Value::Object(Map::from_iter([(key.to_owned(), nested)]));
        }
        match collected.iter_mut().find(|(name, _)| *name == head) {
            Some((_, object)) => merge(object, first.to_owned(), nested),
            None => collected.push((head.into_owned(), Map::from_iter([(first.to_owned(), nested)]))),
        }
    }
    collected.pop().map(|(_, object)| Value::Object(object))
}

/// Objects merge, lists grow, anything else is replaced.
fn merge(object: &mut Map<String, Value>, key: String, value: Value) {
    match (object.get_mut(&key), value) {
        (Some(Value::Object(existing)), Value::Object(added)) => {
            for (key, value) in added {
                merge(existing, key, value);
            }
        }
        (Some(Value::Array(existing)), Value::Array(added)) => existing.extend(added),
        (_, value) => {
            object.insert(key, value);
        }
    }
}
