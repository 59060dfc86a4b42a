//! The ServiceMonitor.

use serde_json::{Map, Value, json};

use super::pod;
use super::resource::Resource;

pub(super) fn service_monitor(resource: &Resource) -> Value {
    let mut labels = resource.labels();
    labels.extend(resource.entries("/prometheus/serviceMonitor/labels"));
    let interval = resource.text("/prometheus/serviceMonitor/interval", "30s");
    let mut endpoint = Map::from_iter([("port".to_owned(), json!("metrics"))]);
    pod::set(
        &mut endpoint,
        "interval",
        (!interval.is_empty()).then(|| json!(interval)),
    );
    let spec = json!({
        "selector": {"matchLabels": resource.selector_labels()},
        "endpoints": [endpoint],
    });
    resource.child("monitoring.coreos.com/v1", "ServiceMonitor", "", labels, ("spec", spec))
}
