//! What holds between policies: the three mutators together do what the one does, and the guard accepts what it wires.

use super::super::input::{Input, metadata_map};
use super::super::subject::Subject;
use super::{Found, Violation};
use policy_host::Evaluation;
use serde_json::{Map, Value, json};

/// The policies that `pod-injection` is made of, in the order of its steps.
pub const STEPS: [&str; 3] = ["connection-injection", "payload-staging", "cacheblend-injection"];
/// The policy that wires what the guard accepts.
pub const WIRING: &str = "pod-injection";

/// The names of the policies that a policy is compared with.
pub fn of(policy: &str) -> &'static [&'static str] {
    match policy {
        WIRING => &STEPS,
        "injection-guard" => &[WIRING],
        _ => &[],
    }
}

/// Compares a policy with its peers on an input that it has answered.
///
/// # Errors
/// They do not go together.
pub fn check(subject: &Subject, peers: &[Subject], input: &Input, evaluation: &Evaluation) -> Found {
    match (subject.name.as_str(), peers) {
        (WIRING, [connection, staging, cacheblend]) => {
            if !subject.settings_verdict(&input.settings).valid {
                return Ok(());
            }
            let whole = outcome(input, evaluation);
            for order in [[connection, staging, cacheblend], [cacheblend, staging, connection]] {
                let names: Vec<&str> = order.iter().map(|peer| peer.name.as_str()).collect();
                let parts = chain(&order, input);
                if parts != whole {
                    let text = format!(
                        "{} give {}, all in one gives {}",
                        names.join(", "),
                        shown(&parts),
                        shown(&whole)
                    );
                    return Violation::of("order-matters", text);
                }
            }
            Ok(())
        }
        ("injection-guard", [wiring]) => accepted(subject, wiring, input),
        _ => Ok(()),
    }
}

/// The Pod that comes out; nothing where it is refused.
type Outcome = Option<Value>;

fn outcome(input: &Input, evaluation: &Evaluation) -> Outcome {
    let response = &evaluation.response;
    let mut object = input.object().cloned().unwrap_or_default();
    if let Some(patch) = &response.patch {
        json_patch::patch(&mut object, patch).ok()?;
    }
    response.allowed.then_some(object)
}

fn chain(order: &[&Subject; 3], input: &Input) -> Outcome {
    let mut input = input.clone();
    let steps = input.settings.get("steps").and_then(Value::as_array).cloned();
    let settings = input.settings.as_object().cloned().unwrap_or_default();
    let mut object = input.object().cloned().unwrap_or_default();
    for peer in order {
        if steps
            .as_ref()
            .is_some_and(|steps| !steps.iter().any(|step| step == &peer.name))
        {
            continue;
        }
        input.settings = Value::Object(known(&settings, &peer.name));
        // A request that is not about an object has none to go on with.
        if input.object().is_some() {
            input = input.with_object(object);
        }
        object = outcome(&input, &peer.evaluate(&input)?)?;
    }
    Some(object)
}

/// The settings that a step has of those of the whole.
fn known(settings: &Map<String, Value>, step: &str) -> Map<String, Value> {
    let mut settings = settings.clone();
    settings.shift_remove("steps");
    if step != "cacheblend-injection" {
        settings.shift_remove("cacheblendArguments");
    }
    settings
}

/// A Pod that came without a stamp and was wired has the wiring that its stamps claim.
fn accepted(guard: &Subject, wiring: &Subject, input: &Input) -> Found {
    let stamped = |object: &Value| {
        metadata_map(object, "annotations").is_some_and(|annotations| {
            annotations
                .iter()
                .any(|(key, value)| value == "true" && (key.ends_with("-injected") || key.ends_with("-staged")))
        })
    };
    let shared = ["ipcDefault", "clusterDomain"]
        .into_iter()
        .filter_map(|name| Some((name.to_owned(), input.settings.get(name)?.clone())));
    let input = Input {
        settings: Value::Object(shared.collect()),
        ..input.clone()
    };
    let Some(object) = input.object().filter(|object| !stamped(object)) else {
        return Ok(());
    };
    let Some(evaluation) = wiring
        .evaluate(&input)
        .filter(|evaluation| evaluation.response.patch.is_some())
    else {
        return Ok(());
    };
    let Some(wired) = outcome(&input, &evaluation).filter(|wired| wired != object && stamped(wired)) else {
        return Ok(());
    };
    if !wiring.settings_verdict(&input.settings).valid || !guard.settings_verdict(&json!({})).valid {
        return Ok(());
    }
    let Some(verdict) = guard.evaluate(&input.with_object(wired)) else {
        return Ok(());
    };
    if verdict.response.allowed || verdict.response.code() == Some(503) {
        return Ok(());
    }
    Violation::of("guard-refuses-our-wiring", verdict.response.message())
}

fn shown(outcome: &Outcome) -> String {
    outcome
        .as_ref()
        .map_or_else(|| "a refusal".to_owned(), ToString::to_string)
}
