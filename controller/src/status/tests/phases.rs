//! Phases, counts, and the conditions that follow from them.

use lmcache_api::FieldError;
use rstest::rstest;
use serde_json::json;

use super::support::*;
use crate::live::{ChildKind, WorkloadStatus};
use crate::plan::{Reason, Verdict};

#[rstest]
#[case(0, 0, 0, "Pending", "False NoReadyInstances", "False NotAllReady", "False NoNodes")]
#[case(
    2,
    0,
    2,
    "Pending",
    "False NoReadyInstances",
    "False NotAllReady",
    "False NotAllReady"
)]
#[case(
    2,
    1,
    2,
    "Degraded",
    "True AtLeastOneReady",
    "False NotAllReady",
    "False NotAllReady"
)]
#[case(2, 2, 2, "Running", "True AtLeastOneReady", "True AllReady", "True AllReady")]
#[case(
    2,
    2,
    1,
    "Running",
    "True AtLeastOneReady",
    "False RolloutInProgress",
    "False RolloutInProgress"
)]
#[case(
    2,
    1,
    1,
    "Degraded",
    "True AtLeastOneReady",
    "False NotAllReady",
    "False NotAllReady"
)]
fn counts_of_an_observed_daemon_set(
    #[case] desired: i32,
    #[case] ready: i32,
    #[case] updated: i32,
    #[case] phase: &str,
    #[case] available: &str,
    #[case] all_ready: &str,
    #[case] sum: &str,
) {
    let status = engine(WorkloadStatus {
        updated,
        ..numbers(desired, ready)
    })
    .status();
    assert_eq!(status["phase"], phase);
    assert_eq!(status["desiredInstances"], desired);
    assert_eq!(status["readyInstances"], ready);
    assert_eq!(said(&status, "Available"), available);
    assert_eq!(said(&status, "AllInstancesReady"), all_ready);
    assert_eq!(said(&status, "Ready"), sum);
    assert_eq!(
        message(&status, "Available"),
        format!("{ready}/{desired} instances ready")
    );
}

/// The numbers of a DaemonSet that was just changed are about what it was before.
#[rstest]
#[case(2, "Degraded", "True AtLeastOneReady")]
#[case(0, "Pending", "False NoReadyInstances")]
fn counts_of_a_daemon_set_that_was_just_changed(#[case] ready: i32, #[case] phase: &str, #[case] available: &str) {
    let status = engine(WorkloadStatus {
        generation: 3,
        ..numbers(2, ready)
    })
    .status();
    assert_eq!(status["phase"], phase);
    assert_eq!(said(&status, "Available"), available);
    assert_eq!(said(&status, "AllInstancesReady"), "False RolloutNotObserved");
    assert_eq!(said(&status, "Ready"), "False RolloutNotObserved");
}

#[test]
fn a_daemon_set_that_was_just_created_has_no_nodes_yet() {
    let status = engine(WorkloadStatus {
        generation: 1,
        ..WorkloadStatus::default()
    })
    .status();
    assert_eq!(status["phase"], "Pending");
    assert_eq!(said(&status, "Ready"), "False RolloutNotObserved");
}

/// What keeps a workload from being made is a failure where it does not pass by itself.
#[rstest]
#[case(ChildKind::DaemonSet, Reason::ForeignObject, "Failed")]
#[case(ChildKind::DaemonSet, Reason::Rejected, "Failed")]
#[case(ChildKind::DaemonSet, Reason::Forbidden, "Failed")]
#[case(ChildKind::Secret, Reason::SecretInvalid, "Failed")]
#[case(ChildKind::Secret, Reason::SecretNotShared, "Failed")]
#[case(ChildKind::Secret, Reason::SecretNotFound, "Pending")]
#[case(ChildKind::DaemonSet, Reason::CoordinatorNotFound, "Pending")]
#[case(ChildKind::DaemonSet, Reason::Unavailable, "Pending")]
#[case(ChildKind::DaemonSet, Reason::Conflict, "Pending")]
#[case(ChildKind::Service, Reason::ForeignObject, "Pending")]
fn problems_without_a_workload(#[case] child: ChildKind, #[case] reason: Reason, #[case] phase: &str) {
    let failed = engine(numbers(0, 0)).with_problems([problem(child, reason)]);
    let status = failed.clone().without_workload().status();
    assert_eq!(status["phase"], phase);
    assert_eq!(said(&status, "Ready"), format!("False {}", reason.as_str()));
    // A workload that is there goes on as it is.
    let mut running = failed;
    running.report.workload.as_mut().unwrap().status = numbers(1, 1);
    assert_eq!(running.status()["phase"], "Running");
}

#[rstest]
#[case(Verdict::Invalid(vec![FieldError::required("spec.l1", "must be set")]))]
#[case(Verdict::Rivalled(rival()))]
fn what_cannot_be_built_has_failed(#[case] verdict: Verdict) {
    let status = engine(numbers(1, 1)).with_verdict(verdict).status();
    assert_eq!(status["phase"], "Failed");
    assert_eq!(said(&status, "Available"), "True AtLeastOneReady");
}

#[rstest]
#[case(0, 0, "Pending", "False NoReadyReplicas", "False NoReplicas")]
#[case(1, 0, "Pending", "False NoReadyReplicas", "False NotAllReady")]
#[case(2, 1, "Degraded", "True AtLeastOneReady", "False NotAllReady")]
#[case(1, 1, "Running", "True AtLeastOneReady", "True AllReady")]
fn counts_of_a_coordinator(
    #[case] desired: i32,
    #[case] ready: i32,
    #[case] phase: &str,
    #[case] available: &str,
    #[case] sum: &str,
) {
    let status = coordinator(numbers(desired, ready)).status();
    assert_eq!(status["phase"], phase);
    assert_eq!(
        (&status["replicas"], &status["readyReplicas"]),
        (&json!(desired), &json!(ready))
    );
    assert_eq!(said(&status, "Available"), available);
    assert_eq!(said(&status, "Ready"), sum);
    assert_eq!(
        message(&status, "Available"),
        format!("{ready}/{desired} replicas ready")
    );
    assert_eq!(status["endpoint"], "http://kv.team-a.svc:9300");
    let types: Vec<_> = status["conditions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|found| &found["type"])
        .collect();
    assert_eq!(
        types,
        ["Ready", "ConfigValid", "Reconciled", "Available", "AllInstancesReady"]
    );
}

/// A Deployment counts the old replica as ready while the new one starts.
#[test]
fn a_replica_that_is_being_replaced_is_a_rollout() {
    let replacing = coordinator(numbers(1, 1)).with_servers([replica("a", "kv-6d4f"), replica("b", "kv-77c9")]);
    assert_eq!(
        said(&replacing.status(), "AllInstancesReady"),
        "False RolloutInProgress"
    );
    let others = coordinator(numbers(1, 1)).with_servers([replica("a", "kv-6d4f"), replica("b", "kv-two-77c9")]);
    assert_eq!(said(&others.status(), "AllInstancesReady"), "True AllReady");
}

/// A Pod beyond those that are asked for does not count, whatever it does.
#[test]
fn a_pod_too_many_is_no_failure() {
    let pods = [server("a", "n1"), waiting("b", "n2", "CrashLoopBackOff")];
    let status = engine(numbers(1, 1)).with_servers(pods).status();
    assert_eq!(said(&status, "AllInstancesReady"), "True AllReady");
}

/// A Deployment leaves an evicted Pod lying; it says nothing about its successor.
#[test]
fn an_evicted_replica_is_no_failure() {
    let mut evicted = replica("a", "kv-6d4f");
    evicted["status"] = json!({"phase": "Failed", "reason": "Evicted"});
    let mut starting = replica("b", "kv-6d4f");
    starting["status"]["conditions"] = json!([]);
    let status = coordinator(numbers(1, 0))
        .with_servers([evicted.clone(), starting])
        .status();
    assert_eq!(status["phase"], "Pending");
    // A DaemonSet would have replaced it if it could.
    evicted["metadata"]["ownerReferences"] = server("a", "n1")["metadata"]["ownerReferences"].clone();
    let status = engine(numbers(1, 0)).with_servers([evicted]).status();
    assert_eq!(
        message(&status, "Available"),
        "0/1 instances ready; 1 failing, such as Pod a: Evicted"
    );
}

#[rstest]
#[case::by_release(json!({"image": {"tag": "v0.4.4"}}), 9090)]
#[case::on_the_http_port(json!({"image": {"tag": "v0.5.5"}, "server": {"httpPort": 8090}}), 8090)]
#[case::switched_off(json!({"prometheus": {"enabled": false}}), 0)]
fn metrics_are_where_the_release_serves_them(#[case] mut spec: serde_json::Value, #[case] port: i32) {
    spec["l1"] = json!({"sizeGB": 60});
    let status = engine_with(spec, numbers(1, 1))
        .with_servers([server("a", "n1")])
        .status();
    assert_eq!(status["endpoints"][0]["metricsPort"], port);
}

/// An object that is not ours is not spoken of.
#[test]
fn another_kind_keeps_its_status() {
    let mut other = engine(numbers(1, 1));
    other.inputs.custom = std::sync::Arc::new(crate::live::Cached::read(json!({"kind": "Other", "status": {"a": 1}})));
    assert_eq!(other.status(), json!({"a": 1}));
}
