//! In what two connections differ.

use crate::text::{ascii_line, cut};
use serde_json::Value;

/// Differences that a message names.
const SHOWN: usize = 6;

/// What the Pod's connection has otherwise than the engine's, one text for each member.
pub(super) fn between(pod: &Value, engine: &Value) -> Vec<String> {
    let mut found = Vec::new();
    compare("the connection", Some(pod), Some(engine), &mut found);
    if found.len() > SHOWN {
        found.truncate(SHOWN);
        found.push("and more".to_owned());
    }
    found
}

fn compare(name: &str, pod: Option<&Value>, engine: Option<&Value>, found: &mut Vec<String>) {
    match (pod, engine) {
        (Some(Value::Object(ours)), Some(Value::Object(theirs))) => {
            // Another connector has other members: that it is another one says all.
            let class = "kv_connector";
            if ours.get(class) != theirs.get(class) {
                return compare(class, ours.get(class), theirs.get(class), found);
            }
            for (key, value) in ours {
                compare(key, Some(value), theirs.get(key), found);
            }
            for (key, value) in theirs {
                if !ours.contains_key(key) {
                    compare(key, None, Some(value), found);
                }
            }
        }
        (Some(Value::Array(ours)), Some(Value::Array(theirs))) if ours.len() == theirs.len() => {
            for (ours, theirs) in ours.iter().zip(theirs) {
                compare(name, Some(ours), Some(theirs), found);
            }
        }
        (pod, engine) if pod != engine => found.push(format!(
            "{} is {} instead of {}",
            cut(&ascii_line(name), 60),
            shown(pod),
            shown(engine)
        )),
        _ => {}
    }
}

fn shown(value: Option<&Value>) -> String {
    match value {
        None => "absent".to_owned(),
        Some(value) => cut(&ascii_line(&value.to_string()), 60),
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;
    use serde_json::json;

    #[test]
    fn every_member_that_differs_is_named() {
        let pod = json!({"kv_connector": "A", "kv_role": "kv_both", "kv_connector_extra_config": {"port": "1", "old": [1], "same": 1.0}});
        let engine = json!({"kv_connector_extra_config": {"same": 1.0, "port": "2", "new": null}, "kv_connector": "A", "kv_role": "kv_both"});
        assert_eq!(
            between(&pod, &engine),
            [
                "port is \"1\" instead of \"2\"",
                "old is [1] instead of absent",
                "new is absent instead of null"
            ]
        );
        assert!(between(&pod, &pod).is_empty());
    }

    #[test]
    fn another_connector_is_one_difference() {
        let nested = |class: &str, port: u16| json!({"connectors": [{"kv_connector": class, "port": port}]});
        assert_eq!(
            between(&nested("A", 1), &nested("B", 2)),
            ["kv_connector is \"A\" instead of \"B\""]
        );
        assert_eq!(
            between(&json!({}), &json!({"kv_connector": "B"})),
            ["kv_connector is absent instead of \"B\""]
        );
        let fewer = json!({"connectors": []});
        assert_eq!(
            between(&fewer, &json!({"connectors": [1]})),
            ["connectors is [] instead of [1]"]
        );
    }

    #[test]
    fn what_is_shown_is_short_and_printable() {
        let many = |value: &str| Value::Object((0..20).map(|n| (format!("k{n:02}缓"), json!(value))).collect());
        let found = between(&many(&"缓".repeat(100)), &many("b"));
        assert_eq!(found.len(), SHOWN + 1);
        assert!(
            found.iter().all(|text| text.is_ascii() && text.len() < 200),
            "{found:?}"
        );
    }
}
