//! A status in numbers and words out of few, as metrics show it.

use serde_json::Value;

use super::clients::OTHER;
use super::condition::{Previous, State};
use super::tables::{CONDITIONS, ConditionDoc};

/// A status, summed up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Servers of an engine, or replicas of a coordinator, that should run.
    pub desired: i64,
    /// Those that are ready.
    pub ready: i64,
    /// Our conditions, in the order of [`CONDITIONS`]. Those of other people's types are theirs to count.
    pub conditions: Vec<Shown>,
}

/// A condition, in words of the code: the text of a reason that somebody else wrote into a status is none of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Its `type`.
    pub type_: &'static str,
    /// `True`, `False` or `Unknown`.
    pub status: &'static str,
    /// Its `reason`, or `other`.
    pub reason: &'static str,
}

/// Sums a status up.
pub fn summary(status: &Value) -> Summary {
    let count = |names: [&str; 2]| {
        let found = names.iter().find_map(|name| status.get(name)?.as_i64());
        found.unwrap_or_default()
    };
    let status = Previous::new(status);
    Summary {
        desired: count(["desiredInstances", "replicas"]),
        ready: count(["readyInstances", "readyReplicas"]),
        conditions: CONDITIONS.iter().filter_map(|known| shown(known, status)).collect(),
    }
}

fn shown(known: &ConditionDoc, status: Previous<'_>) -> Option<Shown> {
    let state = match status.text(known.name, "status") {
        "True" => State::True,
        "False" => State::False,
        "Unknown" => State::Unknown,
        _ => return None,
    };
    let reason = status.text(known.name, "reason");
    // `Ready` has the reasons of the others.
    let mut all = CONDITIONS.iter().flat_map(|known| known.reasons).map(|row| row.reason);
    Some(Shown {
        type_: known.name,
        status: state.as_str(),
        reason: all.find(|known| *known == reason).unwrap_or(OTHER),
    })
}
