//! LMCacheCoordinator.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

#[cfg(feature = "crd")]
use super::CoordinatorStatus;
use super::{ImageSpec, LocalObjectReference, LogLevel, PrometheusSpec};

/// What an LMCacheCoordinator asks for: the registry of a fleet of engines.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(
    feature = "crd",
    derive(kube::CustomResource, schemars::JsonSchema),
    kube(
        group = "lmcache.lmcache.ai",
        version = "v1alpha1",
        kind = "LMCacheCoordinator",
        plural = "lmcachecoordinators",
        shortname = "lmcc",
        namespaced,
        status = "CoordinatorStatus",
        doc = "An LMCacheCoordinator is the registry that the engines of a fleet report to.",
        printcolumn = r#"{"name":"Phase","type":"string","jsonPath":".status.phase"}"#,
        printcolumn = r#"{"name":"Ready","type":"integer","jsonPath":".status.readyReplicas"}"#,
        printcolumn = r#"{"name":"Replicas","type":"integer","jsonPath":".status.replicas"}"#,
        printcolumn = r#"{"name":"Endpoint","type":"string","jsonPath":".status.endpoint"}"#,
        printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#,
    ),
    schemars(transform = crate::crd::table(&crate::schema::COORDINATOR))
)]
#[serde(rename_all = "camelCase", default)]
pub struct LMCacheCoordinatorSpec {
    /// Image of the coordinator. Default `lmcache/vllm-openai:latest`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<ImageSpec>,
    /// LMCache release inside the image, for instance `0.5.3`, where the image tag does not say it. Unset: read from
    /// the image tag. Not known to the Go operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub release: Option<String>,
    /// Pull secrets of the Pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_pull_secrets: Option<Vec<LocalObjectReference>>,
    /// Replicas, at least 0. Default 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// Address to listen on. Default `0.0.0.0`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// TCP port of the HTTP API, 1 to 65535. Default 9300.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<i32>,
    /// Seconds without a heartbeat after which an engine is forgotten, greater than 0. Default 30.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance_timeout: Option<f64>,
    /// Seconds between two health checks; 0 turns them off. Default 10.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health_check_interval: Option<f64>,
    /// Seconds between two eviction checks; 0 turns them off. Default 5.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eviction_check_interval: Option<f64>,
    /// Share of the second tier, in [0, 1], that one eviction frees. Default 0.2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eviction_ratio: Option<f64>,
    /// Fill level, in (0, 1], at which eviction starts. Default 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trigger_watermark: Option<f64>,
    /// Tokens per chunk of the CacheBlend index, at least 1. Unset: the server's default, 256.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blend_chunk_size: Option<i32>,
    /// Distance in tokens between two probes of the CacheBlend index, at least 1. Unset: the server's default, 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blend_probe_stride: Option<i32>,
    /// Metrics.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prometheus: Option<PrometheusSpec>,
    /// Resources of the container, used as they stand (`core/v1 ResourceRequirements`). Unset: the controller's
    /// default. An empty object: none at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(schema_with = "crate::crd::resource_requirements"))]
    pub resource_overrides: Option<Value>,
    /// From which severity it logs. Default `INFO`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_level: Option<LogLevel>,
    /// Node selector of the Pods.
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
    /// Arguments appended to the command line, so that they win over ours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra_args: Option<Vec<String>>,
    /// How a changed template is rolled out (`apps/v1 DeploymentStrategy`), passed through. Not known to the Go
    /// operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(schema_with = "crate::crd::deployment_strategy"))]
    pub update_strategy: Option<Value>,
    /// Seconds between the stop signal and the kill, at least 0. Unset: Kubernetes' default of 30. Not known to the Go
    /// operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub termination_grace_period_seconds: Option<i64>,
    /// Security context of the Pods (`core/v1 PodSecurityContext`), passed through. Not known to the Go operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(schema_with = "crate::crd::pod_security_context"))]
    pub pod_security_context: Option<Value>,
    /// Security context of the container (`core/v1 SecurityContext`), passed through. Not known to the Go operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(schema_with = "crate::crd::security_context"))]
    pub container_security_context: Option<Value>,
}
