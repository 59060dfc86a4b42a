//! What is to be there.

use serde_json::json;

use super::support::{engine, on, recording, settings};
use crate::live::ChildKind;
use crate::live::Key;
use crate::plan::{
    ChildName, Judgement, Monitors, Reason, Rival, Sought, Step, desire, judge, without_legacy_finalizer,
};
use lmcache_api::Kind;

#[test]
fn every_child_has_its_owner_and_is_created() {
    let stored = engine(json!({"l1": {"sizeGB": 10}}));
    let desired = stored.desired();
    assert_eq!(desired.wanted.len(), 4);
    for wanted in &desired.wanted {
        let owners = wanted.body["metadata"]["ownerReferences"].as_array().unwrap();
        assert_eq!(owners.len(), 1);
        assert_eq!(owners[0]["uid"], "uid-kv");
        assert_eq!(
            (&owners[0]["controller"], &owners[0]["blockOwnerDeletion"]),
            (&json!(true), &json!(true))
        );
        assert_eq!(on(wanted, None, &stored.inputs()), Step::Create);
    }
}

#[test]
fn a_missing_coordinator_holds_back_the_servers_alone() {
    let desired = engine(json!({"l1": {"sizeGB": 10}, "coordinator": {"ref": {"name": "fleet"}}})).desired();
    let kinds: Vec<_> = desired.wanted.iter().map(|wanted| wanted.name.kind).collect();
    assert_eq!(kinds, [ChildKind::ConfigMap, ChildKind::Service, ChildKind::Service]);
    assert_eq!(desired.problems.len(), 1);
    assert_eq!(desired.problems[0].reason, Reason::CoordinatorNotFound);
    assert!(
        desired.problems[0]
            .message
            .contains("\"fleet\" not found in namespace team-a")
    );
}

#[test]
fn monitors_that_are_not_installed_are_a_problem_aside() {
    let stored = engine(json!({"l1": {"sizeGB": 10}, "prometheus": {"serviceMonitor": {"enabled": true}}}));
    for (monitors, problems, wanted) in [
        (Monitors::Served, 0, true),
        (Monitors::Unknown, 0, false),
        (Monitors::NotServed, 1, false),
        (Monitors::Forbidden, 1, false),
    ] {
        let mut inputs = stored.inputs();
        inputs.monitors = monitors;
        let Judgement::Valid(subject) = judge(&inputs, &settings()) else {
            panic!("valid");
        };
        let desired = desire(&subject, &inputs, &settings());
        assert_eq!(desired.problems.len(), problems, "{monitors:?}");
        assert!(desired.problems.iter().all(|problem| problem.reason.is_aside()));
        let monitor = ChildName::new(ChildKind::ServiceMonitor, "kv");
        assert_eq!(
            desired.wanted.iter().any(|wanted| wanted.name == monitor),
            wanted,
            "{monitors:?}"
        );
        assert_eq!(
            desired
                .wanted
                .iter()
                .filter(|wanted| wanted.name.kind.is_workload())
                .count(),
            1
        );
    }
}

#[test]
fn a_login_that_is_not_known_yet_holds_the_servers_back_without_a_word() {
    let resp = json!({"host": "redis", "port": 6379, "authSecretRef": {"name": "login"}});
    let stored = engine(json!({"l1": {"sizeGB": 10}, "l2Backend": {"resp": resp}}));
    let mut inputs = stored.inputs();
    inputs.login = Sought::Unknown;
    let Judgement::Valid(subject) = judge(&inputs, &settings()) else {
        panic!("valid");
    };
    let desired = desire(&subject, &inputs, &settings());
    assert!(desired.problems.is_empty());
    assert!(
        desired
            .wanted
            .iter()
            .all(|wanted| !wanted.name.kind.is_workload() && wanted.name.kind != ChildKind::Secret)
    );
}

#[test]
fn the_oldest_of_two_kinds_has_the_name() {
    let rival = |created: &str, uid: &str| Rival {
        key: Key::new(Kind::CacheBlendEngine, "team-a", "kv"),
        uid: uid.to_owned(),
        created: created.to_owned(),
    };
    for (rival, wins) in [
        (rival("2026-10-31T00:00:00Z", "z"), true),
        (rival("2026-11-02T00:00:00Z", "a"), false),
        (rival("2026-11-01T00:00:00Z", "a"), true),
        (rival("2026-11-01T00:00:00Z", "z"), false),
    ] {
        let mut inputs = engine(json!({"l1": {"sizeGB": 10}})).inputs();
        inputs.rivals = vec![rival.clone()];
        let judged = judge(&inputs, &settings());
        assert_eq!(judged == Judgement::Rivalled(rival.clone()), wins, "{rival:?}");
    }
}

#[test]
fn a_specification_with_faults_is_not_built() {
    let inputs = engine(json!({"l1": {"sizeGB": -1}})).inputs();
    let Judgement::Invalid(faults) = judge(&inputs, &settings()) else {
        panic!("invalid");
    };
    assert_eq!(faults[0].path, "spec.l1.sizeGB");
}

#[test]
fn the_legacy_finalizer_goes_and_others_stay() {
    let stored = engine(json!({"l1": {"sizeGB": 10}}));
    assert_eq!(without_legacy_finalizer(&stored.inputs()), None);
    let stored = stored.with("/metadata/finalizers", json!(["other.io/keep", "lmcache.ai/cleanup"]));
    let patch = without_legacy_finalizer(&stored.inputs()).unwrap();
    let mut patched = stored.custom.clone();
    let operations: json_patch::Patch = serde_json::from_value(patch).unwrap();
    json_patch::patch(&mut patched, &operations).unwrap();
    assert_eq!(patched["metadata"]["finalizers"], json!(["other.io/keep"]));
    let ending = stored.with("/metadata/deletionTimestamp", json!("2026-11-02T00:00:00Z"));
    assert!(without_legacy_finalizer(&ending.inputs()).is_some());
    assert_eq!(judge(&ending.inputs(), &settings()), Judgement::Ending);
}

#[test]
fn a_monitor_that_is_there_stays_as_long_as_the_kind_is_not_known() {
    let monitored = json!({"l1": {"sizeGB": 10}, "prometheus": {"serviceMonitor": {"enabled": true}}});
    let mut stored = engine(monitored);
    let monitor = stored.wanted(ChildKind::ServiceMonitor);
    stored.children.push(monitor);
    let stored = stored.with("/spec/prometheus", json!(null));
    for (monitors, goes) in [
        (Monitors::Served, true),
        (Monitors::Unknown, false),
        (Monitors::Forbidden, false),
    ] {
        let mut inputs = stored.inputs();
        inputs.monitors = monitors;
        let Judgement::Valid(subject) = judge(&inputs, &settings()) else {
            panic!("valid");
        };
        let desired = desire(&subject, &inputs, &settings());
        assert_eq!(!desired.unwanted.is_empty(), goes, "{monitors:?}");
    }
}

/// The API server fills in the limits of a rolling update, refuses them beside `Recreate`, and leaves them where they are
/// unless somebody gives them up.
#[test]
fn a_coordinator_that_is_to_be_recreated_gives_up_the_limits_of_a_rolling_update_first() {
    let mut stored = recording("coordinator").with("/spec/updateStrategy", json!({"type": "Recreate"}));
    let inputs = stored.inputs();
    let wanted = stored.desired().wanted;
    let deployment = wanted
        .iter()
        .find(|wanted| wanted.name.kind == ChildKind::Deployment)
        .unwrap();
    let live = inputs.children.get(&deployment.name).map(AsRef::as_ref);
    let Step::Apply {
        before: Some(before), ..
    } = on(deployment, live, &inputs)
    else {
        panic!("two applies");
    };
    assert_eq!(before["spec"]["strategy"], live.unwrap().value()["spec"]["strategy"]);
    assert_eq!(before["spec"]["template"], deployment.body["spec"]["template"]);
    stored.child("Deployment")["spec"]["strategy"] = json!({"type": "Recreate"});
    let inputs = stored.inputs();
    let live = inputs.children.get(&deployment.name).map(AsRef::as_ref);
    assert!(matches!(
        on(deployment, live, &inputs),
        Step::Apply { before: None, .. }
    ));
}
