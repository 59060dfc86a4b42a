//! Every condition, phase and Event with what it means and what to do, as data: the documentation shows these tables.

mod conditions;

pub use conditions::CONDITIONS;

use super::words::{clients, phases, reasons};

/// A type of condition.
#[derive(Clone, Copy, Debug)]
pub struct ConditionDoc {
    /// Its `type`.
    pub name: &'static str,
    /// Whether coordinators have none.
    pub is_of_engines_only: bool,
    /// What it being true means.
    pub meaning: &'static str,
    /// Every reason that it can have.
    pub reasons: &'static [ReasonDoc],
}

/// A reason of a condition.
#[derive(Clone, Copy, Debug)]
pub struct ReasonDoc {
    /// `True`, `False` or `Unknown`.
    pub status: &'static str,
    /// The reason.
    pub reason: &'static str,
    /// What was found.
    pub meaning: &'static str,
    /// What to do; empty where nothing is to be done.
    pub remedy: &'static str,
}

/// A kind of Event.
#[derive(Clone, Copy, Debug)]
pub struct EventDoc {
    /// The object that it is about: `engine`, `coordinator`, both or `Pod`.
    pub about: &'static str,
    /// `Normal` or `Warning`.
    pub type_: &'static str,
    /// Its `reason`; for an Event about a condition that of the condition.
    pub reason: &'static str,
    /// When it is sent.
    pub when: &'static str,
}

const fn event(about: &'static str, type_: &'static str, reason: &'static str, when: &'static str) -> EventDoc {
    EventDoc {
        about,
        type_,
        reason,
        when,
    }
}

const BOTH: &str = "engine, coordinator";
const ENGINE: &str = "engine";
const COORDINATOR: &str = "coordinator";
const POD: &str = "Pod";
const N: &str = "Normal";
const W: &str = "Warning";

/// Stands in the table of [`CONDITIONS`] for the reasons of other conditions.
pub const ANY_OTHER: &str = "any other";
/// Stands in the table of [`EVENTS`] for [`crate::plan::Reason`]s.
pub const OF_RECONCILED: &str = "a reason of Reconciled";

/// A phase, in the order in which they are looked for.
#[derive(Clone, Copy, Debug)]
pub struct PhaseDoc {
    /// The word.
    pub phase: &'static str,
    /// When it is the first that fits.
    pub when: &'static str,
}

/// The phases.
pub const PHASES: [PhaseDoc; 6] = [
    PhaseDoc {
        phase: phases::FAILED,
        when: "the specification has faults, or the name is another object's",
    },
    PhaseDoc {
        phase: phases::FAILED,
        when: "there is no DaemonSet or Deployment, and what keeps it from being made does not pass by itself",
    },
    PhaseDoc {
        phase: phases::FAILED,
        when: "nothing is ready, and at least one Pod fails: `CrashLoopBackOff`, `ImagePullBackOff`, ...",
    },
    PhaseDoc {
        phase: phases::PENDING,
        when: "nothing is ready, or nothing is asked for",
    },
    PhaseDoc {
        phase: phases::DEGRADED,
        when: "some are not ready, or nobody knows yet how many of a changed specification are",
    },
    PhaseDoc {
        phase: phases::RUNNING,
        when: "all are ready; a rollout that replaces one ready Pod after the other is `Running`, and not `Ready`",
    },
];

/// The Events. None is sent for what was so before.
pub const EVENTS: [EventDoc; 19] = [
    event(
        BOTH,
        N,
        reasons::AT_LEAST_ONE_READY,
        "the first instance is ready, or the first one again",
    ),
    event(
        ENGINE,
        W,
        reasons::NO_READY_INSTANCES,
        "an engine's last ready server is lost",
    ),
    event(
        COORDINATOR,
        W,
        reasons::NO_READY_REPLICAS,
        "a coordinator's last ready replica is lost",
    ),
    event(
        BOTH,
        W,
        reasons::INSTANCES_FAILING,
        "Pods have begun to crash, or cannot start",
    ),
    event(
        BOTH,
        N,
        reasons::ALL_READY,
        "all instances are ready, for the first time or again",
    ),
    event(
        BOTH,
        W,
        reasons::NOT_ALL_READY,
        "all were ready, and some are no longer; not during a rollout",
    ),
    event(
        BOTH,
        W,
        reasons::VALIDATION_FAILED,
        "the specification has faults, or has other faults than before",
    ),
    event(BOTH, N, reasons::VALID, "the faults are corrected"),
    event(
        BOTH,
        W,
        reasons::NAME_CONFLICT,
        "the name is found to be another object's",
    ),
    event(
        BOTH,
        W,
        OF_RECONCILED,
        "a child cannot be brought about; not for Conflict and Unavailable, which are tried again",
    ),
    event(BOTH, N, reasons::RECONCILED, "what stood in the way is gone"),
    event(
        BOTH,
        N,
        reasons::LEGACY_TEMPLATE_KEPT,
        "the Go operator's template is found, and left alone",
    ),
    event(
        ENGINE,
        W,
        reasons::NO_READY_SERVER,
        "wired Pods run where no server is ready",
    ),
    event(
        ENGINE,
        N,
        reasons::ALL_COVERED,
        "there is a ready server on their nodes again",
    ),
    event(ENGINE, N, reasons::NO_CLIENTS, "the last of such Pods is gone"),
    event(
        ENGINE,
        W,
        reasons::SECRET_CHANGED,
        "a Secret was changed after servers had read it",
    ),
    event(
        POD,
        W,
        clients::SKIPPED,
        "a Pod that opted in was not wired; the reason stands on it",
    ),
    event(
        POD,
        W,
        clients::NOT_SEEN,
        "a Pod that opted in was seen by no mutating policy",
    ),
    event(
        POD,
        W,
        clients::DRIFTED,
        "a wired Pod connects to where the engine no longer is",
    ),
];
