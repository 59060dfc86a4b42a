//! The secrets with which the payload image is pulled.

use crate::keys::SystemKeys;
use crate::text::quoted;
use lmcache_api::EngineSpec;
use lmcache_api::names::check_subdomain;
use pod_edit::metadata;
use serde_json::Value;

/// The names to add: those of the Pod's annotation where it has one, else the engine's. What is no name of a Secret would
/// make the API server refuse the Pod, so it is left out with a warning.
pub(super) fn of(pod: &Value, engine: &dyn EngineSpec, keys: &SystemKeys, warnings: &mut Vec<String>) -> Vec<String> {
    let annotation = metadata::annotation(pod, keys.pull_secrets).map(str::trim);
    let names: Vec<&str> = match annotation.filter(|text| !text.is_empty()) {
        Some(text) => text.split(',').map(str::trim).collect(),
        None => {
            let secrets = engine.payload_pull_secrets().iter();
            secrets
                .filter_map(|secret| secret.name.as_deref())
                .map(str::trim)
                .collect()
        }
    };
    let mut valid = Vec::with_capacity(names.len());
    for name in names.into_iter().filter(|name| !name.is_empty()) {
        if check_subdomain(name).is_ok() {
            valid.push(name.to_owned());
        } else {
            warnings.push(format!(
                "pull secret {} is no name of a Secret: left out; correct {} or the engine's imagePullSecrets",
                quoted(name),
                keys.pull_secrets
            ));
        }
    }
    valid
}
