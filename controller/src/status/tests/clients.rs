//! Counts of Pods that opted in, and whether servers are where they are.

use std::collections::BTreeSet;

use lmcache_api::{ClientsStatus, FieldError};
use rstest::rstest;
use serde_json::{Value, json};

use super::support::*;
use crate::plan::Verdict;
use crate::status::clients;

fn counts(pass: &Pass) -> ClientsStatus {
    clients(&pass.inputs, &pass.report, &settings()).0
}

#[test]
fn each_pod_is_wired_or_skipped() {
    let mut ending = wired("gone", "n1");
    spoil(&mut ending);
    let mut unplaced = wired("unplaced", "n1");
    unplaced["spec"].as_object_mut().unwrap().remove("nodeName");
    let pass = engine(numbers(1, 1)).with_servers([server("a", "n1")]).with_clients([
        wired("c1", "n1"),
        wired("c2", "n2"),
        unplaced,
        ending,
        skipped("s1", "engine-not-found"),
        skipped("s2", "engine-not-found"),
        skipped("s3", "made-up-by-a-user"),
        client("s4", "n1", json!({})),
    ]);
    let (counts, reasons) = clients(&pass.inputs, &pass.report, &settings());
    assert_eq!(
        counts,
        ClientsStatus {
            wired: 3,
            skipped: 4,
            drifted: 0,
            uncovered: 1
        }
    );
    let reasons: Vec<_> = reasons.into_iter().collect();
    assert_eq!(reasons, [("engine-not-found", 2), ("not-seen", 1), ("other", 1)]);
    assert_eq!(
        pass.status()["clients"],
        json!({"wired": 3, "skipped": 4, "drifted": 0, "uncovered": 1})
    );
}

#[rstest]
#[case::as_it_is("tcp://kv.team-a.svc.cluster.local", "5555", 0)]
#[case::former_port("tcp://kv.team-a.svc.cluster.local", "6000", 1)]
#[case::other_engine("tcp://old.team-a.svc.cluster.local", "5555", 1)]
#[case::other_domain("tcp://kv.team-a.svc.example", "5555", 1)]
fn a_pod_that_connects_elsewhere_has_drifted(#[case] host: &str, #[case] port: &str, #[case] drifted: i32) {
    let pass = engine(numbers(1, 1)).with_clients([wired_to("c", "n1", host, port)]);
    assert_eq!(counts(&pass).drifted, drifted);
    assert_eq!(counts(&pass).wired, 1);
}

/// Memory of an isolated engine is reached in another way.
#[test]
fn a_pod_that_shares_memory_otherwise_has_drifted() {
    let spec = json!({"l1": {"sizeGB": 60}, "isolatedIPC": true});
    let pass = engine_with(spec, numbers(1, 1)).with_clients([wired("c", "n1")]);
    assert_eq!(counts(&pass).drifted, 1);
}

/// With roles our connector stands inside a MultiConnector.
#[test]
fn a_pod_with_a_role_has_not_drifted() {
    let spec = json!({"l1": {"sizeGB": 60}, "pd": {}});
    let mut pod = wired("c", "n1");
    let ours: Value = serde_json::from_str(pod["spec"]["containers"][0]["args"][1].as_str().unwrap()).unwrap();
    let config = json!({"kv_connector": "MultiConnector",
        "kv_connector_extra_config": {"connectors": [{"kv_connector": "NixlConnector"}, ours]}});
    pod["spec"]["containers"][0]["args"][1] = json!(config.to_string());
    assert_eq!(counts(&engine_with(spec, numbers(1, 1)).with_clients([pod])).drifted, 0);
}

#[rstest]
#[case::no_arguments(json!([]))]
#[case::without_host(json!(["--kv-transfer-config", r#"{"kv_connector": "LMCacheMPConnector"}"#]))]
#[case::no_json(json!(["--kv-transfer-config", "$(CONFIG)"]))]
fn arguments_of_a_users_own_have_not_drifted(#[case] args: Value) {
    let mut pod = wired("c", "n1");
    pod["spec"]["containers"][0]["args"] = args;
    assert_eq!(counts(&engine(numbers(1, 1)).with_clients([pod])).drifted, 0);
}

/// As long as the specification is not built, the connection is the one in the ConfigMap.
#[test]
fn a_fault_makes_nobody_drift() {
    let spec = json!({"l1": {"sizeGB": 60}, "server": {"port": 6000, "httpPort": 6000}});
    let extra = json!({"lmcache.mp.host": "tcp://kv.team-a.svc.cluster.local", "lmcache.mp.port": "5555"});
    let config = json!({"kv_connector_extra_config": extra}).to_string();
    let map = |uid: &str| {
        json!({"kind": "ConfigMap", "metadata": {"name": "kv-connection", "namespace": "team-a",
            "ownerReferences": [{"controller": true, "uid": uid}]}, "data": {"kv-transfer-config.json": config}})
    };
    let pass = |uid, verdict| {
        let pass = engine_with(spec.clone(), numbers(1, 1)).with_clients([wired("c", "n1")]);
        counts(&pass.with_child(map(uid)).with_verdict(verdict)).drifted
    };
    let faults = || Verdict::Invalid(vec![FieldError::required("spec.l1", "must be set")]);
    assert_eq!(pass("e", faults()), 0);
    assert_eq!(pass("e", Verdict::Valid), 1);
    // One that names no server leaves it open.
    let mut broken = map("e");
    broken["data"] = json!({"kv-transfer-config.json": "{"});
    let unknown = engine_with(spec.clone(), numbers(1, 1)).with_clients([wired("c", "n1")]);
    assert_eq!(counts(&unknown.with_child(broken).with_verdict(faults())).drifted, 0);
    // Somebody else's ConfigMap says nothing.
    assert_eq!(pass("x", faults()), 1);
    // Nor has anybody drifted whose servers run the Go operator's template, in the mode that it gave them.
    let mut kept = engine_with(spec.clone(), numbers(1, 1))
        .with_clients([wired("c", "n1")])
        .with_child(map("e"));
    kept.report.legacy_template = Some(vec!["spec".to_owned()]);
    assert_eq!(counts(&kept).drifted, 0);
}

#[rstest]
#[case::none(vec![], vec![server("a", "n1")], "True NoClients")]
#[case::skipped(vec![skipped("c", "pod-malformed")], vec![], "True NoClients")]
#[case::covered(vec![wired("c", "n1")], vec![server("a", "n1")], "True AllCovered")]
#[case::elsewhere(vec![wired("c", "n2")], vec![server("a", "n1")], "False NoReadyServer")]
#[case::not_ready(vec![wired("c", "n1")], vec![restarted("a", "n1", 0)], "False NoReadyServer")]
fn coverage(#[case] clients: Vec<Value>, #[case] servers: Vec<Value>, #[case] expected: &str) {
    let status = engine(numbers(1, 1))
        .with_servers(servers)
        .with_clients(clients)
        .status();
    assert_eq!(said(&status, "ClientsCovered"), expected);
}

#[test]
fn nodes_without_a_server_are_named() {
    let clients = (0..13).rev().flat_map(|node| {
        let node = format!("n{node:02}");
        [wired(&format!("a-{node}"), &node), wired(&format!("b-{node}"), &node)]
    });
    let mut ending = server("s", "n00");
    spoil(&mut ending);
    let pass = engine(numbers(1, 1))
        .with_servers([ending, server("t", "n12")])
        .with_clients(clients);
    let status = pass.status();
    assert_eq!(
        message(&status, "ClientsCovered"),
        "wired Pods run without a ready server on n00, n01, n02, n03, n04, n05, n06, n07, n08, n09 and 2 more: their \
         cache is out of reach"
    );
    assert_eq!(status["clients"]["uncovered"], 24);
}

/// Every reason that the policies document is counted under its own name.
#[test]
fn reasons_of_the_policies_are_known() {
    let mut found = BTreeSet::new();
    for policy in ["pod-injection", "cacheblend-injection"] {
        let path = format!("{}/../policies/{policy}/README.md", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        let table = text.split_once("## Skip reasons").map_or("", |(_, rest)| rest);
        let table = table.split("\n| Payload skip reason").next().unwrap();
        for line in table.lines().take_while(|line| !line.starts_with("## ")) {
            if let Some((reason, _)) = line.strip_prefix("| `").and_then(|rest| rest.split_once('`')) {
                found.insert(reason.to_owned());
            }
        }
    }
    assert!(found.len() >= 20, "{found:?}");
    for reason in &found {
        let pass = engine(numbers(1, 1)).with_clients([skipped("c", reason)]);
        let (_, reasons) = clients(&pass.inputs, &pass.report, &settings());
        assert_eq!(reasons.into_keys().collect::<Vec<_>>(), [reason.as_str()]);
    }
}

#[test]
fn a_coordinator_has_no_clients() {
    let pass = coordinator(numbers(1, 1));
    assert_eq!(counts(&pass), ClientsStatus::default());
    assert!(pass.status().get("clients").is_none());
}
