//! The first pass over servers that a released Go operator left.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::support::{Stored, recording, settings};
use crate::live::ChildKind;
use crate::plan::{Judgement, Rollout, judge, rollout};

/// An engine as our CRD stores it, and what the operator of `release` made of it.
fn left_by(release: &str, case: &str) -> Stored {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../fixtures/go-operator/releases");
    let text = fs::read_to_string(folder.join(release).join(format!("{case}.yaml"))).unwrap();
    let file: Value = yaml_serde::from_str(&text).unwrap();
    let mut stored = recording("minimal");
    let spec = &mut stored.custom["spec"];
    *spec = file["input"]["spec"].clone();
    for (field, default) in [
        ("gpuVendor", json!("nvidia")),
        ("logLevel", json!("INFO")),
        ("hostNetwork", json!(false)),
        ("privileged", json!(false)),
    ] {
        let members = spec.as_object_mut().unwrap();
        members.entry(field).or_insert(default);
    }
    // What the CRDs that know the field store where nobody said anything.
    if release >= "0.5.4" {
        let members = spec.as_object_mut().unwrap();
        members.entry("hostIPC").or_insert(json!(false));
    }
    stored.child("DaemonSet")["spec"]["template"] = file["workload"]["spec"]["template"].clone();
    stored
}

fn first_pass(stored: &Stored) -> Rollout {
    let inputs = stored.inputs();
    match judge(&inputs, &settings()) {
        Judgement::Valid(subject) => rollout(&subject, &inputs, &settings()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn no_server_is_replaced() {
    let mut replaced = Vec::new();
    for (release, case) in [
        ("0.5.0", "engine-plain"),
        ("0.5.0", "engine-amd"),
        ("0.5.1", "engine-plain"),
        // 0.5.2 makes the same of it.
        ("0.5.1", "engine-host-network"),
        ("0.5.3", "engine-coordinator"),
        ("0.5.3", "engine-serde"),
        ("0.5.4", "engine-plain"),
        ("0.5.4", "engine-host-network"),
        ("0.5.4", "engine-init-containers"),
        ("0.5.5", "engine-plain"),
        ("0.5.5", "engine-host-ipc"),
        ("0.5.6", "engine-runtime-class"),
    ] {
        let stored = left_by(release, case);
        match first_pass(&stored) {
            Rollout::Kept(differences) => {
                assert!(!differences.is_empty(), "{release} {case}");
                let desired = stored.desired();
                assert_eq!(desired.legacy_template, Some(differences), "{release} {case}");
            }
            other => replaced.push(format!("{release} {case}: {other:?}")),
        }
    }
    assert!(replaced.is_empty(), "{replaced:#?}");
}

#[test]
fn the_connection_says_what_servers_of_each_release_run() {
    for (release, mode) in [
        ("0.5.0", "HostIPC"),
        ("0.5.1", "HostIPC"),
        ("0.5.4", "HostShm"),
        ("0.5.5", "Isolated"),
    ] {
        let config_map = left_by(release, "engine-plain").wanted(ChildKind::ConfigMap);
        assert_eq!(
            config_map["metadata"]["annotations"]["lmcache.ai/ipc-mode"], mode,
            "{release}"
        );
        // Whatever the specification would mean today.
        let connection = config_map["data"]["kv-transfer-config.json"].as_str().unwrap();
        assert_eq!(connection.contains("isolated_ipc"), mode == "Isolated", "{release}");
    }
}

/// What is asked for since, and what the release did not know, is worth a rollout.
#[test]
fn what_the_release_did_not_know_is_rolled_out() {
    for (release, field, value) in [
        ("0.5.1", "hostIPC", json!(false)),
        ("0.5.1", "isolatedIPC", json!(false)),
        ("0.5.4", "hostIPC", json!(true)),
        ("0.5.4", "isolatedIPC", json!(true)),
        ("0.5.4", "runtimeClassName", json!("kata")),
        ("0.5.5", "isolatedIPC", json!(false)),
    ] {
        let stored = left_by(release, "engine-plain").with(&format!("/spec/{field}"), value.clone());
        let pass = first_pass(&stored);
        assert!(
            matches!(&pass, Rollout::Replaced(_)),
            "{release} {field}: {value}: {pass:?}"
        );
    }
    // How a rollout goes, and what clients are told besides, is none of the servers'.
    for (field, value) in [
        ("updateStrategy", json!({"type": "OnDelete"})),
        ("connection", json!({"extraConfig": {"lmcache.mp.mq_timeout": 30}})),
    ] {
        let stored = left_by("0.5.4", "engine-plain").with(&format!("/spec/{field}"), value);
        assert!(matches!(first_pass(&stored), Rollout::Kept(_)), "{field}");
    }
    // A later release makes of these what that release made of nothing: the servers run as they are asked to.
    for (release, field, value) in [
        ("0.5.1", "hostIPC", json!(true)),
        ("0.5.4", "isolatedIPC", json!(false)),
    ] {
        let stored = left_by(release, "engine-plain").with(&format!("/spec/{field}"), value);
        assert!(matches!(first_pass(&stored), Rollout::Kept(_)), "{release} {field}");
    }
}

/// Of an engine that is otherwise unchanged, the operator of the release is named by what is not like it.
#[test]
fn the_nearest_release_says_what_was_edited() {
    for (release, case) in [
        ("0.5.0", "engine-plain"),
        ("0.5.1", "engine-host-network"),
        ("0.5.4", "engine-plain"),
        ("0.5.5", "engine-plain"),
    ] {
        let mut stored = left_by(release, case);
        let template = &mut stored.child("DaemonSet")["spec"]["template"];
        template["spec"]["containers"][0]["image"] = json!("registry.example.com/edited:1");
        let Rollout::Replaced(replaced) = first_pass(&stored) else {
            panic!("{release} {case}");
        };
        assert_eq!(replaced.unlike, ["spec.containers[lmcache].image"], "{release} {case}");
        assert_eq!(replaced.unread, [""; 0], "{release} {case}");
    }
}
