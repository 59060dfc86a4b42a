//! Events on custom resources.

use lmcache_api::FieldError;
use rstest::rstest;
use serde_json::{Value, json};

use super::support::*;
use crate::live::{ChildKind, WorkloadStatus};
use crate::plan::{Reason, Verdict};
use crate::status::{News, news};

/// `W Reason` or `N Reason` of each Event.
fn told(before: &Value, after: &Value) -> Vec<String> {
    let short = |news: News| {
        assert!(!news.note.is_empty() && news.note.len() < 1024, "{news:?}");
        assert!(!news.action.is_empty());
        format!("{} {}", if news.warning { "W" } else { "N" }, news.reason)
    };
    news(before, after).into_iter().map(short).collect()
}

fn with(problems: &[(ChildKind, Reason)]) -> Value {
    let problems = problems.iter().map(|(child, reason)| problem(*child, *reason));
    engine(numbers(2, 2)).with_problems(problems).status()
}

fn invalid(path: &str) -> Value {
    let fault = FieldError::required(path, "must be set");
    engine(numbers(2, 2))
        .with_verdict(Verdict::Invalid(vec![fault]))
        .status()
}

fn at(desired: i32, ready: i32) -> Value {
    engine(numbers(desired, ready)).status()
}

fn crashing(desired: i32, ready: i32) -> Value {
    let pods = [waiting("a", "n1", "CrashLoopBackOff")];
    engine(numbers(desired, ready)).with_servers(pods).status()
}

fn rolling(ready: i32, updated: i32) -> Value {
    let status = WorkloadStatus {
        updated,
        ..numbers(2, ready)
    };
    engine(status).status()
}

fn changed() -> Value {
    let status = WorkloadStatus {
        generation: 3,
        ..numbers(2, 2)
    };
    engine(status).status()
}

fn covering(node: &str) -> Value {
    let pass = engine(numbers(2, 2)).with_servers([server("a", "n1")]);
    pass.with_clients([wired("c", node)]).status()
}

fn secret(changed: &str) -> Value {
    let pass = engine_with(login_spec(), numbers(2, 2)).with_servers([server("a", "n1")]);
    pass.with_login(login(changed)).status()
}

fn kept() -> Value {
    let mut pass = engine(numbers(2, 2));
    pass.report.legacy_template = Some(vec!["spec.hostIPC".to_owned()]);
    pass.status()
}

fn rivalled() -> Value {
    engine(numbers(2, 2)).with_verdict(Verdict::Rivalled(rival())).status()
}

const CONFLICT: &[(ChildKind, Reason)] = &[(ChildKind::Service, Reason::Conflict)];
const FOREIGN: &[(ChildKind, Reason)] = &[(ChildKind::Service, Reason::ForeignObject)];
const REJECTED: &[(ChildKind, Reason)] = &[(ChildKind::DaemonSet, Reason::Rejected)];

#[rstest]
#[case::created(json!(null), at(2, 0), &[])]
#[case::first_ready(at(2, 0), at(2, 1), &["N AtLeastOneReady"])]
#[case::then_all(at(2, 1), at(2, 2), &["N AllReady"])]
#[case::both_at_once(json!(null), at(2, 2), &["N AtLeastOneReady", "N AllReady"])]
#[case::degraded(at(2, 2), at(2, 1), &["W NotAllReady"])]
#[case::still_degraded(at(3, 2), at(3, 1), &[])]
#[case::lost(at(2, 1), at(2, 0), &["W NoReadyInstances"])]
#[case::lost_at_once(at(2, 2), at(2, 0), &["W NoReadyInstances"])]
#[case::crashes(at(2, 0), crashing(2, 0), &["W InstancesFailing"])]
#[case::crashes_from_the_start(json!({}), crashing(2, 0), &["W InstancesFailing"])]
#[case::lost_by_a_crash(at(1, 1), crashing(1, 0), &["W InstancesFailing"])]
#[case::one_crashes(at(2, 2), crashing(2, 1), &["W InstancesFailing"])]
#[case::a_rollout_is_stuck(rolling(1, 1), crashing(2, 1), &["W InstancesFailing"])]
#[case::still_crashes(crashing(2, 0), crashing(2, 0), &[])]
#[case::rollout_begins(at(2, 2), changed(), &[])]
#[case::rollout_goes_on(changed(), rolling(2, 0), &[])]
#[case::rollout_takes_one(rolling(2, 0), rolling(1, 1), &[])]
#[case::rollout_ends(rolling(2, 1), at(2, 2), &["N AllReady"])]
#[case::faults(at(2, 2), invalid("spec.a"), &["W ValidationFailed"])]
#[case::faults_from_the_start(json!({}), invalid("spec.a"), &["W ValidationFailed", "N AtLeastOneReady", "N AllReady"])]
#[case::other_faults(invalid("spec.a"), invalid("spec.b"), &["W ValidationFailed"])]
#[case::same_faults(invalid("spec.a"), invalid("spec.a"), &[])]
#[case::corrected(invalid("spec.a"), at(2, 2), &["N Valid"])]
#[case::rival(at(2, 2), rivalled(), &["W NameConflict"])]
#[case::rival_gone(rivalled(), at(2, 2), &["N Reconciled"])]
#[case::foreign(at(2, 2), with(FOREIGN), &["W ForeignObject"])]
#[case::another_reason(with(FOREIGN), with(REJECTED), &["W Rejected"])]
#[case::same_reason(with(FOREIGN), with(&[FOREIGN[0], REJECTED[0]]), &[])]
#[case::recovered(with(FOREIGN), at(2, 2), &["N Reconciled"])]
#[case::hiccup(at(2, 2), with(CONFLICT), &[])]
#[case::after_a_hiccup(with(CONFLICT), at(2, 2), &[])]
#[case::after_a_hiccup_a_problem(with(CONFLICT), with(FOREIGN), &["W ForeignObject"])]
#[case::kept(at(2, 2), kept(), &["N LegacyTemplateKept"])]
#[case::still_kept(kept(), kept(), &[])]
#[case::rolled_out(kept(), at(2, 2), &[])]
#[case::uncovered(covering("n1"), covering("n2"), &["W NoReadyServer"])]
#[case::elsewhere_uncovered(covering("n2"), covering("n3"), &[])]
#[case::covered_again(covering("n2"), covering("n1"), &["N AllCovered"])]
#[case::client_gone(covering("n2"), at(2, 2), &["N NoClients"])]
#[case::secret_changed(secret("2026-05-01T09:00:00Z"), secret("2026-05-01T11:00:00Z"), &["W SecretChanged"])]
#[case::restarted(secret("2026-05-01T11:00:00Z"), secret("2026-05-01T09:00:00Z"), &[])]
fn transitions(#[case] before: Value, #[case] after: Value, #[case] expected: &[&str]) {
    assert_eq!(told(&before, &after), expected);
}

#[test]
fn a_takeover_from_the_go_operator_is_no_news() {
    let condition = |type_: &str, reason: &str| {
        json!({"type": type_, "status": "True", "reason": reason, "message": "1/1 instances ready",
            "observedGeneration": 4, "lastTransitionTime": "2026-01-01T00:00:00Z"})
    };
    let before = json!({"phase": "Running", "observedGeneration": 4, "desiredInstances": 1, "readyInstances": 1,
        "conditions": [condition("ConfigValid", "Valid"), condition("Available", "AtLeastOneReady"),
            condition("AllInstancesReady", "AllReady")]});
    let after = engine(numbers(1, 1)).after(&before).status();
    assert!(news(&before, &after).is_empty());
    assert_eq!(
        super::support::condition(&after, "Available").unwrap()["lastTransitionTime"],
        "2026-01-01T00:00:00Z"
    );
}

/// Whatever makes a phase `Failed` is told.
#[test]
fn no_failure_goes_untold() {
    let blocked = engine(numbers(0, 0)).with_problems([problem(ChildKind::DaemonSet, Reason::Forbidden)]);
    let failures = [
        invalid("spec.a"),
        rivalled(),
        crashing(2, 0),
        blocked.without_workload().status(),
    ];
    for before in [json!(null), at(2, 2), at(2, 0)] {
        for after in &failures {
            assert_eq!(after["phase"], "Failed");
            let news = news(&before, after);
            assert!(news.iter().any(|news| news.warning), "{before} -> {after}");
        }
    }
}

#[test]
fn a_note_is_short_and_a_reason_is_the_conditions() {
    let faults = (0..500).map(|index| FieldError::required(format!("spec.env[{index}]"), "must be set"));
    let after = engine(numbers(2, 2))
        .with_verdict(Verdict::Invalid(faults.collect()))
        .status();
    let found = news(&at(2, 2), &after);
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].reason.as_str(), found[0].action),
        ("ValidationFailed", "Validate")
    );
    assert_eq!(found[0].note.len(), 1_000);
    assert!(found[0].note.starts_with("[spec.env[0]: Required value: must be set, "));
}
