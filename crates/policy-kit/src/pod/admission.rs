//! From a request to an answer: what the policies that wire Pods have in common.

use super::{Decision, OptedIn, Outcome, Settings, decide, malformed};
use crate::cluster::Cluster;
use crate::request::Request;
use crate::response::Response;
use crate::{log, text};

/// Answers one request.
///
/// Pods that did not ask for anything, and everything that is not the creation of a Pod, are accepted without a host call
/// and without a mutated object. Settings that cannot be read are the platform's fault, not the Pod's: it is admitted
/// with a warning. (The host refuses to load a policy with such settings in the first place.)
pub fn admit(policy: &'static str, request: &Request<'_>, cluster: &dyn Cluster) -> Response {
    if !request.creates_pod() {
        return Response::accept();
    }
    let settings = match Settings::read(request.settings()) {
        Ok(settings) => settings,
        Err(error) => {
            return Response::accept().with_warnings(vec![format!(
                "policy {policy} has bad settings, nothing was wired: {error}"
            )]);
        }
    };
    if OptedIn::of(&request.metadata(), settings.opt_in) == OptedIn::No {
        return Response::accept();
    }
    let Some(mut pod) = request.object() else {
        return Response::accept();
    };
    let mut decision = decide(&pod, request.namespace.as_deref(), &settings, cluster);
    let changed = match decision.plan.apply(&mut pod) {
        Ok(changed) => changed,
        Err(error) => {
            decision = malformed(decision.engine, &error);
            // Even the note may find no place on such an object; then the warning alone has to do.
            decision.plan.apply(&mut pod).unwrap_or(false)
        }
    };
    let (outcome, reason) = words(&decision.outcome);
    let Decision {
        outcome: verdict,
        warnings,
        engine,
        host_error,
        ..
    } = decision;
    log::Decision {
        policy,
        engine: &engine,
        outcome,
        reason,
        host_error,
    }
    .write();
    let response = match verdict {
        Outcome::Refused { message, code, .. } => Response::refuse(text::ascii_line(&message), code),
        _ if changed => Response::mutate(pod),
        _ => Response::accept(),
    };
    let response = response.with_warnings(warnings).with_audit("outcome", outcome);
    let response = if reason.is_empty() {
        response
    } else {
        response.with_audit("reason", reason)
    };
    if engine.is_empty() {
        response
    } else {
        response.with_audit("engine", engine)
    }
}

/// Outcome and reason for logs and audit.
fn words(outcome: &Outcome) -> (&'static str, &'static str) {
    match outcome {
        Outcome::NotOptedIn => ("not-opted-in", ""),
        Outcome::Skipped(reason) => ("skipped", reason.as_str()),
        Outcome::Wired(reason) => ("wired", reason.map_or("", super::SkipReason::as_str)),
        Outcome::Refused { reason, .. } => ("refused", reason.as_str()),
    }
}
