//! What the Go operator makes of the same inputs.
//!
//! Two states of it were recorded: July 2026 and its newest one. Ours is equal but for the differences in
//! docs/differences.md, each of which has a reason. A difference that is not listed there fails, and so does a listed one
//! that does not exist.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]
#![cfg(not(target_arch = "wasm32"))]

mod recordings;

use lmcache_api::{AnyObject, EngineRef, EngineSpec, IpcMode, Kind, connection_config, decode, ipc_mode};
use lmcache_server::validate;
use policy_kit::pod::{CACHEBLEND, CacheblendArguments, LMCACHE, Part, Settings, Side, decide};
use recordings::{Recorded, document, documents, entries, read, root};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use std::str::FromStr;

/// The cases that docs/differences.md lists: every `state/kind/case` in backquotes.
fn listed(prefix: &str) -> BTreeSet<String> {
    let text = read(&root().join("docs/differences.md"));
    text.split('`')
        .skip(1)
        .step_by(2)
        .filter(|word| word.starts_with(prefix))
        .map(str::to_owned)
        .collect()
}

/// Compares what differs with what is listed.
fn compare(prefix: &str, differing: Vec<(String, String)>) {
    let names: BTreeSet<String> = differing.iter().map(|(name, _)| name.clone()).collect();
    let listed = listed(prefix);
    let mut faults = String::new();
    for (name, what) in &differing {
        if !listed.contains(name) {
            faults.push_str(&format!("\n`{name}` differs: {what}"));
        }
    }
    for name in listed.difference(&names) {
        faults.push_str(&format!(
            "\n`{name}` is listed in docs/differences.md and does not differ"
        ));
    }
    assert!(faults.is_empty(), "{faults}");
}

/// The newest state's CRD stores `hostIPC: false` where the user says nothing.
fn stored(mut object: Value, state: &str) -> Value {
    let is_engine = matches!(object["kind"].as_str(), Some("LMCacheEngine" | "CacheBlendEngine"));
    if state == "newest"
        && is_engine
        && let Some(spec) = object["spec"].as_object_mut()
    {
        let entry = spec.entry("hostIPC").or_insert(Value::Null);
        if entry.is_null() {
            *entry = json!(false);
        }
    }
    object
}

fn engine_spec(object: &AnyObject) -> Option<&dyn EngineSpec> {
    match object {
        AnyObject::LMCacheEngine(object) => Some(&object.spec),
        AnyObject::CacheBlendEngine(object) => Some(&object.spec),
        AnyObject::LMCacheCoordinator(_) => None,
    }
}

fn custom_resources(state: &str) {
    let mut differing = Vec::new();
    for path in entries(&format!("{state}/cr")) {
        let case = document(&path);
        let name = format!("{state}/cr/{}", path.file_stem().unwrap().to_str().unwrap());
        let input = stored(case["input"].clone(), state);
        let kind = Kind::from_str(input["kind"].as_str().unwrap()).unwrap();
        let faults = validate(kind, &input, IpcMode::HostIPC);
        let accepted = case["accepted"].as_bool().unwrap();
        if accepted != faults.is_empty() {
            let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
            differing.push((name, format!("Go accepts: {accepted}, our faults: {faults:?}")));
            continue;
        }
        let Some(expected) = case["connection"].as_object() else {
            continue;
        };
        let mut object = decode(kind, &input).object;
        object.set_defaults();
        let spec = engine_spec(&object).unwrap();
        let namespace = input["metadata"]["namespace"].as_str().unwrap_or("default");
        let engine = EngineRef {
            name: input["metadata"]["name"].as_str().unwrap(),
            namespace,
            spec,
        };
        let ours = connection_config(&engine, ipc_mode(spec, IpcMode::HostIPC), "cluster.local");
        let ours: serde_json::Map<String, Value> = ours
            .data()
            .into_iter()
            .map(|(key, text)| (key.to_owned(), json!(text)))
            .collect();
        if *expected != ours {
            differing.push((
                name,
                format!("connection\n{}\ninstead of\n{}", json!(ours), json!(expected)),
            ));
        }
    }
    compare(&format!("{state}/cr/"), differing);
}

/// Removes what every Pod gets into which a payload is staged, and the Go operator does not give: resources and limits of
/// rights on the init container, and the stamp.
fn without_additions(mut pod: Value, path: &Path) -> Value {
    let before = document(&path.join("pod.yaml"));
    let named = |pod: &Value, name: &Value| {
        let containers = pod.pointer("/spec/initContainers").and_then(Value::as_array);
        containers.is_some_and(|containers| containers.iter().any(|container| container["name"] == *name))
    };
    let containers = pod.pointer_mut("/spec/initContainers").and_then(Value::as_array_mut);
    for container in containers.into_iter().flatten() {
        let staged = container["name"] == "lmcache-payload-stage" || container["name"] == "cb-plugin-stage";
        if staged && !named(&before, &container["name"]) {
            let members = container.as_object_mut().unwrap();
            assert!(members.remove("resources").is_some(), "{}", path.display());
            assert!(members.remove("securityContext").is_some(), "{}", path.display());
            // The Go encoder writes the empty member of a struct.
            members.insert("resources".to_owned(), json!({}));
        }
    }
    if let Some(annotations) = pod.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        annotations.remove("lmcache.ai/lmcache-payload-staged");
    }
    pod
}

/// The newest state sets fewer arguments for CacheBlend.
fn settings(state: &str) -> Settings {
    Settings {
        cacheblend_arguments: if state == "newest" {
            CacheblendArguments::Minimal
        } else {
            CacheblendArguments::Full
        },
        ..Settings::default()
    }
}

fn pods(state: &str, at_least: usize) {
    let mut differing = Vec::new();
    let mut compared = 0;
    for path in entries(&format!("{state}/pod")) {
        let scenario = document(&path.join("scenario.yaml"));
        let expected = document(&path.join("expected-pod.yaml"));
        let before = document(&path.join("pod.yaml"));
        let objects = documents(&path.join("cluster.yaml"))
            .into_iter()
            .map(|object| stored(object, state))
            .collect();
        let failing = scenario["failingReadsOf"].as_array().into_iter().flatten();
        let failing = failing.filter_map(Value::as_str).map(str::to_owned).collect();
        let cluster = Recorded { objects, failing };
        let namespace = scenario["namespace"].as_str().filter(|namespace| !namespace.is_empty());
        let mut ours = before;
        for injector in scenario["injectors"].as_array().unwrap() {
            let system = match injector.as_str().unwrap() {
                "cacheblend" => &CACHEBLEND,
                _ => &LMCACHE,
            };
            let part = Part::Whole;
            let decision = decide(&ours, namespace, &settings(state), &cluster, Side { system, part });
            let _ = decision.plan.apply(&mut ours);
        }
        compared += 1;
        let ours = without_additions(ours, &path);
        if ours != expected {
            let name = format!("{state}/pod/{}", path.file_name().unwrap().to_str().unwrap());
            differing.push((name, json_patch::diff(&expected, &ours).to_string()));
        }
    }
    assert!(compared >= at_least, "only {compared} Pods were compared");
    compare(&format!("{state}/pod/"), differing);
}

#[test]
fn custom_resources_of_july() {
    custom_resources("july");
}

#[test]
fn custom_resources_of_the_newest_state() {
    custom_resources("newest");
}

#[test]
fn pods_of_july() {
    pods("july", 140);
}

#[test]
fn pods_of_the_newest_state() {
    pods("newest", 60);
}
