//! Writing to a custom resource: its status, its legacy finalizer, Events about it.

use super::api::{Api, pod_reference, reference};
use super::fault::Fault;
use crate::index::Shared;
use crate::live::{Custom, Key};
use crate::plan::{Inputs, Report, Settings};
use crate::run::metrics::Metrics;
use crate::status::{self, News, PodRef};
use serde_json::Value;

/// Writes the status if it is not what is stored, and publishes what is new about it. Whether it was written. Metrics show
/// what was found, written or not.
pub(super) async fn update_status(
    api: &Api,
    shared: &Shared,
    key: &Key,
    inputs: &Inputs,
    report: &Report,
    settings: &Settings,
    metrics: &Metrics,
) -> Result<bool, Fault> {
    let stored = inputs.custom.value();
    let before = stored.get("status").unwrap_or(&Value::Null);
    let wanted = status::of(inputs, report, settings, &now());
    metrics.found(key, status::summary(&wanted));
    let Some(patch) = status::patch(before, &wanted) else {
        return Ok(false);
    };
    let uid = inputs.custom.uid();
    let written = api.patch_status(&inputs.custom, key, patch).await?;
    shared.with(|index| index.wrote_custom(written));
    for news in status::news(before, &wanted) {
        let regarding = reference(key, uid);
        api.publish(&regarding, news.warning, &news.reason, news.action, &news.note)
            .await;
    }
    Ok(true)
}

/// Publishes what is new about Pods that opted in.
pub(super) async fn publish_clients(api: &Api, news: &[(PodRef, News)]) {
    for (pod, news) in news {
        let regarding = pod_reference(&pod.namespace, &pod.name, &pod.uid);
        api.publish(&regarding, news.warning, &news.reason, news.action, &news.note)
            .await;
    }
}

/// Takes the legacy finalizer away; the object without it.
pub(super) async fn patch(api: &Api, shared: &Shared, key: &Key, patch: &Value) -> Result<Custom, Fault> {
    let patched = api.patch_custom(key, patch).await?;
    shared.with(|index| index.wrote_custom(patched.clone()));
    Ok(patched)
}

/// RFC 3339 in UTC with whole seconds, as Kubernetes writes times.
pub(super) fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
