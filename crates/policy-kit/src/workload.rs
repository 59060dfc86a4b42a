//! Advice about a workload: what will become of the Pods that are made from its templates.
//!
//! The policies that wire Pods see Pods only, and what they have to say goes to the controller that creates them: the person
//! who applied the Deployment never reads it. So the same decision is made here about each template, and its warnings
//! reach that person. Two mistakes that no Pod shows are found besides: keys on the workload instead of its template, and
//! keys in a template that only the policies set.
//!
//! Nothing is ever refused or changed.

mod change;
mod keys;
mod kind;
mod outlook;
mod wording;

#[cfg(test)]
mod tests;

use crate::cluster::{AskOnce, Cluster};
use crate::keys::PREFIX;
use crate::log;
use crate::pod::{Decision, Outcome, POD_INJECTION, Settings, Side, decide, unfit};
use crate::request::Request;
use crate::response::Response;
use kind::{Kind, Template, at};
pub use outlook::{Judged, Outlook, outlooks};
use serde_json::Value;
use wording::of_decision;

/// Answers one request: accepted, with warnings.
///
/// Workloads without any of our keys, changes that make no other Pods, and everything that is no workload are accepted
/// without a look-up. For each engine that templates name there are at most three, however many templates name it.
pub fn preflight(policy: &'static str, request: &Request<'_>, cluster: &dyn Cluster) -> Response {
    let Some((kind, object)) = subject(request) else {
        return Response::accept();
    };
    let settings = match (POD_INJECTION.settings)(request.settings()) {
        Ok(settings) => settings,
        Err(error) => {
            return Response::accept().with_warnings(vec![format!(
                "policy {policy} has bad settings, nothing was checked: {error}"
            )]);
        }
    };
    let own_namespace = at(&object, "metadata.namespace").and_then(Value::as_str);
    let namespace = request.namespace.as_deref().or(own_namespace).unwrap_or("default");
    let cluster = AskOnce::new(cluster);
    let templates = kind.templates(&object);
    let mut found = Found::default();
    for said in keys::misplaced(kind, &object, &templates, &settings) {
        found.warnings.push(said.about(""));
    }
    for template in &templates {
        for said in keys::of_template(template, &settings) {
            found.warnings.push(said.about(template.name));
        }
        for side in (POD_INJECTION.sides)(&settings).into_iter().flatten() {
            let decision = of_template(template, namespace, &settings, &cluster, side);
            found.add(kind, template, &decision);
        }
    }
    found.answer(policy)
}

/// The workload that a request is about, where there may be something to say about its Pods.
fn subject(request: &Request<'_>) -> Option<(Kind, Value)> {
    let kind = Kind::of(request)?;
    let written = matches!(request.operation.as_str(), "CREATE" | "UPDATE") && request.sub_resource.is_none();
    // Most workloads are none of our business: one pass over the text tells, without reading it.
    if !written || !request.mentions(PREFIX) {
        return None;
    }
    let object = request.object()?;
    let deleted = at(&object, "metadata.deletionTimestamp").is_some_and(|time| !time.is_null());
    if deleted || kind::is_made_from_judged(&object) {
        return None;
    }
    let old = request.old_object().filter(|_| request.operation == "UPDATE");
    if old.is_some_and(|old| !change::concerns_pods(kind, &old, &object)) {
        return None;
    }
    Some((kind, object))
}

/// The decision about a Pod made from a template, which has the shape of one.
fn of_template(
    template: &Template<'_>,
    namespace: &str,
    settings: &Settings,
    cluster: &dyn Cluster,
    side: Side,
) -> Decision {
    let decision = decide(template.body, Some(namespace), settings, cluster, side);
    match decision.plan.check(template.body) {
        Ok(_) => decision,
        Err((_, error)) => unfit(decision.engine, &error, side),
    }
}

/// What there is to say, and for the log the first thing that it is about.
#[derive(Default)]
struct Found {
    warnings: Vec<String>,
    decided: bool,
    engine: String,
    reason: &'static str,
    host_error: Option<String>,
}

impl Found {
    fn add(&mut self, kind: Kind, template: &Template<'_>, decision: &Decision) {
        let reason = match &decision.outcome {
            Outcome::NotOptedIn => return,
            Outcome::NotNeeded | Outcome::Wired(_) => "",
            Outcome::Skipped(reason) | Outcome::Refused { reason, .. } => reason.as_str(),
        };
        self.decided = true;
        if self.reason.is_empty() && (self.engine.is_empty() || !reason.is_empty()) {
            self.reason = reason;
            self.engine.clone_from(&decision.engine);
            self.host_error.clone_from(&decision.host_error);
        }
        for said in of_decision(kind, decision) {
            self.warnings.push(said.about(template.name));
        }
    }

    fn answer(self, policy: &'static str) -> Response {
        let warned = !self.warnings.is_empty();
        if warned || self.decided {
            log::Decision {
                policy,
                engine: &self.engine,
                outcome: if warned { "warned" } else { "clear" },
                reason: self.reason,
                host_error: self.host_error,
            }
            .write();
        }
        Response::accept().with_warnings(self.warnings)
    }
}
