//! The ServiceMonitor of the Prometheus operator.

use lmcache_api::PrometheusSpec;
use lmcache_server::Metrics;
use serde_json::{Value, json};

use super::labels::{MANAGED_BY, Owner};
use super::service::METRICS_PORT;

/// Scrape interval where none is given.
const INTERVAL: &str = "30s";
/// The path that Prometheus scrapes where none is given.
const DEFAULT_PATH: &str = "/metrics";

/// The ServiceMonitor, if `prometheus` asks for one and does not switch metrics off.
pub(super) fn build(owner: Owner<'_>, prometheus: Option<&PrometheusSpec>, metrics: Metrics) -> Option<Value> {
    let monitor = prometheus.filter(|prometheus| prometheus.enabled != Some(false))?;
    let monitor = monitor.service_monitor.as_ref()?;
    if monitor.enabled != Some(true) {
        return None;
    }
    let mut metadata = owner.metadata("");
    // The user's labels are how a Prometheus finds it, so they win; but for the one by which the controller does.
    let mut labels = owner.labels();
    let managed_by = labels.get(MANAGED_BY).cloned();
    labels.extend(monitor.labels.clone().unwrap_or_default());
    labels.extend(managed_by.map(|value| (MANAGED_BY.to_owned(), value)));
    if let Some(metadata) = metadata.as_object_mut() {
        metadata.insert("labels".to_owned(), json!(labels));
    }
    // An empty text leaves it to Prometheus, as with the Go operator.
    let interval = Some(monitor.interval.as_deref().unwrap_or(INTERVAL)).filter(|interval| !interval.is_empty());
    Some(json!({
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "ServiceMonitor",
        "metadata": metadata,
        "spec": {
            "selector": {"matchLabels": owner.selector()},
            "endpoints": [{
                "port": METRICS_PORT,
                "path": (metrics.path != DEFAULT_PATH).then_some(metrics.path),
                "interval": interval,
            }],
        },
    }))
}
