//! Look-ups of policies through a kubeconfig.

use serde_json::{Value, json};

use crate::api_server::{ApiServer, status};
use crate::common::{get, scratch, text, warnings};
use crate::server::{Server, policy};

const ENGINES: &str = "lmcache.lmcache.ai/v1alpha1";

fn kinds(group_version: &str, kinds: &[(&str, &str, bool)]) -> Value {
    let resources: Vec<Value> = kinds
        .iter()
        .map(|(name, kind, namespaced)| {
            json!({"name": name, "kind": kind, "namespaced": namespaced, "singularName": "", "verbs": ["get", "list"]})
        })
        .collect();
    json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": resources})
}

fn config_map() -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "name": "kv", "namespace": "team-a", "resourceVersion": "1",
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}", "a": "b"},
            "managedFields": [{"manager": "m", "operation": "Apply", "apiVersion": "v1"}],
        },
        "data": {"key": "value"},
    })
}

fn cluster() -> ApiServer {
    let core = [
        ("configmaps", "ConfigMap", true),
        ("namespaces", "Namespace", false),
        ("namespaces/status", "Namespace", false),
        ("secrets", "Secret", true),
    ];
    let namespace =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-a"}, "status": {"phase": "Active"}});
    let list = json!({"apiVersion": "v1", "kind": "ConfigMapList", "metadata": {"resourceVersion": "9"}, "items": [config_map()]});
    let forbidden = "secrets \"s\" is forbidden: User \"policies\" cannot get resource \"secrets\" in API group \"\" in the \
                     namespace \"team-a\"";
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "metadata": {},
        "spec": {}, "status": {"allowed": true, "reason": "because"},
    });
    ApiServer::start(vec![
        ("GET /api/v1", 200, kinds("v1", &core)),
        (
            "GET /apis/lmcache.lmcache.ai/v1alpha1",
            200,
            kinds(ENGINES, &[("lmcacheengines", "LMCacheEngine", true)]),
        ),
        ("GET /api/v1/namespaces/team-a", 200, namespace),
        ("GET /api/v1/namespaces/team-a/configmaps/kv", 200, config_map()),
        ("GET /api/v1/namespaces/team-a/configmaps", 200, list.clone()),
        ("GET /api/v1/configmaps", 200, list),
        (
            "GET /api/v1/namespaces/team-a/secrets/s",
            403,
            status(403, "Forbidden", forbidden),
        ),
        ("POST /apis/authorization.k8s.io/v1/subjectaccessreviews", 201, review),
    ])
}

/// A policy that makes these calls, with all grants.
fn caller(name: &str, calls: &[Value]) -> Value {
    let granted = [
        ("v1", "ConfigMap"),
        ("v1", "Namespace"),
        ("v1", "Secret"),
        ("v1", "Gadget"),
        (ENGINES, "LMCacheEngine"),
    ]
    .iter()
    .chain(&[(ENGINES, "CacheBlendEngine"), ("other.example.com/v1", "Thing")])
    .map(|(version, kind)| json!({"apiVersion": version, "kind": kind}))
    .collect::<Vec<_>>();
    policy(
        name,
        json!({"calls": calls}),
        json!({"contextAwareResources": granted, "timeoutEvalSeconds": 10}),
    )
}

fn server(name: &str, api: &ApiServer, policies: &[Value]) -> Server {
    let dir = scratch(&format!("serve-kubeconfig-{name}"));
    let kubeconfig = api.kubeconfig(&dir);
    Server::of(
        name,
        policies,
        &["--kubeconfig", text(&kubeconfig), "--context", "here"],
    )
}

fn call(operation: &str, payload: Value) -> Value {
    json!({"operation": operation, "payload": payload})
}

#[test]
fn failures_are_worded_as_kubewarden_words_them() {
    let api = cluster();
    let cases = [
        (
            get("v1", "ConfigMap", "none", Some("team-a")),
            "Cannot find v1/ConfigMap named 'none' inside of namespace 'Some(\"team-a\")'",
        ),
        (
            get("v1", "Namespace", "none", None),
            "Cannot find v1/Namespace named 'none' inside of namespace 'None'",
        ),
        (
            get(ENGINES, "LMCacheEngine", "kv", Some("team-a")),
            "Cannot find lmcache.lmcache.ai/v1alpha1/LMCacheEngine named 'kv' inside of namespace 'Some(\"team-a\")'",
        ),
        (
            get("v1", "ConfigMap", "kv", None),
            "Resource v1/ConfigMap is namespaced, but no namespace was provided",
        ),
        (
            get(ENGINES, "CacheBlendEngine", "kv", Some("team-a")),
            "Cannot find resource lmcache.lmcache.ai/v1alpha1/CacheBlendEngine",
        ),
        (
            get("v1", "Gadget", "g", Some("team-a")),
            "Cannot find resource v1/Gadget",
        ),
        (
            get("other.example.com/v1", "Thing", "t", None),
            "error finding resource other.example.com/v1 / Thing: ApiError: not found: NotFound (Status {",
        ),
        (
            get("v1", "Secret", "s", Some("team-a")),
            "ApiError: secrets \"s\" is forbidden: User \"policies\" cannot get resource \"secrets\" in API group \"\" in the \
             namespace \"team-a\": Forbidden (Status {",
        ),
        (
            call(
                "list_resources_by_namespace",
                json!({"api_version": "v1", "kind": "Namespace", "namespace": "team-a"}),
            ),
            "resource v1/Namespace is cluster wide. Cannot search for it inside of a namespace",
        ),
    ];
    let calls: Vec<Value> = cases.iter().map(|(call, _)| call.clone()).collect();
    let server = server("failures", &api, &[caller("asks", &calls)]);
    let found = warnings(&server.review("/validate/asks"));
    for ((call, expected), warning) in cases.iter().zip(&found) {
        let expected = format!("Callback evaluation failure: {expected}");
        assert!(
            warning.contains(&expected),
            "{call}\nexpected {expected}\ngot      {warning}"
        );
    }
    assert_eq!(found.len(), cases.len());
    assert!(
        found[7].contains("code: 403") && found[7].contains("Caused by:"),
        "{}",
        found[7]
    );
    assert!(
        api.asked()
            .iter()
            .all(|asked| asked.authorization == "Bearer of-the-policies")
    );
}

#[test]
fn finds_objects_and_reads_them_again_after_a_while() {
    let api = cluster();
    let cached = get("v1", "ConfigMap", "kv", Some("team-a"));
    let mut fresh = cached.clone();
    fresh["payload"]["disable_cache"] = json!(true);
    let mut masked = get("v1", "Namespace", "team-a", None);
    masked["payload"]["field_masks"] = json!(["spec"]);
    let absent = get("v1", "ConfigMap", "none", Some("team-a"));
    let server = server(
        "found",
        &api,
        &[
            caller("cached", &[cached]),
            caller("fresh", &[fresh]),
            caller("masked", &[masked]),
            caller("absent", &[absent]),
        ],
    );
    for _ in 0..2 {
        for name in ["cached", "fresh"] {
            let found = warnings(&server.review(&format!("/validate/{name}")));
            // Single objects come whole.
            assert_eq!(serde_json::from_str::<Value>(&found[0]).unwrap(), config_map());
        }
        assert!(warnings(&server.review("/validate/absent"))[0].contains("Cannot find"));
    }
    // The first cached look-up and two fresh ones; what is absent is asked for each time.
    assert_eq!(api.count("GET /api/v1/namespaces/team-a/configmaps/kv"), 3);
    assert_eq!(api.count("GET /api/v1/namespaces/team-a/configmaps/none"), 2);
    assert_eq!(api.count("GET /api/v1"), 1, "kinds that were found are known");
    let masked = warnings(&server.review("/validate/masked"));
    assert_eq!(
        serde_json::from_str::<Value>(&masked[0]).unwrap(),
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-a"}})
    );
}

#[test]
fn lists_are_stripped() {
    let api = cluster();
    let all = json!({"api_version": "v1", "kind": "ConfigMap", "label_selector": "a=b", "field_selector": "x=y"});
    let mut namespaced = all.clone();
    namespaced["namespace"] = json!("team-a");
    let calls = [
        call("list_resources_all", all),
        call("list_resources_by_namespace", namespaced),
    ];
    let server = server("lists", &api, &[caller("lists", &calls)]);
    let mut item = config_map();
    item["metadata"]["managedFields"] = json!([]);
    item["metadata"]["annotations"] = json!({"a": "b"});
    let found = warnings(&server.review("/validate/lists"));
    for list in &found {
        let list: Value = serde_json::from_str(list).unwrap();
        assert_eq!(
            (&list["kind"], &list["items"]),
            (&json!("ConfigMapList"), &json!([item]))
        );
    }
    assert_eq!(found.len(), 2);
    for path in ["/api/v1/configmaps", "/api/v1/namespaces/team-a/configmaps"] {
        let asked = api
            .asked()
            .into_iter()
            .find(|asked| asked.path.starts_with(&format!("{path}?")))
            .unwrap();
        assert!(
            asked.path.contains("labelSelector=a%3Db") && asked.path.contains("fieldSelector=x%3Dy"),
            "{asked:?}"
        );
    }
}

#[test]
fn asks_what_a_user_may_do() {
    let api = cluster();
    let question = json!({"subject_access_review": {"user": "dev", "groups": ["devs"], "resource_attributes": {
        "verb": "get", "resource": "pods", "namespace": "team-a"}}, "disable_cache": false});
    let server = server(
        "can-i",
        &api,
        &[policy("asks", json!({"calls": [call("can_i", question)]}), json!({}))],
    );
    for _ in 0..2 {
        let answer: Value = serde_json::from_str(&warnings(&server.review("/validate/asks"))[0]).unwrap();
        assert_eq!(answer, json!({"allowed": true, "reason": "because"}));
    }
    let asked = api.asked();
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert_eq!(
        asked[0].body["spec"],
        json!({
            "user": "dev", "groups": ["devs"],
            "resourceAttributes": {"verb": "get", "resource": "pods", "namespace": "team-a"},
        })
    );
}

#[test]
fn only_granted_kinds_can_be_read() {
    let api = cluster();
    let calls =
        json!({"calls": [get("v1", "ConfigMap", "kv", Some("team-a")), get("v1", "Namespace", "team-a", None)]});
    let granted = json!({"contextAwareResources": [{"apiVersion": "v1", "kind": "Namespace"}]});
    let server = server(
        "grants",
        &api,
        &[policy("some", calls.clone(), granted), policy("none", calls, json!({}))],
    );
    let some = warnings(&server.review("/validate/some"));
    let refused =
        "Policy has not been granted access to Kubernetes v1/ConfigMap resources. The violation has been reported.";
    assert!(some[0].ends_with(refused), "{some:?}");
    assert!(some[1].contains("\"phase\":\"Active\""), "{some:?}");
    let none = warnings(&server.review("/validate/none"));
    assert!(
        none.iter()
            .all(|text| text.contains("Policy has not been granted access to Kubernetes v1/")),
        "{none:?}"
    );
    assert_eq!(api.count("GET /api/v1/namespaces/team-a/configmaps/kv"), 0);
}

#[test]
fn an_api_server_that_is_away_is_said_to_be() {
    let api = cluster();
    let server = server(
        "away",
        &api,
        &[caller("asks", &[get("v1", "Namespace", "team-a", None)])],
    );
    drop(api);
    let found = warnings(&server.review("/validate/asks"));
    assert!(found[0].contains("Callback evaluation failure: "), "{found:?}");
    assert!(
        found[0].contains("Connection refused") || found[0].contains("ClientError"),
        "{found:?}"
    );
}
