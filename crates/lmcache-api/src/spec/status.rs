//! Status objects.

use serde::{Deserialize, Serialize};

/// Status of an LMCacheEngine or a CacheBlendEngine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "crd", schemars(transform = crate::crd::table(&crate::schema::ENGINE_STATUS)))]
#[serde(rename_all = "camelCase", default)]
pub struct EngineStatus {
    /// `Pending` (no server is ready), `Running` (all are), `Degraded` (some are) or `Failed` (conditions say why).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// `metadata.generation` that the workloads were built from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Nodes that should run a server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub desired_instances: Option<i32>,
    /// Servers that are ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready_instances: Option<i32>,
    /// One entry per server Pod that has a node and is not being deleted, sorted by node and name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoints: Option<Vec<EndpointStatus>>,
    /// The Pods that opted in to this engine, as their annotations say. Not known to the Go operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clients: Option<ClientsStatus>,
    /// What is well and what is not, one entry per type. `ConfigValid`: the specification has no fault. `Reconciled`:
    /// all objects are as it asks; False names the step that failed, and why. `Available`: at least one server is
    /// ready. `AllInstancesReady`: so is one of this specification on every selected node. `ClientsCovered`: every
    /// node that runs a wired Pod has a ready server; False names the others. `L2ReconnectNeeded`: servers are older
    /// than the last change of a Secret that they read at their start; it is there if one is named. `Ready` sums up
    /// the first, second and fourth for `kubectl wait` and Argo CD.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Vec<Condition>>,
}

/// One server Pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "crd", schemars(transform = crate::crd::table(&crate::schema::ENDPOINT)))]
#[serde(rename_all = "camelCase", default)]
pub struct EndpointStatus {
    /// Node of the Pod.
    pub node_name: String,
    /// Address of the node.
    #[serde(rename = "hostIP")]
    pub host_ip: String,
    /// Name of the Pod.
    pub pod_name: String,
    /// TCP port of the message queue.
    pub port: i32,
    /// TCP port that serves metrics; 0 where they are switched off.
    pub metrics_port: i32,
    /// Whether the Pod is ready.
    pub ready: bool,
}

/// Counts of the Pods that opted in to an engine. Each of them is either wired or skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "crd", schemars(transform = crate::crd::table(&crate::schema::CLIENTS)))]
#[serde(rename_all = "camelCase", default)]
pub struct ClientsStatus {
    /// Pods that were wired to the engine when they were created.
    pub wired: i32,
    /// Pods that opted in and were not wired. Annotation `lmcache.ai/lmcache-skip-reason` (CacheBlend:
    /// `lmcache.ai/cacheblend-skip-reason`) of such a Pod says why; without it, no policy saw the Pod.
    pub skipped: i32,
    /// Those of the wired Pods whose wiring is older than the engine's present one: they have to be recreated.
    pub drifted: i32,
    /// Those of the wired Pods whose node has no server that is ready.
    pub uncovered: i32,
}

/// Status of an LMCacheCoordinator.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "crd", schemars(transform = crate::crd::table(&crate::schema::COORDINATOR_STATUS)))]
#[serde(rename_all = "camelCase", default)]
pub struct CoordinatorStatus {
    /// `Pending` (no replica is ready), `Running` (all are), `Degraded` (some are) or `Failed` (conditions say why).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// `metadata.generation` that the workloads were built from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Replicas of the Deployment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// Replicas that are ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready_replicas: Option<i32>,
    /// Base URL that engines use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// What is well and what is not, one entry per type. `ConfigValid`: the specification has no fault. `Reconciled`: all
    /// objects are as it asks; False names the step that failed, and why. `Available`: at least one replica is ready.
    /// `AllInstancesReady`: all of them are. `Ready` sums up the first, second and fourth for `kubectl wait` and Argo CD.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Vec<Condition>>,
}

/// A condition as Kubernetes writes it (`metav1.Condition`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "crd", schemars(transform = crate::crd::table(&crate::schema::CONDITION)))]
#[serde(rename_all = "camelCase", default)]
pub struct Condition {
    /// What the condition is about, in CamelCase.
    #[serde(rename = "type")]
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Generation that the condition was computed from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// When `status` last changed, RFC 3339 in UTC.
    pub last_transition_time: String,
    /// One CamelCase word for programs.
    pub reason: String,
    /// A sentence for people, possibly empty.
    pub message: String,
}
