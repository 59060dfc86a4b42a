//! Objects that the Go operator's CRDs let through are let through by ours, and lose no field: applied anew, and as they
//! were stored.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod schema;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use lmcache_api::Kind;
use rstest::rstest;
use serde_json::{Value, json};

/// Our schema of a kind, with what the API server knows of every object. To make one takes a while.
fn schema_of(kind: &str) -> &'static Value {
    static SCHEMAS: LazyLock<BTreeMap<Kind, Value>> =
        LazyLock::new(|| Kind::ALL.into_iter().map(|kind| (kind, make_schema(kind))).collect());
    &SCHEMAS[&kind.parse().unwrap()]
}

fn make_schema(kind: Kind) -> Value {
    let crd = lmcache_api::crd::definition(kind);
    let mut schema = serde_json::to_value(crd).unwrap()["spec"]["versions"][0]["schema"]["openAPIV3Schema"].take();
    schema["properties"]["apiVersion"] = json!({"type": "string"});
    schema["properties"]["kind"] = json!({"type": "string"});
    schema["properties"]["metadata"] = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    schema
}

/// The paths that are pruned, and what is refused, when the object is applied.
fn applied(object: &mut Value) -> (Vec<String>, Vec<String>) {
    let schema = schema_of(object["kind"].as_str().unwrap());
    let (mut pruned, mut faults) = (Vec::new(), Vec::new());
    schema::prune("", schema, object, &mut pruned);
    schema::default(schema, object);
    schema::faults("", schema, object, &mut faults);
    (pruned, faults)
}

/// The recordings of the Go operator: name and content.
fn recordings() -> Vec<(String, Value)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/go-operator");
    let mut recordings = Vec::new();
    for generation in ["july", "newest"] {
        for entry in std::fs::read_dir(root.join(generation).join("cr")).unwrap() {
            let path = entry.unwrap().path();
            let name = format!("{generation}/{}", path.file_stem().unwrap().display());
            let text = std::fs::read_to_string(&path).unwrap();
            recordings.push((name, yaml_serde::from_str(&text).unwrap()));
        }
    }
    recordings
}

#[test]
fn what_the_go_operator_accepts_is_accepted() {
    let mut judged = 0;
    for (name, recording) in recordings() {
        if recording["accepted"] != true {
            continue;
        }
        let mut object = recording["input"].clone();
        let (mut pruned, faults) = applied(&mut object);
        assert!(faults.is_empty(), "{name}: {faults:?}");
        pruned.sort_unstable();
        assert_eq!(pruned, dropped_by_the_go_operator(&name), "{name}");

        // Stored under the Go operator's newest CRD, engines have the one default that ours leaves out.
        if object["kind"] != "LMCacheCoordinator" && object["spec"].get("hostIPC").is_none() {
            object["spec"]["hostIPC"] = json!(false);
        }
        let stored = object.clone();
        assert_eq!(
            applied(&mut object),
            (Vec::new(), Vec::new()),
            "{name}, as it was stored"
        );
        assert_eq!(object, stored, "{name}: nothing is added to what was stored");
        judged += 1;
    }
    assert!(judged > 150, "only {judged} recordings");
}

/// Fields that are in the input of a recording and not in the Go operator's CRDs.
fn dropped_by_the_go_operator(recording: &str) -> &'static [&'static str] {
    match recording {
        "newest/accepted-cacheblend-removed-injection-fields" => &[
            "spec.injection.attentionBackend",
            "spec.injection.blockSize",
            "spec.injection.env",
        ],
        "newest/accepted-engine-coordinator-new-field-names" => {
            &["spec.coordinator.eventFlushInterval", "spec.coordinator.eventReporting"]
        }
        _ => &[],
    }
}

/// A status that the Go operator wrote, so that an object can be written again.
#[rstest]
#[case::engine(
    "LMCacheEngine",
    json!({
        "phase": "Degraded", "observedGeneration": 3, "desiredInstances": 2, "readyInstances": 1,
        "endpoints": [
            {"nodeName": "gpu-1", "hostIP": "10.1.0.4", "podName": "kv-7xk2p", "port": 5555, "metricsPort": 9090, "ready": true},
            {"nodeName": "", "hostIP": "", "podName": "kv-b9wd4", "port": 5555, "metricsPort": 9090, "ready": false},
        ],
        "conditions": [
            {"type": "ConfigValid", "status": "True", "observedGeneration": 3, "reason": "Valid",
             "lastTransitionTime": "2026-07-14T09:30:00Z", "message": "Spec validation passed"},
            {"type": "Available", "status": "True", "observedGeneration": 3, "reason": "AtLeastOneReady",
             "lastTransitionTime": "2026-07-14T09:31:00Z", "message": "1/2 instances ready"},
        ],
    })
)]
#[case::engine_that_is_new("CacheBlendEngine", json!({}))]
#[case::engine_without_nodes("CacheBlendEngine", json!({"phase": "Pending", "observedGeneration": 1}))]
#[case::coordinator(
    "LMCacheCoordinator",
    json!({
        "phase": "Running", "observedGeneration": 1, "replicas": 1, "readyReplicas": 1,
        "endpoint": "http://fleet.team-a.svc:9300",
        "conditions": [
            {"type": "AllInstancesReady", "status": "True", "observedGeneration": 1, "reason": "AllReady",
             "lastTransitionTime": "2026-07-14T09:30:00Z", "message": ""},
        ],
    })
)]
fn a_status_of_the_go_operator_is_accepted(#[case] kind: &str, #[case] status: Value) {
    let mut object = json!({
        "apiVersion": "lmcache.lmcache.ai/v1alpha1",
        "kind": kind,
        "metadata": {"name": "kv", "namespace": "team-a"},
        "spec": if kind == "LMCacheCoordinator" { json!({}) } else { json!({"l1": {"sizeGB": 60}}) },
        "status": status,
    });
    assert_eq!(applied(&mut object), (Vec::new(), Vec::new()));
    assert_eq!(object["status"], status);
}

/// What the Go operator's CRD refuses is refused: an accepting schema would hide that this test looks at nothing.
#[rstest]
#[case(json!({}), "spec: required")]
#[case(json!({"l1": {"sizeGB": 0}}), "spec.l1.sizeGB: minimum")]
#[case(json!({"l1": {"sizeGB": "60"}}), "spec.l1.sizeGB: type")]
#[case(json!({"l1": {"sizeGB": 60}, "gpuVendor": "intel"}), "spec.gpuVendor: enum")]
#[case(json!({"l1": {"sizeGB": 60}, "server": {"port": 80}}), "spec.server.port: minimum")]
#[case(json!({"l1": {"sizeGB": 60}, "server": {"port": 65536}}), "spec.server.port: maximum")]
#[case(json!({"l1": {"sizeGB": 60}, "server": {"chunkSize": 4294967296u64}}), "spec.server.chunkSize: format")]
#[case(json!({"l1": {"sizeGB": 60}, "l2Backend": {"resp": {"host": "redis"}}}), "spec.l2Backend.resp: required")]
#[case(json!({"l1": {"sizeGB": 60}, "resourceOverrides": {"limits": {"cpu": 0.5}}}),
    "spec.resourceOverrides.limits.cpu: x-kubernetes-int-or-string")]
fn what_the_go_operators_crd_refuses_is_refused(#[case] spec: Value, #[case] fault: &str) {
    let mut object = json!({"kind": "LMCacheEngine", "spec": spec});
    assert_eq!(applied(&mut object), (Vec::new(), vec![fault.to_owned()]));
}

/// The API server refuses a CRD whose defaults it would refuse in an object.
#[test]
fn defaults_are_valid() {
    for kind in Kind::ALL {
        each_default("", schema_of(kind.as_str()), &mut |path, field| {
            let (mut pruned, mut faults) = (Vec::new(), Vec::new());
            let mut preset = field["default"].clone();
            schema::prune(path, field, &mut preset, &mut pruned);
            schema::faults(path, field, &preset, &mut faults);
            assert!(pruned.is_empty() && faults.is_empty(), "{kind}: {pruned:?} {faults:?}");
        });
    }
}

fn each_default(path: &str, schema: &Value, look: &mut impl FnMut(&str, &Value)) {
    if schema.get("default").is_some() {
        look(path, schema);
    }
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        each_default(&format!("{path}.{name}"), field, look);
    }
    for part in ["items", "additionalProperties"] {
        if let Some(schema) = schema.get(part) {
            each_default(&format!("{path}[]"), schema, look);
        }
    }
}
