use serde_json::{Value, json};

use super::support::{codes, found, of_kind, report, snapshot, stored};
use crate::adopt::engines::{Engine, Servers};
use crate::adopt::{Level, Options, Report, codes as code};

fn engine(objects: Vec<Value>, name: &str) -> Engine {
    let report = report(objects);
    report.engines.into_iter().find(|engine| engine.name == name).unwrap()
}

/// What becomes of every recording: nothing is replaced.
#[test]
fn servers_of_the_go_operator_run_on() {
    for (name, servers) in [
        ("amd", Servers::Kept),
        ("cacheblend", Servers::Kept),
        ("coordinator", Servers::Same),
        ("coordinator-full", Servers::Kept),
        ("engine-coordinator-ref", Servers::Kept),
        ("foreign", Servers::Foreign),
        ("full", Servers::Kept),
        ("invalid", Servers::Held),
        ("l2-resp-auth", Servers::Kept),
        ("l2-resp-auth-cross-namespace", Servers::Kept),
        ("minimal", Servers::Kept),
        ("missing-coordinator", Servers::Held),
        ("ports-changed", Servers::Kept),
        ("servicemonitor", Servers::Kept),
    ] {
        let objects = stored(name);
        let own = objects.last().unwrap()["metadata"]["name"].as_str().unwrap().to_owned();
        let report = report(objects);
        let engine = report.engines.iter().find(|engine| engine.name == own).unwrap();
        assert_eq!(engine.servers, servers, "{name}: {engine:#?}");
        assert!(engine.why.is_empty(), "{name}: {engine:#?}");
        assert_eq!(
            engine.differences.is_empty(),
            servers != Servers::Kept,
            "{name}: {engine:#?}"
        );
        assert!(
            !codes(&report, Level::Change).contains(&code::SERVERS_REPLACED),
            "{name}"
        );
        assert!(report.clear, "{name}: {:#?}", report.findings);
    }
}

#[test]
fn problems_are_those_of_the_status() {
    for (name, reason, about) in [
        ("foreign", "ForeignObject", "has no controlling owner"),
        ("invalid", "ValidationFailed", "spec."),
        ("missing-coordinator", "CoordinatorNotFound", "not found"),
        (
            "l2-resp-auth-cross-namespace",
            "SecretNotShared",
            "lmcache.ai/allow-copy-to",
        ),
    ] {
        let objects = stored(name);
        let own = objects.last().unwrap()["metadata"]["name"].as_str().unwrap().to_owned();
        let report = report(objects);
        let engine = report.engines.iter().find(|engine| engine.name == own).unwrap();
        let problem = engine.problems.iter().find(|problem| problem.starts_with(reason));
        assert!(
            problem.is_some_and(|problem| problem.contains(about)),
            "{name}: {engine:#?}"
        );
        assert!(found(&report, code::ENGINE_NEEDS_YOU).found.contains(&own), "{name}");
    }
    assert!(engine(stored("full"), "full").problems.is_empty());
}

#[test]
fn what_has_nothing_behind_it_is_deleted() {
    let objects = stored("coordinator-full");
    let own = objects.last().unwrap()["metadata"]["name"].as_str().unwrap().to_owned();
    let report = report(objects);
    let engine = report.engines.iter().find(|engine| engine.name == own).unwrap();
    assert_eq!(engine.deleted.len(), 2, "{engine:#?}");
    let finding = found(&report, code::OBJECTS_DELETED);
    assert!(finding.found.contains("ServiceMonitor"), "{finding:?}");
}

#[test]
fn a_template_that_was_edited_is_replaced_and_said_where() {
    let mut objects = stored("minimal");
    let daemon_set = of_kind(&mut objects, "DaemonSet");
    let args = daemon_set.pointer_mut("/spec/template/spec/containers/0/args").unwrap();
    args.as_array_mut().unwrap().push(json!("--secret-token=hunter2"));
    let engine = engine(objects.clone(), "minimal");
    assert_eq!(engine.servers, Servers::Replaced);
    assert_eq!(engine.why.len(), 1, "{engine:#?}");
    assert!(
        engine.why[0].ends_with("at spec.containers[lmcache].args"),
        "{engine:#?}"
    );
    assert!(
        engine.differences.contains(&"spec.containers[lmcache].args".to_owned()),
        "{engine:#?}"
    );
    let report = report(objects);
    assert!(
        found(&report, code::SERVERS_REPLACED)
            .found
            .contains("LMCacheEngine inference/minimal")
    );
    // A change, but nothing that has to be done first.
    assert!(report.clear);
    let said = format!("{report}{}", serde_json::to_string(&report).unwrap());
    assert!(!said.contains("hunter2"));
}

#[test]
fn a_field_that_the_go_operator_does_not_know_is_why() {
    let mut objects = stored("minimal");
    objects.last_mut().unwrap()["spec"]["server"]["release"] = json!("0.5.6");
    let engine = engine(objects, "minimal");
    assert_eq!(engine.servers, Servers::Replaced, "{engine:#?}");
    assert!(
        engine.why.iter().any(|why| why.contains("spec.server.release")),
        "{engine:#?}"
    );
}

#[test]
fn a_rollout_that_is_asked_for_is_why() {
    let mut objects = stored("minimal");
    objects.last_mut().unwrap()["metadata"]["annotations"] = json!({"lmcache.ai/rollout": "now"});
    let engine = engine(objects, "minimal");
    assert_eq!(engine.servers, Servers::Replaced);
    assert_eq!(engine.why, ["it has the annotation lmcache.ai/rollout"]);
}

#[test]
fn a_changed_specification_that_nobody_rolled_out_is_why() {
    let mut objects = stored("minimal");
    objects.last_mut().unwrap()["spec"]["l1"]["sizeGB"] = json!(61);
    let engine = engine(objects, "minimal");
    assert_eq!(engine.servers, Servers::Replaced);
    assert!(
        engine.why[0].contains("not what the Go operator renders"),
        "{engine:#?}"
    );
}

#[test]
fn what_our_controller_applied_is_its_own() {
    let mut objects = stored("minimal");
    for object in &mut objects {
        for entry in object["metadata"]["managedFields"].as_array_mut().into_iter().flatten() {
            if entry["manager"] == "manager" && entry.get("subresource").is_none() {
                entry["manager"] = json!("lmcache-controller");
                entry["operation"] = json!("Apply");
            }
        }
    }
    let engine = engine(objects, "minimal");
    assert_eq!(engine.servers, Servers::Ours, "{engine:#?}");
    assert_eq!((engine.of_the_go_operator, engine.of_ours), (0, 4));
}

#[test]
fn two_kinds_of_one_name_are_a_conflict() {
    let mut objects = stored("minimal");
    let mut twin = objects.last().unwrap().clone();
    twin["kind"] = json!("CacheBlendEngine");
    twin["metadata"]["uid"] = json!("younger");
    twin["metadata"]["creationTimestamp"] = json!("2027-01-01T00:00:00Z");
    objects.push(twin);
    let report = report(objects);
    let younger = report
        .engines
        .iter()
        .find(|engine| engine.kind == "CacheBlendEngine")
        .unwrap();
    assert!(
        younger.problems[0].starts_with("NameConflict: LMCacheEngine inference/minimal is older"),
        "{younger:#?}"
    );
}

#[test]
fn the_default_mode_counts() {
    let mut objects = stored("minimal");
    // Another version of the Go operator's template: replaced, by what the mode asks for.
    let daemon_set = of_kind(&mut objects, "DaemonSet");
    daemon_set["spec"]["template"]["metadata"]["labels"]["tier"] = json!("x");
    let differences = |mode: &str| {
        let options = Options {
            ipc_default: Some(mode.parse().unwrap()),
            cluster_domain: None,
        };
        Report::new(&snapshot(objects.clone()), &options)
            .engines
            .remove(0)
            .differences
    };
    let host_ipc = "spec.hostIPC".to_owned();
    assert!(!differences("HostIPC").contains(&host_ipc));
    assert!(differences("Isolated").contains(&host_ipc));
}
