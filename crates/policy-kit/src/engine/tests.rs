use super::*;
use crate::cluster::{Lookup, Query};
use serde_json::json;
use std::cell::Cell;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// A cluster in which every look-up has the same answer.
struct Always(Lookup, Cell<usize>);

impl Cluster for Always {
    fn get(&self, _: &Query<'_>) -> Lookup {
        self.1.set(self.1.get() + 1);
        self.0.clone()
    }
}

fn always(answer: Lookup) -> Always {
    Always(answer, Cell::new(0))
}

fn engine(size: f64) -> Value {
    json!({"metadata": {"name": "kv-pool", "namespace": "serving"}, "spec": {"l1": {"sizeGB": size}}})
}

fn paths(object: &Value, change: Change<'_>, answer: Lookup) -> Vec<String> {
    let verdict = decide(
        Kind::LMCacheEngine,
        object,
        change,
        Some("serving"),
        &Settings::default(),
        &always(answer),
    );
    verdict.faults.into_iter().map(|fault| fault.path).collect()
}

#[test]
fn a_clash_of_names_is_refused_only_when_it_was_seen() {
    let good = engine(60.0);
    assert_eq!(
        paths(&good, Change::Create, Lookup::Found(json!({}))),
        ["metadata.name"]
    );
    for answer in [
        Lookup::NotFound,
        Lookup::NotServed,
        Lookup::Unavailable("no grant".into()),
    ] {
        assert!(paths(&good, Change::Create, answer).is_empty());
    }
    assert!(paths(&good, Change::Update(Some(&good)), Lookup::Found(json!({}))).is_empty());
}

#[test]
fn a_generated_name_is_not_looked_up() {
    let cluster = always(Lookup::Found(json!({})));
    let object = json!({"metadata": {"generateName": "kv-"}, "spec": {"l1": {"sizeGB": 1}}});
    decide(
        Kind::LMCacheEngine,
        &object,
        Change::Create,
        None,
        &Settings::default(),
        &cluster,
    );
    assert_eq!(cluster.1.get(), 0);
}

#[test]
fn only_new_faults_of_a_change_count() {
    let (bad, worse, good) = (engine(-1.0), engine(-2.0), engine(60.0));
    let old = |old| Change::Update(Some(old));
    assert!(paths(&bad, old(&bad), Lookup::NotFound).is_empty());
    assert_eq!(paths(&worse, old(&bad), Lookup::NotFound), ["spec.l1.sizeGB"]);
    assert_eq!(paths(&bad, old(&good), Lookup::NotFound), ["spec.l1.sizeGB"]);
    assert_eq!(paths(&bad, Change::Update(None), Lookup::NotFound), ["spec.l1.sizeGB"]);
}

/// A change that leaves the faulty value as it was is let through, although the fault's text or place changes.
#[test]
fn a_fault_is_the_same_where_its_value_is_the_same() {
    let request = |limit: &str| {
        json!({"metadata": {"name": "kv-pool"}, "spec": {"l1": {"sizeGB": 1}, "resourceOverrides": {
            "requests": {"memory": "70Gi"}, "limits": {"memory": limit}}}})
    };
    let release = |release: &str| json!({"metadata": {"name": "kv-pool"}, "spec": {"l1": {"sizeGB": 1}, "isolatedIPC": true, "server": {"release": release}}});
    let volumes = |names: &[&str]| {
        let volumes: Vec<Value> = names.iter().map(|name| json!({"name": name, "emptyDir": {}})).collect();
        json!({"metadata": {"name": "kv-pool"}, "spec": {"l1": {"sizeGB": 1}, "volumes": volumes, "l2Backend": {
            "resp": {"host": "r", "port": 1}, "serde": {"aesgcm": {"masterKeySecretRef": {"name": "k"}}}}}})
    };
    for (old, new) in [
        (request("50Gi"), request("60Gi")),
        (volumes(&["data", "l2-master-key"]), volumes(&["l2-master-key"])),
    ] {
        assert_eq!(paths(&old, Change::Create, Lookup::NotFound).len(), 1, "{old}");
        assert_eq!(paths(&new, Change::Update(None), Lookup::NotFound).len(), 1, "{new}");
        assert!(
            paths(&new, Change::Update(Some(&old)), Lookup::NotFound).is_empty(),
            "{new}"
        );
    }
    // Another release that cannot is a fault of its own: it may fail in a worse way.
    let (old, new) = (release("0.5.3"), release("0.5.4"));
    assert_eq!(
        paths(&new, Change::Update(Some(&old)), Lookup::NotFound),
        ["spec.isolatedIPC"]
    );
    assert!(paths(&old, Change::Update(Some(&old)), Lookup::NotFound).is_empty());
    // A field that nobody set is not "left as it was": this change made a collision of its own.
    let ports = |server: Value| json!({"metadata": {"name": "kv-pool"}, "spec": {"l1": {"sizeGB": 1}, "image": {"tag": "v0.4.4"}, "server": server}});
    let (old, new) = (
        ports(json!({"port": 9090})),
        ports(json!({"port": 5555, "httpPort": 9090})),
    );
    assert_eq!(
        paths(&new, Change::Update(Some(&old)), Lookup::NotFound),
        ["spec.prometheus.port"]
    );
    assert!(paths(&old, Change::Update(Some(&old)), Lookup::NotFound).is_empty());
    // One old fault excuses one.
    let init = |names: &[&str]| {
        let containers: Vec<Value> = names
            .iter()
            .map(|name| json!({"name": name, "image": "i:v1"}))
            .collect();
        json!({"metadata": {"name": "kv-pool"}, "spec": {"l1": {"sizeGB": 1}, "initContainers": containers}})
    };
    let (one, two) = (init(&["lmcache"]), init(&["lmcache", "lmcache"]));
    assert!(paths(&one, Change::Update(Some(&one)), Lookup::NotFound).is_empty());
    assert_eq!(paths(&two, Change::Update(Some(&one)), Lookup::NotFound).len(), 1);
    let worse = json!({"metadata": {"name": "kv-pool"}, "spec": {"l1": {"sizeGB": 1}, "resourceOverrides": {
        "requests": {"memory": "90Gi"}, "limits": {"memory": "50Gi"}}}});
    assert_eq!(
        paths(&worse, Change::Update(Some(&request("50Gi"))), Lookup::NotFound).len(),
        1
    );
}

#[test]
fn an_object_that_is_being_deleted_passes() {
    let mut object = engine(-1.0);
    object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    assert!(paths(&object, Change::Update(Some(&engine(60.0))), Lookup::NotFound).is_empty());
}

#[test]
fn images_outside_the_platforms_list() {
    let mut object = engine(60.0);
    object["spec"]["image"] = json!({"repository": "ghcr.io/acme/kv", "tag": "nightly"});
    object["spec"]["injection"] = json!({"payloadImage": {"repository": "quay.io/x/payload", "tag": "v0.5.6"}});
    let settings = Settings::read(r#"{"allowedRepositories":["ghcr.io/acme/*"],"requirePinnedImages":true}"#).unwrap();
    let verdict = decide(
        Kind::LMCacheEngine,
        &object,
        Change::Create,
        None,
        &settings,
        &always(Lookup::NotFound),
    );
    let paths: Vec<&str> = verdict.faults.iter().map(|fault| fault.path.as_str()).collect();
    assert_eq!(paths, ["spec.image.tag", "spec.injection.payloadImage.repository"]);
    assert!(message(&verdict.faults).contains("allowed repositories: ghcr.io/acme/*"));
}

#[test]
fn settings_are_read_strictly() {
    let error = Settings::read(r#"{"allowedRepositories":"a","requirePinnedImages":1,"pinned":true}"#).unwrap_err();
    for text in [
        "allowedRepositories: expected a list",
        "requirePinnedImages: expected true or false",
        "pinned: unknown",
    ] {
        assert!(error.contains(text), "{error}");
    }
}
