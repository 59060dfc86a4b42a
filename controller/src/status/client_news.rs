//! Events on Pods that opted in and were not wired, or not as the engine is now.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::clients::{ClientState, connections, present, state};
use super::news::{NOTE_BYTES, News};
use super::text::cut;
use super::words::clients;
use crate::live::ClientPod;
use crate::plan::{Inputs, Report, Settings};

/// Most Events of a pass: a changed port concerns every client at once.
pub const CLIENT_NEWS_LIMIT: usize = 10;
/// How old a Pod may be that is told of what it already was when it was first seen.
const RECENT: SignedDuration = SignedDuration::from_hours(1);

/// The Pod that an Event is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodRef {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
}

/// What is known of an engine's Pods, by uid: their state as far as it was told, or needs no telling.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reported(BTreeMap<String, ClientState>);

/// What a pass has to tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientNews {
    /// Events to publish, at most [`CLIENT_NEWS_LIMIT`].
    pub events: Vec<(PodRef, News)>,
    /// What is known once they are published.
    pub reported: Reported,
    /// Pods that the next pass has to tell of.
    pub left: usize,
}

/// The Events about an engine's Pods. `reported` is what the last pass came to, empty after a start; then only Pods of
/// the last hour before `now` (RFC 3339) are told of, so that a start does not tell everything anew.
pub fn client_news(
    inputs: &Inputs,
    report: &Report,
    settings: &Settings,
    reported: &Reported,
    now: &str,
) -> ClientNews {
    let mut found = ClientNews::default();
    let Some(engine) = inputs.custom.key() else {
        return found;
    };
    let connections = connections(inputs, report, settings);
    for pod in present(inputs) {
        let state = state(pod, &connections);
        let before = reported.0.get(pod.uid());
        let is_due = match before {
            Some(before) => *before != state,
            None => is_recent(pod, now),
        };
        let news = news(&state, &engine.to_string()).filter(|_| is_due);
        match news {
            Some(_) if found.events.len() >= CLIENT_NEWS_LIMIT => {
                found.left += 1;
                // Nothing is forgotten: a Pod that was told otherwise before is still due next time.
                let before = before.map(|before| (pod.uid().to_owned(), before.clone()));
                found.reported.0.extend(before);
                continue;
            }
            Some(news) => found.events.push((reference(pod), news)),
            None => {}
        }
        found.reported.0.insert(pod.uid().to_owned(), state);
    }
    found
}

fn reference(pod: &ClientPod) -> PodRef {
    PodRef {
        namespace: pod.namespace().to_owned(),
        name: pod.name().to_owned(),
        uid: pod.uid().to_owned(),
    }
}

/// A time that cannot be read counts as long ago; one that is still to come, by a clock that is slow, as recent.
fn is_recent(pod: &ClientPod, now: &str) -> bool {
    let (Ok(now), Ok(created)) = (now.parse::<Timestamp>(), pod.facts.created.parse::<Timestamp>()) else {
        return false;
    };
    now.duration_since(created) <= RECENT
}

fn news(state: &ClientState, engine: &str) -> Option<News> {
    let (reason, note) = match state {
        ClientState::Wired => return None,
        ClientState::Skipped(reason) if reason == "engine-not-found" => (
            clients::SKIPPED,
            format!("not wired: {reason}; {engine} is there now, so recreate the Pod"),
        ),
        ClientState::Skipped(reason) => (
            clients::SKIPPED,
            format!("not wired to {engine}: {reason}; correct what the reason names, then recreate the Pod"),
        ),
        ClientState::NotSeen => (
            clients::NOT_SEEN,
            format!(
                "not wired to {engine}: no mutating policy saw it; check that the policy is deployed and covers this \
                 namespace, then recreate the Pod"
            ),
        ),
        ClientState::Drifted => (
            clients::DRIFTED,
            format!(
                "wired to a connection that {engine} no longer has; recreate the Pod, or correct its \
                 --kv-transfer-config where that is its own"
            ),
        ),
    };
    Some(News {
        warning: true,
        reason: reason.to_owned(),
        action: "Wire",
        note: cut(&note, NOTE_BYTES),
    })
}
