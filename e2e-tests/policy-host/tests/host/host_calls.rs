//! Host calls: gates, clusters of manifests, recorded sessions.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "helpers of tests"
)]

use std::time::{Duration, Instant};

use crate::common::{annotated, get, pod_request, run, run_policy, scratch, text, warnings, write};
use policy_host::host::{CapabilityPatterns, ClusterDir, HostCapabilities, HostRequest, NoCluster, Replay};
use policy_host::{AdmissionRequest, EvaluationContext};
use rstest::rstest;
use serde_json::{Value, json};

const CLUSTER: &str = r#"
apiVersion: v1
kind: Namespace
metadata: {name: team-a, labels: {tier: gold}}
---
apiVersion: v1
kind: Namespace
metadata: {name: team-b}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: demo
  namespace: team-a
  managedFields: [{manager: x}]
  annotations: {kubectl.kubernetes.io/last-applied-configuration: "{}", keep: "1"}
data: {a: "1", b: "2"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: other}
"#;

const HOST: &str = "notServed: [LMCacheEngine]\nfailing: {Secret: boom}\ngarbled: {Node: 'not json'}\n";

fn namespace(name: &str) -> Value {
    get("v1", "Namespace", name, None)
}

fn library_answers(context: &EvaluationContext, calls: &Value) -> Vec<String> {
    let request = AdmissionRequest::from_value(pod_request()).unwrap();
    let evaluation = crate::common::policy().validate(&request, &json!({"calls": calls}), context);
    assert!(evaluation.response.allowed, "{}", evaluation.response.message());
    evaluation.response.warnings().to_vec()
}

#[rstest]
#[case(json!({"binding": "other", "payload": {}}), "unknown binding: other")]
#[case(json!({"namespace": "moon", "payload": {}}), "unknown namespace: moon")]
#[case(json!({"operation": "watch", "payload": {}}), "unknown operation: watch")]
#[case(json!({"namespace": "tracing", "operation": "trace", "payload": {}}), "unknown operation: trace")]
#[case(json!({"payload": "no json"}), "expected ident at line 1 column 2")]
#[case(
    namespace("team-a"),
    "Callback evaluation failure: kube::Client was not initialized properly"
)]
fn texts_without_a_cluster(#[case] call: Value, #[case] expected: &str) {
    let context = EvaluationContext::without_cluster().context_aware_any();
    let answers = library_answers(&context, &json!([call]));
    assert_eq!(answers.len(), 1);
    assert!(answers[0].ends_with(expected), "{answers:?}");
}

#[test]
fn gates_of_the_command() {
    let dir = scratch("gates");
    let policy = annotated(&dir);
    let cluster = write(&dir, "cluster.yaml", CLUSTER);
    let calls = json!({"calls": [namespace("team-a"), get("v1", "ConfigMap", "demo", Some("team-a"))]});
    let answers = |flags: &[&str]| {
        let mut all = vec!["--cluster-dir", text(&cluster)];
        all.extend(flags);
        warnings(&run_policy(&policy, calls.clone(), &all).response())
    };
    let not_granted = |what: &str| {
        format!(
            "Host error: Policy has not been granted access to Kubernetes {what} resources. The violation has been reported."
        )
    };
    assert_eq!(answers(&[]), [not_granted("v1/Namespace"), not_granted("v1/ConfigMap")]);
    let aware = answers(&["--allow-context-aware"]);
    assert!(aware[0].contains("\"tier\":\"gold\""), "{aware:?}");
    assert_eq!(aware[1], not_granted("v1/ConfigMap"), "only what the metadata lists");
    let capability = "Host error: Policy has not been granted access to the 'kubernetes/get_resource' host capability. The violation has been reported.";
    assert_eq!(
        answers(&[
            "--allow-context-aware",
            "--allowed-host-capabilities",
            "oci/*",
            "kubernetes/can_i"
        ]),
        [capability; 2]
    );
    assert_eq!(
        answers(&["--allow-context-aware", "--allowed-host-capabilities"]),
        [capability; 2]
    );
    assert!(answers(&["--allow-context-aware", "--allowed-host-capabilities", "kubernetes/*"])[0].contains("gold"));
}

#[test]
fn a_bare_module_is_granted_nothing() {
    let done = run(json!({"calls": [namespace("team-a")]}), &["--allow-context-aware"]);
    assert!(warnings(&done.response())[0].contains("not been granted access to Kubernetes v1/Namespace"));
    assert!(done.stderr.contains("carries no metadata"), "{}", done.stderr);
}

#[rstest]
#[case(get("v1", "ConfigMap", "demo", Some("team-a")), "\"data\":{\"a\":\"1\",\"b\":\"2\"}")]
#[case(get("v1", "ConfigMap", "other", Some("default")), "\"name\":\"other\"")]
#[case(
    namespace("team-b"),
    "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"team-b\"}}"
)]
#[case(
    get("v1", "ConfigMap", "gone", Some("team-a")),
    "Callback evaluation failure: Cannot find v1/ConfigMap named 'gone' inside of namespace 'Some(\"team-a\")'"
)]
#[case(
    namespace("gone"),
    "Callback evaluation failure: Cannot find v1/Namespace named 'gone' inside of namespace 'None'"
)]
#[case(
    get("v1", "ConfigMap", "demo", None),
    "Callback evaluation failure: Resource v1/ConfigMap is namespaced, but no namespace was provided"
)]
#[case(
    get("lmcache.lmcache.ai/v1alpha1", "LMCacheEngine", "e", Some("team-a")),
    "Callback evaluation failure: Cannot find resource lmcache.lmcache.ai/v1alpha1/LMCacheEngine"
)]
#[case(
    get("lmcache.lmcache.ai/v1alpha1", "CacheBlendEngine", "e", Some("team-a")),
    "Cannot find lmcache.lmcache.ai/v1alpha1/CacheBlendEngine named 'e'"
)]
#[case(get("v1", "Secret", "s", Some("team-a")), "Callback evaluation failure: boom")]
#[case(get("v1", "Node", "n", None), "not json")]
fn a_cluster_of_files_answers(#[case] call: Value, #[case] expected: &str) {
    let dir = scratch(&format!("cluster-{}", expected.bytes().map(u32::from).sum::<u32>()));
    write(&dir, "objects.yaml", CLUSTER);
    write(&dir, "host.yaml", HOST);
    write(&dir, "ignored.txt", "x");
    for path in [dir.clone(), dir.join("objects.yaml")] {
        let context = EvaluationContext::new(ClusterDir::load(path).unwrap()).context_aware_any();
        let answers = library_answers(&context, &json!([call]));
        assert!(answers[0].contains(expected), "{answers:?}");
    }
}

#[rstest]
#[case("list_resources_all", json!({"kind": "Namespace"}), &["team-a", "team-b"])]
#[case("list_resources_all", json!({"kind": "Namespace", "label_selector": "tier=gold"}), &["team-a"])]
#[case("list_resources_all", json!({"kind": "ConfigMap", "field_selector": "metadata.name=other"}), &["other"])]
#[case("list_resources_by_namespace", json!({"kind": "ConfigMap", "namespace": "team-a"}), &["demo"])]
#[case("list_resources_by_namespace", json!({"kind": "ConfigMap", "namespace": "empty"}), &[])]
fn lists(#[case] operation: &str, #[case] mut payload: Value, #[case] names: &[&str]) {
    payload["api_version"] = json!("v1");
    let kind = payload["kind"].as_str().unwrap().to_owned();
    let dir = scratch(&format!("lists-{operation}-{}", names.concat()));
    let cluster = ClusterDir::load(write(&dir, "cluster.yaml", CLUSTER)).unwrap();
    let context = EvaluationContext::new(cluster).context_aware_any();
    let answers = library_answers(&context, &json!([{"operation": operation, "payload": payload}]));
    let list: Value = serde_json::from_str(&answers[0]).unwrap();
    assert_eq!(
        (&list["apiVersion"], &list["kind"]),
        (&json!("v1"), &json!(format!("{kind}List")))
    );
    let items = list["items"].as_array().unwrap();
    let found: Vec<&str> = items
        .iter()
        .map(|item| item["metadata"]["name"].as_str().unwrap())
        .collect();
    assert_eq!(found, names);
    for item in items {
        assert_eq!(item["metadata"]["managedFields"], json!([]));
        assert_eq!(
            item.pointer("/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration"),
            None
        );
    }
}

#[test]
fn lists_in_a_namespace_need_a_namespaced_kind_and_masks_prune() {
    let dir = scratch("list-rules");
    let cluster = ClusterDir::load(write(&dir, "cluster.yaml", CLUSTER)).unwrap();
    let context = EvaluationContext::new(cluster).context_aware_any();
    let mut masked = get("v1", "ConfigMap", "demo", Some("team-a"));
    masked["payload"]["field_masks"] = json!(["data.b"]);
    let calls = json!([
        {"operation": "list_resources_by_namespace", "payload": {"api_version": "v1", "kind": "Namespace", "namespace": "a"}},
        masked,
        {"operation": "can_i", "payload": {
            "subject_access_review": {"user": "u", "resource_attributes": {"verb": "get", "resource": "pods"}}, "disable_cache": true,
        }},
    ]);
    let answers = library_answers(&context, &calls);
    assert!(
        answers[0].contains("resource v1/Namespace is cluster wide"),
        "{answers:?}"
    );
    assert_eq!(
        serde_json::from_str::<Value>(&answers[1]).unwrap()["data"],
        json!({"b": "2"})
    );
    assert!(
        answers[2].contains("can u get pods; replay a recorded session"),
        "{answers:?}"
    );
}

#[rstest]
#[case("kind: Pod\n", "needs `apiVersion` and `kind`")]
#[case("apiVersion: v1\nkind: Pod\n", "the Pod has no `metadata.name`")]
#[case(
    "apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: Pod, metadata: {name: a}}, {apiVersion: v1, kind: Pod, metadata: {name: a, namespace: default}}]\n",
    "Pod a is there twice"
)]
#[case("a: [", "cluster.yaml: ")]
fn broken_clusters_are_errors(#[case] content: &str, #[case] expected: &str) {
    let dir = scratch(&format!("broken-{}", content.len()));
    let error = ClusterDir::load(write(&dir, "cluster.yaml", content))
        .unwrap_err()
        .to_string();
    assert!(error.contains(expected) && error.contains("cluster.yaml: "), "{error}");
}

#[test]
fn a_misspelt_host_file_is_an_error() {
    let dir = scratch("host-file");
    write(&dir, "host.yaml", "notserved: [Pod]\n");
    let error = ClusterDir::load(&dir).unwrap_err().to_string();
    assert!(error.contains("host.yaml: unknown field `notserved`"), "{error}");
}

#[test]
fn records_and_replays_the_same_session() {
    let dir = scratch("session");
    let policy = annotated(&dir);
    let cluster = write(&dir, "cluster.yaml", CLUSTER);
    let session = dir.join("session.yaml");
    let settings = json!({"calls": [namespace("team-a"), namespace("gone"), get("v1", "Secret", "denied", Some("x"))]});
    let record = [
        "--allow-context-aware",
        "--cluster-dir",
        text(&cluster),
        "--record-host-capabilities-interactions",
        text(&session),
    ];
    let recorded = run_policy(&policy, settings.clone(), &record);
    let written = std::fs::read_to_string(&session).unwrap();
    assert_eq!(
        written.matches("type: Exchange").count(),
        2,
        "denied calls reach no cluster: {written}"
    );
    assert!(written.contains("!KubernetesGetResource"), "{written}");
    let replay = [
        "--allow-context-aware",
        "--replay-host-capabilities-interactions",
        text(&session),
    ];
    let replayed = run_policy(&policy, settings.clone(), &replay);
    assert_eq!(replayed.response(), recorded.response());
    assert!(!replayed.stderr.contains("replayed"), "{}", replayed.stderr);

    // The gates hold in replay, too; then every exchange is left over, which is only worth a warning.
    let gated = run_policy(
        &policy,
        settings.clone(),
        &["--replay-host-capabilities-interactions", text(&session)],
    );
    assert!(warnings(&gated.response())[0].contains("not been granted access"));
    assert_eq!(
        gated.stderr.matches("has not been replayed: get v1/Namespace").count(),
        2,
        "{}",
        gated.stderr
    );

    let reversed = json!({"calls": [namespace("gone"), namespace("gone"), namespace("gone")]});
    let answers = warnings(&run_policy(&policy, reversed, &replay).response());
    assert!(answers[0].starts_with("Host error: Callback evaluation failure: Replay error: unexpected request. Was expecting KubernetesGetResource { api_version: \"v1\", kind: \"Namespace\", name: \"team-a\""), "{answers:?}");
    assert!(answers[0].ends_with("instead"));
    assert!(
        answers[1].contains("Cannot find v1/Namespace named 'gone'"),
        "{answers:?}"
    );
    assert_eq!(
        answers[2],
        "Host error: Callback evaluation failure: the list of recorded responses is empty"
    );

    let broken = write(&dir, "broken.yaml", "- type: Exchange\n");
    run_policy(
        &policy,
        settings,
        &["--replay-host-capabilities-interactions", text(&broken)],
    )
    .fails_with("broken.yaml: not a recorded session: ");
}

#[test]
fn calls_and_logs_are_journalled() {
    let request = AdmissionRequest::from_value(pod_request()).unwrap();
    let settings = json!({
        "calls": [namespace("team-a"), {"operation": "list_resources_all", "payload": {"api_version": "v1", "kind": "Pod"}}],
        "log": [{"level": "info", "message": "m"}],
    });
    let context = EvaluationContext::new(NoCluster).context_aware([("v1", "Namespace")]);
    let evaluation = crate::common::policy().validate(&request, &settings, &context);
    assert_eq!(evaluation.kubernetes_calls(), 2);
    assert!(
        matches!(&evaluation.calls[0].request, HostRequest::KubernetesGetResource { name, .. } if name == "team-a")
    );
    assert!(
        evaluation.calls[1]
            .answer
            .as_ref()
            .unwrap_err()
            .contains("v1/Pod resources")
    );
    assert_eq!(evaluation.logs[0].message, "m");
    let denied = context.allow_capabilities(CapabilityPatterns::none());
    let evaluation = crate::common::policy().validate(&request, &settings, &denied);
    assert_eq!((evaluation.kubernetes_calls(), evaluation.logs.len()), (0, 1));
}

#[test]
fn host_calls_can_be_slow() {
    let request = AdmissionRequest::from_value(pod_request()).unwrap();
    let context = EvaluationContext::new(NoCluster)
        .context_aware_any()
        .host_call_delay(Duration::from_millis(60));
    let start = Instant::now();
    crate::common::policy().validate(&request, &json!({"calls": [namespace("a"), namespace("b")]}), &context);
    assert!(start.elapsed() >= Duration::from_millis(120), "{:?}", start.elapsed());
    let start = Instant::now();
    run(json!({"calls": [namespace("a")]}), &["--host-call-delay-ms", "300"]).response();
    assert!(start.elapsed() >= Duration::from_millis(300), "{:?}", start.elapsed());
}

#[test]
fn a_session_written_for_kwctl_is_understood() {
    let session = r#"
- type: Exchange
  request: |
    !KubernetesListResourceNamespace
    api_version: v1
    kind: Pod
    namespace: team-a
    label_selector: null
    field_selector: null
    unknown: ignored
  response:
    type: Success
    payload: '{"items":[]}'
"#;
    let replay = Replay::parse(session).unwrap();
    let wire = br#"{"api_version":"v1","kind":"Pod","namespace":"team-a","label_selector":null}"#;
    let request = HostRequest::from_wire("kubernetes", "list_resources_by_namespace", wire).unwrap();
    assert_eq!(replay.answer(&request).unwrap(), br#"{"items":[]}"#);
    assert!(replay.leftovers().is_empty());
}
