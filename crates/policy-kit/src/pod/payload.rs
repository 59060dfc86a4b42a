//! Can the payload of an engine be staged into a Pod?
//!
//! A connector without its code stops the model server, and one of another release can wipe the cache. So a Pod into
//! which the payload cannot be staged is not wired at all, and every policy finds that out by the same function. What is
//! there already exactly as it would be staged counts as staged.

use super::target::named;
use lmcache_api::{DEFAULT_REPOSITORY, ImageSpec};
use pod_edit::container;
use pod_edit::env::{self, EnvState};
use pod_edit::volume;
use serde_json::Value;

/// The names and the path by which a payload is staged.
#[derive(Debug)]
pub(super) struct Staging {
    pub volume: &'static str,
    pub path: &'static str,
    pub init_container: &'static str,
}

/// Staging of LMCache's own payload.
pub(super) const LMCACHE: Staging = Staging {
    volume: "lmcache-payload",
    path: "/lmcache-payload",
    init_container: "lmcache-payload-stage",
};

/// Checks that `payload` can be staged into `pod` for the container `target`.
///
/// # Errors
/// In a few words, what stands in the way.
pub(super) fn check(payload: &ImageSpec, pod: &Value, target: &Value, names: &Staging) -> Result<(), String> {
    let repository = payload.repository.as_deref().unwrap_or_default();
    if repository.is_empty() || repository == DEFAULT_REPOSITORY {
        return Err("the engine's payloadImage names no payload repository".to_owned());
    }
    if let Some(existing) = volume::volume_by_name(pod, names.volume)
        && !is_empty_dir(existing)
    {
        return Err(format!("the Pod has a volume {} of its own", names.volume));
    }
    if container::index_by_name(pod, names.init_container).is_some() {
        return Err(format!("the Pod has a container {} of its own", names.init_container));
    }
    if let Some(existing) = init_container(pod, names.init_container)
        && !stages(existing, &payload.reference(DEFAULT_REPOSITORY), names)
    {
        return Err(format!(
            "the Pod has an init container {} of its own",
            names.init_container
        ));
    }
    if let Some(mount) = volume::mount_at(target, names.path)
        && mount.get("name").and_then(Value::as_str) != Some(names.volume)
    {
        return Err(format!("{} is mounted from another volume", names.path));
    }
    match env::state(target, "PYTHONPATH") {
        EnvState::ValueFrom => {
            Err("PYTHONPATH comes from a valueFrom source, which nothing can be put in front of".to_owned())
        }
        _ => Ok(()),
    }
}

/// A volume that is ours to write into: an `emptyDir` without further settings.
fn is_empty_dir(volume: &Value) -> bool {
    volume
        .get("emptyDir")
        .and_then(Value::as_object)
        .is_some_and(serde_json::Map::is_empty)
}

fn init_container<'a>(pod: &'a Value, name: &str) -> Option<&'a Value> {
    let containers = pod.pointer("/spec/initContainers")?.as_array()?;
    containers
        .iter()
        .find(|candidate| container::name(candidate) == Some(name))
}

/// Does this init container stage `image` the way we would?
fn stages(existing: &Value, image: &str, names: &Staging) -> bool {
    let absent = |key: &str| {
        existing
            .get(key)
            .is_none_or(|value| value.as_array().is_none_or(Vec::is_empty))
    };
    existing.get("image").and_then(Value::as_str) == Some(image)
        && absent("command")
        && absent("args")
        && matches!(env::state(existing, "SHARED_DIR"), EnvState::Literal(path) if path == names.path)
        && volume::mount_at(existing, names.path)
            .and_then(|mount| mount.get("name"))
            .and_then(Value::as_str)
            == Some(names.volume)
}

/// The warning for a Pod that is left alone because of `obstacle`.
pub(super) fn warning(obstacle: &str, target: &Value) -> String {
    format!(
        "the payload cannot be staged for container {}: {obstacle}: not wired",
        named(target)
    )
}
