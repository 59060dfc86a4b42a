//! From a walked JSON value to the types.
//!
//! serde's derived code would do, but costs a policy about 100 kB of wasm for checks that the walk has done already.
//! Here a member of the wrong type is simply absent.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::spec::*;

/// A type that can be made from what the walk left over.
pub(crate) trait Typed: Sized {
    /// `None` where the value is of another type.
    fn typed(value: &Value) -> Option<Self>;
}

impl Typed for Value {
    fn typed(value: &Value) -> Option<Self> {
        Some(value.clone())
    }
}

impl Typed for String {
    fn typed(value: &Value) -> Option<Self> {
        value.as_str().map(str::to_owned)
    }
}

impl Typed for bool {
    fn typed(value: &Value) -> Option<Self> {
        value.as_bool()
    }
}

impl Typed for i32 {
    fn typed(value: &Value) -> Option<Self> {
        i32::try_from(value.as_i64()?).ok()
    }
}

impl Typed for i64 {
    fn typed(value: &Value) -> Option<Self> {
        value.as_i64()
    }
}

impl Typed for f64 {
    fn typed(value: &Value) -> Option<Self> {
        value.as_f64()
    }
}

impl<T: Typed> Typed for Vec<T> {
    fn typed(value: &Value) -> Option<Self> {
        Some(value.as_array()?.iter().filter_map(T::typed).collect())
    }
}

impl<T: Typed> Typed for BTreeMap<String, T> {
    fn typed(value: &Value) -> Option<Self> {
        // Collecting would sort first, and a sort for every type of value is a lot of wasm.
        let mut entries = BTreeMap::new();
        for (key, value) in value.as_object()? {
            if let Some(value) = T::typed(value) {
                entries.insert(key.clone(), value);
            }
        }
        Some(entries)
    }
}

/// `null` counts as absent.
fn member<T: Typed>(map: &Map<String, Value>, name: &str) -> Option<T> {
    map.get(name).filter(|value| !value.is_null()).and_then(T::typed)
}

/// Lists a struct's fields with their names in JSON. A forgotten field does not compile; a test compares the names with
/// those that serde uses.
macro_rules! members {
    ($($type:ident { $($field:ident: $name:literal,)+ })+) => {
        $(impl Typed for $type {
            fn typed(value: &Value) -> Option<Self> {
                let map = value.as_object()?;
                Some($type { $($field: member(map, $name),)+ })
            }
        })+
    };
}

members! {
    ViewSpec {
        gpu_vendor: "gpuVendor",
        image: "image",
        server: "server",
        blend: "blend",
        injection: "injection",
        connection: "connection",
        host_ipc: "hostIPC",
        isolated_ipc: "isolatedIPC",
        extra_args: "extraArgs",
        pd: "pd",
    }
    ImageSpec {
        repository: "repository",
        tag: "tag",
        pull_policy: "pullPolicy",
    }
    LocalObjectReference {
        name: "name",
    }
    ServerSpec {
        port: "port",
        chunk_size: "chunkSize",
        max_workers: "maxWorkers",
        hash_algorithm: "hashAlgorithm",
        http_port: "httpPort",
        release: "release",
    }
    L1BackendSpec {
        size_gb: "sizeGB",
    }
    EvictionSpec {
        policy: "policy",
        trigger_watermark: "triggerWatermark",
        eviction_ratio: "evictionRatio",
    }
    PrometheusSpec {
        enabled: "enabled",
        port: "port",
        service_monitor: "serviceMonitor",
    }
    ServiceMonitorSpec {
        enabled: "enabled",
        interval: "interval",
        labels: "labels",
    }
    CoordinatorConnectionSpec {
        reference: "ref",
        url: "url",
        advertise_ip: "advertiseIP",
        heartbeat_interval: "heartbeatInterval",
        l2_event_reporting: "l2EventReporting",
        l2_event_flush_interval: "l2EventFlushInterval",
    }
    PdSpec {
        nixl_side_channel_port: "nixlSideChannelPort",
        nixl_load_failure_policy: "nixlLoadFailurePolicy",
        enforce_handshake_compat: "enforceHandshakeCompat",
    }
    ConnectionSpec {
        extra_config: "extraConfig",
    }
    L2BackendSpec {
        resp: "resp",
        raw: "raw",
        store_policy: "storePolicy",
        prefetch_policy: "prefetchPolicy",
        prefetch_max_in_flight: "prefetchMaxInFlight",
        serde: "serde",
    }
    RespSpec {
        host: "host",
        port: "port",
        num_workers: "numWorkers",
        max_capacity_gb: "maxCapacityGB",
        auth_secret_ref: "authSecretRef",
        wait_seconds: "waitSeconds",
    }
    SecretReference {
        name: "name",
        namespace: "namespace",
    }
    RawL2Spec {
        type_: "type",
        config: "config",
    }
    SerdeSpec {
        aesgcm: "aesgcm",
    }
    AesGcmSpec {
        master_key_secret_ref: "masterKeySecretRef",
        key_provider: "keyProvider",
        aes_bits: "aesBits",
    }
    LMCacheEngineSpec {
        gpu_vendor: "gpuVendor",
        runtime_class_name: "runtimeClassName",
        image: "image",
        image_pull_secrets: "imagePullSecrets",
        server: "server",
        l1: "l1",
        eviction: "eviction",
        prometheus: "prometheus",
        l2_backend: "l2Backend",
        coordinator: "coordinator",
        injection: "injection",
        connection: "connection",
        resource_overrides: "resourceOverrides",
        log_level: "logLevel",
        node_selector: "nodeSelector",
        affinity: "affinity",
        tolerations: "tolerations",
        env: "env",
        volumes: "volumes",
        volume_mounts: "volumeMounts",
        init_containers: "initContainers",
        pod_annotations: "podAnnotations",
        pod_labels: "podLabels",
        service_account_name: "serviceAccountName",
        priority_class_name: "priorityClassName",
        host_network: "hostNetwork",
        host_ipc: "hostIPC",
        isolated_ipc: "isolatedIPC",
        privileged: "privileged",
        extra_args: "extraArgs",
        pd: "pd",
        update_strategy: "updateStrategy",
        termination_grace_period_seconds: "terminationGracePeriodSeconds",
        pod_security_context: "podSecurityContext",
        container_security_context: "containerSecurityContext",
    }
    InjectionSpec {
        payload_image: "payloadImage",
        image_pull_secrets: "imagePullSecrets",
        target_container: "targetContainer",
    }
    CacheBlendEngineSpec {
        gpu_vendor: "gpuVendor",
        runtime_class_name: "runtimeClassName",
        image: "image",
        image_pull_secrets: "imagePullSecrets",
        server: "server",
        l1: "l1",
        eviction: "eviction",
        prometheus: "prometheus",
        l2_backend: "l2Backend",
        coordinator: "coordinator",
        blend: "blend",
        injection: "injection",
        connection: "connection",
        resource_overrides: "resourceOverrides",
        log_level: "logLevel",
        node_selector: "nodeSelector",
        affinity: "affinity",
        tolerations: "tolerations",
        env: "env",
        volumes: "volumes",
        volume_mounts: "volumeMounts",
        pod_annotations: "podAnnotations",
        pod_labels: "podLabels",
        service_account_name: "serviceAccountName",
        priority_class_name: "priorityClassName",
        host_ipc: "hostIPC",
        privileged: "privileged",
        extra_args: "extraArgs",
        pd: "pd",
        update_strategy: "updateStrategy",
        termination_grace_period_seconds: "terminationGracePeriodSeconds",
        pod_security_context: "podSecurityContext",
        container_security_context: "containerSecurityContext",
    }
    BlendSpec {
        check_layer: "checkLayer",
        recomp_ratio: "recompRatio",
        partial_bucket: "partialBucket",
    }
    CacheBlendInjectionSpec {
        payload_image: "payloadImage",
        image_pull_secrets: "imagePullSecrets",
        target_container: "targetContainer",
        cudagraph: "cudagraph",
    }
    LMCacheCoordinatorSpec {
        image: "image",
        release: "release",
        image_pull_secrets: "imagePullSecrets",
        replicas: "replicas",
        host: "host",
        port: "port",
        instance_timeout: "instanceTimeout",
        health_check_interval: "healthCheckInterval",
        eviction_check_interval: "evictionCheckInterval",
        eviction_ratio: "evictionRatio",
        trigger_watermark: "triggerWatermark",
        blend_chunk_size: "blendChunkSize",
        blend_probe_stride: "blendProbeStride",
        prometheus: "prometheus",
        resource_overrides: "resourceOverrides",
        log_level: "logLevel",
        node_selector: "nodeSelector",
        affinity: "affinity",
        tolerations: "tolerations",
        env: "env",
        volumes: "volumes",
        volume_mounts: "volumeMounts",
        pod_annotations: "podAnnotations",
        pod_labels: "podLabels",
        service_account_name: "serviceAccountName",
        priority_class_name: "priorityClassName",
        extra_args: "extraArgs",
        update_strategy: "updateStrategy",
        termination_grace_period_seconds: "terminationGracePeriodSeconds",
        pod_security_context: "podSecurityContext",
        container_security_context: "containerSecurityContext",
    }
}
