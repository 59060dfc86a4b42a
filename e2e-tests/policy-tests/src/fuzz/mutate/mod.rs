//! From an input to another one that is a little different.

mod cluster;
mod generic;
mod pod;
mod settings;

pub use settings::Questions;

use super::dictionary::Dictionary;
use super::input::Input;
use super::rng::Rng;
use serde_json::{Value, json};

/// What mutations draw from.
#[derive(Debug, Default)]
pub struct Material {
    /// What stands where in the corpus.
    pub dictionary: Dictionary,
    /// The settings that the policy knows.
    pub questions: Questions,
}

impl Material {
    /// The material for a policy.
    ///
    /// # Errors
    /// The questions of the policy cannot be read.
    pub fn of(policy: &str, corpus: &[Input]) -> Result<Self, String> {
        let mut dictionary = Dictionary::default();
        for input in corpus {
            for member in ["object", "oldObject"] {
                if let Some(object) = input.member(member) {
                    dictionary.learn("object", object);
                }
            }
            for object in &input.objects {
                dictionary.learn("object", object);
            }
            dictionary.learn("settings", &input.settings);
        }
        Ok(Self {
            dictionary,
            questions: Questions::of(policy)?,
        })
    }
}

/// An input with one to six changes. Objects of a cluster that nobody could address are left out.
pub fn mutate(rng: &mut Rng, material: &Material, pool: &[Input], start: &Input) -> Input {
    let mut input = start.clone();
    let mut changes = 1;
    while changes < 6 && !rng.one_in(3) {
        changes += 1;
    }
    for _ in 0..changes {
        match rng.below(20) {
            0..=8 => in_object(rng, &mut input, pod::targeted),
            9..=11 => in_object(rng, &mut input, |rng, object| {
                generic::anywhere(rng, &material.dictionary, "object", object);
            }),
            12 => swap(rng, pool, &mut input),
            13..=15 => cluster::mutate(rng, &material.dictionary, pool, &mut input),
            16..=18 => settings::mutate(rng, &material.dictionary, &material.questions, &mut input.settings),
            _ => in_request(rng, &mut input),
        }
    }
    if input.objects != start.objects && input.cluster().is_none() {
        input.objects = start.objects.clone();
    }
    if input.admission_request().is_none() {
        input.request = start.request.clone();
    }
    input
}

fn in_object(rng: &mut Rng, input: &mut Input, change: impl FnOnce(&mut Rng, &mut Value)) {
    let member = if input.member("oldObject").is_some() && rng.one_in(3) {
        "oldObject"
    } else {
        "object"
    };
    if let Some(object) = input.request.get_mut(member) {
        change(rng, object);
    }
}

/// Takes a part of the object of another case: its metadata, its whole specification, or one member of that.
fn swap(rng: &mut Rng, pool: &[Input], input: &mut Input) {
    let Some(donor) = rng.pick(pool).and_then(Input::object) else {
        return;
    };
    let Some(object) = input.request.get_mut("object") else {
        return;
    };
    let part = rng.word(&["metadata", "spec", "", "", ""]);
    let (from, to) = match part {
        "" => match (donor.get("spec"), object.get_mut("spec")) {
            (Some(from), Some(to)) => (from, to),
            _ => return,
        },
        _ => (donor, object),
    };
    let (Some(from), Some(to)) = (from.as_object(), to.as_object_mut()) else {
        return;
    };
    let names: Vec<&String> = from.keys().collect();
    let name = if part.is_empty() {
        rng.pick(&names).map(|name| name.as_str()).unwrap_or_default()
    } else {
        part
    };
    if let Some(value) = from.get(name) {
        to.insert(name.to_owned(), value.clone());
    }
}

/// Changes what surrounds the object in the request.
fn in_request(rng: &mut Rng, input: &mut Input) {
    let old = input.object().cloned();
    let Some(request) = input.request.as_object_mut() else {
        return;
    };
    match rng.below(8) {
        0 => {
            let operation = rng.word(&["CREATE", "UPDATE", "DELETE", "CONNECT", "", "create"]);
            request.insert("operation".to_owned(), json!(operation));
        }
        1 | 2 => {
            request.insert("operation".to_owned(), json!("UPDATE"));
            if let Some(old) = old {
                request.insert("oldObject".to_owned(), old);
            }
        }
        3 => {
            request.insert(
                "namespace".to_owned(),
                json!(rng.word(&["team-a", "team-b", "", "default"])),
            );
        }
        4 => drop(request.shift_remove("namespace")),
        5 => {
            request.insert(
                "subResource".to_owned(),
                json!(rng.word(&["ephemeralcontainers", "status", ""])),
            );
        }
        6 => drop(request.shift_remove("object")),
        _ => {
            request.insert("dryRun".to_owned(), json!(true));
        }
    }
}
