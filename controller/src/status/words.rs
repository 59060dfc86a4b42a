//! The words that programs read in a status.

/// Constants, and for tests all of them: a word that the tables do not explain is found.
macro_rules! words {
    ($($name:ident = $text:literal,)+) => {
        $(pub const $name: &str = $text;)+
        #[cfg(test)]
        pub const ALL: &[&str] = &[$($text),+];
    };
}

/// Types of conditions.
pub(super) mod types {
    words! {
        AVAILABLE = "Available",
        ALL_INSTANCES_READY = "AllInstancesReady",
        CONFIG_VALID = "ConfigValid",
        RECONCILED = "Reconciled",
        READY = "Ready",
        CLIENTS_COVERED = "ClientsCovered",
        L2_RECONNECT_NEEDED = "L2ReconnectNeeded",
    }
}

/// Reasons of conditions. Those of `Reconciled` beside these are [`crate::plan::Reason`].
pub(super) mod reasons {
    words! {
        AT_LEAST_ONE_READY = "AtLeastOneReady",
        NO_READY_INSTANCES = "NoReadyInstances",
        NO_READY_REPLICAS = "NoReadyReplicas",
        INSTANCES_FAILING = "InstancesFailing",
        ALL_READY = "AllReady",
        NOT_ALL_READY = "NotAllReady",
        ROLLOUT_NOT_OBSERVED = "RolloutNotObserved",
        ROLLOUT_IN_PROGRESS = "RolloutInProgress",
        NO_NODES = "NoNodes",
        NO_REPLICAS = "NoReplicas",
        VALID = "Valid",
        VALIDATION_FAILED = "ValidationFailed",
        NAME_CONFLICT = "NameConflict",
        RECONCILED = "Reconciled",
        LEGACY_TEMPLATE_KEPT = "LegacyTemplateKept",
        WAITING = "Waiting",
        ALL_COVERED = "AllCovered",
        NO_CLIENTS = "NoClients",
        NO_READY_SERVER = "NoReadyServer",
        SECRET_CHANGED = "SecretChanged",
        UP_TO_DATE = "UpToDate",
        SECRET_NOT_READABLE = "SecretNotReadable",
    }
}

/// Reasons of Events about Pods that opted in.
pub(super) mod clients {
    words! {
        SKIPPED = "ClientSkipped",
        NOT_SEEN = "ClientNotSeen",
        DRIFTED = "ClientDrifted",
    }
}

/// Phases.
pub(super) mod phases {
    words! {
        PENDING = "Pending",
        RUNNING = "Running",
        DEGRADED = "Degraded",
        FAILED = "Failed",
    }
}
