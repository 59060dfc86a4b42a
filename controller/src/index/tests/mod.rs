//! Tests of the index.

mod look_up;
mod queue;
mod sequences;
mod versions;
mod wakes;

use kube::runtime::watcher::Event;
use lmcache_api::Kind;
use serde_json::{Value, json};

use super::*;
use crate::live::{Cached, Facts};

const NS: &str = "inference";

/// An object whose metadata is completed: `version` is its resource version, and its uid is made of its name.
fn object<F: Facts>(name: &str, version: u64, mut value: Value) -> Cached<F> {
    let metadata = value.as_object_mut().unwrap().entry("metadata").or_insert(json!({}));
    let metadata = metadata.as_object_mut().unwrap();
    let mut set = |key: &str, value: Value| {
        metadata.entry(key).or_insert(value);
    };
    set("name", json!(name));
    set("namespace", json!(NS));
    set("uid", json!(format!("uid-of-{name}")));
    set("resourceVersion", json!(version.to_string()));
    Cached::read(value)
}

fn custom(kind: Kind, name: &str, version: u64, spec: Value) -> Custom {
    let metadata = json!({"generation": version, "uid": uid(kind, name), "creationTimestamp": "2026-11-29T12:00:00Z"});
    object(
        name,
        version,
        json!({"kind": kind.as_str(), "metadata": metadata, "spec": spec}),
    )
}

fn uid(kind: Kind, name: &str) -> String {
    format!("{kind}-{name}")
}

fn engine(name: &str, version: u64) -> Custom {
    custom(Kind::LMCacheEngine, name, version, json!({}))
}

/// A child that is controlled by an LMCacheEngine.
fn child(kind: ChildKind, name: &str, version: u64, engine: &str) -> Child {
    let owner = json!({
        "kind": "LMCacheEngine", "name": engine, "uid": uid(Kind::LMCacheEngine, engine), "controller": true,
    });
    let metadata = json!({"ownerReferences": [owner], "labels": {"app.kubernetes.io/instance": engine}});
    object(name, version, json!({"kind": kind.as_str(), "metadata": metadata}))
}

fn daemon_set(name: &str, version: u64, ready: i64) -> Child {
    let mut value = child(ChildKind::DaemonSet, name, version, name).value();
    value["metadata"]["generation"] = json!(1);
    value["status"] = json!({"desiredNumberScheduled": 2, "numberReady": ready, "observedGeneration": 1});
    Cached::read(value)
}

fn server(name: &str, version: u64, instance: &str, node: &str) -> ServerPod {
    let labels = json!({"app.kubernetes.io/name": "lmcache", "app.kubernetes.io/instance": instance});
    object(
        name,
        version,
        json!({"metadata": {"labels": labels}, "spec": {"nodeName": node}}),
    )
}

fn client(name: &str, version: u64, engine: &str) -> ClientPod {
    let metadata = json!({
        "labels": {"lmcache.ai/lmcache-inject": "true"},
        "annotations": {"lmcache.ai/lmcache-engine": engine},
    });
    object(name, version, json!({"metadata": metadata}))
}

fn secret(name: &str, version: u64) -> SecretSource {
    object(name, version, json!({"data": {"password": "cGFzcw=="}}))
}

fn login(secret: &str) -> Value {
    json!({"l2Backend": {"resp": {"authSecretRef": {"name": secret}}}})
}

fn key(kind: Kind, name: &str) -> Key {
    Key::new(kind, NS, name)
}

fn named(name: &str) -> NamespacedName {
    NamespacedName::new(NS, name)
}

/// Keys as `LMCacheEngine a`, for comparisons.
fn names(wake: &Wake) -> Vec<String> {
    wake.iter().map(|key| format!("{} {}", key.kind, key.name)).collect()
}

/// A list of the watch, as kube's watcher tells it.
fn list<F>(objects: impl IntoIterator<Item = Cached<F>>) -> Vec<Event<Cached<F>>> {
    let objects = objects.into_iter().map(Event::InitApply);
    [Event::Init]
        .into_iter()
        .chain(objects)
        .chain([Event::InitDone])
        .collect()
}

/// The LMCacheEngines `a` and `b`, and nothing else.
fn index_of_engines() -> Index {
    let mut index = Index::new();
    index.custom(Kind::LMCacheEngine, Event::Apply(engine("a", 1)));
    index.custom(Kind::LMCacheEngine, Event::Apply(engine("b", 2)));
    index
}
