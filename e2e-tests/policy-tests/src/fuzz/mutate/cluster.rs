//! Mutations of the cluster and of its host.

use super::super::dictionary::Dictionary;
use super::super::input::Input;
use super::super::rng::Rng;
use super::super::words;
use super::generic;
use serde_json::{Value, json};

/// The kinds that the policies look up.
const KINDS: [&str; 5] = [
    "LMCacheEngine",
    "CacheBlendEngine",
    "LMCacheCoordinator",
    "ConfigMap",
    "Namespace",
];

/// Changes one thing that look-ups may find.
pub fn mutate(rng: &mut Rng, dictionary: &Dictionary, donors: &[Input], input: &mut Input) {
    match rng.below(12) {
        0..=5 => change(rng, dictionary, input),
        6 if !input.objects.is_empty() => drop(input.objects.remove(rng.below(input.objects.len()))),
        7 | 8 => adopt(rng, donors, input),
        9 => relabel(rng, input),
        _ => misbehave(rng, input),
    }
}

/// Changes an object, but for what it is found by.
fn change(rng: &mut Rng, dictionary: &Dictionary, input: &mut Input) {
    let chosen = rng.below(input.objects.len());
    let Some(object) = input.objects.get_mut(chosen) else {
        return;
    };
    let kind = object
        .get("kind")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    let members: &[&str] = match kind.as_str() {
        "ConfigMap" => &["data", "data", "metadata"],
        "Namespace" => &["metadata"],
        _ => &["spec", "spec", "spec", "metadata"],
    };
    let name = rng.word(members);
    let Some(member) = object.get_mut(name) else {
        return;
    };
    let identity = ["name", "namespace"].map(|key| (key, member.get(key).cloned()));
    for _ in 0..=rng.below(2) {
        generic::anywhere(rng, dictionary, name, member);
    }
    if name == "metadata" {
        if !member.is_object() {
            *member = json!({});
        }
        if let Some(metadata) = member.as_object_mut() {
            for (key, value) in identity {
                match value {
                    Some(value) => metadata.insert(key.to_owned(), value),
                    None => metadata.shift_remove(key),
                };
            }
        }
    }
}

/// Takes the specification of an object of another case, or the whole object.
fn adopt(rng: &mut Rng, donors: &[Input], input: &mut Input) {
    let Some(donor) = rng.pick(donors).and_then(|donor| rng.pick(&donor.objects)) else {
        return;
    };
    let same_kind: Vec<usize> = (0..input.objects.len())
        .filter(|&index| {
            input
                .objects
                .get(index)
                .is_some_and(|object| object.get("kind") == donor.get("kind"))
        })
        .collect();
    match rng.pick(&same_kind).and_then(|&index| input.objects.get_mut(index)) {
        Some(object) => {
            for name in ["spec", "data"] {
                if let (Some(members), Some(value)) = (object.as_object_mut(), donor.get(name)) {
                    members.insert(name.to_owned(), value.clone());
                }
            }
        }
        None => input.objects.push(donor.clone()),
    }
}

/// Sets what the policies read from metadata.
fn relabel(rng: &mut Rng, input: &mut Input) {
    let chosen = rng.below(input.objects.len());
    let Some(metadata) = input
        .objects
        .get_mut(chosen)
        .and_then(|object| object.get_mut("metadata"))
        .and_then(Value::as_object_mut)
    else {
        return;
    };
    match rng.below(4) {
        0 => metadata.insert("uid".to_owned(), json!("another")),
        1 => {
            let level = rng.word(&["privileged", "baseline", "restricted", "", "x"]);
            metadata.insert(
                "labels".to_owned(),
                json!({"pod-security.kubernetes.io/enforce": level}),
            )
        }
        2 => {
            let mode = rng.word(&["HostIPC", "HostShm", "Isolated", "", "isolated"]);
            metadata.insert("annotations".to_owned(), json!({"lmcache.ai/ipc-mode": mode}))
        }
        _ => metadata.shift_remove("ownerReferences"),
    };
}

/// Makes the host answer otherwise than from its objects.
fn misbehave(rng: &mut Rng, input: &mut Input) {
    let kind = rng.word(&KINDS).to_owned();
    match rng.below(5) {
        0 => input.behaviour.not_served.push(kind),
        1 | 2 => drop(
            input
                .behaviour
                .failing
                .insert(kind, rng.word(&words::HOST_ERRORS).to_owned()),
        ),
        3 if rng.one_in(25) => {
            let object = json!({"metadata": {}, "spec": {"x": "y".repeat(1_000_000)}, "data": {}});
            input.behaviour.garbled.insert(kind, object.to_string());
        }
        _ => drop(
            input
                .behaviour
                .garbled
                .insert(kind, rng.word(&words::GARBAGE).to_owned()),
        ),
    }
}
