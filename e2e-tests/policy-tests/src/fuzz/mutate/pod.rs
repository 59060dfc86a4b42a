//! Mutations that a Pod is likely to be sensitive to.

use super::super::rng::Rng;
use super::super::words;
use super::generic::{any_text, in_text};
use serde_json::{Map, Value, json};

/// The places of the objects that hold Pods or their templates: the Pod itself, or every template of a workload.
const TEMPLATES: [&str; 6] = [
    "",
    "/spec/template",
    "/spec/jobTemplate/spec/template",
    "/spec/leaderWorkerTemplate/leaderTemplate",
    "/spec/leaderWorkerTemplate/workerTemplate",
    "/spec/template/spec/template",
];

/// Changes one thing in a Pod, or in the template of a workload.
pub fn targeted(rng: &mut Rng, object: &mut Value) {
    let places: Vec<&str> = TEMPLATES
        .into_iter()
        .filter(|place| object.pointer(place).is_some_and(Value::is_object))
        .collect();
    let place = rng.word(&places);
    let Some(pod) = object.pointer_mut(place) else {
        return;
    };
    match rng.below(16) {
        0..=4 => command_line(rng, pod),
        5..=7 => annotation(rng, pod),
        8 => label(rng, pod),
        9 | 10 => variable(rng, pod),
        11 => volume(rng, pod),
        12 => mount(rng, pod),
        13 => containers(rng, pod),
        14 => container_member(rng, pod),
        _ => pod_member(rng, pod),
    }
}

/// The member of that name as a map; made where there is none.
fn map<'a>(object: &'a mut Value, name: &str) -> Option<&'a mut Map<String, Value>> {
    object
        .as_object_mut()?
        .entry(name)
        .or_insert_with(|| json!({}))
        .as_object_mut()
}

/// The member of that name as a list; made where there is none.
fn list<'a>(object: &'a mut Value, name: &str) -> Option<&'a mut Vec<Value>> {
    object
        .as_object_mut()?
        .entry(name)
        .or_insert_with(|| json!([]))
        .as_array_mut()
}

fn insert(rng: &mut Rng, list: &mut Vec<Value>, item: Value) {
    list.insert(rng.below(list.len() + 1), item);
}

/// One of the containers, now and then an init container.
fn container<'a>(rng: &mut Rng, pod: &'a mut Value) -> Option<&'a mut Value> {
    let name = if rng.one_in(12) { "initContainers" } else { "containers" };
    let containers = pod.get_mut("spec")?.get_mut(name)?.as_array_mut()?;
    let chosen = rng.below(containers.len());
    containers.get_mut(chosen)
}

fn command_line(rng: &mut Rng, pod: &mut Value) {
    let Some(container) = container(rng, pod) else {
        return;
    };
    if rng.one_in(10) {
        if let (Some(command), Some(members)) = (rng.pick(&words::COMMANDS), container.as_object_mut()) {
            members.insert("command".to_owned(), json!(command));
        }
        return;
    }
    let name = if rng.one_in(8) { "command" } else { "args" };
    let Some(args) = list(container, name) else {
        return;
    };
    for _ in 0..=rng.below(3) {
        let word = rng.word(&words::ARGUMENTS).to_owned();
        match rng.below(10) {
            0 if !args.is_empty() => drop(args.remove(rng.below(args.len()))),
            1 => {
                let mut word = word;
                in_text(rng, &mut word);
                insert(rng, args, Value::from(word));
            }
            2 => args.push(Value::from(word)),
            _ => insert(rng, args, Value::from(word)),
        }
    }
}

fn annotation(rng: &mut Rng, pod: &mut Value) {
    keyed(rng, pod, "annotations", &words::ANNOTATIONS);
}

fn label(rng: &mut Rng, pod: &mut Value) {
    keyed(rng, pod, "labels", &words::OPT_IN_LABELS);
}

fn keyed(rng: &mut Rng, pod: &mut Value, name: &str, keys: &[&str]) {
    let Some(map) =
        map(pod, "metadata").and_then(|metadata| metadata.entry(name).or_insert_with(|| json!({})).as_object_mut())
    else {
        return;
    };
    let key = rng.word(keys);
    match rng.below(6) {
        0 => drop(map.shift_remove(key)),
        1 => drop(map.insert(key.to_owned(), Value::from(any_text(rng)))),
        _ => drop(map.insert(key.to_owned(), Value::from(rng.word(&words::VALUES)))),
    }
}

fn variable(rng: &mut Rng, pod: &mut Value) {
    let name = rng.word(&words::VARIABLES);
    let value = rng.word(&words::VARIABLE_VALUES);
    let entry = match rng.below(6) {
        0 => json!({"name": name}),
        1 => json!({"name": name, "valueFrom": {"fieldRef": {"fieldPath": "status.hostIP"}}}),
        2 => json!({"name": name, "value": value, "valueFrom": null}),
        _ => json!({"name": name, "value": value}),
    };
    let Some(container) = container(rng, pod) else {
        return;
    };
    if rng.one_in(6) {
        if let Some(sources) = list(container, "envFrom") {
            let prefix = rng.word(&["", "PYTHON", "X_"]);
            insert(rng, sources, json!({"prefix": prefix, "secretRef": {"name": "s"}}));
        }
    } else if let Some(entries) = list(container, "env") {
        insert(rng, entries, entry);
    }
}

fn volume(rng: &mut Rng, pod: &mut Value) {
    let name = rng.word(&words::NAMES);
    let volume = match rng.below(5) {
        0 => json!({"name": name, "emptyDir": {"medium": "Memory"}}),
        1 => json!({"name": name, "hostPath": {"path": rng.word(&words::PATHS)}}),
        2 => json!({"name": name}),
        _ => json!({"name": name, "emptyDir": {}}),
    };
    if let Some(volumes) = pod.get_mut("spec").and_then(|spec| list(spec, "volumes")) {
        insert(rng, volumes, volume);
    }
}

fn mount(rng: &mut Rng, pod: &mut Value) {
    let mut mount = json!({"name": rng.word(&words::NAMES), "mountPath": rng.word(&words::PATHS)});
    if let Some(members) = mount.as_object_mut() {
        match rng.below(4) {
            0 => drop(members.insert("subPath".to_owned(), json!("x"))),
            1 => drop(members.insert("readOnly".to_owned(), json!(true))),
            _ => {}
        }
    }
    let Some(container) = container(rng, pod) else {
        return;
    };
    if rng.one_in(8) {
        let device = json!({"name": rng.word(&words::NAMES), "devicePath": rng.word(&words::PATHS)});
        if let Some(devices) = list(container, "volumeDevices") {
            insert(rng, devices, device);
        }
    } else if let Some(mounts) = list(container, "volumeMounts") {
        insert(rng, mounts, mount);
    }
}

fn containers(rng: &mut Rng, pod: &mut Value) {
    let Some(spec) = pod.get_mut("spec") else {
        return;
    };
    let name = if rng.one_in(3) { "initContainers" } else { "containers" };
    let Some(containers) = list(spec, name) else {
        return;
    };
    let added = json!({"name": rng.word(&words::NAMES), "image": rng.word(&words::IMAGES)});
    match rng.below(5) {
        0 if !containers.is_empty() => drop(containers.remove(rng.below(containers.len()))),
        1 => {
            if let Some(copy) = rng.pick(containers).cloned() {
                insert(rng, containers, copy);
            }
        }
        2 if !containers.is_empty() => {
            let (a, b) = (rng.below(containers.len()), rng.below(containers.len()));
            containers.swap(a, b);
        }
        _ => insert(rng, containers, added),
    }
}

fn container_member(rng: &mut Rng, pod: &mut Value) {
    let accelerator = rng.word(&[
        "nvidia.com/gpu",
        "amd.com/gpu",
        "nvidia.com/mig-1g.5gb",
        "gpu.intel.com/i915",
        "cpu",
    ]);
    let (name, value) = match rng.below(6) {
        0 | 1 => ("image", json!(rng.word(&words::IMAGES))),
        2 => ("name", json!(rng.word(&words::NAMES))),
        3 => (
            "resources",
            json!({"limits": {accelerator: rng.word(&["1", "0", "", "8"])}}),
        ),
        4 => (
            "securityContext",
            json!({"runAsNonRoot": true, "runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}}),
        ),
        _ => ("restartPolicy", json!("Always")),
    };
    if let Some(members) = container(rng, pod).and_then(Value::as_object_mut) {
        members.insert(name.to_owned(), value);
    }
}

fn pod_member(rng: &mut Rng, pod: &mut Value) {
    let (name, value) = match rng.below(7) {
        0 => ("hostIPC", json!(rng.one_in(2))),
        1 => ("hostUsers", json!(rng.one_in(2))),
        2 => ("enableServiceLinks", json!(rng.one_in(2))),
        3 => (
            "imagePullSecrets",
            json!([{"name": rng.word(&["regcred", "", "Bad Name", "other"])}]),
        ),
        4 => (
            "securityContext",
            json!({"runAsUser": 1000, "sysctls": [{"name": "kernel.shm_rmid_forced", "value": "0"}]}),
        ),
        5 => ("shareProcessNamespace", json!(true)),
        _ => ("volumes", Value::Null),
    };
    if let Some(spec) = map(pod, "spec") {
        spec.insert(name.to_owned(), value);
    }
}
