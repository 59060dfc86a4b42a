//! What the conditions say, and when they say so.

use lmcache_api::FieldError;
use rstest::rstest;
use serde_json::{Value, json};

use super::support::*;
use crate::live::ChildKind;
use crate::plan::{Monitors, Reason, Sought, Verdict};

fn fault(index: usize) -> FieldError {
    FieldError::invalid(format!("spec.env[{index}]"), "\"x\"", "must have a name")
}

/// Times move with `status` alone; everything else is what was found last.
#[test]
fn times_move_only_with_status() {
    let first = engine(numbers(2, 1)).status_at(NOW);
    assert_eq!(
        condition(&first, "AllInstancesReady").unwrap()["lastTransitionTime"],
        NOW
    );
    let second = engine(numbers(3, 3)).at_generation(5).after(&first).status_at(LATER);
    let available = condition(&second, "Available").unwrap();
    assert_eq!(
        *available,
        json!({"type": "Available", "status": "True", "observedGeneration": 5, "lastTransitionTime": NOW,
            "reason": "AtLeastOneReady", "message": "3/3 instances ready"})
    );
    assert_eq!(
        condition(&second, "AllInstancesReady").unwrap()["lastTransitionTime"],
        LATER
    );
}

#[test]
fn conditions_of_others_stay() {
    let theirs = json!({"type": "example.com/Audited", "status": "True", "reason": "Fine", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z", "extra": 1});
    let mut first = theirs.clone();
    first["type"] = json!("example.com/A");
    let ours = json!({"type": "Available", "status": "False"});
    let previous = json!({"conditions": [theirs, ours, {"type": ""}, 7, first]});
    let status = engine(numbers(1, 1)).after(&previous).status();
    let conditions = status["conditions"].as_array().unwrap();
    assert_eq!(conditions.iter().rev().take(2).collect::<Vec<_>>(), [&theirs, &first]);
    assert_eq!(
        conditions.iter().filter(|found| found["type"] == "Available").count(),
        1
    );
    assert!(conditions.iter().all(|found| found["type"] != ""));
}

/// Whatever stands in the status, a pass comes to an end.
#[rstest]
#[case(json!(null))]
#[case(json!("x"))]
#[case::without_a_time(json!({"conditions": [{"type": "Available", "status": "True", "lastTransitionTime": ""}]}))]
#[case(json!({"conditions": {"a": 1}, "endpoints": "x", "endpoint": 3}))]
#[case(json!({"conditions": [null, [], {"type": 5}, {"type": "Ready"}], "endpoints": [{}]}))]
fn a_status_of_any_shape_is_overwritten(#[case] previous: Value) {
    let expected = engine(numbers(1, 1)).with_servers([server("a", "n1")]);
    assert_eq!(expected.clone().after(&previous).status(), expected.status());
}

#[test]
fn one_fault_stands_bare_and_several_in_brackets() {
    let invalid = |faults| engine(numbers(1, 1)).with_verdict(Verdict::Invalid(faults)).status();
    let status = invalid(vec![fault(0)]);
    assert_eq!(
        message(&status, "ConfigValid"),
        r#"spec.env[0]: Invalid value: "x": must have a name"#
    );
    assert_eq!(said(&status, "Reconciled"), "False ValidationFailed");
    let status = invalid(vec![fault(0), fault(1)]);
    assert_eq!(
        message(&status, "ConfigValid"),
        r#"[spec.env[0]: Invalid value: "x": must have a name, spec.env[1]: Invalid value: "x": must have a name]"#
    );
    let many = message(&invalid((0..1000).map(fault).collect()), "ConfigValid");
    assert!(many.len() < 8_100, "{}", many.len());
    let (_, more) = many.rsplit_once("must have a name] and ").unwrap();
    let shown = many.matches("Invalid value").count();
    assert_eq!(more, format!("{} more", 1000 - shown));
}

#[test]
fn every_problem_is_named_and_the_first_gives_the_reason() {
    let problems = [
        problem(ChildKind::ServiceMonitor, Reason::ServiceMonitorNotInstalled),
        problem(ChildKind::ConfigMap, Reason::ForeignObject),
        problem(ChildKind::DaemonSet, Reason::Rejected),
    ];
    let status = engine(numbers(1, 1)).with_problems(problems).status();
    // What leaves the servers working comes last.
    assert_eq!(said(&status, "Reconciled"), "False ForeignObject");
    assert_eq!(
        message(&status, "Reconciled"),
        "ConfigMap kv: it is ForeignObject; DaemonSet kv: it is Rejected; ServiceMonitor kv: it is \
         ServiceMonitorNotInstalled"
    );
    assert_eq!(said(&status, "Ready"), "False ForeignObject");
}

#[test]
fn a_missing_service_monitor_does_not_count_for_ready() {
    let problems = [problem(ChildKind::ServiceMonitor, Reason::ServiceMonitorNotInstalled)];
    let status = engine(numbers(1, 1)).with_problems(problems).status();
    assert_eq!(said(&status, "Reconciled"), "False ServiceMonitorNotInstalled");
    assert_eq!(said(&status, "Ready"), "True AllReady");
}

#[test]
fn a_rival_is_named() {
    let status = engine(numbers(0, 0))
        .with_verdict(Verdict::Rivalled(rival()))
        .without_workload()
        .status();
    assert_eq!(said(&status, "Reconciled"), "False NameConflict");
    let text = message(&status, "Reconciled");
    assert!(
        text.starts_with("CacheBlendEngine team-a/kv, created 2026-05-01T09:00:00Z, has this name"),
        "{text}"
    );
    assert_eq!(said(&status, "ConfigValid"), "Unknown NameConflict");
    assert_eq!(said(&status, "Ready"), "False NameConflict");
    let status = coordinator(numbers(0, 0))
        .with_verdict(Verdict::Rivalled(rival()))
        .without_workload();
    assert!(status.status().get("endpoint").is_none());
}

#[test]
fn a_kept_template_is_told() {
    let mut kept = engine(numbers(1, 1));
    let paths = (0..12).map(|index| format!("spec.containers[lmcache].args[{index}]"));
    kept.report.legacy_template = Some(paths.collect());
    let status = kept.status();
    assert_eq!(said(&status, "Reconciled"), "True LegacyTemplateKept");
    assert_eq!(said(&status, "Ready"), "True AllReady");
    let text = message(&status, "Reconciled");
    assert!(text.contains("annotation lmcache.ai/rollout"), "{text}");
    assert!(text.ends_with("args[9] and 2 more"), "{text}");
}

/// The replicas of a coordinator whose specification has faults are where they were.
#[test]
fn the_endpoint_of_a_coordinator_is_where_it_listens() {
    let faulty = coordinator(numbers(1, 1)).with_verdict(Verdict::Invalid(vec![fault(0)]));
    let before = json!({"endpoint": "http://kv.team-a.svc:9999"});
    assert_eq!(
        faulty.clone().after(&before).status()["endpoint"],
        "http://kv.team-a.svc:9999"
    );
    assert_eq!(faulty.status()["endpoint"], "http://kv.team-a.svc:9300");
    assert_eq!(
        coordinator(numbers(1, 1)).after(&before).status()["endpoint"],
        "http://kv.team-a.svc:9300"
    );
}

/// A Secret that is only being looked up says nothing new about a generation that is known, and everything about one
/// that is not.
#[test]
fn what_is_being_looked_up_changes_nothing() {
    let known = engine_with(login_spec(), numbers(1, 1))
        .with_login(login("2026-05-01T09:00:00Z"))
        .status();
    assert_eq!(said(&known, "Reconciled"), "True Reconciled");
    let starting = engine_with(login_spec(), numbers(1, 1))
        .with_login(Sought::Unknown)
        .after(&known);
    assert_eq!(starting.status_at(LATER), known);
    let changed = starting.at_generation(5).status_at(LATER);
    assert_eq!(said(&changed, "Reconciled"), "Unknown Waiting");
    assert_eq!(
        message(&changed, "Reconciled"),
        "Secret team-a/redis is being looked up"
    );
    assert_eq!(said(&changed, "Ready"), "False Waiting");
}

#[test]
fn a_problem_is_told_whatever_is_being_looked_up() {
    let pass = engine_with(login_spec(), numbers(1, 1)).with_login(Sought::Unknown);
    let told = |reason| {
        said(
            &pass
                .clone()
                .with_problems([problem(ChildKind::Service, reason)])
                .status(),
            "Reconciled",
        )
    };
    assert_eq!(told(Reason::ForeignObject), "False ForeignObject");
    // But what leaves the servers working must not make it Ready too early.
    assert_eq!(told(Reason::ServiceMonitorNotInstalled), "Unknown Waiting");
}

#[test]
fn service_monitors_that_are_being_looked_up() {
    let spec = json!({"l1": {"sizeGB": 60}, "prometheus": {"serviceMonitor": {"enabled": true}}});
    let mut waiting = engine_with(spec, numbers(1, 1));
    waiting.inputs.monitors = Monitors::Unknown;
    assert_eq!(said(&waiting.status(), "Reconciled"), "Unknown Waiting");
    waiting.inputs.monitors = Monitors::Served;
    assert_eq!(said(&waiting.status(), "Reconciled"), "True Reconciled");
}

#[rstest]
#[case::older_than_the_server("2026-05-01T09:00:00Z", "False UpToDate")]
#[case::in_the_same_second("2026-05-01T10:00:05Z", "False UpToDate")]
#[case::younger("2026-05-01T10:00:06Z", "True SecretChanged")]
fn servers_that_are_older_than_their_secret(#[case] changed: &str, #[case] expected: &str) {
    let mut ending = server("gone", "n1");
    ending["status"]["containerStatuses"][0]["state"]["running"]["startedAt"] = json!("2026-05-01T08:00:00Z");
    spoil(&mut ending);
    let status = engine_with(login_spec(), numbers(1, 1))
        .with_servers([server("a", "n1"), ending])
        .with_login(login(changed))
        .status();
    assert_eq!(said(&status, "L2ReconnectNeeded"), expected);
    if expected.starts_with("True") {
        let text = message(&status, "L2ReconnectNeeded");
        assert!(
            text.starts_with("started before Secret team-a/redis was last changed: Pods a;"),
            "{text}"
        );
        assert!(!status.to_string().contains("aHVudGVyMg"));
    }
}

#[rstest]
#[case(Sought::Unknown, "True SecretChanged")]
#[case(Sought::Missing, "Unknown SecretNotReadable")]
#[case(Sought::Forbidden, "Unknown SecretNotReadable")]
fn secrets_that_cannot_be_read(
    #[case] sought: Sought<std::sync::Arc<crate::live::SecretSource>>,
    #[case] expected: &str,
) {
    let before = engine_with(login_spec(), numbers(1, 1))
        .with_servers([server("a", "n1")])
        .with_login(login("2026-05-01T11:00:00Z"))
        .status();
    let after = engine_with(login_spec(), numbers(1, 1))
        .with_servers([server("a", "n1")])
        .with_login(sought);
    assert_eq!(said(&after.after(&before).status(), "L2ReconnectNeeded"), expected);
    // Where none is named any more, nothing is said.
    let after = engine(numbers(1, 1)).after(&before).status();
    assert_eq!(said(&after, "L2ReconnectNeeded"), "");
}

#[test]
fn the_key_of_the_second_tier_counts_too() {
    let spec = json!({"l1": {"sizeGB": 60}, "l2Backend": {"raw": {"type": "fs"},
        "serde": {"aesgcm": {"masterKeySecretRef": {"name": "redis"}}}}});
    let mut keyed = engine_with(spec, numbers(1, 1)).with_servers([server("a", "n1")]);
    keyed.inputs.master_key = login("2026-05-01T11:00:00Z");
    assert_eq!(said(&keyed.status(), "L2ReconnectNeeded"), "True SecretChanged");
}
