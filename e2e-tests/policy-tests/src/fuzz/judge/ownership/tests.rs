use super::*;
use serde_json::json;

const CONNECTION: Owned = Owned {
    connection: true,
    staging: false,
    cacheblend: false,
};
const STAGING: Owned = Owned {
    connection: false,
    staging: true,
    cacheblend: false,
};

fn pod(container: Value, more: Value) -> Value {
    let mut spec = json!({"containers": [{"name": "side"}, container]});
    for (key, value) in more.as_object().unwrap() {
        spec[key] = value.clone();
    }
    json!({"metadata": {"name": "p", "annotations": {"a": "b"}}, "spec": spec})
}

#[track_caller]
fn allowed(before: (Value, Value), after: (Value, Value), owned: Owned) {
    assert_eq!(check(&pod(before.0, before.1), &pod(after.0, after.1), owned), Ok(()));
}

#[track_caller]
fn refused(before: (Value, Value), after: (Value, Value), owned: Owned, place: &str) {
    let text = check(&pod(before.0, before.1), &pod(after.0, after.1), owned).unwrap_err();
    assert!(text.starts_with(place), "{text}");
}

#[test]
fn a_whole_injection_is_allowed_and_to_no_one_else() {
    let before = (
        json!({"args": ["-x", "--", "y"], "env": null}),
        json!({"volumes": [{"name": "v"}]}),
    );
    let after = (
        json!({
            "args": ["-x", "--kv-transfer-config", "{}", "--", "y"],
            "env": [{"name": "PYTHONHASHSEED", "value": "0"}, {"name": "PYTHONPATH", "value": "/lmcache-payload"}],
            "volumeMounts": [{"name": "lmcache-payload", "mountPath": "/lmcache-payload"}],
        }),
        json!({
            "volumes": [{"name": "v"}, {"name": "lmcache-payload", "emptyDir": {}}], "hostIPC": true,
            "initContainers": [{"name": "lmcache-payload-stage"}], "imagePullSecrets": [{"name": "s"}],
            "enableServiceLinks": false,
        }),
    );
    allowed(before.clone(), after.clone(), ALL);
    refused(before.clone(), after.clone(), CONNECTION, "/spec/");
    refused(before, after, STAGING, "/spec/");
}

#[test]
fn annotations_are_set_and_removed_by_their_owner_alone() {
    let with = |pairs: Value| json!({"metadata": {"annotations": pairs}});
    let reason = "lmcache.ai/lmcache-skip-reason";
    assert_eq!(check(&with(json!({reason: "x"})), &with(json!({})), CONNECTION), Ok(()));
    assert_eq!(check(&json!({}), &with(json!({reason: "x"})), CONNECTION), Ok(()));
    assert!(check(&json!({}), &with(json!({reason: "x"})), STAGING).is_err());
    assert!(check(&with(json!({})), &with(json!({reason: 1})), CONNECTION).is_err());
    assert!(check(&with(json!({"other": "x"})), &with(json!({})), ALL).is_err());
    assert!(check(&with(json!({})), &json!({}), ALL).is_err());
}

#[test]
fn lists_grow_at_their_end_by_what_is_ours() {
    let volumes = |items: Value| (json!({}), json!({ "volumes": items }));
    let (user, ours, other) = (
        json!({"name": "v"}),
        json!({"name": "lmcache-payload"}),
        json!({"name": "lmcache-dev-shm"}),
    );
    allowed(volumes(json!([user, other])), volumes(json!([user, ours, other])), ALL);
    allowed(
        volumes(json!([user, ours])),
        volumes(json!([user, other, ours])),
        CONNECTION,
    );
    refused(
        volumes(json!([user])),
        volumes(json!([user, ours])),
        CONNECTION,
        "/spec/volumes: {\"name\":\"lmcache-payload\"} was added",
    );
    refused(
        volumes(json!([user])),
        volumes(json!([ours, user])),
        ALL,
        "/spec/volumes: {\"name\":\"v\"} was moved",
    );
    refused(
        volumes(json!([user])),
        volumes(json!([ours])),
        ALL,
        "/spec/volumes: {\"name\":\"v\"} was moved",
    );
    refused(
        volumes(json!([user])),
        volumes(json!([user, user])),
        ALL,
        "/spec/volumes: {\"name\":\"v\"} was added",
    );
    refused(
        volumes(json!([ours])),
        volumes(json!([])),
        ALL,
        "/spec/volumes: {\"name\":\"lmcache-payload\"}",
    );
    refused(
        volumes(json!("x")),
        volumes(json!([ours])),
        ALL,
        "/spec/volumes: was \"x\"",
    );
}

#[test]
fn a_search_path_keeps_what_it_had() {
    let env = |path: &str| {
        (
            json!({"env": [{"name": "PYTHONPATH", "value": path}, {"name": "X"}]}),
            json!({}),
        )
    };
    allowed(env("/opt"), env("/lmcache-payload:/opt"), ALL);
    allowed(
        env("/lmcache-payload:/opt"),
        env("/cb-plugin:/lmcache-payload:/opt"),
        ALL,
    );
    allowed(env(""), env("/cb-plugin"), ALL);
    refused(env("/opt"), env("/lmcache-payload"), ALL, "/spec/containers/env: ");
    refused(
        env("/opt"),
        env("/lmcache-payload:/opt"),
        CONNECTION,
        "/spec/containers/env: ",
    );
    refused(env("/opt"), env("/evil:/opt"), ALL, "/spec/containers/env: ");
}

#[test]
fn arguments_of_the_user_stay() {
    let args = |words: &[&str]| (json!({ "args": words }), json!({}));
    let flag = "--kv-transfer-config";
    allowed(args(&["a"]), args(&["a", flag, "{}"]), CONNECTION);
    allowed(args(&["a", flag]), args(&["a", flag, flag, "{}"]), CONNECTION);
    for (before, after) in [
        (&["a", "b"][..], &["a", flag, "{}", "b"][..]),
        (&["a"], &["a", "--other", "{}"]),
        (&["a", "b"], &["a", flag, "{}"]),
        (&["a"], &["a", flag]),
    ] {
        refused(args(before), args(after), CONNECTION, "/spec/containers/args: ");
    }
    allowed(args(&["--enforce-eager", "a"]), args(&["a", "--no-enforce-eager"]), ALL);
    let odd = |words: Value| (json!({ "args": words }), json!({}));
    allowed(odd(json!([7, "--enforce-eager"])), odd(json!([7])), ALL);
    refused(odd(json!([7])), odd(json!(["x"])), ALL, "/spec/containers/args: ");
    refused(odd(json!(["x"])), odd(json!(["x", 7])), ALL, "/spec/containers/args: ");
    refused(
        args(&["a"]),
        args(&["a", flag, "{}"]),
        STAGING,
        "/spec/containers/args: ",
    );
}

#[test]
fn one_container_is_the_target() {
    let pods = [
        json!([{"name": "a"}, {"name": "b"}]),
        json!([{"name": "a", "env": []}, {"name": "b", "env": []}]),
    ];
    let [before, after] = pods.map(|containers| json!({"spec": {"containers": containers}}));
    assert!(check(&before, &after, ALL).unwrap_err().contains("one target"));
    let fewer = json!({"spec": {"containers": [{"name": "a"}]}});
    assert!(check(&before, &fewer, ALL).unwrap_err().contains("2 before, 1 now"));
}

#[test]
fn a_note_changes_annotations_alone() {
    let before = json!({"metadata": {"name": "p"}, "spec": {}});
    let noted = json!({"metadata": {"name": "p", "annotations": {"a": "b"}}, "spec": {}});
    let more = json!({"metadata": {"name": "p", "annotations": {"a": "b"}}, "spec": {"hostIPC": true}});
    assert!(only_annotations(&before, &noted) && !only_annotations(&before, &more));
}
