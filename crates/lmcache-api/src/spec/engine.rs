//! LMCacheEngine.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

#[cfg(feature = "crd")]
use super::EngineStatus;
use super::{
    ConnectionSpec, CoordinatorConnectionSpec, EvictionSpec, GpuVendor, ImageSpec, L1BackendSpec, L2BackendSpec,
    LocalObjectReference, LogLevel, PdSpec, PrometheusSpec, ServerSpec,
};

/// What an LMCacheEngine asks for: one cache server per selected node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(
    feature = "crd",
    derive(kube::CustomResource, schemars::JsonSchema),
    kube(
        group = "lmcache.lmcache.ai",
        version = "v1alpha1",
        kind = "LMCacheEngine",
        plural = "lmcacheengines",
        shortname = "lmc",
        namespaced,
        status = "EngineStatus",
        doc = "An LMCacheEngine runs one LMCache server per selected node and says how vLLM Pods reach it.",
        printcolumn = r#"{"name":"Phase","type":"string","jsonPath":".status.phase"}"#,
        printcolumn = r#"{"name":"Ready","type":"integer","jsonPath":".status.readyInstances"}"#,
        printcolumn = r#"{"name":"Desired","type":"integer","jsonPath":".status.desiredInstances"}"#,
        printcolumn = r#"{"name":"Clients","type":"integer","jsonPath":".status.clients.wired"}"#,
        printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#,
    ),
    schemars(transform = crate::crd::table(&crate::schema::ENGINE))
)]
#[serde(rename_all = "camelCase", default)]
pub struct LMCacheEngineSpec {
    /// Vendor of the GPUs. Default `nvidia`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu_vendor: Option<GpuVendor>,
    /// Runtime class of the server Pod. Unset: `nvidia` where the vendor needs one. An empty string: none at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime_class_name: Option<String>,
    /// Image of the server. Default `lmcache/vllm-openai:latest`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<ImageSpec>,
    /// Pull secrets of the server Pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_pull_secrets: Option<Vec<LocalObjectReference>>,
    /// The server process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerSpec>,
    /// The first tier. Required.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub l1: Option<L1BackendSpec>,
    /// How the first tier frees memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eviction: Option<EvictionSpec>,
    /// Metrics.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prometheus: Option<PrometheusSpec>,
    /// The second tier. Unset: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub l2_backend: Option<L2BackendSpec>,
    /// The coordinator to register with. Unset: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coordinator: Option<CoordinatorConnectionSpec>,
    /// What Pods that opt in get.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub injection: Option<InjectionSpec>,
    /// Additions to the connection JSON. Not known to the Go operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection: Option<ConnectionSpec>,
    /// Resources of the server container, used as they stand (`core/v1 ResourceRequirements`). Unset: computed from the
    /// size of the first tier. An empty object: none at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(schema_with = "crate::crd::resource_requirements"))]
    pub resource_overrides: Option<Value>,
    /// From which severity the server logs. Default `INFO`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_level: Option<LogLevel>,
    /// Node selector of the server Pods. Unset on nvidia: `nvidia.com/gpu.present: "true"`. An empty map: every node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_selector: Option<BTreeMap<String, String>>,
    /// Affinity of the Pods (`core/v1 Affinity`), passed through.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(schema_with = "crate::crd::affinity"))]
    pub affinity: Option<Value>,
    /// Tolerations of the Pods (`core/v1 Toleration`), passed through.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(schema_with = "crate::crd::tolerations"))]
    pub tolerations: Option<Vec<Value>>,
    /// Environment of the container (`core/v1 EnvVar`), passed through.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(schema_with = "crate::crd::env"))]
    pub env: Option<Vec<Value>>,
    /// Volumes of the Pods (`core/v1 Volume`), passed through.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(schema_with = "crate::crd::volumes"))]
    pub volumes: Option<Vec<Value>>,
    /// Mounts of the container (`core/v1 VolumeMount`), passed through.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(schema_with = "crate::crd::volume_mounts"))]
    pub volume_mounts: Option<Vec<Value>>,
    /// Init containers of the server Pods (`core/v1 Container`), passed through. The name `lmcache` is taken by the
    /// server.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(schema_with = "crate::crd::init_containers"))]
    pub init_containers: Option<Vec<Value>>,
    /// Annotations of the Pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_annotations: Option<BTreeMap<String, String>>,
    /// Labels of the Pods. Keys of the selector keep their own values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_labels: Option<BTreeMap<String, String>>,
    /// Service account of the Pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_account_name: Option<String>,
    /// Priority class of the Pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority_class_name: Option<String>,
    /// Whether the server Pods use the host's network. Default false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_network: Option<bool>,
    /// Whether server and clients share the host's IPC namespace. Unset: decided by the installation (the policies'
    /// setting `ipcDefault`, the controller's `--ipc-default`). The Go operator's CRD stores false by default, ours
    /// stores nothing.
    #[serde(rename = "hostIPC", skip_serializing_if = "Option::is_none")]
    pub host_ipc: Option<bool>,
    /// Whether server and clients exchange memory handles over the message queue, without a shared `/dev/shm`. Wins
    /// over `hostIPC`. Needs LMCache 0.5.5 on both sides. Unset: decided by `hostIPC`, the vendor and the installation.
    #[serde(rename = "isolatedIPC", skip_serializing_if = "Option::is_none")]
    pub isolated_ipc: Option<bool>,
    /// Whether the server container is privileged. Default false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub privileged: Option<bool>,
    /// Arguments appended to the command line, so that they win over ours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra_args: Option<Vec<String>>,
    /// Prefill/decode disaggregation. Unset: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pd: Option<PdSpec>,
    /// How a changed template is rolled out (`apps/v1 DaemonSetUpdateStrategy`), passed through. Not known to the Go
    /// operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(schema_with = "crate::crd::daemon_set_update_strategy"))]
    pub update_strategy: Option<Value>,
    /// Seconds between the stop signal and the kill, at least 0. Unset: Kubernetes' default of 30. Not known to the Go
    /// operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub termination_grace_period_seconds: Option<i64>,
    /// Security context of the Pods (`core/v1 PodSecurityContext`), passed through. Not known to the Go operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(schema_with = "crate::crd::pod_security_context"))]
    pub pod_security_context: Option<Value>,
    /// Security context of the container (`core/v1 SecurityContext`), passed through; `privileged` is still decided by
    /// `spec.privileged` where that is set. Not known to the Go operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(schema_with = "crate::crd::security_context"))]
    pub container_security_context: Option<Value>,
}

/// What Pods that opt in to an LMCacheEngine get.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "crd", schemars(transform = crate::crd::table(&crate::schema::INJECTION)))]
#[serde(rename_all = "camelCase", default)]
pub struct InjectionSpec {
    /// Image that carries the client code. Its repository must be given and must not be the engine's default image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload_image: Option<ImageSpec>,
    /// Pull secrets added to Pods that get the payload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_pull_secrets: Option<Vec<LocalObjectReference>>,
    /// Container that is wired. Unset: found out from the Pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_container: Option<String>,
}
