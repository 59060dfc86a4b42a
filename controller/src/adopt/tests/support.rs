//! Snapshots made of recordings.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::adopt::{Finding, Level, Options, Report, Snapshot};

pub const NOW: &str = "2026-11-29T12:00:00Z";

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

pub fn documents(path: &Path) -> Vec<Value> {
    let Ok(text) = fs::read_to_string(path) else {
        return Vec::new();
    };
    let documents = yaml_serde::Deserializer::from_str(&text);
    let documents = documents.map(|document| Value::deserialize(document).unwrap());
    documents.filter(|document| !document.is_null()).collect()
}

/// A snapshot of these objects, in a cluster that serves everything.
pub fn snapshot(objects: impl IntoIterator<Item = Value>) -> Snapshot {
    Snapshot {
        taken: NOW.parse().unwrap(),
        objects: objects.into_iter().collect(),
        ..Snapshot::default()
    }
}

pub fn report(objects: impl IntoIterator<Item = Value>) -> Report {
    Report::new(&snapshot(objects), &Options::default())
}

/// A custom resource and its children as the Go operator left them. Secrets are not looked at.
pub fn stored(name: &str) -> Vec<Value> {
    let path = root().join(format!("fixtures/go-operator/july/stored/{name}.yaml"));
    let recording = documents(&path).remove(0);
    let lists = ["children", "others"].iter();
    let listed = lists.flat_map(|list| recording[list].as_array().unwrap().clone());
    let mut objects: Vec<Value> = listed.filter(|object| object["kind"] != "Secret").collect();
    objects.push(recording["custom"].clone());
    objects
}

/// The object of a kind.
pub fn of_kind<'a>(objects: &'a mut [Value], kind: &str) -> &'a mut Value {
    objects.iter_mut().find(|object| object["kind"] == kind).unwrap()
}

/// The Go operator's Deployment as its own manifests have it.
pub fn go_operator(replicas: u64) -> Value {
    let labels = json!({"control-plane": "controller-manager", "app.kubernetes.io/name": "operator"});
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {
            "name": "lmcache-operator-controller-manager", "namespace": "lmcache-operator-system", "labels": labels,
        },
        "spec": {"replicas": replicas, "template": {"metadata": {"labels": labels}, "spec": {"containers": [
            {"name": "manager", "image": "lmcache/lmcache-operator:v0.5.2", "command": ["/manager"]},
        ]}}},
        "status": {"replicas": replicas, "readyReplicas": replicas},
    })
}

/// Ours.
pub fn controller(replicas: u64) -> Value {
    let mut deployment = documents(&root().join("deploy/controller/deployment.yaml")).remove(0);
    deployment["spec"]["replicas"] = json!(replicas);
    deployment["status"] = json!({"replicas": replicas, "readyReplicas": replicas});
    deployment
}

/// A Lease that was renewed so many seconds ago.
pub fn lease(namespace: &str, name: &str, seconds: i64) -> Value {
    let now: jiff::Timestamp = NOW.parse().unwrap();
    let renewed = now - jiff::SignedDuration::from_secs(seconds);
    json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name, "namespace": namespace},
        "spec": {"holderIdentity": "pod-0", "renewTime": renewed.to_string()},
    })
}

/// The Go operator's webhooks as its own manifests have them.
pub fn go_webhooks(failure_policy: &str) -> Value {
    let webhook = |name: &str, path: &str, label: &str| {
        json!({
            "name": name, "failurePolicy": failure_policy, "objectSelector": {"matchLabels": {label: "true"}},
            "clientConfig": {"service": {
                "name": "lmcache-operator-webhook-service", "namespace": "lmcache-operator-system", "path": path,
            }},
        })
    };
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
        "metadata": {
            "name": "lmcache-operator-mutating-webhook-configuration",
            "annotations": {
                "cert-manager.io/inject-ca-from": "lmcache-operator-system/lmcache-operator-serving-cert",
            },
        },
        "webhooks": [
            webhook("mcacheblendpod.lmcache.ai", "/mutate--v1-pod", "lmcache.ai/cacheblend-inject"),
            webhook("mlmcachepod.lmcache.ai", "/mutate-lmcache--v1-pod", "lmcache.ai/lmcache-inject"),
        ],
    })
}

/// What Kubewarden registers for policies of ours.
pub fn ours(names: &[&str]) -> Vec<Value> {
    let configuration = |name: &&str| {
        let is_mutating = name.ends_with("-injection") || name.ends_with("-staging");
        let kind = if is_mutating { "Mutating" } else { "Validating" };
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": format!("{kind}WebhookConfiguration"),
            "metadata": {"name": format!("kw.cap.{name}")},
            "webhooks": [{"name": format!("kw.cap.{name}.kubewarden.admission"), "failurePolicy": "Ignore"}],
        })
    };
    names.iter().map(configuration).collect()
}

/// The CRDs of `deploy/crds`, or such as know none of our fields.
pub fn crds(is_ours: bool) -> Vec<Value> {
    ["lmcacheengines", "cacheblendengines", "lmcachecoordinators"]
        .map(|plural| {
            let mut crd = documents(&root().join(format!("deploy/crds/{plural}.yaml"))).remove(0);
            if !is_ours {
                let pointer = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
                let fields = crd.pointer_mut(pointer).unwrap().as_object_mut().unwrap();
                fields.retain(|name, _| !matches!(name.as_str(), "updateStrategy" | "release"));
            }
            crd
        })
        .into()
}

pub fn codes(report: &Report, level: Level) -> Vec<&'static str> {
    report.of(level).map(|finding| finding.code).collect()
}

pub fn found<'a>(report: &'a Report, code: &str) -> &'a Finding {
    let mut found = report.findings.iter().filter(|finding| finding.code == code);
    found
        .next()
        .unwrap_or_else(|| panic!("no {code} in {:#?}", report.findings))
}
