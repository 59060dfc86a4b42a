//! Can the payload of an engine be staged into a Pod?
//!
//! A connector without its code stops the model server, and one of another release can wipe the cache. So a Pod into
//! which the payload cannot be staged is not wired at all, and every policy finds that out by the same function: the
//! edits that stage the payload are tried on a copy. What is there already as it would be staged counts as staged.

use super::outcome::{Skip, SkipReason};
use super::target::named;
use lmcache_api::{DEFAULT_REPOSITORY, ImageSpec, is_default_repository};
use pod_edit::{Edit, Plan, container};
use serde_json::{Value, json};

/// The names and the path by which a payload is staged.
#[derive(Debug)]
pub(super) struct Staging {
    /// Name of the `emptyDir` that carries the code.
    pub volume: &'static str,
    /// Where it is mounted, and what is put in front of `PYTHONPATH`.
    pub path: &'static str,
    /// Name of the init container that fills it.
    pub init_container: &'static str,
}

/// Staging of LMCache's own payload.
pub(super) const LMCACHE: Staging = Staging {
    volume: "lmcache-payload",
    path: "/lmcache-payload",
    init_container: "lmcache-payload-stage",
};

/// Checks that `payload` can be staged into `pod` for the container at `index`.
pub(super) fn check(payload: &ImageSpec, pod: &Value, index: usize, names: &Staging) -> Result<(), Skip> {
    let target = container::containers(pod).get(index).unwrap_or(&Value::Null);
    let blocked = |obstacle: String, remedy: &str| {
        let problem = format!(
            "the payload cannot be staged for container {}: {obstacle}",
            named(target)
        );
        Skip::new(SkipReason::PayloadNotStaged, problem, remedy)
    };
    let repository = payload.repository.as_deref().unwrap_or_default().trim();
    if repository.is_empty() || is_default_repository(repository) {
        let obstacle = "the engine's payloadImage names no payload".to_owned();
        return Err(blocked(obstacle, "set injection.payloadImage.repository on the engine"));
    }
    let edits = edits(payload, index, names);
    Plan::from(edits).apply(&mut pod.clone()).map(drop).map_err(|error| {
        let remedy = if error.path.contains("].env[") {
            "give PYTHONPATH a literal value"
        } else {
            "rename or remove what is in the way"
        };
        blocked(error.to_string(), remedy)
    })
}

/// The edits that stage a payload, as far as they decide whether it can be staged.
fn edits(payload: &ImageSpec, index: usize, names: &Staging) -> Vec<Edit> {
    vec![
        Edit::AppendVolume(json!({"name": names.volume, "emptyDir": {}})),
        Edit::AppendInitContainer(json!({
            "name": names.init_container,
            "image": payload.reference(DEFAULT_REPOSITORY),
            "env": [{"name": "SHARED_DIR", "value": names.path}],
            "volumeMounts": [{"name": names.volume, "mountPath": names.path}],
        })),
        Edit::AppendMount {
            container: index,
            mount: json!({"name": names.volume, "mountPath": names.path, "readOnly": true}),
        },
        Edit::PrependPath {
            container: index,
            name: "PYTHONPATH".to_owned(),
            entry: names.path.to_owned(),
        },
    ]
}
