//! CacheBlendEngine.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

#[cfg(feature = "crd")]
use super::EngineStatus;
use super::{
    ConnectionSpec, CoordinatorConnectionSpec, EvictionSpec, GpuVendor, ImageSpec, L1BackendSpec, L2BackendSpec,
    LMCacheEngineSpec, LocalObjectReference, LogLevel, PdSpec, PrometheusSpec, ServerSpec,
};
use crate::words::words;

words! {
    /// How vLLM captures CUDA graphs beside the CacheBlend plugin.
    pub enum Cudagraph {
        /// No CUDA graphs (`--enforce-eager`), the default.
        Eager = "eager",
        /// Piecewise graphs.
        Piecewise = "piecewise",
        /// Full graphs for decode only.
        FullDecodeOnly = "full_decode_only",
    }
}

/// What a CacheBlendEngine asks for: one cache server per selected node that can blend chunks at any position.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(
    feature = "crd",
    derive(kube::CustomResource, schemars::JsonSchema),
    kube(
        group = "lmcache.lmcache.ai",
        version = "v1alpha1",
        kind = "CacheBlendEngine",
        plural = "cacheblendengines",
        shortname = "cbe",
        namespaced,
        status = "EngineStatus",
        doc = "A CacheBlendEngine runs one blending LMCache server per selected node and says how vLLM Pods reach it.",
        printcolumn = r#"{"name":"Phase","type":"string","jsonPath":".status.phase"}"#,
        printcolumn = r#"{"name":"Ready","type":"integer","jsonPath":".status.readyInstances"}"#,
        printcolumn = r#"{"name":"Desired","type":"integer","jsonPath":".status.desiredInstances"}"#,
        printcolumn = r#"{"name":"Clients","type":"integer","jsonPath":".status.clients.wired"}"#,
        printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#,
    ),
    schemars(transform = crate::crd::table(&crate::schema::CACHEBLEND))
)]
#[serde(rename_all = "camelCase", default)]
pub struct CacheBlendEngineSpec {
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
    /// How chunks are blended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blend: Option<BlendSpec>,
    /// What Pods that opt in get. Unless `pd` is set, `payloadImage` is required.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub injection: Option<CacheBlendInjectionSpec>,
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
    /// Whether server and clients share the host's IPC namespace. Unset: decided by the installation (the policies'
    /// setting `ipcDefault`, the controller's `--ipc-default`). The Go operator's CRD stores false by default, ours
    /// stores nothing. A CacheBlendEngine is never isolated: false means the host's `/dev/shm` as a volume.
    #[serde(rename = "hostIPC", skip_serializing_if = "Option::is_none")]
    pub host_ipc: Option<bool>,
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

/// How chunks are blended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "crd", schemars(transform = crate::crd::table(&crate::schema::BLEND)))]
#[serde(rename_all = "camelCase", default)]
pub struct BlendSpec {
    /// Layer whose attention decides which tokens are computed again, at least 0. Default 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check_layer: Option<i32>,
    /// Share of the tokens, in (0, 1], that is computed again. Default 0.15.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recomp_ratio: Option<f64>,
    /// Token bucket of partial matches, at least 1. Unset: the plugin's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial_bucket: Option<i32>,
}

/// What Pods that opt in to a CacheBlendEngine get.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "crd", schemars(transform = crate::crd::table(&crate::schema::CACHEBLEND_INJECTION)))]
#[serde(rename_all = "camelCase", default)]
pub struct CacheBlendInjectionSpec {
    /// Image that carries the client code. Its repository must be given and must not be the engine's default image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload_image: Option<ImageSpec>,
    /// Pull secrets added to Pods that get the payload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_pull_secrets: Option<Vec<LocalObjectReference>>,
    /// Container that is wired. Unset: found out from the Pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_container: Option<String>,
    /// How vLLM captures CUDA graphs. Default `eager`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cudagraph: Option<Cudagraph>,
}

impl CacheBlendEngineSpec {
    /// What the server side needs of this engine, as an LMCacheEngine: everything but `blend` and `injection`. The two
    /// kinds run the same workloads apart from a few arguments.
    pub fn server_side(&self) -> LMCacheEngineSpec {
        LMCacheEngineSpec {
            gpu_vendor: self.gpu_vendor,
            runtime_class_name: self.runtime_class_name.clone(),
            image: self.image.clone(),
            image_pull_secrets: self.image_pull_secrets.clone(),
            server: self.server.clone(),
            l1: self.l1.clone(),
            eviction: self.eviction.clone(),
            prometheus: self.prometheus.clone(),
            l2_backend: self.l2_backend.clone(),
            coordinator: self.coordinator.clone(),
            injection: None,
            connection: self.connection.clone(),
            resource_overrides: self.resource_overrides.clone(),
            log_level: self.log_level,
            node_selector: self.node_selector.clone(),
            affinity: self.affinity.clone(),
            tolerations: self.tolerations.clone(),
            env: self.env.clone(),
            volumes: self.volumes.clone(),
            volume_mounts: self.volume_mounts.clone(),
            init_containers: None,
            pod_annotations: self.pod_annotations.clone(),
            pod_labels: self.pod_labels.clone(),
            service_account_name: self.service_account_name.clone(),
            priority_class_name: self.priority_class_name.clone(),
            host_network: None,
            host_ipc: self.host_ipc,
            isolated_ipc: Some(false),
            privileged: self.privileged,
            extra_args: self.extra_args.clone(),
            pd: self.pd.clone(),
            update_strategy: self.update_strategy.clone(),
            termination_grace_period_seconds: self.termination_grace_period_seconds,
            pod_security_context: self.pod_security_context.clone(),
            container_security_context: self.container_security_context.clone(),
        }
    }
}
