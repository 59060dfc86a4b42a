//! The words that programs read in a status.

/// Types of conditions.
pub(super) mod types {
    pub const AVAILABLE: &str = "Available";
    pub const ALL_INSTANCES_READY: &str = "AllInstancesReady";
    pub const CONFIG_VALID: &str = "ConfigValid";
    pub const RECONCILED: &str = "Reconciled";
    pub const READY: &str = "Ready";
    pub const CLIENTS_COVERED: &str = "ClientsCovered";
    pub const L2_RECONNECT_NEEDED: &str = "L2ReconnectNeeded";
}

/// Reasons of conditions. Those of `Reconciled` beside these are [`crate::plan::Reason`].
pub(super) mod reasons {
    pub const AT_LEAST_ONE_READY: &str = "AtLeastOneReady";
    pub const NO_READY_INSTANCES: &str = "NoReadyInstances";
    pub const NO_READY_REPLICAS: &str = "NoReadyReplicas";
    pub const INSTANCES_FAILING: &str = "InstancesFailing";
    pub const ALL_READY: &str = "AllReady";
    pub const NOT_ALL_READY: &str = "NotAllReady";
    pub const ROLLOUT_NOT_OBSERVED: &str = "RolloutNotObserved";
    pub const ROLLOUT_IN_PROGRESS: &str = "RolloutInProgress";
    pub const NO_NODES: &str = "NoNodes";
    pub const NO_REPLICAS: &str = "NoReplicas";
    pub const VALID: &str = "Valid";
    pub const VALIDATION_FAILED: &str = "ValidationFailed";
    pub const NAME_CONFLICT: &str = "NameConflict";
    pub const RECONCILED: &str = "Reconciled";
    pub const LEGACY_TEMPLATE_KEPT: &str = "LegacyTemplateKept";
    pub const WAITING: &str = "Waiting";
    pub const ALL_COVERED: &str = "AllCovered";
    pub const NO_CLIENTS: &str = "NoClients";
    pub const NO_READY_SERVER: &str = "NoReadyServer";
    pub const SECRET_CHANGED: &str = "SecretChanged";
    pub const UP_TO_DATE: &str = "UpToDate";
    pub const SECRET_NOT_READABLE: &str = "SecretNotReadable";
}

/// Phases.
pub(super) mod phases {
    pub const PENDING: &str = "Pending";
    pub const RUNNING: &str = "Running";
    pub const DEGRADED: &str = "Degraded";
    pub const FAILED: &str = "Failed";
}
