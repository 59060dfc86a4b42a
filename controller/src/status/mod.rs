//! What a pass says of a custom resource: its `status`, and the Events that follow from a change of it.
//!
//! ```text
//! Inputs + Report -> of -> status -> patch -> what has to be written
//!                             \----> news  -> Events on the custom resource
//!                 -> client_news -----------> Events on Pods that opted in
//!                 -> clients ---------------> counts for metrics
//!                    status -> summary -----> conditions for metrics
//! ```
//!
//! | Question | Where |
//! |---|---|
//! | Which conditions are there, with which reasons, and what is to be done? | [`CONDITIONS`] |
//! | Which Events are there, and when? | [`EVENTS`] |
//! | What does the phase mean? | [`PHASES`] |
//!
//! A status tells what was found in this pass, and of the generation that the pass looked at, also where the
//! specification has faults or the children could not be built: nothing of it is left over from an earlier one. Only
//! where something could not be looked up yet does a condition stay as it was. Everything here is a pure function:
//! equal inputs give an equal status, a status of itself gives no patch and no Event.

mod client_news;
mod clients;
mod condition;
mod first;
mod news;
mod outcome;
mod patch;
mod servers;
mod summary;
mod tables;
mod text;
mod words;

#[cfg(test)]
mod tests;

pub use client_news::{CLIENT_NEWS_LIMIT, ClientNews, PodRef, Reported, client_news};
pub use clients::{ClientState, NOT_SEEN, OTHER, clients};
pub use first::may_wait;
pub use news::{News, news};
pub use patch::patch;
pub use summary::{Shown, Summary, summary};
pub use tables::{ANY_OTHER, CONDITIONS, ConditionDoc, EVENTS, EventDoc, OF_RECONCILED, PHASES, PhaseDoc, ReasonDoc};

use lmcache_api::{AnyObject, CoordinatorStatus, EngineSpec, EngineStatus, LMCacheCoordinatorSpec, decode};
use serde_json::Value;

use crate::build::coordinator_url;
use crate::live::ServerPod;
use crate::plan::{Inputs, Report, Settings, Verdict};
use condition::{Condition, Previous};
use servers::Progress;

/// The whole new `status` of the custom resource; `now` is RFC 3339 in UTC, whole seconds. The previous one is read
/// from the custom resource: conditions of other people's types stay, and `lastTransitionTime` moves only where
/// `status` of a condition does. Something that is no custom resource of ours keeps the status that it has.
pub fn of(inputs: &Inputs, report: &Report, settings: &Settings, now: &str) -> Value {
    let stored = inputs.custom.value();
    let previous = stored.get("status").unwrap_or(&Value::Null);
    let Some(kind) = inputs.custom.facts.kind else {
        return previous.clone();
    };
    let mut object = decode(kind, &stored).object;
    object.set_defaults();
    let previous = Previous::new(previous);
    let servers = servers::own(kind, inputs, report);
    let pass = Pass {
        inputs,
        report,
        settings,
        previous,
        progress: Progress::new(kind, &servers, report, previous),
        servers,
    };
    let (status, conditions) = match &object {
        AnyObject::LMCacheEngine(object) => pass.engine(&object.spec),
        AnyObject::CacheBlendEngine(object) => pass.engine(&object.spec),
        AnyObject::LMCacheCoordinator(object) => pass.coordinator(&object.spec),
    };
    let mut status = status;
    if let Some(status) = status.as_object_mut() {
        let conditions = previous.merged(&conditions, pass.generation(), now);
        status.insert("conditions".to_owned(), conditions.into());
    }
    status
}

/// What all parts of a status are made of.
struct Pass<'a> {
    inputs: &'a Inputs,
    report: &'a Report,
    settings: &'a Settings,
    previous: Previous<'a>,
    servers: Vec<&'a ServerPod>,
    progress: Progress,
}

impl Pass<'_> {
    /// The generation that this pass judged and built. The stored object may be further on by now.
    fn generation(&self) -> i64 {
        self.inputs.custom.facts.generation
    }

    fn engine(&self, spec: &dyn EngineSpec) -> (Value, Vec<Condition>) {
        let connections = clients::connections(self.inputs, self.report, self.settings);
        let (clients, _) = clients::count(self.inputs, &connections, &self.servers);
        let endpoints = servers::endpoints(spec, &self.servers, self.report, self.previous);
        let status = EngineStatus {
            phase: Some(self.progress.phase(self.report).to_owned()),
            observed_generation: Some(self.generation()),
            desired_instances: Some(self.progress.desired),
            ready_instances: Some(self.progress.ready),
            endpoints: Some(endpoints).filter(|endpoints| !endpoints.is_empty()),
            clients: Some(clients),
            conditions: None,
        };
        let mut conditions = self.conditions();
        conditions.push(clients::covered(self.inputs, clients, &self.servers));
        conditions.extend(outcome::l2_reconnect(self.inputs, &self.servers, self.previous));
        (serde_json::to_value(status).unwrap_or_default(), conditions)
    }

    fn coordinator(&self, spec: &LMCacheCoordinatorSpec) -> (Value, Vec<Condition>) {
        let custom = &self.inputs.custom;
        let url = coordinator_url(custom.name(), custom.namespace(), spec);
        let endpoint = match &self.report.verdict {
            Verdict::Valid => Some(url),
            // The replicas listen where they did before.
            Verdict::Invalid(_) => {
                let previous = self.previous.member("endpoint").and_then(Value::as_str);
                Some(previous.map_or(url, str::to_owned))
            }
            // The Service of that name is the rival's.
            Verdict::Rivalled(_) => None,
        };
        let status = CoordinatorStatus {
            phase: Some(self.progress.phase(self.report).to_owned()),
            observed_generation: Some(self.generation()),
            replicas: Some(self.progress.desired),
            ready_replicas: Some(self.progress.ready),
            endpoint,
            conditions: None,
        };
        (serde_json::to_value(status).unwrap_or_default(), self.conditions())
    }

    /// Those that every kind has.
    fn conditions(&self) -> Vec<Condition> {
        let config_valid = outcome::config_valid(self.report);
        let reconciled = outcome::reconciled(self.inputs, self.report, self.previous);
        let all_ready = self.progress.all_ready();
        let nothing_desired = self.progress.nothing_desired();
        let ready = outcome::ready(&config_valid, &reconciled, &all_ready, nothing_desired);
        vec![ready, config_valid, reconciled, self.progress.available(), all_ready]
    }
}
