//! Weaknesses of the Go operator's status, each with what is done instead.

use lmcache_api::{FaultKind, FieldError};
use rstest::rstest;
use serde_json::{Value, json};

use super::support::*;
use crate::plan::Verdict;
use crate::status::patch;

/// A specification that changes while a pass is under way is neither valid nor observed: the status speaks of the
/// generation that the pass looked at.
#[test]
fn weakness_06_a_status_is_about_the_generation_that_was_built() {
    let status = engine(numbers(1, 1)).with_servers([server("a", "n1")]).status();
    assert_eq!(status["observedGeneration"], 4);
    for condition in status["conditions"].as_array().unwrap() {
        assert_eq!(condition["observedGeneration"], 4, "{condition}");
    }
    // The next pass sees the change, and finds the fault in it.
    let fault = FieldError::invalid("spec.server.port", 80, "must be at least 1024");
    let next = engine(numbers(1, 1)).at_generation(5).after(&status);
    let next = next.with_verdict(Verdict::Invalid(vec![fault])).status();
    assert_eq!(next["observedGeneration"], 5);
    assert_eq!(said(&next, "ConfigValid"), "False ValidationFailed");
}

/// Endpoints do not depend on the order in which Pods are found, and a status that says the same is not written.
#[test]
fn weakness_07_endpoints_are_sorted_and_equal_ones_are_not_written() {
    let pods = [
        server("b", "n2"),
        server("c", "n1"),
        server("a", "n2"),
        server("d", "n3"),
    ];
    let first = engine(numbers(4, 4)).with_servers(pods.clone());
    let status = first.status();
    let found: Vec<&str> = (status["endpoints"].as_array().unwrap().iter())
        .map(|endpoint| endpoint["podName"].as_str().unwrap())
        .collect();
    assert_eq!(found, ["c", "a", "b", "d"]);
    let reversed = engine(numbers(4, 4))
        .with_servers(pods.into_iter().rev())
        .after(&status);
    assert_eq!(patch(&status, &reversed.status_at(LATER)), None);
}

fn without_node(pod: &mut Value) {
    pod["spec"] = json!({});
}

fn of_another(pod: &mut Value) {
    pod["metadata"]["ownerReferences"][0]["uid"] = json!("other");
}

fn of_nobody(pod: &mut Value) {
    pod["metadata"]["ownerReferences"] = json!([]);
}

#[rstest]
#[case::not_scheduled(without_node)]
#[case::terminating(spoil)]
#[case::of_another_workload(of_another)]
#[case::of_nobody(of_nobody)]
fn weakness_07_pods_that_serve_nobody_are_no_endpoints(#[case] change: fn(&mut Value)) {
    let mut pod = server("b", "n2");
    change(&mut pod);
    let status = engine(numbers(1, 1)).with_servers([server("a", "n1"), pod]).status();
    assert_eq!(
        status["endpoints"],
        json!([{"nodeName": "n1", "hostIP": "10.0.0.1", "podName": "a", "port": 5555, "metricsPort": 8080,
            "ready": true}])
    );
}

/// Faults of the specification do not keep the rest of the status from telling how the servers are.
#[test]
fn weakness_09_an_invalid_specification_leaves_nothing_stale() {
    let before = engine(numbers(2, 2))
        .with_servers([server("a", "n1"), server("b", "n2")])
        .status();
    let spec = json!({"l1": {"sizeGB": 60}, "server": {"port": 8080}});
    let faults = vec![FieldError::new(
        "spec.server.port",
        FaultKind::Invalid,
        "8080: is the port of HTTP too".to_owned(),
    )];
    let after = engine_with(spec, numbers(2, 0))
        .at_generation(5)
        .with_servers([waiting("a", "n1", "ContainerCreating")])
        .with_verdict(Verdict::Invalid(faults))
        .after(&before)
        .status();
    assert_eq!(after["phase"], "Failed");
    assert_eq!(
        (&after["desiredInstances"], &after["readyInstances"]),
        (&json!(2), &json!(0))
    );
    assert_eq!(said(&after, "Available"), "False NoReadyInstances");
    assert_eq!(said(&after, "AllInstancesReady"), "False NotAllReady");
    assert_eq!(said(&after, "Ready"), "False ValidationFailed");
    let endpoints = after["endpoints"].as_array().unwrap();
    assert_eq!(endpoints.len(), 1);
    assert_eq!(endpoints[0]["ready"], false);
    // The server was started before, on the port that it had.
    assert_eq!(endpoints[0]["port"], 5555);
    for condition in after["conditions"].as_array().unwrap() {
        assert_eq!(condition["observedGeneration"], 5, "{condition}");
    }
}

/// Without a workload nothing is said of the one that was there.
#[test]
fn weakness_10_a_missing_workload_leaves_nothing_stale() {
    let before = engine(numbers(1, 1))
        .with_servers([server("a", "n1")])
        .with_clients([wired("c", "n1")])
        .status();
    assert_eq!(before["phase"], "Running");
    let after = engine(numbers(1, 1))
        .with_servers([server("a", "n1")])
        .with_clients([wired("c", "n1")]);
    let after = after.without_workload().after(&before).status();
    assert_eq!(after["phase"], "Pending");
    assert_eq!(
        (&after["desiredInstances"], &after["readyInstances"]),
        (&json!(0), &json!(0))
    );
    assert!(after.get("endpoints").is_none());
    assert_eq!(said(&after, "Available"), "False NoReadyInstances");
    assert_eq!(said(&after, "AllInstancesReady"), "False NotAllReady");
    assert_eq!(said(&after, "Ready"), "False NotAllReady");
    assert_eq!(said(&after, "ClientsCovered"), "False NoReadyServer");
    assert_eq!(patch(&before, &after).unwrap()["status"]["endpoints"], Value::Null);
}

/// Servers that crash are a failure, not something that is about to come.
#[rstest]
#[case("CrashLoopBackOff", "CrashLoopBackOff")]
#[case("ImagePullBackOff", "ImagePullBackOff")]
#[case("ErrImagePull", "ImagePullBackOff")]
#[case("CreateContainerConfigError", "CreateContainerConfigError")]
fn weakness_18_failing_pods_make_a_failed_phase(#[case] reason: &str, #[case] told: &str) {
    let pods = [waiting("b", "n2", reason), waiting("a", "n1", reason)];
    let status = engine(numbers(2, 0)).with_servers(pods).status();
    assert_eq!(status["phase"], "Failed");
    assert_eq!(said(&status, "Available"), "False InstancesFailing");
    let expected = format!("0/2 instances ready; 2 failing, such as Pod a: {told}");
    assert_eq!(message(&status, "Available"), expected);
    assert_eq!(message(&status, "Ready"), expected);
    // As long as one serves, it is degraded.
    let status = engine(numbers(2, 1))
        .with_servers([server("a", "n1"), waiting("b", "n2", reason)])
        .status();
    assert_eq!(status["phase"], "Degraded");
    assert_eq!(said(&status, "Available"), "True AtLeastOneReady");
    assert_eq!(said(&status, "AllInstancesReady"), "False InstancesFailing");
}

/// Between two crashes a process runs; that is not told as if all were well again.
#[test]
fn weakness_18_a_crash_loop_does_not_flicker() {
    let crashed = engine(numbers(2, 0));
    let crashed = crashed.with_servers([waiting("a", "n1", "CrashLoopBackOff"), restarted("b", "n2", 3)]);
    let status = crashed.status();
    let running = engine(numbers(2, 0)).with_servers([restarted("a", "n1", 5), restarted("b", "n2", 4)]);
    assert_eq!(patch(&status, &running.clone().after(&status).status_at(LATER)), None);
    // New Pods have not crashed yet, and one that merely was restarted once is no failure.
    let replaced = engine(numbers(2, 0)).with_servers([restarted("c", "n1", 0), restarted("d", "n2", 0)]);
    assert_eq!(replaced.after(&status).status()["phase"], "Pending");
    assert_eq!(running.status()["phase"], "Pending");
}
