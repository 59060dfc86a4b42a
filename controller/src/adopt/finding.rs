//! What there is to say to the person who migrates.

use serde::Serialize;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Something has to be done before this project's controller and policies may have the cluster to themselves.
    First,
    /// Nothing is in the way, but something will be otherwise than it is.
    Change,
    /// Worth knowing.
    Note,
}

/// A finding. It names objects and fields, and never shows what stands in a variable, a Secret or an argument.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How much it matters.
    pub level: Level,
    /// What it is, for programs: one of [`codes`].
    pub code: &'static str,
    /// What was found, and where.
    pub found: String,
    /// What to do; empty where there is nothing to do.
    pub todo: String,
}

impl Finding {
    /// Something that has to be done first.
    pub fn first(code: &'static str, found: impl Into<String>, todo: impl Into<String>) -> Self {
        Self::new(Level::First, code, found.into(), todo.into())
    }

    /// Something that will be otherwise.
    pub fn change(code: &'static str, found: impl Into<String>, todo: impl Into<String>) -> Self {
        Self::new(Level::Change, code, found.into(), todo.into())
    }

    /// Something worth knowing.
    pub fn note(code: &'static str, found: impl Into<String>, todo: impl Into<String>) -> Self {
        Self::new(Level::Note, code, found.into(), todo.into())
    }

    fn new(level: Level, code: &'static str, found: String, todo: String) -> Self {
        Finding {
            level,
            code,
            found,
            todo,
        }
    }
}

/// The codes of findings: part of the output's contract.
pub mod codes {
    /// The Go operator runs, and this project's controller does not.
    pub const GO_OPERATOR_RUNS: &str = "go-operator-runs";
    /// Both run: they undo each other's writes.
    pub const TWO_CONTROLLERS: &str = "two-controllers";
    /// The Go operator's Pod webhooks are registered, and nothing of ours wires Pods.
    pub const GO_WEBHOOKS: &str = "go-webhooks";
    /// They are registered beside our injecting policies.
    pub const BOTH_WEBHOOKS: &str = "both-webhooks";
    /// A webhook of the Go operator refuses Pods as soon as the Go operator does not answer.
    pub const WEBHOOK_FAILS_CLOSED: &str = "webhook-fails-closed";
    /// It does not answer: such Pods are refused now.
    pub const PODS_REFUSED: &str = "pods-refused";
    /// Workloads ask for wiring, and nothing does it.
    pub const PODS_UNWIRED: &str = "pods-unwired";
    /// Policies of ours that should act are in mode `monitor`: they change and refuse nothing.
    pub const POLICY_MONITORS: &str = "policy-monitors";
    /// The guard is installed beside the Go operator's webhooks, whose stamps it does not believe.
    pub const GUARD_TOO_EARLY: &str = "guard-too-early";
    /// The CRDs, and with them all engines, are deleted together with what installed them.
    pub const CRDS_AT_RISK: &str = "crds-at-risk";
    /// Something that reconciles (Argo CD, Flux, OLM) owns an object that has to change.
    pub const BROUGHT_BACK: &str = "brought-back";
    /// The CRDs are the Go operator's: they do not know our fields.
    pub const CRDS_OF_THE_GO_OPERATOR: &str = "crds-of-the-go-operator";
    /// There are no CRDs.
    pub const NO_CRDS: &str = "no-crds";
    /// Servers are replaced when our controller starts.
    pub const SERVERS_REPLACED: &str = "servers-replaced";
    /// An engine or coordinator will be told that something is wrong with it; its servers stay as they are.
    pub const ENGINE_NEEDS_YOU: &str = "engine-needs-you";
    /// Objects are deleted when our controller starts.
    pub const OBJECTS_DELETED: &str = "objects-deleted";
    /// Workloads whose Pods will be otherwise after their next rollout.
    pub const WORKLOADS_CHANGE: &str = "workloads-change";
    /// The settings of an installed policy cannot be read, so the defaults were taken.
    pub const SETTINGS_UNREADABLE: &str = "settings-unreadable";
    /// What the Go operator leaves behind.
    pub const LEFTOVERS: &str = "leftovers";

    /// Every code.
    pub const ALL: [&str; 19] = [
        GO_OPERATOR_RUNS,
        TWO_CONTROLLERS,
        GO_WEBHOOKS,
        BOTH_WEBHOOKS,
        WEBHOOK_FAILS_CLOSED,
        PODS_REFUSED,
        PODS_UNWIRED,
        GUARD_TOO_EARLY,
        CRDS_AT_RISK,
        BROUGHT_BACK,
        CRDS_OF_THE_GO_OPERATOR,
        NO_CRDS,
        POLICY_MONITORS,
        SERVERS_REPLACED,
        ENGINE_NEEDS_YOU,
        OBJECTS_DELETED,
        WORKLOADS_CHANGE,
        SETTINGS_UNREADABLE,
        LEFTOVERS,
    ];
}
