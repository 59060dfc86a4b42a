//! The decision about what the policies wrote on a Pod: whether it is true, stays as it is, and is still up to date.
//!
//! The stamps on a Pod are plain annotations, which everybody may write who may create a Pod. Other programs count on
//! them: a controller that counts an engine's clients, a dashboard, a person who looks for the reason of a slow Pod. So
//!
//! - a stamp is accepted only on a Pod that holds the wiring it claims ([`Check::Stamps`]),
//! - nobody changes a key of ours on a Pod that exists ([`Check::Keys`]),
//! - a Pod that no longer agrees with its engine, or that no policy saw, is reported ([`Check::Wiring`]).
//!
//! Above all, a Pod that the policies wired is never refused: with whatever settings they ran, whatever other webhooks did
//! before and after them, and whatever happened to the engine in the meantime. Hence the questions are what a wired Pod
//! must have, not whether it is exactly what would be made of it now.

mod claims;
mod difference;
mod evidence;
mod keys;
mod line;
mod settings;
mod shared_memory;
mod staged;
mod stamps;
mod verdict;
mod wiring;

pub use settings::{Check, Settings, SharedMemory};
pub use verdict::{Finding, Verdict};

use crate::cluster::{AskOnce, Cluster};
use crate::keys::MIRROR_POD;
use crate::log;
use crate::pod::{CACHEBLEND, EngineReference, LMCACHE, Labelled, reference};
use crate::request::Request;
use crate::response::Response;
use crate::text::quoted;
use claims::Claims;
use serde_json::Value;

/// Answers one request.
///
/// Settings that cannot be read are no reason to let forged stamps in: the checks of the default settings hold, with a
/// warning. (The host refuses to load a policy with such settings in the first place.)
pub fn admit(policy: &'static str, request: &Request<'_>, cluster: &dyn Cluster) -> Response {
    let (settings, complaint) = match Settings::read(request.settings()) {
        Ok(settings) => (settings, None),
        Err(error) => (
            Settings::default(),
            Some(format!("policy {policy} has bad settings, its defaults hold: {error}")),
        ),
    };
    let verdict = decide(request, &settings, cluster);
    if !verdict.concerned {
        return Response::accept();
    }
    let outcome = verdict.outcome();
    let response = match verdict.refusal() {
        Some((message, code)) => Response::refuse(message, code),
        None => Response::accept(),
    };
    let mut response = response
        .with_warnings(verdict.warnings)
        .with_warnings(complaint.into_iter().collect())
        .with_audit("outcome", outcome);
    for (key, word) in [("reason", verdict.reason), ("engine", &verdict.engine)] {
        if !word.is_empty() {
            response = response.with_audit(key, word);
        }
    }
    log::Decision {
        policy,
        engine: &verdict.engine,
        outcome,
        reason: verdict.reason,
        host_error: verdict.host_error,
    }
    .write();
    response
}

/// Judges a request: a pure function of it, the settings and what the cluster answers.
///
/// Pods without a key of ours, and everything that is not the creation or change of a Pod itself, are passed over; the head
/// of the request is enough to see that. So is it for a change. Neither the user nor the resource of a request is read: the
/// audit scanner replays stored Pods as CREATE without them.
pub fn decide(request: &Request<'_>, settings: &Settings, cluster: &dyn Cluster) -> Verdict {
    let cluster = &AskOnce::new(cluster);
    let mut verdict = Verdict::default();
    if request.updates_pod() && settings.checks(Check::Keys) {
        keys::check(request, &mut verdict);
    }
    if !request.creates_pod() {
        return verdict;
    }
    let head = request.metadata();
    if Labelled::annotation(&head, MIRROR_POD).is_some() {
        return verdict;
    }
    let claims = [&LMCACHE, &CACHEBLEND].map(|system| Claims::of(&head, system, settings.opt_in));
    let stamped = claims.iter().any(Claims::stamped);
    let stamps = stamped && settings.checks(Check::Stamps);
    let wiring = (stamped || claims.iter().any(|claims| claims.asked)) && settings.checks(Check::Wiring);
    if !stamps && !wiring {
        return verdict;
    }
    let Some(pod) = request.object() else {
        return verdict;
    };
    let namespace = request.namespace.as_deref();
    let namespace = namespace.or_else(|| pod.pointer("/metadata/namespace").and_then(Value::as_str));
    let subject = Subject {
        pod: &pod,
        namespace: namespace.filter(|namespace| !namespace.is_empty()).unwrap_or("default"),
        settings,
        cluster,
    };
    if stamps {
        verdict.concerned = true;
        for claims in claims.iter().filter(|claims| claims.stamped()) {
            stamps::check(&subject, claims, &mut verdict);
        }
    }
    if wiring && verdict.refusal().is_none() && !wiring::is_over(&pod) {
        verdict.concerned = true;
        for claims in &claims {
            wiring::check(&subject, claims, &mut verdict);
        }
    }
    verdict
}

/// A Pod under judgement and what is needed to judge it.
struct Subject<'a> {
    pod: &'a Value,
    namespace: &'a str,
    settings: &'a Settings,
    cluster: &'a dyn Cluster,
}

impl Subject<'_> {
    /// The engine that the Pod names for one system. Engines of other namespaces are as good as any: whether a Pod may use
    /// them was the decision of the policy that wired it.
    fn engine(&self, claims: &Claims) -> Result<EngineReference, Finding> {
        let key = claims.system.keys.engine;
        let annotation = pod_edit::metadata::annotation(self.pod, key)
            .map(str::trim)
            .unwrap_or_default();
        if annotation.is_empty() {
            let text = format!("names no engine, though {} is \"true\"", claims.stamp());
            return Err(Finding::annotation(key, text));
        }
        let anywhere = crate::pod::Settings {
            allowed_engine_namespaces: vec!["*".to_owned()],
            ..crate::pod::Settings::default()
        };
        reference::parse(annotation, key, self.namespace, &anywhere)
            .map_err(|_| Finding::annotation(key, format!("is {}, which is no engine name", quoted(annotation))))
    }
}

#[cfg(test)]
mod tests;
