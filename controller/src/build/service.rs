//! The Services of engines and coordinators.

use lmcache_server::Metrics;
use serde_json::{Value, json};

use super::engine::Engine;
use super::labels::Owner;

/// Name of the port that ServiceMonitors scrape.
pub(super) const METRICS_PORT: &str = "metrics";

/// The Service under which Pods reach the server of their own node, and never another one: shared memory ends at the node.
pub(super) fn lookup(engine: &Engine<'_>) -> Value {
    let ports = [("server", engine.offers.server_port), ("http", engine.offers.http_port)];
    build(
        engine.owner,
        "",
        json!({
            "internalTrafficPolicy": "Local",
            "selector": engine.owner.selector(),
            "ports": ports.map(|(name, number)| port(name, number)),
        }),
    )
}

/// The Service of a coordinator.
pub(super) fn coordinator(owner: Owner<'_>, http_port: i32) -> Value {
    build(
        owner,
        "",
        json!({"selector": owner.selector(), "ports": [port("http", http_port)]}),
    )
}

/// The headless Service through which every Pod is scraped, on the port that the release really serves.
pub(super) fn metrics(owner: Owner<'_>, metrics: Metrics) -> Value {
    build(
        owner,
        "-metrics",
        json!({
            "clusterIP": "None",
            "selector": owner.selector(),
            "ports": [port(METRICS_PORT, metrics.port)],
        }),
    )
}

fn port(name: &str, number: i32) -> Value {
    json!({"name": name, "port": number, "protocol": "TCP"})
}

fn build(owner: Owner<'_>, suffix: &str, spec: Value) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": owner.metadata(suffix),
        "spec": spec,
    })
}
