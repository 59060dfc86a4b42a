//! From a request to an answer: what the policies that wire Pods have in common.

use super::OptedIn;
use super::decide::{decide, unfit};
use super::mutator::{Mutator, Side};
use super::outcome::{Decision, Outcome};
use super::reasons::SkipReason;
use super::wiring::Part;
use crate::cluster::Cluster;
use crate::request::Request;
use crate::response::Response;
use crate::{log, text};
use serde_json::Value;

/// Answers one request.
///
/// Pods that did not ask for anything, and everything that is not the creation of a Pod, are accepted without a host call
/// and without a mutated object. Settings that cannot be read are the platform's fault, not the Pod's: it is admitted
/// with a warning. (The host refuses to load a policy with such settings in the first place.)
pub fn admit(mutator: &Mutator, request: &Request<'_>, cluster: &dyn Cluster) -> Response {
    if !request.creates_pod() {
        return Response::accept();
    }
    let settings = match (mutator.settings)(request.settings()) {
        Ok(settings) => settings,
        Err(error) => {
            return Response::accept().with_warnings(vec![format!(
                "policy {} has bad settings, nothing was wired: {error}",
                mutator.name
            )]);
        }
    };
    let head = request.metadata();
    let asked = (mutator.sides)(&settings)
        .map(|side| side.filter(|side| OptedIn::of(&head, settings.opt_in, side.system) != OptedIn::No));
    if asked.iter().all(Option::is_none) {
        return Response::accept();
    }
    let Some(mut pod) = request.object() else {
        return Response::accept();
    };
    let mut answer = Answer::default();
    for side in asked.into_iter().flatten() {
        let decision = decide(&pod, request.namespace.as_deref(), &settings, cluster, side);
        answer.add(mutator.name, side, decision, &mut pod);
    }
    answer.response(pod)
}

/// What the sides add up to.
#[derive(Default)]
struct Answer {
    changed: bool,
    refusal: Option<(String, u16)>,
    warnings: Vec<String>,
    audit: Vec<(&'static str, String)>,
}

impl Answer {
    /// Carries out one decision: applies its plan, logs it.
    fn add(&mut self, policy: &'static str, side: Side, mut decision: Decision, pod: &mut Value) {
        match decision.plan.apply(pod) {
            Ok(changed) => self.changed |= changed,
            Err(error) => {
                decision = unfit(decision.engine, &error, side);
                // Even the note may find no place on such an object; then the warning alone has to do.
                self.changed |= decision.plan.apply(pod).unwrap_or(false);
            }
        }
        let (outcome, reason) = words(&decision, side.part);
        log::Decision {
            policy,
            engine: &decision.engine,
            outcome,
            reason,
            host_error: decision.host_error,
        }
        .write();
        let [outcome_key, reason_key, engine_key] = side.system.audit;
        for (key, word) in [
            (outcome_key, outcome),
            (reason_key, reason),
            (engine_key, &decision.engine),
        ] {
            if !word.is_empty() {
                self.audit.push((key, word.to_owned()));
            }
        }
        self.warnings.append(&mut decision.warnings);
        if let Outcome::Refused { message, code, .. } = decision.outcome {
            self.refusal.get_or_insert((message, code));
        }
    }

    fn response(self, pod: Value) -> Response {
        let response = match self.refusal {
            Some((message, code)) => Response::refuse(text::ascii_line(&message), code),
            None if self.changed => Response::mutate(pod),
            None => Response::accept(),
        };
        let response = response.with_warnings(self.warnings);
        self.audit
            .into_iter()
            .fold(response, |response, (key, word)| response.with_audit(key, word))
    }
}

/// Outcome and reason for logs and audit. The reason of a payload that is not staged is its obstacle.
fn words(decision: &Decision, part: Part) -> (&'static str, &'static str) {
    let obstacle = decision.obstacle.filter(|_| part == Part::Staging);
    match &decision.outcome {
        Outcome::NotOptedIn => ("not-opted-in", ""),
        Outcome::NotNeeded => ("not-needed", ""),
        Outcome::Skipped(reason) => (
            "skipped",
            obstacle.map_or(reason.as_str(), |obstacle| obstacle.as_str()),
        ),
        Outcome::Wired(_) if part == Part::Staging => ("staged", ""),
        Outcome::Wired(reason) => ("wired", reason.map_or("", SkipReason::as_str)),
        Outcome::Refused { reason, .. } => ("refused", reason.as_str()),
    }
}
