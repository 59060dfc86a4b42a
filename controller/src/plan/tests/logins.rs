//! Copies of Redis logins.

use serde_json::{Value, json};

use super::support::{Stored, engine, recording};
use crate::live::ChildKind;
use crate::plan::LOGIN_HASH_ANNOTATION;

fn with_login(password: &str) -> Stored {
    let resp = json!({"host": "redis", "port": 6379, "authSecretRef": {"name": "login"}});
    let mut stored = engine(json!({"l1": {"sizeGB": 10}, "l2Backend": {"resp": resp}}));
    stored.others = vec![json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": "login", "namespace": "team-a", "uid": "uid-login"},
        "data": {"password": password, "username": "dXNlcg==", "other": "eA=="},
    })];
    stored
}

fn hash(stored: &Stored) -> Value {
    let workload = stored.wanted(ChildKind::DaemonSet);
    workload["spec"]["template"]["metadata"]["annotations"][LOGIN_HASH_ANNOTATION].clone()
}

#[test]
fn a_new_password_changes_the_template_and_nothing_else_does() {
    let stored = with_login("b25l");
    let first = hash(&stored);
    assert!(first.as_str().is_some_and(|hash| hash.len() == 32), "{first}");
    assert_ne!(first, hash(&with_login("dHdv")));
    let mut touched = with_login("b25l");
    touched.others[0]["data"]["other"] = json!("eQ==");
    touched.others[0]["metadata"]["annotations"] = json!({"team": "a"});
    assert_eq!(first, hash(&touched));
    touched.others[0]["data"]["username"] = json!("ZWxzZQ==");
    assert_ne!(first, hash(&touched), "the user is read at the start as well");
}

#[test]
fn the_hash_is_keyed_by_the_engine() {
    let stored = with_login("b25l");
    let other = stored.clone().with("/metadata/uid", json!("another"));
    assert_ne!(hash(&stored), hash(&other));
}

#[test]
fn no_object_but_the_copy_holds_the_password() {
    let stored = with_login("c2VjcmV0LXBhc3N3b3Jk");
    for wanted in stored.desired().wanted {
        let text = wanted.body.to_string();
        let holds = text.contains("c2VjcmV0LXBhc3N3b3Jk") || text.contains("secret-password");
        assert_eq!(holds, wanted.name.kind == ChildKind::Secret, "{}", wanted.name);
    }
    let debug = format!("{:?}", stored.inputs());
    assert!(!debug.contains("c2VjcmV0LXBhc3N3b3Jk"), "{debug}");
}

#[test]
fn servers_of_the_go_operator_run_on_until_the_password_changes() {
    let mut stored = recording("l2-resp-auth");
    assert!(stored.desired().legacy_template.is_some());
    assert_eq!(hash(&stored), Value::Null);
    let copy = stored.wanted(ChildKind::Secret);
    assert_eq!(copy["metadata"]["annotations"], Value::Null);

    stored.others[0]["data"]["password"] = json!("bmV3");
    assert!(stored.desired().legacy_template.is_none());
    let rotated = hash(&stored);
    assert!(rotated.is_string());
    // The controller stopped after it wrote the copy: the next pass still knows that the Pods have to be replaced.
    let body = stored.wanted(ChildKind::Secret);
    assert_eq!(body["metadata"]["annotations"][LOGIN_HASH_ANNOTATION], rotated);
    let copy = stored.child("Secret");
    copy["data"] = body["data"].clone();
    copy["metadata"]["annotations"] = body["metadata"]["annotations"].clone();
    assert!(stored.desired().legacy_template.is_none());
    assert_eq!(hash(&stored), rotated);
}

#[test]
fn a_login_that_cannot_be_copied_leaves_servers_and_copy_as_they_are() {
    let cases: [(&str, Value, &str); 4] = [
        ("missing", Value::Null, "Secret team-a/login not found"),
        ("no password", json!({"data": {}}), "has no key \"password\""),
        ("empty password", json!({"data": {"password": ""}}), "or an empty one"),
        (
            "another namespace",
            json!({"metadata": {"namespace": "infra"}}),
            "lmcache.ai/allow-copy-to",
        ),
    ];
    for (name, change, expected) in cases {
        let mut stored = with_login("b25l");
        match change {
            Value::Null => stored.others.clear(),
            change => {
                if let Some(data) = change.get("data") {
                    stored.others[0]["data"] = data.clone();
                }
                if let Some(namespace) = change.pointer("/metadata/namespace") {
                    stored.others[0]["metadata"]["namespace"] = namespace.clone();
                }
            }
        }
        let desired = stored.desired();
        assert_eq!(desired.problems.len(), 1, "{name}");
        assert!(
            desired.problems[0].message.contains(expected),
            "{name}: {}",
            desired.problems[0].message
        );
        let kinds: Vec<_> = desired.wanted.iter().map(|wanted| wanted.name.kind).collect();
        assert!(
            !kinds.contains(&ChildKind::DaemonSet) && !kinds.contains(&ChildKind::Secret),
            "{name}: {kinds:?}"
        );
    }
}
