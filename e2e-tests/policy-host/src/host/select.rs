//! Label selectors, field selectors and field masks of list and get calls.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// Whether an object matches a label selector: `a=b`, `a==b`, `a!=b`, `a in (x,y)`, `a notin (x,y)`, `a`, `!a`, joined
/// with commas.
pub(super) fn matches_labels(object: &Value, selector: &str) -> Result<bool, String> {
    for term in split_terms(selector) {
        let term = term.trim();
        let label = |key: &str| {
            object
                .pointer("/metadata/labels")
                .and_then(|labels| labels.get(key.trim()))
                .and_then(Value::as_str)
        };
        let holds = if let Some((key, set)) = set_term(term, " notin ")? {
            label(key).is_none_or(|value| !set.contains(&value))
        } else if let Some((key, set)) = set_term(term, " in ")? {
            label(key).is_some_and(|value| set.contains(&value))
        } else if let Some((key, value)) = term.split_once("!=") {
            label(key) != Some(value.trim())
        } else if let Some((key, value)) = term.split_once("==").or_else(|| term.split_once('=')) {
            label(key) == Some(value.trim())
        } else if let Some(key) = term.strip_prefix('!') {
            label(key).is_none()
        } else {
            label(term).is_some()
        };
        if !holds {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether an object matches a field selector: `path=value` and `path!=value` with dotted paths, joined with commas.
pub(super) fn matches_fields(object: &Value, selector: &str) -> Result<bool, String> {
    for term in selector.split(',').filter(|term| !term.trim().is_empty()) {
        let (path, value, equal) = match (term.split_once("!="), term.split_once("==").or(term.split_once('='))) {
            (Some((path, value)), _) => (path, value, false),
            (None, Some((path, value))) => (path, value, true),
            (None, None) => return Err(format!("invalid field selector: {selector}")),
        };
        let mut found = Some(object);
        for segment in path.trim().split('.') {
            found = found.and_then(|node| node.get(segment));
        }
        let found = found.and_then(Value::as_str).unwrap_or_default();
        if (found == value.trim()) != equal {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Splits at commas outside of parentheses.
fn split_terms(selector: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    selector
        .split(|c| {
            match c {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            c == ',' && depth == 0
        })
        .filter(|term| !term.trim().is_empty())
        .collect()
}

fn set_term<'a>(term: &'a str, operator: &str) -> Result<Option<(&'a str, Vec<&'a str>)>, String> {
    let Some((key, set)) = term.split_once(operator) else {
        return Ok(None);
    };
    match set.trim().strip_prefix('(').and_then(|set| set.strip_suffix(')')) {
        Some(set) => Ok(Some((key, set.split(',').map(str::trim).collect()))),
        None => Err(format!("invalid label selector: {term}")),
    }
}

/// Keeps what the masks name, of everything but `apiVersion`, `kind` and `metadata`. Lists are transparent; an entry
/// without deeper entries keeps its whole sub-tree; no entries keep everything.
pub(super) fn apply_masks(object: &mut Value, masks: &BTreeSet<String>) {
    if masks.is_empty() {
        return;
    }
    let paths: Vec<Vec<&str>> = masks.iter().map(|mask| mask.split('.').collect()).collect();
    let Some(members) = object.as_object_mut() else {
        return;
    };
    let whole = std::mem::take(members);
    for (key, mut value) in whole {
        let always = ["apiVersion", "kind", "metadata"].contains(&key.as_str());
        if always || prune(&key, &mut value, &paths) {
            members.insert(key, value);
        }
    }
}

/// Prunes below one member; says whether the member stays.
fn prune(key: &str, value: &mut Value, paths: &[Vec<&str>]) -> bool {
    let below: Vec<Vec<&str>> = paths
        .iter()
        .filter_map(|path| path.split_first().filter(|(first, _)| **first == key))
        .map(|(_, rest)| rest.to_vec())
        .collect();
    if below.is_empty() {
        return false;
    }
    let deeper: Vec<Vec<&str>> = below.into_iter().filter(|rest| !rest.is_empty()).collect();
    if !deeper.is_empty() {
        prune_value(value, &deeper);
    }
    true
}

fn prune_value(value: &mut Value, paths: &[Vec<&str>]) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| prune_value(item, paths)),
        Value::Object(members) => {
            let mut kept = Map::new();
            for (key, mut value) in std::mem::take(members) {
                if prune(&key, &mut value, paths) {
                    kept.insert(key, value);
                }
            }
            *members = kept;
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case("", true)]
    #[case("a=1", true)]
    #[case("a==1, b", true)]
    #[case("a!=1", false)]
    #[case("c!=1", true)]
    #[case("!c,b in (2, 3)", true)]
    #[case("b notin (2,3)", false)]
    #[case("c notin (2)", true)]
    #[case("c in (2)", false)]
    #[case("c", false)]
    fn labels(#[case] selector: &str, #[case] expected: bool) {
        let object = json!({"metadata": {"labels": {"a": "1", "b": "2"}}});
        assert_eq!(matches_labels(&object, selector), Ok(expected));
    }

    #[rstest]
    #[case("metadata.name=x", Ok(true))]
    #[case("metadata.name!=x", Ok(false))]
    #[case("spec.nodeName=", Ok(true))]
    #[case("metadata.name=x,status.phase==Running", Ok(false))]
    #[case("metadata.name", Err("invalid field selector: metadata.name".to_owned()))]
    fn fields(#[case] selector: &str, #[case] expected: Result<bool, String>) {
        assert_eq!(matches_fields(&json!({"metadata": {"name": "x"}}), selector), expected);
    }

    #[rstest]
    #[case(&[], json!({"kind": "P", "metadata": {"n": 1}, "spec": {"c": [{"i": 1, "j": 2}], "d": 3}, "status": {}}))]
    #[case(&["spec.c.i"], json!({"kind": "P", "metadata": {"n": 1}, "spec": {"c": [{"i": 1}]}}))]
    #[case(&["spec"], json!({"kind": "P", "metadata": {"n": 1}, "spec": {"c": [{"i": 1, "j": 2}], "d": 3}}))]
    #[case(&["metadata.n"], json!({"kind": "P", "metadata": {"n": 1}}))]
    #[case(&["spec.d", "status"], json!({"kind": "P", "metadata": {"n": 1}, "spec": {"d": 3}, "status": {}}))]
    fn keeps_what_masks_name(#[case] masks: &[&str], #[case] expected: Value) {
        let mut object =
            json!({"kind": "P", "metadata": {"n": 1}, "spec": {"c": [{"i": 1, "j": 2}], "d": 3}, "status": {}});
        apply_masks(&mut object, &masks.iter().map(|mask| (*mask).to_owned()).collect());
        assert_eq!(object, expected);
    }
}
