//! What became of a Pod, in the words that stand on it.

use super::reasons::{Obstacle, SkipReason};
use super::system::System;
use crate::text::{WARNING_BYTES, ascii_line, cut};
use pod_edit::Plan;

/// What stands between problem and remedy in the warning about a Pod that is left alone.
pub(crate) const NOT_WIRED: &str = ": not wired; ";

/// Why a Pod is left as it is, and what the person who reads it can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skip {
    /// The reason that goes on the Pod.
    pub reason: SkipReason,
    /// What was found, in a few words.
    pub problem: String,
    /// What to change.
    pub remedy: String,
    /// What the host said, for the log: too long and too foreign for a warning.
    pub host_error: Option<String>,
    /// What keeps the payload from being staged, where that is the reason.
    pub obstacle: Option<Obstacle>,
}

impl Skip {
    pub(crate) fn new(reason: SkipReason, problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            reason,
            problem: problem.into(),
            remedy: remedy.into(),
            host_error: None,
            obstacle: None,
        }
    }

    /// The same, for a system whose engines have no isolated mode to change to.
    pub(super) fn without_isolation(self, system: &System, remedy: &str) -> Self {
        if !system.blends() || self.reason != SkipReason::PodSecurityForbidsHostIpc {
            return self;
        }
        Self {
            remedy: remedy.to_owned(),
            ..self
        }
    }

    /// Adds what the host said.
    pub(crate) fn said_by_host(self, text: String) -> Self {
        Self {
            host_error: Some(text),
            ..self
        }
    }

    /// The sentence for a Pod that is admitted unwired. What is too long for a warning is cut from the problem: the
    /// remedy stays.
    pub fn warning(&self) -> String {
        let room = WARNING_BYTES.saturating_sub(NOT_WIRED.len() + self.remedy.len());
        format!("{}{NOT_WIRED}{}", cut(&ascii_line(&self.problem), room), self.remedy)
    }

    /// The text for a Pod that is refused instead.
    pub fn refusal(&self) -> String {
        format!("{}: {}; {}", self.reason.as_str(), self.problem, self.remedy)
    }
}

/// The verdict on a Pod.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The Pod did not ask for anything: it is none of our business.
    NotOptedIn,
    /// The Pod asked, but the policy has no part in that: it stages payloads, and the engine has none.
    NotNeeded,
    /// The Pod stays as it is but for the reason on it.
    Skipped(SkipReason),
    /// The Pod is wired; the reason is there when one part was the user's own.
    Wired(Option<SkipReason>),
    /// The Pod is refused because a setting or its own annotation asks for that.
    Refused {
        /// Why it could not be wired.
        reason: SkipReason,
        /// Text for the user.
        message: String,
        /// HTTP status: 404 for a missing engine, 503 for a look-up that failed.
        code: u16,
    },
}

/// The verdict with everything that follows from it.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// What became of the Pod.
    pub outcome: Outcome,
    /// The edits, to be applied whole or not at all.
    pub plan: Plan,
    /// One sentence each.
    pub warnings: Vec<String>,
    /// The engine as `namespace/name`, empty where none was named.
    pub engine: String,
    /// What the host said to a look-up that failed, for the log.
    pub host_error: Option<String>,
    /// What keeps the payload from being staged, where that is the reason.
    pub obstacle: Option<Obstacle>,
}
