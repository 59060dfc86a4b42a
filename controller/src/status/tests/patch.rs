//! What is written.

use rstest::rstest;
use serde_json::{Value, json};

use super::support::*;
use crate::status::patch;

#[rstest]
#[case::equal(json!({"a": 1, "b": [1]}), json!({"b": [1], "a": 1}), None)]
#[case::first(json!(null), json!({"a": 0}), Some(json!({"a": 0})))]
#[case::changed(json!({"a": 1, "b": 2}), json!({"a": 1, "b": 3}), Some(json!({"b": 3})))]
#[case::removed(json!({"a": 1, "b": [2]}), json!({"a": 1}), Some(json!({"b": null})))]
#[case::nested(json!({"c": {"x": 1, "y": 2}}), json!({"c": {"x": 1, "z": 3}}), Some(json!({"c": {"z": 3, "y": null}})))]
#[case::lists_go_whole(json!({"l": [1, 2]}), json!({"l": [1, 2, 3]}), Some(json!({"l": [1, 2, 3]})))]
#[case::order_of_lists(json!({"l": [1, 2]}), json!({"l": [2, 1]}), Some(json!({"l": [2, 1]})))]
#[case::zero_is_not_absent(json!({}), json!({"a": 0}), Some(json!({"a": 0})))]
#[case::null_is_absent(json!({"a": null, "b": 1}), json!({"b": 1}), None)]
#[case::object_for_text(json!({"a": "x"}), json!({"a": {"b": 1}}), Some(json!({"a": {"b": 1}})))]
fn only_what_differs(#[case] live: Value, #[case] wanted: Value, #[case] expected: Option<Value>) {
    assert_eq!(patch(&live, &wanted), expected.map(|status| json!({"status": status})));
}

/// What the API server makes of a patch is what was wanted.
#[test]
fn a_patch_gives_what_was_wanted() {
    let go_operator = json!({"phase": "Pending", "observedGeneration": 1, "conditions": [
        {"type": "Available", "status": "False", "reason": "NoReadyInstances", "message": "0/0 instances ready",
            "lastTransitionTime": NOW, "observedGeneration": 1}], "unknown": {"a": 1}});
    let full = engine(numbers(1, 1)).with_servers([server("a", "n1")]).status();
    let empty = engine(numbers(0, 0)).status();
    let statuses = [json!(null), go_operator, full, empty];
    for live in &statuses {
        for wanted in statuses.iter().skip(2) {
            let patch = patch(live, wanted);
            assert_eq!(patch.is_none(), live == wanted);
            let merged = merge(live.clone(), &patch.map_or(json!({}), |patch| patch["status"].clone()));
            assert_eq!(merged, *wanted);
        }
    }
}

/// RFC 7386.
fn merge(target: Value, patch: &Value) -> Value {
    let Value::Object(patch) = patch else {
        return patch.clone();
    };
    let mut target = match target {
        Value::Object(members) => members,
        _ => serde_json::Map::new(),
    };
    for (name, value) in patch {
        if value.is_null() {
            target.remove(name);
        } else {
            let merged = merge(target.remove(name).unwrap_or_default(), value);
            target.insert(name.clone(), merged);
        }
    }
    Value::Object(target)
}
