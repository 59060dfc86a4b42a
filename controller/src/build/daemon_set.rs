//! The DaemonSet of an engine: one server on each selected node.

use lmcache_api::{GpuVendor, IpcMode, LMCacheEngineSpec};
use serde_json::{Value, json};

use super::engine::Engine;
use super::{container, fields, wait};

/// The runtime class that NVIDIA's operator makes.
const NVIDIA_RUNTIME_CLASS: &str = "nvidia";

/// The DaemonSet.
pub(super) fn build(engine: &Engine<'_>) -> Value {
    let spec = &*engine.server;
    json!({
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": engine.owner.metadata(""),
        "spec": {
            "selector": {"matchLabels": engine.owner.selector()},
            "updateStrategy": spec.update_strategy,
            "template": {
                "metadata": {
                    "labels": engine.owner.pod_labels(spec.pod_labels.as_ref()),
                    "annotations": fields::map(spec.pod_annotations.as_ref()),
                },
                "spec": pod(engine),
            },
        },
    })
}

fn pod(engine: &Engine<'_>) -> Value {
    let spec = &*engine.server;
    let host_network = spec.host_network == Some(true);
    json!({
        "hostIPC": (engine.ipc_mode == IpcMode::HostIPC).then_some(true),
        "hostNetwork": host_network.then_some(true),
        // Without it, Pods on the host's network do not find Services.
        "dnsPolicy": host_network.then_some("ClusterFirstWithHostNet"),
        "runtimeClassName": runtime_class(spec),
        "serviceAccountName": fields::text(spec.service_account_name.as_deref()),
        "priorityClassName": fields::text(spec.priority_class_name.as_deref()),
        "nodeSelector": fields::map(spec.node_selector.as_ref()),
        "affinity": spec.affinity,
        "tolerations": fields::given(spec.tolerations.as_ref()),
        "imagePullSecrets": fields::pull_secrets(spec.image_pull_secrets.as_ref()),
        "securityContext": spec.pod_security_context,
        "terminationGracePeriodSeconds": spec.termination_grace_period_seconds,
        "initContainers": wait::init_containers(spec),
        "containers": [container::build(engine)],
        "volumes": container::volumes(engine),
    })
}

/// The user's choice, of which an empty text means none; else what the vendor needs.
fn runtime_class(spec: &LMCacheEngineSpec) -> Value {
    match spec.runtime_class_name.as_deref() {
        Some(name) => fields::text(Some(name)),
        None => match spec.gpu_vendor.unwrap_or(GpuVendor::Nvidia) {
            GpuVendor::Nvidia => json!(NVIDIA_RUNTIME_CLASS),
            GpuVendor::Amd => Value::Null,
        },
    }
}
