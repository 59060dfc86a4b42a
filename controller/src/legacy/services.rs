//! The Services.

use serde_json::{Value, json};

use super::resource::Resource;

/// Where Pods find the server of their own node.
pub(super) fn lookup(engine: &Resource) -> Value {
    let spec = json!({
        "selector": engine.selector_labels(),
        "internalTrafficPolicy": "Local",
        "ports": [port("server", engine.server_port()), port("http", engine.http_port())],
    });
    engine.child("v1", "Service", "", engine.labels(), ("spec", spec))
}

/// Where engines find the coordinator.
pub(super) fn coordinator(coordinator: &Resource) -> Value {
    let spec = json!({
        "selector": coordinator.selector_labels(),
        "ports": [port("http", coordinator.coordinator_port())],
    });
    coordinator.child("v1", "Service", "", coordinator.labels(), ("spec", spec))
}

/// What Prometheus scrapes; of an engine it is there even when metrics are switched off.
pub(super) fn metrics(resource: &Resource) -> Value {
    let spec = json!({
        "selector": resource.selector_labels(),
        "clusterIP": "None",
        "ports": [port("metrics", resource.metrics_port())],
    });
    resource.child("v1", "Service", "-metrics", resource.labels(), ("spec", spec))
}

fn port(name: &str, number: i64) -> Value {
    json!({"name": name, "port": number, "protocol": "TCP"})
}
