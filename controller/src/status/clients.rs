//! The Pods that opted in.

use std::collections::{BTreeMap, BTreeSet};

use lmcache_api::{AnyObject, ClientsStatus, EngineRef, Kind, connection_config, decode, ipc_mode};
use policy_kit::pod::SkipReason;
use serde_json::Value;

use super::condition::{Condition, State};
use super::servers;
use super::text::{cut, names};
use super::words::{reasons, types};
use crate::live::{ChildKind, ClientPod, ServerPod, Stamp, WiredConnection};
use crate::plan::{ChildName, Inputs, Report, Settings, Verdict};

/// The reason of Pods that no policy saw. The policies write none of this name.
pub const NOT_SEEN: &str = "not-seen";
/// Stands for every reason that no policy writes. Whoever makes a Pod can write anything there, and each word would be
/// another series of a metric.
pub const OTHER: &str = "other";

/// Longest reason that is repeated.
const REASON_BYTES: usize = 64;

/// What became of a Pod that opted in.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ClientState {
    /// It connects to the engine.
    Wired,
    /// It was wired, and the engine's connection has changed since.
    Drifted,
    /// It was not wired, for this reason.
    Skipped(String),
    /// No policy saw it.
    NotSeen,
}

/// Counts the Pods that opted in to an engine, and those of them that were skipped by the reason on them: one of the
/// policies' skip reasons, [`NOT_SEEN`] or [`OTHER`]. Pods that are ending do not count. A coordinator has none.
pub fn clients(inputs: &Inputs, report: &Report, settings: &Settings) -> (ClientsStatus, BTreeMap<&'static str, i32>) {
    let Some(kind) = inputs.custom.facts.kind else {
        return Default::default();
    };
    let connections = connections(inputs, report, settings);
    count(inputs, &connections, &servers::own(kind, inputs, report))
}

pub(super) fn count(
    inputs: &Inputs,
    connections: &[WiredConnection],
    servers: &[&ServerPod],
) -> (ClientsStatus, BTreeMap<&'static str, i32>) {
    let mut counts = ClientsStatus::default();
    let mut skipped = BTreeMap::new();
    for pod in present(inputs) {
        let reason = match state(pod, connections) {
            ClientState::Wired => {
                counts.wired += 1;
                continue;
            }
            ClientState::Drifted => {
                counts.wired += 1;
                counts.drifted += 1;
                continue;
            }
            ClientState::Skipped(reason) => known(&reason),
            ClientState::NotSeen => NOT_SEEN,
        };
        counts.skipped += 1;
        *skipped.entry(reason).or_insert(0) += 1;
    }
    let uncovered = uncovered(inputs, servers).count();
    counts.uncovered = i32::try_from(uncovered).unwrap_or(i32::MAX);
    (counts, skipped)
}

fn known(reason: &str) -> &'static str {
    let mut known = SkipReason::ALL.into_iter().map(SkipReason::as_str);
    known.find(|known| *known == reason).unwrap_or(OTHER)
}

/// Those that are there to stay.
pub(super) fn present(inputs: &Inputs) -> impl Iterator<Item = &ClientPod> {
    inputs
        .clients
        .iter()
        .map(AsRef::as_ref)
        .filter(|pod| !pod.facts.is_ending)
}

/// What became of a Pod. One whose connection nobody can read (a user's own arguments) has not drifted.
pub(super) fn state(pod: &ClientPod, connections: &[WiredConnection]) -> ClientState {
    match (&pod.facts.stamp, &pod.facts.connection) {
        (Stamp::Skipped(reason), _) => ClientState::Skipped(cut(reason, REASON_BYTES)),
        (Stamp::None, _) => ClientState::NotSeen,
        (Stamp::Wired, Some(connection)) if !connections.is_empty() && !connections.contains(connection) => {
            ClientState::Drifted
        }
        (Stamp::Wired, _) => ClientState::Wired,
    }
}

/// Wired Pods whose node has no server that is ready.
fn uncovered<'a>(inputs: &'a Inputs, servers: &[&ServerPod]) -> impl Iterator<Item = &'a str> {
    let ready = servers.iter().filter(|pod| pod.facts.is_ready && !pod.facts.is_ending);
    let covered: BTreeSet<String> = ready.filter_map(|pod| pod.facts.node.clone()).collect();
    let wired = present(inputs).filter(|pod| pod.facts.stamp == Stamp::Wired);
    let nodes = wired.filter_map(|pod| pod.facts.node.as_deref());
    nodes.filter(move |node| !covered.contains(*node))
}

/// The condition `ClientsCovered`. A client reaches the server of its own node alone.
pub(super) fn covered(inputs: &Inputs, counts: ClientsStatus, servers: &[&ServerPod]) -> Condition {
    let found = |state, reason, message: String| Condition::new(types::CLIENTS_COVERED, state, reason, message);
    let nodes: BTreeSet<&str> = uncovered(inputs, servers).collect();
    if !nodes.is_empty() {
        let nodes = names(nodes);
        let message = format!("wired Pods run without a ready server on {nodes}: their cache is out of reach");
        return found(State::False, reasons::NO_READY_SERVER, message);
    }
    if counts.wired == 0 {
        return found(
            State::True,
            reasons::NO_CLIENTS,
            "no Pod is wired to this engine".to_owned(),
        );
    }
    let message = "every node that runs a wired Pod has a ready server".to_owned();
    found(State::True, reasons::ALL_COVERED, message)
}

/// Where Pods that are wired now connect: one entry for each role, without repetition. Empty where nobody knows, or where
/// no Pod is that could be compared with it.
pub(super) fn connections(inputs: &Inputs, report: &Report, settings: &Settings) -> Vec<WiredConnection> {
    let mut found = Vec::new();
    if inputs.clients.is_empty() {
        return found;
    }
    // The servers of a specification that is not built, and those that run the Go operator's template, are not as the
    // specification has it; the ConfigMap says what they are.
    let is_as_specified = report.verdict == Verdict::Valid && report.legacy_template.is_none();
    let stored = Some(inputs).filter(|_| !is_as_specified).and_then(of_config_map);
    let texts = match stored {
        Some(texts) => texts,
        None => of_spec(inputs, settings),
    };
    for text in texts {
        let config = serde_json::from_str(&text).unwrap_or_default();
        found.extend(WiredConnection::find(&config).filter(|connection| !found.contains(connection)));
    }
    found
}

fn of_config_map(inputs: &Inputs) -> Option<Vec<String>> {
    let name = format!("{}-connection", inputs.custom.name());
    let child = inputs.children.get(&ChildName::new(ChildKind::ConfigMap, name))?;
    let value = child.is_controlled_by(inputs.custom.uid()).then(|| child.value())?;
    let data = value.get("data")?.as_object()?;
    Some(data.values().filter_map(Value::as_str).map(str::to_owned).collect())
}

fn of_spec(inputs: &Inputs, settings: &Settings) -> Vec<String> {
    let custom = &inputs.custom;
    let kind = custom.facts.kind.filter(|kind| *kind != Kind::LMCacheCoordinator);
    let Some(mut object) = kind.map(|kind| decode(kind, &custom.value()).object) else {
        return Vec::new();
    };
    object.set_defaults();
    let Some(spec) = AnyObject::engine(&object) else {
        return Vec::new();
    };
    let engine = EngineRef {
        name: custom.name(),
        namespace: custom.namespace(),
        spec,
    };
    let mode = ipc_mode(spec, settings.ipc_default);
    let config = connection_config(&engine, mode, &settings.cluster_domain);
    let roles = [Some(config.plain), config.prefiller, config.decoder];
    roles.into_iter().flatten().collect()
}
