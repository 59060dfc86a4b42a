//! What can be wrong with a pass.

use std::time::Duration;

use super::{ChildName, Rival};
use crate::live::WorkloadStatus;
use lmcache_api::FieldError;
use policy_kit::words;

words! {
    /// Why a step was not taken. The name is what conditions, Events and metrics show.
    pub enum Reason {
        /// The coordinator that is referred to does not exist.
        CoordinatorNotFound = "CoordinatorNotFound",
        /// The Secret that is referred to does not exist, or the controller may not read it.
        SecretNotFound = "SecretNotFound",
        /// The Secret has no password.
        SecretInvalid = "SecretInvalid",
        /// The Secret is in another namespace, and its owner did not allow copies.
        SecretNotShared = "SecretNotShared",
        /// An object of that name is somebody else's.
        ForeignObject = "ForeignObject",
        /// ServiceMonitors are asked for and not installed, or the controller may not list them.
        ServiceMonitorNotInstalled = "ServiceMonitorNotInstalled",
        /// The API server does not let the controller do it.
        Forbidden = "Forbidden",
        /// The API server finds the object invalid (422, or 400).
        Rejected = "Rejected",
        /// Somebody else changed or deleted the object at the same time (409, 404).
        Conflict = "Conflict",
        /// The API server is overloaded, out of order, or was not reached in time (429, 5xx, time-outs).
        Unavailable = "Unavailable",
    }
}

impl Reason {
    /// When the step is tried again, if nothing happens before.
    pub const fn retry(self) -> Retry {
        match self {
            // A watch tells when it is there, or changed.
            Reason::CoordinatorNotFound
            | Reason::SecretNotFound
            | Reason::SecretInvalid
            | Reason::SecretNotShared
            | Reason::ServiceMonitorNotInstalled => Retry::OnChange,
            // Nothing tells that a foreign object is gone: looked at now and then.
            Reason::ForeignObject => Retry::Slowly,
            Reason::Forbidden | Reason::Rejected | Reason::Conflict | Reason::Unavailable => Retry::Backoff,
        }
    }

    /// Whether it is tried again and told of in no Event: it mostly passes, and would be told with every hiccup.
    pub const fn passes_by_itself(self) -> bool {
        matches!(self, Reason::Conflict | Reason::Unavailable)
    }

    /// Whether the servers work all the same, so that the custom resource is still `Ready`.
    pub const fn is_aside(self) -> bool {
        matches!(self, Reason::ServiceMonitorNotInstalled)
    }
}

/// When a step is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// When something that is watched changes.
    OnChange,
    /// After two minutes.
    Slowly,
    /// After a delay that doubles with each failure.
    Backoff,
}

/// A step that was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What it was about: a child.
    pub child: ChildName,
    /// Why.
    pub reason: Reason,
    /// The same for people, one sentence about the child: what was found, what was expected, what to do. Never shows a
    /// secret value.
    pub message: String,
    /// The delay that the API server asked for (`Retry-After`).
    pub after: Option<Duration>,
}

/// The judgement on a custom resource itself.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// It can be built.
    Valid,
    /// It has faults; its children stay as they are.
    Invalid(Vec<FieldError>),
    /// An older object of another kind has its name; its children are that one's.
    Rivalled(Rival),
}

/// What a pass came to: what the status is made of, beside the [`super::Inputs`].
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The judgement.
    pub verdict: Verdict,
    /// Steps that were not taken, in their order.
    pub problems: Vec<Problem>,
    /// The live Pod template is the Go operator's for this very specification, and was left alone: paths below
    /// `spec.template` that the next rollout changes.
    pub legacy_template: Option<Vec<String>>,
    /// The workload that runs was left as it is although it may not be what is wanted: its Pods listen where they did.
    pub is_held: bool,
    /// The DaemonSet or Deployment after the pass; `None` where there is none of ours.
    pub workload: Option<Workload>,
}

/// A workload of ours after a pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workload {
    /// Its uid: Pods of a DaemonSet name it as their controller.
    pub uid: String,
    /// Its numbers.
    pub status: WorkloadStatus,
}
