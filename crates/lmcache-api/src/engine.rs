//! Both kinds of engine through one trait.

use crate::{
    BlendSpec, CacheBlendEngineSpec, ConnectionSpec, CoordinatorConnectionSpec, Cudagraph, EvictionSpec, GpuVendor,
    ImageSpec, Kind, L1BackendSpec, L2BackendSpec, LMCacheEngineSpec, LocalObjectReference, LogLevel, PdSpec,
    PrometheusSpec, ServerSpec,
};
use serde_json::Value;

/// What an engine of either kind asks for. Answers say what the object says; defaults are not applied, except for the
/// vendor. An [`crate::EngineView`] answers only what concerns the Pods that use the engine, and nothing about the rest.
pub trait EngineSpec {
    /// LMCacheEngine or CacheBlendEngine.
    fn kind(&self) -> Kind;
    /// `spec.server`.
    fn server(&self) -> Option<&ServerSpec>;
    /// `spec.image`.
    fn image(&self) -> Option<&ImageSpec>;
    /// `spec.gpuVendor`, `nvidia` when unset.
    fn gpu_vendor(&self) -> GpuVendor;
    /// `spec.pd`.
    fn pd(&self) -> Option<&PdSpec>;
    /// `spec.connection`.
    fn connection(&self) -> Option<&ConnectionSpec>;
    /// `spec.blend`; an LMCacheEngine has none.
    fn blend(&self) -> Option<&BlendSpec>;
    /// `spec.injection.payloadImage`.
    fn payload_image(&self) -> Option<&ImageSpec>;
    /// `spec.injection.imagePullSecrets`, empty when unset.
    fn payload_pull_secrets(&self) -> &[LocalObjectReference];
    /// `spec.injection.targetContainer`, unless unset or empty.
    fn target_container(&self) -> Option<&str>;
    /// `spec.injection.cudagraph`; an LMCacheEngine has none.
    fn cudagraph(&self) -> Option<Cudagraph>;
    /// `spec.hostIPC`.
    fn host_ipc(&self) -> Option<bool>;
    /// `spec.isolatedIPC`; a CacheBlendEngine has none.
    fn isolated_ipc(&self) -> Option<bool>;
    /// `spec.l1`.
    fn l1(&self) -> Option<&L1BackendSpec>;
    /// `spec.prometheus`.
    fn prometheus(&self) -> Option<&PrometheusSpec>;
    /// `spec.extraArgs`, empty when unset.
    fn extra_args(&self) -> &[String];
    /// `spec.eviction`.
    fn eviction(&self) -> Option<&EvictionSpec>;
    /// `spec.l2Backend`.
    fn l2_backend(&self) -> Option<&L2BackendSpec>;
    /// `spec.coordinator`.
    fn coordinator(&self) -> Option<&CoordinatorConnectionSpec>;
    /// `spec.logLevel`.
    fn log_level(&self) -> Option<LogLevel>;
    /// `spec.env`, empty when unset.
    fn env(&self) -> &[Value];
    /// `spec.volumeMounts`, empty when unset.
    fn volume_mounts(&self) -> &[Value];
    /// `spec.containerSecurityContext`.
    fn container_security_context(&self) -> Option<&Value>;

    /// TCP port of the message queue that clients connect to: `spec.server.port`, 5555 when unset.
    fn server_port(&self) -> i32 {
        self.server().and_then(|server| server.port).unwrap_or(5555)
    }
    /// TCP port of the HTTP API: `spec.server.httpPort`, 8080 when unset.
    fn http_port(&self) -> i32 {
        self.server().and_then(|server| server.http_port).unwrap_or(8080)
    }
    /// TCP port of metrics: `spec.prometheus.port`, 9090 when unset. Servers from 0.4.5 on do not listen there.
    fn prometheus_port(&self) -> i32 {
        self.prometheus().and_then(|prometheus| prometheus.port).unwrap_or(9090)
    }
    /// Whether metrics are exported: `spec.prometheus.enabled`, true when unset.
    fn exports_metrics(&self) -> bool {
        self.prometheus().and_then(|prometheus| prometheus.enabled) != Some(false)
    }
}

/// An engine in its place.
#[derive(Clone, Copy)]
pub struct EngineRef<'a> {
    /// `metadata.name`.
    pub name: &'a str,
    /// `metadata.namespace`.
    pub namespace: &'a str,
    /// What it asks for.
    pub spec: &'a dyn EngineSpec,
}

/// The members that both kinds have under the same name.
macro_rules! common {
    () => {
        fn server(&self) -> Option<&ServerSpec> {
            self.server.as_ref()
        }
        fn image(&self) -> Option<&ImageSpec> {
            self.image.as_ref()
        }
        fn gpu_vendor(&self) -> GpuVendor {
            self.gpu_vendor.unwrap_or(GpuVendor::Nvidia)
        }
        fn pd(&self) -> Option<&PdSpec> {
            self.pd.as_ref()
        }
        fn connection(&self) -> Option<&ConnectionSpec> {
            self.connection.as_ref()
        }
        fn payload_image(&self) -> Option<&ImageSpec> {
            self.injection.as_ref()?.payload_image.as_ref()
        }
        fn payload_pull_secrets(&self) -> &[LocalObjectReference] {
            let injection = self.injection.as_ref();
            injection
                .and_then(|injection| injection.image_pull_secrets.as_deref())
                .unwrap_or_default()
        }
        fn target_container(&self) -> Option<&str> {
            self.injection
                .as_ref()?
                .target_container
                .as_deref()
                .filter(|name| !name.is_empty())
        }
        fn host_ipc(&self) -> Option<bool> {
            self.host_ipc
        }
        fn l1(&self) -> Option<&L1BackendSpec> {
            self.l1.as_ref()
        }
        fn prometheus(&self) -> Option<&PrometheusSpec> {
            self.prometheus.as_ref()
        }
        fn extra_args(&self) -> &[String] {
            self.extra_args.as_deref().unwrap_or_default()
        }
        fn eviction(&self) -> Option<&EvictionSpec> {
            self.eviction.as_ref()
        }
        fn l2_backend(&self) -> Option<&L2BackendSpec> {
            self.l2_backend.as_ref()
        }
        fn coordinator(&self) -> Option<&CoordinatorConnectionSpec> {
            self.coordinator.as_ref()
        }
        fn log_level(&self) -> Option<LogLevel> {
            self.log_level
        }
        fn env(&self) -> &[Value] {
            self.env.as_deref().unwrap_or_default()
        }
        fn volume_mounts(&self) -> &[Value] {
            self.volume_mounts.as_deref().unwrap_or_default()
        }
        fn container_security_context(&self) -> Option<&Value> {
            self.container_security_context.as_ref()
        }
    };
}

impl EngineSpec for LMCacheEngineSpec {
    common!();

    fn kind(&self) -> Kind {
        Kind::LMCacheEngine
    }
    fn blend(&self) -> Option<&BlendSpec> {
        None
    }
    fn cudagraph(&self) -> Option<Cudagraph> {
        None
    }
    fn isolated_ipc(&self) -> Option<bool> {
        self.isolated_ipc
    }
}

impl EngineSpec for CacheBlendEngineSpec {
    common!();

    fn kind(&self) -> Kind {
        Kind::CacheBlendEngine
    }
    fn blend(&self) -> Option<&BlendSpec> {
        self.blend.as_ref()
    }
    fn cudagraph(&self) -> Option<Cudagraph> {
        self.injection.as_ref()?.cudagraph
    }
    fn isolated_ipc(&self) -> Option<bool> {
        None
    }
}
