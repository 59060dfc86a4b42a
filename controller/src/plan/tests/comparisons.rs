//! Comparing a live object with a wanted one.

use rstest::rstest;
use serde_json::{Value, json};

use super::super::lists::is_expressible;
use super::super::same::{lacking, project};
use super::super::settled::is_settled;
use super::support::fields_of;

#[rstest]
#[case::equal(json!({"a": 1}), json!({"a": 1}), &[])]
#[case::defaults_of_the_api_server(json!({"a": 1}), json!({"a": 1, "b": 2}), &[])]
#[case::another_value(json!({"a": {"b": 1}}), json!({"a": {"b": 2}}), &["a.b"])]
#[case::absent(json!({"a": {"b": 1}}), json!({"a": {}}), &["a.b"])]
#[case::zero_values_are_not_stored(json!({"a": false, "b": "", "c": [], "d": {}, "e": {"f": false}, "g": 0}), json!({}), &[])]
#[case::zero_beside_a_value(json!({"replicas": 0}), json!({"replicas": 1}), &["replicas"])]
#[case::amounts(
    json!({"limits": {"cpu": "0.5", "memory": "2048Mi", "n": 1}}),
    json!({"limits": {"cpu": "500m", "memory": "2Gi", "n": "1"}}),
    &[]
)]
#[case::other_amounts(json!({"limits": {"cpu": "0.5"}}), json!({"limits": {"cpu": "501m"}}), &["limits.cpu"])]
#[case::amounts_elsewhere_are_texts(json!({"value": "1000"}), json!({"value": "1k"}), &["value"])]
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

/// What was applied, what is wanted now, what is there.
#[rstest]
#[case::as_it_was(json!({"a": {"b": 1}}), json!({"a": {"b": 1}}), json!({"a": {"b": 1}}), true)]
#[case::more_by_others(json!({"a": {"b": 1}}), json!({"a": {"b": 1}}), json!({"a": {"b": 1, "c": 2}, "d": 3}), true)]
#[case::another_value_is_wanted(json!({"a": 1}), json!({"a": 2}), json!({"a": 1}), false)]
#[case::another_value_is_there(json!({"a": 1}), json!({"a": 1}), json!({"a": 2}), false)]
#[case::a_new_field(json!({"a": 1}), json!({"a": 1, "b": 2}), json!({"a": 1}), false)]
#[case::a_new_field_that_somebody_else_set(json!({"a": 1}), json!({"a": 1, "b": 2}), json!({"a": 1, "b": 2}), false)]
#[case::a_field_no_longer(json!({"a": 1, "b": 2}), json!({"a": 1}), json!({"a": 1, "b": 2}), false)]
#[case::false_is_a_value(
    json!({"securityContext": {}}),
    json!({"securityContext": {"allowPrivilegeEscalation": false}}),
    json!({"securityContext": {}}),
    false
)]
#[case::zero_is_a_value(json!({"a": {"b": 1}}), json!({"a": {"b": 1, "runAsUser": 0}}), json!({"a": {"b": 1}}), false)]
#[case::amounts(
    json!({"resources": {"limits": {"cpu": "0.5"}}}),
    json!({"resources": {"limits": {"cpu": "0.5"}}}),
    json!({"resources": {"limits": {"cpu": "500m"}}}),
    true
)]
#[case::other_amounts(
    json!({"resources": {"limits": {"cpu": "0.5"}}}),
    json!({"resources": {"limits": {"cpu": "0.6"}}}),
    json!({"resources": {"limits": {"cpu": "500m"}}}),
    false
)]
#[case::texts_are_no_amounts(
    json!({"env": [{"name": "A", "value": "1000"}]}),
    json!({"env": [{"name": "A", "value": "1k"}]}),
    json!({"env": [{"name": "A", "value": "1000"}]}),
    false
)]
#[case::arguments_are_no_amounts(json!({"args": ["0.50"]}), json!({"args": ["0.5"]}), json!({"args": ["0.50"]}), false)]
#[case::an_argument_less(json!({"args": ["a", "b"]}), json!({"args": ["a"]}), json!({"args": ["a", "b"]}), false)]
#[case::a_member_less_inside_one_value(
    json!({"tolerations": [{"key": "a", "tolerationSeconds": 60}]}),
    json!({"tolerations": [{"key": "a"}]}),
    json!({"tolerations": [{"key": "a", "tolerationSeconds": 60}]}),
    false
)]
#[case::optional_no_longer(
    json!({"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k", "optional": true}}}]}),
    json!({"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]}),
    json!({"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k", "optional": true}}}]}),
    false
)]
#[case::what_is_filled_in_inside_one_value(
    json!({"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}]}),
    json!({"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}]}),
    json!({"env": [{"name": "A", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}}}]}),
    true
)]
#[case::a_variable_of_somebody_else(
    json!({"env": [{"name": "B", "value": "2"}]}),
    json!({"env": [{"name": "B", "value": "2"}]}),
    json!({"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]}),
    true
)]
#[case::variables_in_another_order(
    json!({"env": [{"name": "A"}, {"name": "B"}]}),
    json!({"env": [{"name": "B"}, {"name": "A"}]}),
    json!({"env": [{"name": "A"}, {"name": "B"}]}),
    false
)]
#[case::init_containers_in_another_order(
    json!({"initContainers": [{"name": "a"}, {"name": "b"}]}),
    json!({"initContainers": [{"name": "b"}, {"name": "a"}]}),
    json!({"initContainers": [{"name": "a"}, {"name": "b"}]}),
    false
)]
#[case::volumes_in_another_order(
    json!({"volumes": [{"name": "a"}, {"name": "b"}]}),
    json!({"volumes": [{"name": "b"}, {"name": "a"}]}),
    json!({"volumes": [{"name": "a"}, {"name": "b"}]}),
    true
)]
#[case::a_port_with_its_default_protocol(
    json!({"ports": [{"containerPort": 80}]}),
    json!({"ports": [{"containerPort": 80}]}),
    json!({"ports": [{"containerPort": 80, "protocol": "TCP"}]}),
    true
)]
#[case::a_selector_with_more(
    json!({"selector": {"a": "1"}}),
    json!({"selector": {"a": "1"}}),
    json!({"selector": {"a": "1", "b": "2"}}),
    false
)]
#[case::nothing_in_it(json!({"emptyDir": {}}), json!({"emptyDir": {}}), json!({"emptyDir": {}}), true)]
fn an_apply_that_changes_nothing_is_known(
    #[case] applied: Value,
    #[case] wanted: Value,
    #[case] live: Value,
    #[case] expected: bool,
) {
    let whole = |spec: &Value| json!({"apiVersion": "v1", "kind": "X", "metadata": {"name": "x"}, "spec": spec});
    let owned = fields_of(&whole(&applied));
    assert_eq!(is_settled(&owned, &whole(&wanted), &whole(&live)), expected);
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
