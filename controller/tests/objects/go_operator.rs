//! The objects that the Go operator makes of the same custom resources, and ours.
//!
//! Two states of it were recorded with all children (`fixtures/go-operator`). Ours are the same objects, but for [`DIFFERENCES`]: each kind of
//! difference stands there once, and the test fails where an object differs in any other way, and where a listed difference
//! is none any more.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use lmcache_api::quantity::Quantity;
use lmcache_api::{AnyObject, IpcMode, Kind, decode};
use lmcache_controller::build::{Site, coordinator_url, objects, resp_secret};
use serde_json::{Value, json};

use crate::differences::{Case, DIFFERENCES};
use crate::support::root;

/// Our objects, the copy of the login first, as it is made first.
pub fn ours(case: &Case) -> Vec<Value> {
    let namespace = case.input["metadata"]["namespace"].as_str().unwrap();
    let reference = case.engine().and_then(|spec| spec.coordinator()?.ref_name());
    let url = reference.and_then(|name| {
        let is_it = |object: &&Value| object["kind"] == "LMCacheCoordinator" && object["metadata"]["name"] == name;
        let found = case.cluster.iter().find(is_it)?;
        match decode(Kind::LMCacheCoordinator, found).object {
            AnyObject::LMCacheCoordinator(coordinator) => Some(coordinator_url(name, namespace, &coordinator.spec)),
            _ => None,
        }
    });
    let site = Site {
        ipc_default: IpcMode::HostIPC,
        kept_ipc: None,
        cluster_domain: "cluster.local",
        coordinator_url: url.as_deref(),
    };
    let secret = case.cluster.iter().find(|object| object["kind"] == "Secret");
    let secret = secret.and_then(|secret| resp_secret(&case.object, &stored(secret)).ok().flatten());
    secret.into_iter().chain(objects(&case.object, &site)).collect()
}

/// A Secret as the API server keeps it.
fn stored(secret: &Value) -> Value {
    let mut secret = secret.clone();
    if let Some(Value::Object(texts)) = secret.as_object_mut().unwrap().remove("stringData") {
        for (key, text) in texts {
            secret["data"][key] = json!(BASE64_STANDARD.encode(text.as_str().unwrap()));
        }
    }
    secret
}

/// What Kubernetes takes for the same: amounts however they are spelled, variables with an empty value and without one,
/// empty lists, maps and resources that are sent or not.
fn canonical(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut kept: BTreeMap<&String, Value> = BTreeMap::new();
            for (key, member) in members {
                let member = match (key.as_str(), member) {
                    ("cpu" | "memory" | "ephemeral-storage" | "sizeLimit", amount) => amount_of(amount),
                    (_, member) => canonical(member),
                };
                let empty_variable = key == "value" && member == "" && members.contains_key("name");
                let empty = member == json!([]) || member == json!({}) && key == "resources";
                if !empty_variable && !empty {
                    kept.insert(key, member);
                }
            }
            json!(kept)
        }
        Value::Array(items) => items.iter().map(canonical).collect(),
        other => other.clone(),
    }
}

fn amount_of(amount: &Value) -> Value {
    let text = match amount {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let amount: Result<Quantity, _> = text.parse();
    amount.map_or_else(|_| json!(text), |amount| json!(format!("{amount:?}")))
}

/// Fields that July's operator did not know: its API server dropped them.
const LATER: [&str; 8] = [
    "/spec/hostIPC",
    "/spec/isolatedIPC",
    "/spec/hostNetwork",
    "/spec/runtimeClassName",
    "/spec/initContainers",
    "/spec/pd",
    "/spec/l2Backend/serde",
    "/spec/blend/partialBucket",
];

fn remove(object: &mut Value, pointer: &str) {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    if let Some(Value::Object(members)) = object.pointer_mut(parent) {
        members.shift_remove(key);
    }
}

/// A recording with children that admission here does not refuse.
fn read(state: &'static str, text: &str) -> Option<(Case, Vec<Value>)> {
    let recording: Value = yaml_serde::from_str(text).unwrap();
    let list = |key: &str| recording[key].as_array().cloned();
    let children = list("children")?;
    let mut input = recording["input"].clone();
    let kind: Kind = input["kind"].as_str().unwrap().parse().unwrap();
    let refused = !lmcache_server::validate(kind, &input, IpcMode::HostIPC).is_empty();
    // A pass that stopped before the workload: a login or a coordinator was missing.
    let stopped = !children.iter().any(|child| child["spec"]["template"].is_object());
    if refused || stopped || !input["spec"].is_object() {
        return None;
    }
    if state == "july" {
        LATER.iter().for_each(|pointer| remove(&mut input, pointer));
    } else if kind != Kind::LMCacheCoordinator && input["spec"].get("hostIPC").is_none_or(Value::is_null) {
        // Its CRD stores this where the user says nothing.
        input["spec"]["hostIPC"] = json!(false);
    }
    let mut object = decode(kind, &input).object;
    object.set_defaults();
    let cluster = list("cluster").unwrap_or_default();
    Some((
        Case {
            state,
            input,
            object,
            cluster,
        },
        children,
    ))
}

#[test]
fn objects_are_the_go_operators_but_for_the_listed_differences() {
    let mut compared = 0;
    let mut faults = String::new();
    let mut seen = vec![0; DIFFERENCES.len()];
    for state in ["july", "newest"] {
        let folder = root().join("fixtures/go-operator").join(state).join("cr");
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_string_lossy();
            let Some((case, mut theirs)) = read(state, &std::fs::read_to_string(&path).unwrap()) else {
                continue;
            };
            for (difference, seen) in DIFFERENCES.iter().zip(&mut seen) {
                let before = theirs.clone();
                (difference.apply)(&case, &mut theirs);
                *seen += usize::from(theirs != before);
            }
            let ours = ours(&case);
            let kinds =
                |children: &[Value]| -> Vec<Value> { children.iter().map(|child| child["kind"].clone()).collect() };
            if kinds(&ours) != kinds(&theirs) {
                faults.push_str(&format!(
                    "\n{state}/{name}: {:?}, theirs {:?}",
                    kinds(&ours),
                    kinds(&theirs)
                ));
            }
            for (ours, theirs) in ours.iter().map(canonical).zip(theirs.iter().map(canonical)) {
                if ours != theirs {
                    faults.push_str(&format!("\n{state}/{name}\n  ours   {ours}\n  theirs {theirs}"));
                }
            }
            compared += 1;
        }
    }
    assert!(faults.is_empty(), "{faults}");
    assert!(compared > 150, "{compared} recordings");
    for (difference, seen) in DIFFERENCES.iter().zip(seen) {
        assert!(seen > 0, "no recording shows this any more: {}", difference.what);
    }
}

/// The page says what the list says, and nothing more.
#[test]
fn the_page_lists_the_same_differences() {
    let page = std::fs::read_to_string(root().join("docs/differences.md")).unwrap();
    let section = page
        .split("\n## ")
        .find(|section| section.starts_with("Objects\n"))
        .expect("a section Objects");
    let rows = section
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    let rows: Vec<&str> = rows.skip(1).collect();
    let listed: Vec<&str> = DIFFERENCES.iter().map(|difference| difference.what).collect();
    assert_eq!(rows, listed);
}
