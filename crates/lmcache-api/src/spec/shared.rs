//! Blocks that more than one kind has.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::words::words;

words! {
    /// When the kubelet pulls an image.
    pub enum PullPolicy {
        /// Every time a container starts.
        Always = "Always",
        /// Never: the image must be on the node.
        Never = "Never",
        /// Only if it is not on the node.
        IfNotPresent = "IfNotPresent",
    }
}

words! {
    /// Whose GPUs the node has. Decides the runtime class, the `NVIDIA_*` variables and the default node selector.
    pub enum GpuVendor {
        /// NVIDIA, the default.
        Nvidia = "nvidia",
        /// AMD: no runtime class, no `NVIDIA_*` variables, no default node selector, no isolated IPC by default.
        Amd = "amd",
    }
}

words! {
    /// Severity from which the server logs.
    pub enum LogLevel {
        /// Everything.
        Debug = "DEBUG",
        /// The default.
        Info = "INFO",
        /// Warnings and errors.
        Warning = "WARNING",
        /// Errors only.
        Error = "ERROR",
    }
}

words! {
    /// How token chunks are hashed into cache keys. Every engine that shares a second tier must use the same.
    pub enum HashAlgorithm {
        /// Python's `hash`, which needs the same `PYTHONHASHSEED` everywhere.
        Builtin = "builtin",
        /// SHA-256 over CBOR.
        Sha256Cbor = "sha256_cbor",
        /// BLAKE3, the default.
        Blake3 = "blake3",
    }
}

words! {
    /// How the first tier frees memory.
    pub enum EvictionPolicy {
        /// Least recently used first, the default.
        Lru = "LRU",
        /// Nothing is evicted: the first tier is only a buffer. Needs `l2Backend.storePolicy: skip_l1`.
        Noop = "noop",
    }
}

words! {
    /// What a decoder does when the KV transfer of a request failed.
    pub enum NixlLoadFailurePolicy {
        /// Fail the request, the default.
        Fail = "fail",
        /// Compute what is missing.
        Ignore = "ignore",
    }
}

/// An image and how to pull it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "crd", schemars(transform = crate::crd::table(&crate::schema::IMAGE)))]
#[serde(rename_all = "camelCase", default)]
pub struct ImageSpec {
    /// Repository, with the registry host if it is not the default one. A repository that carries a digest
    /// (`repo@sha256:...`) is used alone and the tag is ignored. Default `lmcache/vllm-openai`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// Tag, or tag and digest (`v1@sha256:...`). Default `latest`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// When the kubelet pulls the image. Default `IfNotPresent`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pull_policy: Option<PullPolicy>,
}

/// The name of an object in the same namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "crd", schemars(transform = crate::crd::table(&crate::schema::LOCAL_REF)))]
#[serde(rename_all = "camelCase", default)]
pub struct LocalObjectReference {
    /// Name of the object. The API server stores `""` for an absent name, which counts as unset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl LocalObjectReference {
    /// The name, unless it is absent or empty.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref().filter(|name| !name.is_empty())
    }
}

/// The server process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "crd", schemars(transform = crate::crd::table(&crate::schema::SERVER)))]
#[serde(rename_all = "camelCase", default)]
pub struct ServerSpec {
    /// TCP port of the message queue that clients connect to, 1024 to 65535. Default 5555.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<i32>,
    /// Tokens per cached chunk. Default 256; a CacheBlendEngine accepts nothing else. Must be a multiple of vLLM's
    /// block size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chunk_size: Option<i32>,
    /// Worker threads. Default 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_workers: Option<i32>,
    /// How chunks are hashed. Default `blake3`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash_algorithm: Option<HashAlgorithm>,
    /// TCP port of the HTTP API (health, and metrics from LMCache 0.4.5 on), 1024 to 65535. Default 8080.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_port: Option<i32>,
    /// LMCache release inside the image, for instance `0.5.3`, where the image tag does not say it (digests, mirrors).
    /// Decides which flags the command line may carry. Unset: read from the image tag. Not known to the Go operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub release: Option<String>,
}

/// The first tier: pinned host memory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "crd", schemars(transform = crate::crd::table(&crate::schema::L1)))]
#[serde(rename_all = "camelCase", default)]
pub struct L1BackendSpec {
    /// Size of the cache in GB, greater than 0. Required.
    #[serde(rename = "sizeGB", skip_serializing_if = "Option::is_none")]
    pub size_gb: Option<f64>,
}

/// How the first tier frees memory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "crd", schemars(transform = crate::crd::table(&crate::schema::EVICTION)))]
#[serde(rename_all = "camelCase", default)]
pub struct EvictionSpec {
    /// Which entries go first. Default `LRU`; `noop` only with `l2Backend.storePolicy: skip_l1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<EvictionPolicy>,
    /// Fill level, in (0, 1], at which eviction starts. Default 0.8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trigger_watermark: Option<f64>,
    /// Share of the cache, in (0, 1], that one eviction frees. Default 0.2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eviction_ratio: Option<f64>,
}

/// Metrics.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "crd", schemars(transform = crate::crd::table(&crate::schema::PROMETHEUS)))]
#[serde(rename_all = "camelCase", default)]
pub struct PrometheusSpec {
    /// Whether metrics are exported. Default true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// TCP port of the metrics endpoint, 1 to 65535. Default 9090. LMCache up to 0.4.4 listens there; from 0.4.5 on the
    /// engine serves metrics on its HTTP port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<i32>,
    /// The ServiceMonitor of the Prometheus operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_monitor: Option<ServiceMonitorSpec>,
}

/// The ServiceMonitor of the Prometheus operator.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "crd", schemars(transform = crate::crd::table(&crate::schema::SERVICE_MONITOR)))]
#[serde(rename_all = "camelCase", default)]
pub struct ServiceMonitorSpec {
    /// Whether a ServiceMonitor is created. Default false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Scrape interval as a Prometheus duration (`30s`, `1m30s`). Default `30s`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<String>,
    /// Labels by which a Prometheus selects the ServiceMonitor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<BTreeMap<String, String>>,
}

/// The coordinator that an engine registers with: `ref` or `url`, not both.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "crd", schemars(transform = crate::crd::table(&crate::schema::COORDINATOR_CONNECTION)))]
#[serde(rename_all = "camelCase", default)]
pub struct CoordinatorConnectionSpec {
    /// An LMCacheCoordinator in the same namespace. An empty name counts as unset.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    pub reference: Option<LocalObjectReference>,
    /// Base URL of a coordinator elsewhere, `http://` or `https://`. An empty string counts as unset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Address under which the coordinator reaches this server. Unset: the server finds out.
    #[serde(rename = "advertiseIP", skip_serializing_if = "Option::is_none")]
    pub advertise_ip: Option<String>,
    /// Seconds between two heartbeats, greater than 0. Default 5.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heartbeat_interval: Option<f64>,
    /// Whether the engine reports what it stores in the second tier. Default false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub l2_event_reporting: Option<bool>,
    /// Seconds between two reports, greater than 0. Default 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub l2_event_flush_interval: Option<f64>,
}

impl CoordinatorConnectionSpec {
    /// The name of the referenced LMCacheCoordinator, unless absent or empty.
    pub fn ref_name(&self) -> Option<&str> {
        self.reference.as_ref().and_then(LocalObjectReference::name)
    }

    /// The explicit URL, unless absent or empty.
    pub fn url(&self) -> Option<&str> {
        self.url.as_deref().filter(|url| !url.is_empty())
    }
}

/// Prefill/decode disaggregation: vLLM Pods get a role by annotation `lmcache.ai/pd-role` and move KV over NIXL.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "crd", schemars(transform = crate::crd::table(&crate::schema::PD)))]
#[serde(rename_all = "camelCase", default)]
pub struct PdSpec {
    /// TCP port of vLLM's NIXL side channel, 1024 to 65535. Default 5558.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nixl_side_channel_port: Option<i32>,
    /// What a decoder does when a transfer failed. Default `fail`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nixl_load_failure_policy: Option<NixlLoadFailurePolicy>,
    /// Whether prefiller and decoder must agree on their configuration. Unset: vLLM's own default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enforce_handshake_compat: Option<bool>,
}

/// Additions to the connection JSON that vLLM gets. Not known to the Go operator.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "crd", schemars(transform = crate::crd::table(&crate::schema::CONNECTION)))]
#[serde(rename_all = "camelCase", default)]
pub struct ConnectionSpec {
    /// Keys merged into `kv_connector_extra_config` of the LMCache or CacheBlend connector, for instance
    /// `lmcache.mp.mq_timeout`. Keys that this project sets itself are refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra_config: Option<BTreeMap<String, Value>>,
}
