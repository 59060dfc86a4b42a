//! Pods of the Go operator: they write until they are gone, whatever their Deployment says.

use serde_json::{Value, json};

use super::support::{codes, controller, found, go_operator, go_webhooks, lease, report};
use crate::adopt::{Level, codes as code};

const NAMESPACE: &str = "lmcache-operator-system";
const DEPLOYMENT: &str = "lmcache-operator-controller-manager";

/// A Pod of the Deployment, as its ReplicaSet makes it.
fn pod(is_ending: bool) -> Value {
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": format!("{DEPLOYMENT}-6c9d8f7b5-x2x7k"), "namespace": NAMESPACE,
            "labels": {"control-plane": "controller-manager", "pod-template-hash": "6c9d8f7b5"},
            "ownerReferences": [{
                "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": format!("{DEPLOYMENT}-6c9d8f7b5"), "controller": true,
            }],
        },
        "spec": {"containers": [{"name": "manager", "image": "lmcache/lmcache-operator:v0.5.2"}]},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    });
    if is_ending {
        pod["metadata"]["deletionTimestamp"] = json!("2026-11-29T11:59:50Z");
    }
    pod
}

#[test]
fn one_that_ends_still_writes_though_no_replica_is_counted() {
    let alone = report([go_operator(0), pod(true)]);
    assert_eq!(codes(&alone, Level::First), [code::GO_OPERATOR_RUNS]);
    let finding = found(&alone, code::GO_OPERATOR_RUNS);
    assert!(
        finding.found.contains(&format!("{DEPLOYMENT}-6c9d8f7b5-x2x7k")),
        "{finding:?}"
    );
    let wait = format!("kubectl -n {NAMESPACE} wait --for=delete pod/{DEPLOYMENT}-6c9d8f7b5-x2x7k --timeout=2m");
    assert!(
        finding.todo.contains(&wait) && !finding.todo.contains("scale"),
        "{finding:?}"
    );
    assert!(alone.to_string().contains("Pods that end: "), "{alone}");
    let both = report([go_operator(0), pod(true), controller(2)]);
    assert_eq!(codes(&both, Level::First), [code::TWO_CONTROLLERS]);
    assert!(found(&both, code::TWO_CONTROLLERS).todo.contains(&wait));
    // It has ended.
    let mut ended = pod(true);
    ended["status"]["phase"] = json!("Failed");
    let gone = report([go_operator(0), ended]);
    assert!(gone.clear, "{:#?}", gone.findings);
    // It still answers, but nobody may count on it.
    let told = report([go_operator(0), pod(true), go_webhooks("Fail")]);
    assert!(
        codes(&told, Level::First).contains(&code::PODS_REFUSED),
        "{:#?}",
        told.findings
    );
}

#[test]
fn one_without_its_deployment_counts_as_well() {
    for is_ending in [true, false] {
        let alone = report([pod(is_ending)]);
        assert_eq!(codes(&alone, Level::First), [code::GO_OPERATOR_RUNS]);
        let finding = found(&alone, code::GO_OPERATOR_RUNS);
        assert!(
            finding
                .found
                .contains(&format!("Pod {NAMESPACE}/{DEPLOYMENT}-6c9d8f7b5-x2x7k")),
            "{finding:?}"
        );
        let both = report([pod(is_ending), controller(1)]);
        assert_eq!(codes(&both, Level::First), [code::TWO_CONTROLLERS]);
    }
    // Its Lease is nothing more to say.
    let led = report([pod(false), lease(NAMESPACE, "f517be84.lmcache.ai", 5)]);
    assert_eq!(codes(&led, Level::First), [code::GO_OPERATOR_RUNS]);
    // It answers for the webhooks.
    let told = report([pod(false), go_webhooks("Fail")]);
    let closed = found(&told, code::WEBHOOK_FAILS_CLOSED);
    assert!(
        closed.found.contains("from the moment the Go operator stops"),
        "{closed:?}"
    );
}

#[test]
fn pods_of_others_do_not_count() {
    let mut other = pod(false);
    other["spec"]["containers"][0]["image"] = json!("registry.example.com/operator:v1");
    other["metadata"]["name"] = json!("database-controller-manager-0");
    other["metadata"]["namespace"] = json!("database-system");
    assert!(report([other]).clear);
    let mut ours = pod(false);
    ours["spec"]["containers"][0]["image"] = json!("registry.example.com/lmcache-controller:v1");
    assert!(report([ours]).clear);
}
