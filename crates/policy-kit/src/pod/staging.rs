//! Staging: the payload of an engine, its connector's code, put into a Pod.
//!
//! A connector without its code stops the model server, and one of another release can wipe the cache. So a Pod into
//! which the payload cannot be staged is not wired at all, and every policy finds that out by the same function: the
//! edits that stage the payload are tried on a copy. What is there already as it would be staged counts as staged.

use super::occupancy;
use super::outcome::Skip;
use super::pull_secrets;
use super::reasons::{Obstacle, SkipReason};
use super::system::System;
use super::target::named;
use crate::keys::PAYLOAD_STAGED;
use crate::text::quoted;
use lmcache_api::{DEFAULT_REPOSITORY, EngineSpec, ImageSpec, image_parts, is_default_repository};
use pod_edit::env::{self, EnvState};
use pod_edit::{Edit, EditError, Plan, container, metadata, pod as pod_edits};
use serde_json::{Map, Value, json};

/// Search path of Python modules.
const PYTHON_PATH: &str = "PYTHONPATH";

/// The names and the path by which a payload is staged.
#[derive(Debug)]
pub struct Staging {
    /// Name of the `emptyDir` that carries the code.
    pub volume: &'static str,
    /// Where it is mounted, and what is put in front of `PYTHONPATH`.
    pub path: &'static str,
    /// Name of the init container that fills it.
    pub init_container: &'static str,
}

impl Staging {
    /// The volume.
    pub(crate) fn volume(&self) -> Value {
        json!({"name": self.volume, "emptyDir": {}})
    }

    /// The mount in the container that uses the code.
    pub(crate) fn mount(&self) -> Value {
        json!({"name": self.volume, "mountPath": self.path, "readOnly": true})
    }

    /// The entries that [`Edit::PrependPath`] makes where the container has no `PYTHONPATH` of its own.
    pub(crate) fn variables(&self) -> [Value; 2] {
        let path = self.path;
        [
            json!({"name": PYTHON_PATH, "value": path}),
            json!({"name": PYTHON_PATH, "value": format!("{path}:$({PYTHON_PATH})")}),
        ]
    }

    /// The init container, as far as it decides what is staged. An init container that has all of this stages the payload,
    /// whatever resources and limits of rights it has.
    pub(crate) fn program(&self, payload: &ImageSpec) -> Value {
        json!({
            "name": self.init_container,
            "image": cleaned(payload).reference(DEFAULT_REPOSITORY),
            "env": [{"name": "SHARED_DIR", "value": self.path}],
            "volumeMounts": [{"name": self.volume, "mountPath": self.path}],
        })
    }
}

/// The edits that stage the payload of `engine` for the container at `index`.
///
/// # Errors
/// An obstacle: the payload names no image, or something of the user's is in the way. A part of the Pod that has no type a
/// Pod has is [`SkipReason::PodMalformed`].
pub(super) fn plan(
    engine: &dyn EngineSpec,
    pod: &Value,
    index: usize,
    system: &System,
    warnings: &mut Vec<String>,
) -> Result<Vec<Edit>, Skip> {
    let names = &system.staging;
    let target = container::containers(pod).get(index).unwrap_or(&Value::Null);
    let because = |what: &str| format!("the payload cannot be staged for container {}: {what}", named(target));
    let payload = engine.payload_image().filter(|payload| names_a_payload(payload));
    let Some(payload) = payload else {
        let problem = because("the engine's payloadImage names no payload");
        return Err(blocked(system, Obstacle::PayloadImageUnset, problem));
    };
    if let Err(expected) = cleaned(payload).check() {
        let problem = because(&format!("the engine's payloadImage {expected}"));
        return Err(blocked(system, Obstacle::PayloadImageUnset, problem));
    }
    let mut edits = Vec::with_capacity(5);
    let mut obstacles = Vec::with_capacity(4);
    let program = names.program(payload);
    let staged = pod_edits::init_container_by_name(pod, names.init_container)
        .is_some_and(|existing| does_the_same(existing, &program, pod, system));
    if let Some(user) = occupancy::other_user(pod, target, names) {
        let problem = because(&format!("volume {} is mounted by {user}", names.volume));
        return Err(blocked(system, Obstacle::VolumeNameTaken, problem));
    }
    if let Some(path) = occupancy::below(target, names.path) {
        let problem = because(&format!("{} is mounted below {}", quoted(path), names.path));
        return Err(blocked(system, Obstacle::MountPathTaken, problem));
    }
    if !(staged && occupancy::is_empty_dir(pod, names.volume)) {
        edits.push(Edit::AppendVolume(names.volume()));
        obstacles.push(Obstacle::VolumeNameTaken);
    }
    if !staged {
        let container = init_container(program, payload, pod, target);
        warnings.extend(nameless_user(&container, pod));
        edits.push(Edit::AppendInitContainer(container));
        obstacles.push(Obstacle::InitContainerNameTaken);
    }
    warnings.extend(behind(target, names.path));
    edits.push(Edit::AppendMount {
        container: index,
        mount: names.mount(),
    });
    obstacles.push(Obstacle::MountPathTaken);
    edits.push(Edit::PrependPath {
        container: index,
        name: PYTHON_PATH.to_owned(),
        entry: names.path.to_owned(),
    });
    obstacles.push(Obstacle::PythonPathNotLiteral);
    let secrets = pull_secrets::of(pod, engine, system.keys, warnings);
    if !secrets.is_empty() {
        edits.push(Edit::AppendPullSecrets(secrets));
    }
    let plan = Plan::from(edits);
    match plan.check(pod) {
        Ok(()) => Ok(plan.edits),
        Err((failed, error)) => Err(failure(system, obstacles.get(failed).copied(), &error, target)),
    }
}

fn failure(system: &System, obstacle: Option<Obstacle>, error: &EditError, target: &Value) -> Skip {
    let problem = format!("the payload cannot be staged for container {}: {error}", named(target));
    match obstacle {
        Some(obstacle) if !error.malformed => blocked(system, obstacle, problem),
        _ => Skip::new(SkipReason::PodMalformed, problem, "give that member its type"),
    }
}

/// A payload that cannot be staged. CacheBlend has no annotation of its own for the obstacle, but the Go operator's
/// reason for the commonest one.
fn blocked(system: &System, obstacle: Obstacle, problem: String) -> Skip {
    let reason = if system.blends() && obstacle == Obstacle::PayloadImageUnset {
        SkipReason::PayloadImageUnset
    } else {
        SkipReason::PayloadNotStaged
    };
    Skip {
        obstacle: Some(obstacle),
        ..Skip::new(reason, problem, obstacle.remedy())
    }
}

/// The default repository is what the CRD fills in where nobody chose one: it carries no payload.
pub(crate) fn names_a_payload(payload: &ImageSpec) -> bool {
    let repository = payload.repository.as_deref().unwrap_or_default().trim();
    !repository.is_empty() && !is_default_repository(repository)
}

/// The image without what counts as nothing: an empty tag, and white space around the names, which the API server refuses.
fn cleaned(payload: &ImageSpec) -> ImageSpec {
    let text = |text: &Option<String>| {
        text.as_deref()
            .map(str::trim)
            .filter(|text| !text.is_empty())
            .map(str::to_owned)
    };
    ImageSpec {
        repository: text(&payload.repository),
        tag: text(&payload.tag),
        ..payload.clone()
    }
}

/// Does an init container of our name stage the payload? What we staged ourselves still does after another webhook pinned
/// the image to a digest or sent it through a mirror.
fn does_the_same(existing: &Value, program: &Value, pod: &Value, system: &System) -> bool {
    if pod_edits::same_init_container(existing, program) {
        return true;
    }
    let stamp = if system.blends() {
        system.keys.injected
    } else {
        PAYLOAD_STAGED
    };
    if metadata::annotation(pod, stamp) != Some("true") {
        return false;
    }
    let image = |container: &Value| {
        container
            .get("image")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let (found, wanted) = (image(existing), image(program));
    let mut unpinned = program.clone();
    if let Some(members) = unpinned.as_object_mut() {
        members.insert("image".to_owned(), Value::String(found.clone()));
    }
    same_image_elsewhere(&found, &wanted) && pod_edits::same_init_container(existing, &unpinned)
}

/// The same name and tag, whatever the registry and the digest.
fn same_image_elsewhere(a: &str, b: &str) -> bool {
    let parts = |image| {
        let (repository, tag) = image_parts(image);
        (
            repository.rsplit('/').next().unwrap_or_default().to_owned(),
            tag.map(str::to_owned),
        )
    };
    parts(a) == parts(b) && parts(a).1.is_some()
}

/// The warning where the kubelet lets the init container run only as a user that is not root, and nobody says which: then
/// the payload image has to.
fn nameless_user(container: &Value, pod: &Value) -> Option<String> {
    let contexts = [container.get("securityContext"), pod.pointer("/spec/securityContext")];
    let first = |key: &str| {
        contexts
            .iter()
            .find_map(|context| context.and_then(|context| context.get(key)))
    };
    let not_root = first("runAsNonRoot").and_then(Value::as_bool) == Some(true);
    (not_root && first("runAsUser").is_none()).then(|| {
        "the Pod says runAsNonRoot without runAsUser: it starts only if the payload image names a user that is not root; set runAsUser"
            .to_owned()
    })
}

/// The warning where the user put something before the payload in the search path: modules there win.
fn behind(target: &Value, path: &str) -> Option<String> {
    let EnvState::Literal(value) = env::state(target, PYTHON_PATH) else {
        return None;
    };
    let place = value.split(':').position(|entry| entry.trim_end_matches('/') == path)?;
    (place > 0).then(|| {
        format!(
            "{PYTHON_PATH} of container {} has entries before {path}: an LMCache there is loaded instead of the payload",
            named(target)
        )
    })
}

/// The whole init container. The payload's own entrypoint copies the code to `SHARED_DIR`, so it has no command.
///
/// Requests equal limits, so that a Pod of class Guaranteed stays in it. The container gives up all rights that a copy
/// does without; the user is the Pod's, or that of the container which reads the code where only that one says.
fn init_container(program: Value, payload: &ImageSpec, pod: &Value, target: &Value) -> Value {
    let policy = payload.pull_policy.map_or("IfNotPresent", |policy| policy.as_str());
    let amounts = json!({"cpu": "200m", "memory": "128Mi"});
    let mut security = json!({"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}});
    let own = target.get("securityContext");
    let of_pod = pod.pointer("/spec/securityContext");
    for key in ["runAsNonRoot", "runAsUser", "runAsGroup", "seccompProfile"] {
        let set = |context: Option<&Value>| {
            context
                .and_then(|context| context.get(key))
                .filter(|value| !value.is_null())
                .cloned()
        };
        // Root is never taken over: the Pod may forbid it to everybody else. Nor is it left in effect beside a taken-over
        // `runAsNonRoot`, which comes first.
        let root = |value: &Value| key == "runAsUser" && value.as_u64() == Some(0);
        let forbidden = security.get("runAsNonRoot").and_then(Value::as_bool) == Some(true);
        if let (Some(value), None, Some(security)) = (
            set(own).filter(|value| !root(value)),
            set(of_pod).filter(|value| !(forbidden && root(value))),
            security.as_object_mut(),
        ) {
            security.insert(key.to_owned(), value);
        }
    }
    let mut container = Map::new();
    let mut program = program;
    let mut take = |key: &str| program.get_mut(key).map(Value::take).unwrap_or_default();
    for (key, value) in [
        ("name", take("name")),
        ("image", take("image")),
        ("imagePullPolicy", json!(policy)),
        ("env", take("env")),
        ("resources", json!({"requests": amounts, "limits": amounts})),
        ("securityContext", security),
        ("volumeMounts", take("volumeMounts")),
    ] {
        container.insert(key.to_owned(), value);
    }
    Value::Object(container)
}
