//! What was recorded of the Go operator, and what `legacy` makes of the same input.
//!
//! Objects are compared as Kubernetes does: the order of lists counts, that of maps does not, quantities by amount.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use lmcache_api::FieldError;
use lmcache_api::quantity::Quantity;
use lmcache_controller::legacy::{self, Errors, Missing, State};
use serde::Deserialize;
use serde_json::{Value, json};

/// A recorded custom resource; the other keys of the file belong to other tests.
#[derive(Debug, Deserialize)]
struct Case {
    input: Value,
    #[serde(default)]
    cluster: Vec<Value>,
    #[serde(default)]
    faults: Faults,
    #[serde(default)]
    children: Vec<Value>,
}

#[derive(Debug, Default, Deserialize)]
struct Faults {
    #[serde(default)]
    admission: Vec<Fault>,
    #[serde(default)]
    spec: Vec<Fault>,
    reconcile: Option<Stopped>,
}

#[derive(Debug, Deserialize)]
struct Fault {
    #[serde(rename = "type")]
    kind: String,
    field: String,
    text: String,
}

#[derive(Debug, Deserialize)]
struct Stopped {
    step: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/go-operator")
}

fn read<T: serde::de::DeserializeOwned>(path: &Path) -> T {
    let text = std::fs::read_to_string(path).unwrap();
    yaml_serde::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn entries(folder: &str) -> Vec<PathBuf> {
    let folder = root().join(folder);
    let mut paths: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    paths
}

fn cases(state: State) -> Vec<(String, Case)> {
    let named = |path: &PathBuf| path.file_stem().unwrap().to_string_lossy().into_owned();
    let paths = entries(&format!("{}/cr", state.as_str()));
    paths.iter().map(|path| (named(path), read(path))).collect()
}

/// The object of `kind` that an engine refers to.
fn find<'a>(cluster: &'a [Value], kind: &str, namespace: &str, name: &str) -> Option<&'a Value> {
    cluster.iter().find(|object| {
        object["kind"] == kind && object["metadata"]["namespace"] == namespace && object["metadata"]["name"] == name
    })
}

/// What the arguments of `legacy::children` are among these objects.
fn surroundings<'a>(state: State, input: &Value, cluster: &'a [Value]) -> (Option<String>, Option<&'a Value>) {
    let namespace = input["metadata"]["namespace"].as_str().unwrap_or("default");
    let coordinator = legacy::coordinator_ref(state, input)
        .and_then(|name| find(cluster, "LMCacheCoordinator", namespace, &name))
        .and_then(legacy::coordinator_url);
    let secret =
        legacy::resp_source_ref(state, input).and_then(|(namespace, name)| find(cluster, "Secret", &namespace, &name));
    (coordinator, secret)
}

fn rendered(state: State, input: &Value, cluster: &[Value]) -> (Vec<Value>, Errors) {
    let (url, secret) = surroundings(state, input, cluster);
    (
        legacy::children(state, input, url.as_deref(), secret),
        legacy::errors(state, input, url.as_deref(), secret),
    )
}

/// The paths at which two objects differ, with what stands there.
fn differences(path: &str, ours: &Value, recorded: &Value, found: &mut Vec<String>) {
    match (ours, recorded) {
        (Value::Object(ours), Value::Object(recorded)) => {
            let keys: BTreeMap<&String, ()> = ours.keys().chain(recorded.keys()).map(|key| (key, ())).collect();
            for key in keys.into_keys() {
                let at = |members: &serde_json::Map<String, Value>| members.get(key).cloned().unwrap_or(Value::Null);
                differences(&format!("{path}.{key}"), &at(ours), &at(recorded), found);
            }
        }
        (Value::Array(ours), Value::Array(recorded)) if ours.len() == recorded.len() => {
            for (index, (ours, recorded)) in ours.iter().zip(recorded).enumerate() {
                differences(&format!("{path}[{index}]"), ours, recorded, found);
            }
        }
        _ if ours == recorded => {}
        _ => {
            let holds_quantities = path.contains(".resources.") || path.ends_with(".sizeLimit");
            let amount = |value: &Value| value.as_str().and_then(|text| text.parse::<Quantity>().ok());
            if !(holds_quantities && amount(ours).is_some() && amount(ours) == amount(recorded)) {
                found.push(format!("{path}: {ours} instead of {recorded}"));
            }
        }
    }
}

/// Where the newest operator puts the switch is a guess of the recording: it counts that it is there, before `extraArgs`.
fn without_place_of_isolated_ipc(mut child: Value, input: &Value) -> Value {
    let extra = input["spec"]["extraArgs"].as_array().map_or(0, Vec::len);
    if let Some(Value::Array(args)) = child.pointer_mut("/spec/template/spec/containers/0/args") {
        let end = args.len() - extra;
        args[..end].sort_by_key(|token| token != "--isolated-ipc");
    }
    child
}

fn compare_children(state: State, at_least: usize) {
    let (mut faults, mut compared) = (Vec::new(), 0);
    for (name, case) in cases(state) {
        let (children, _) = rendered(state, &case.input, &case.cluster);
        let kinds =
            |children: &[Value]| -> Vec<String> { children.iter().map(|child| child["kind"].to_string()).collect() };
        if kinds(&children) != kinds(&case.children) {
            faults.push(format!(
                "{name}: {:?} instead of {:?}",
                kinds(&children),
                kinds(&case.children)
            ));
        }
        for (ours, recorded) in children.into_iter().zip(case.children) {
            let place = |child| without_place_of_isolated_ipc(child, &case.input);
            let path = format!("{name}: {}", recorded["kind"].as_str().unwrap());
            differences(&path, &place(ours), &place(recorded), &mut faults);
            compared += 1;
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
    assert!(compared >= at_least, "{compared} children were compared");
}

#[test]
fn children_of_july() {
    compare_children(State::July, 530);
}

#[test]
fn children_of_the_newest_state() {
    compare_children(State::Newest, 220);
}

/// Type and path of a fault, as Kubernetes names them.
fn kind_and_path(fault: &FieldError) -> (String, String) {
    (format!("{:?}", fault.kind), fault.path.clone())
}

fn compare_faults(state: State, at_least: usize) {
    let (mut wrong, mut compared) = (Vec::new(), 0);
    for (name, case) in cases(state) {
        let (_, errors) = rendered(state, &case.input, &case.cluster);
        let mut admission: Vec<_> = errors.admission.iter().map(kind_and_path).collect();
        let mut recorded: Vec<_> = case
            .faults
            .admission
            .into_iter()
            .map(|fault| (fault.kind, fault.field))
            .collect();
        // The API server's are sorted by their texts, whose wording is its own.
        admission.sort();
        recorded.sort();
        if admission != recorded {
            wrong.push(format!("{name}: admission {admission:?} instead of {recorded:?}"));
        }
        let spec: Vec<_> = errors
            .spec
            .iter()
            .map(|fault| (kind_and_path(fault), fault.to_string()))
            .collect();
        let recorded = case.faults.spec.into_iter();
        let recorded: Vec<_> = recorded.map(|fault| ((fault.kind, fault.field), fault.text)).collect();
        if spec != recorded {
            wrong.push(format!("{name}: spec {spec:?} instead of {recorded:?}"));
        }
        let step = errors.reconcile.map(|missing| match missing {
            Missing::RespSource => "RESP auth Secret",
            Missing::Coordinator => "DaemonSet",
        });
        if step != case.faults.reconcile.as_ref().map(|stopped| stopped.step.as_str()) {
            wrong.push(format!(
                "{name}: stopped at {step:?} instead of {:?}",
                case.faults.reconcile
            ));
        }
        compared += usize::from(!errors.is_empty());
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(compared >= at_least, "{compared} cases with faults");
}

#[test]
fn faults_of_july() {
    compare_faults(State::July, 70);
}

#[test]
fn faults_of_the_newest_state() {
    compare_faults(State::Newest, 15);
}

/// The releases, the oldest first.
const RELEASES: [&str; 7] = ["0.5.0", "0.5.1", "0.5.2", "0.5.3", "0.5.4", "0.5.5", "0.5.6"];

/// A custom resource and the workload that the operator of a release makes of it.
#[derive(Clone, Debug, Deserialize)]
struct Released {
    input: Value,
    workload: Value,
}

/// Every case under every release. What a release makes as the one before it was not recorded again.
fn released() -> Vec<(State, String, Released)> {
    let (mut latest, mut all) = (BTreeMap::new(), Vec::new());
    for release in RELEASES {
        let folder = format!("releases/{release}");
        let paths = if root().join(&folder).is_dir() {
            entries(&folder)
        } else {
            vec![]
        };
        for path in paths {
            let case = path.file_stem().unwrap().to_string_lossy().into_owned();
            latest.insert(case, read::<Released>(&path));
        }
        let state: State = release.parse().unwrap();
        let cases = latest.iter();
        all.extend(cases.map(|(case, released)| (state, format!("{release} {case}"), released.clone())));
    }
    assert_eq!(all.len(), 7 * 24, "every release has every case");
    all
}

#[test]
fn workloads_of_every_release() {
    let mut faults = Vec::new();
    for (state, name, case) in released() {
        let ours = legacy::workload(state, &case.input, None).unwrap();
        differences(&name, &ours, &case.workload, &mut faults);
        assert!(legacy::same_template(state, &ours, &case.workload), "{name}");
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

/// What two neighbours have in common counts once, and nothing is lost by it.
#[test]
fn a_rendering_that_states_share_is_compared_once() {
    for (state, name, case) in released() {
        let renderings =
            |states: Vec<State>| -> Vec<(State, Value)> { legacy::renderings(states, &case.input, None).collect() };
        let newest_first = renderings(State::ALL.into_iter().rev().collect());
        assert!(newest_first.len() <= State::ALL.len(), "{name}");
        let found = newest_first
            .iter()
            .any(|(state, rendered)| legacy::same_template(*state, rendered, &case.workload));
        assert!(found, "{name}");
        assert_eq!(renderings(vec![state, state]).len(), 1, "{name}");
    }
}

/// Objects as the operator of July left them in a real cluster, `<case>.yaml`: the workload, the custom resource that it was
/// made from, and what that refers to.
#[derive(Debug, Deserialize)]
struct Live {
    input: Value,
    #[serde(default)]
    cluster: Vec<Value>,
    workload: Value,
}

fn live() -> Vec<(String, Live)> {
    let paths = entries("july/live");
    assert!(paths.len() >= 12, "{paths:?}");
    let named = |path: &PathBuf| path.file_stem().unwrap().to_string_lossy().into_owned();
    paths.iter().map(|path| (named(path), read(path))).collect()
}

fn workload(state: State, case: &Live) -> Value {
    let (url, _) = surroundings(state, &case.input, &case.cluster);
    legacy::workload(state, &case.input, url.as_deref()).unwrap()
}

#[test]
fn a_template_that_julys_operator_left_is_recognised() {
    for (name, case) in live() {
        assert!(
            legacy::same_template(State::July, &workload(State::July, &case), &case.workload),
            "{name}"
        );
    }
}

/// A Pod template with what the API server adds to fields of every kind, from Kubernetes 1.36's own defaulting.
#[derive(Debug, Deserialize)]
struct FilledIn {
    input: Value,
    stored: Value,
}

#[test]
fn what_the_api_server_fills_in_is_no_difference() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/legacy/filled-in.yaml");
    let FilledIn { mut input, stored } = read(&path);
    // No state adds a volume of its own to the list then.
    input["spec"]["hostIPC"] = json!(true);
    for state in State::ALL {
        // What the other state renders elsewhere in the template is in the way here.
        let rendered = legacy::workload(state, &input, None).unwrap();
        let mut live = rendered.clone();
        for list in [
            "volumes",
            "env",
            "affinity",
            "tolerations",
            "initContainers",
            "resources",
        ] {
            for place in ["", "/containers/0"] {
                let pointer = format!("/spec/template/spec{place}/{list}");
                let filled_in = stored.pointer(&format!("{place}/{list}"));
                if let (Some(place), Some(filled_in)) = (live.pointer_mut(&pointer), filled_in) {
                    *place = filled_in.clone();
                }
            }
        }
        assert_ne!(live, rendered);
        assert!(legacy::same_template(state, &rendered, &live), "{state:?}");
    }
}

/// Nothing that `same_template` looks at may be looked past: a changed leaf is a difference, wherever it is.
#[test]
fn a_changed_leaf_of_a_live_template_is_seen() {
    let mut changed = 0;
    for (name, case) in live() {
        let rendered = workload(State::July, &case);
        for pointer in leaves("/spec/template", &case.workload["spec"]["template"]) {
            let mut live = case.workload.clone();
            let leaf = live.pointer_mut(&pointer).unwrap();
            *leaf = match &*leaf {
                Value::String(text) => json!(format!("{text}x")),
                Value::Number(number) => json!(number.as_i64().unwrap() + 1),
                Value::Bool(flag) => json!(!flag),
                other => panic!("{other}"),
            };
            // Only an old copy of another field, which the API server keeps in step.
            if pointer.ends_with("/serviceAccount") {
                continue;
            }
            assert!(
                !legacy::same_template(State::July, &rendered, &live),
                "{name} {pointer}"
            );
            changed += 1;
        }
    }
    assert!(changed > 600, "{changed}");
}

fn leaves(path: &str, value: &Value) -> Vec<String> {
    let escape = |key: &str| key.replace('~', "~0").replace('/', "~1");
    match value {
        Value::Object(members) => {
            let members = members.iter();
            members
                .flat_map(|(key, value)| leaves(&format!("{path}/{}", escape(key)), value))
                .collect()
        }
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items
                .flat_map(|(index, value)| leaves(&format!("{path}/{index}"), value))
                .collect()
        }
        _ => vec![path.to_owned()],
    }
}
