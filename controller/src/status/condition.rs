//! Conditions, and what the previous status said.

use serde_json::{Value, json};
use std::borrow::Cow;

use super::tables::CONDITIONS;

/// The `status` of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    True,
    False,
    Unknown,
}

impl State {
    pub const fn as_str(self) -> &'static str {
        match self {
            State::True => "True",
            State::False => "False",
            State::Unknown => "Unknown",
        }
    }

    pub const fn of(holds: bool) -> Self {
        if holds { State::True } else { State::False }
    }
}

/// What a pass found out about one type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Condition {
    pub type_: &'static str,
    pub state: State,
    pub reason: Cow<'static, str>,
    pub message: String,
}

impl Condition {
    pub fn new(type_: &'static str, state: State, reason: &'static str, message: impl Into<String>) -> Self {
        Condition {
            type_,
            state,
            reason: Cow::Borrowed(reason),
            message: message.into(),
        }
    }
}

/// A status as it is stored; nothing of it is certain.
#[derive(Clone, Copy, Debug)]
pub(super) struct Previous<'a>(&'a Value);

impl<'a> Previous<'a> {
    pub fn new(status: &'a Value) -> Self {
        Previous(status)
    }

    /// A member, `None` where it is null.
    pub fn member(self, name: &str) -> Option<&'a Value> {
        self.0.get(name).filter(|member| !member.is_null())
    }

    pub fn conditions(self) -> impl Iterator<Item = &'a Value> {
        self.member("conditions")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
    }

    pub fn condition(self, type_: &str) -> Option<&'a Value> {
        self.conditions()
            .find(|condition| text(condition, "type") == Some(type_))
    }

    /// A text member of a condition; empty where there is none.
    pub fn text(self, type_: &str, member: &str) -> &'a str {
        let condition = self.condition(type_);
        condition
            .and_then(|condition| text(condition, member))
            .unwrap_or_default()
    }

    /// `observedGeneration` of a condition.
    pub fn generation(self, type_: &str) -> Option<i64> {
        self.condition(type_)?.get("observedGeneration")?.as_i64()
    }

    /// A condition as it was found last time.
    pub fn found(self, type_: &'static str) -> Option<Condition> {
        let state = match self.text(type_, "status") {
            "True" => State::True,
            "False" => State::False,
            "Unknown" => State::Unknown,
            _ => return None,
        };
        // The API server takes no condition without a reason.
        let reason = Some(self.text(type_, "reason")).filter(|reason| !reason.is_empty())?;
        Some(Condition {
            type_,
            state,
            reason: Cow::Owned(reason.to_owned()),
            message: self.text(type_, "message").to_owned(),
        })
    }

    /// The list to be stored: `found` in its order, then what others have set. `lastTransitionTime` moves only with
    /// `status`.
    pub fn merged(self, found: &[Condition], generation: i64, now: &str) -> Vec<Value> {
        let own = found.iter().map(|condition| {
            let stays = self.text(condition.type_, "status") == condition.state.as_str();
            let since = self.text(condition.type_, "lastTransitionTime");
            json!({
                "type": condition.type_,
                "status": condition.state.as_str(),
                "observedGeneration": generation,
                "lastTransitionTime": if stays && !since.is_empty() { since } else { now },
                "reason": condition.reason,
                "message": condition.message,
            })
        });
        let is_ours = |type_: &str| CONDITIONS.iter().any(|condition| condition.name == type_);
        let mut others: Vec<&Value> = self
            .conditions()
            .filter(|condition| text(condition, "type").is_some_and(|type_| !type_.is_empty() && !is_ours(type_)))
            .collect();
        others.sort_by_key(|condition| text(condition, "type"));
        own.chain(others.into_iter().cloned()).collect()
    }
}

fn text<'a>(condition: &'a Value, member: &str) -> Option<&'a str> {
    condition.get(member)?.as_str()
}
