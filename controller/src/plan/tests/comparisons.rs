//! Comparing a live object with a wanted one.

use rstest::rstest;
use serde_json::{Value, json};

use super::super::lists::is_expressible;
use super::super::managed::has_unwanted;
use super::super::same::{lacking, project};

#[rstest]
#[case::equal(json!({"a": 1}), json!({"a": 1}), &[])]
#[case::defaults_of_the_api_server(json!({"a": 1}), json!({"a": 1, "b": 2}), &[])]
#[case::another_value(json!({"a": {"b": 1}}), json!({"a": {"b": 2}}), &["a.b"])]
#[case::absent(json!({"a": {"b": 1}}), json!({"a": {}}), &["a.b"])]
#[case::zero_values_are_not_stored(json!({"a": false, "b": "", "c": [], "d": {}, "e": {"f": false}, "g": 0}), json!({}), &[])]
#[case::zero_beside_a_value(json!({"replicas": 0}), json!({"replicas": 1}), &["replicas"])]
#[case::amounts(json!({"cpu": "0.5", "memory": "2048Mi", "n": 1}), json!({"cpu": "500m", "memory": "2Gi", "n": "1"}), &[])]
#[case::other_amounts(json!({"cpu": "0.5"}), json!({"cpu": "501m"}), &["cpu"])]
#[case::texts_are_no_amounts(json!({"image": "a:1.0"}), json!({"image": "a:1"}), &["image"])]
#[case::args_in_order(json!({"args": ["a", "b"]}), json!({"args": ["b", "a"]}), &["args"])]
#[case::one_argument_more(json!({"args": ["a"]}), json!({"args": ["a", "b"]}), &["args"])]
#[case::variables_by_name(
    json!({"env": [{"name": "B", "value": "2"}]}),
    json!({"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]}),
    &[]
)]
#[case::a_changed_variable(
    json!({"env": [{"name": "B", "value": "2"}]}),
    json!({"env": [{"name": "B", "value": "3"}]}),
    &["env[B].value"]
)]
#[case::a_missing_variable(json!({"env": [{"name": "B"}]}), json!({"env": []}), &["env[B]"])]
#[case::ports_by_number(
    json!({"ports": [{"name": "http", "containerPort": 80}]}),
    json!({"ports": [{"name": "x", "containerPort": 81, "protocol": "TCP"}, {"name": "http", "containerPort": 80, "protocol": "TCP"}]}),
    &[]
)]
#[case::selectors_as_one(json!({"selector": {"a": "1"}}), json!({"selector": {"a": "1", "b": "2"}}), &["selector"])]
#[case::node_selectors_as_one(json!({"nodeSelector": {"a": "1"}}), json!({"nodeSelector": {"a": "1", "b": "2"}}), &["nodeSelector"])]
#[case::tolerations_as_one(
    json!({"tolerations": [{"key": "a", "operator": "Exists"}]}),
    json!({"tolerations": [{"key": "a", "operator": "Exists", "effect": "NoSchedule"}, {"key": "b"}]}),
    &["tolerations"]
)]
fn differences_are_found(#[case] wanted: Value, #[case] live: Value, #[case] expected: &[&str]) {
    assert_eq!(lacking(&wanted, &live), expected);
}

#[rstest]
#[case::all_wanted(json!({"f:a": {"f:b": {}}}), json!({"a": {"b": 1}}), false)]
#[case::the_object_itself(json!({"f:a": {".": {}}}), json!({"a": {}}), false)]
#[case::a_field_no_longer(json!({"f:a": {"f:b": {}, "f:c": {}}}), json!({"a": {"b": 1}}), true)]
#[case::an_item_no_longer(
    json!({"f:env": {"k:{\"name\":\"A\"}": {".": {}, "f:name": {}}}}),
    json!({"env": [{"name": "B"}]}),
    true
)]
#[case::an_item(
    json!({"f:env": {"k:{\"name\":\"B\"}": {".": {}, "f:name": {}, "f:value": {}}}}),
    json!({"env": [{"name": "B", "value": "1"}]}),
    false
)]
#[case::a_member_of_an_item_no_longer(
    json!({"f:env": {"k:{\"name\":\"B\"}": {".": {}, "f:name": {}, "f:value": {}}}}),
    json!({"env": [{"name": "B"}]}),
    true
)]
#[case::a_port_with_its_default_protocol(
    json!({"f:ports": {"k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}}}}),
    json!({"ports": [{"containerPort": 80}]}),
    false
)]
#[case::a_member_of_a_set_no_longer(json!({"f:finalizers": {"v:\"a\"": {}}}), json!({"finalizers": ["b"]}), true)]
#[case::a_member_of_a_set(json!({"f:finalizers": {"v:\"b\"": {}}}), json!({"finalizers": ["b"]}), false)]
fn fields_that_are_no_longer_wanted_are_found(#[case] owned: Value, #[case] wanted: Value, #[case] expected: bool) {
    assert_eq!(has_unwanted(&owned, &wanted), expected);
}

#[test]
fn a_projection_has_the_structure_of_one_and_the_values_of_the_other() {
    let rendered = json!({
        "hostIPC": true,
        "absent": {},
        "containers": [{"name": "a", "args": ["x"], "resources": {"requests": {"cpu": "0.5"}}, "env": [{"name": "E", "value": "1"}]}],
    });
    let live = json!({
        "hostIPC": true,
        "dnsPolicy": "ClusterFirst",
        "containers": [{
            "name": "a", "args": ["y", "x"], "resources": {"requests": {"cpu": "500m"}, "limits": {}},
            "env": [{"name": "other"}, {"name": "E", "value": "1"}],
        }],
    });
    let expected = json!({
        "hostIPC": true,
        "containers": [{
            "name": "a", "args": ["y", "x"], "resources": {"requests": {"cpu": "500m"}}, "env": [{"name": "E", "value": "1"}],
        }],
    });
    let projected = project(&rendered, &live);
    assert_eq!(projected, expected);
    assert!(lacking(&projected, &live).is_empty());
}

#[test]
fn lists_with_one_key_twice_cannot_be_applied() {
    assert!(is_expressible(
        &json!({"env": [{"name": "A"}, {"name": "B"}], "args": ["a", "a"]})
    ));
    assert!(!is_expressible(
        &json!({"containers": [{"name": "c", "env": [{"name": "A"}, {"name": "A"}]}]})
    ));
    let udp = json!({"ports": [{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}]});
    assert!(is_expressible(&udp));
    let twice = json!({"ports": [{"containerPort": 80}, {"containerPort": 80, "protocol": "TCP"}]});
    assert!(!is_expressible(&twice));
}
