//! Members of the Pod's `spec` that belong to no container: host IPC, service links, pull secrets, init containers.

use serde_json::{Value, json};

use crate::container::init_containers;
use crate::env;
use crate::json::{checked_list, list, list_member_mut, spec_mut, text};
use crate::volume;
use crate::{EditError, error};

/// Whether the Pod shares the IPC namespace of its node.
pub fn host_ipc(pod: &Value) -> bool {
    flag(pod, "hostIPC") == Some(true)
}

/// `spec.enableServiceLinks`; `None` when unset, which Kubernetes reads as `true`.
pub fn service_links(pod: &Value) -> Option<bool> {
    flag(pod, "enableServiceLinks")
}

/// The names in `spec.imagePullSecrets`, in order, duplicates included.
pub fn pull_secrets(pod: &Value) -> impl Iterator<Item = &str> {
    pod.get("spec")
        .and_then(|spec| spec.get("imagePullSecrets"))
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|secret| text(secret, "name"))
}

/// The first init container of that name.
pub fn init_container_by_name<'a>(pod: &'a Value, name: &str) -> Option<&'a Value> {
    init_containers(pod)
        .iter()
        .find(|container| text(container, "name") == Some(name))
}

/// Whether an init container that stands in a Pod does what `wanted` would do.
///
/// Everything that `wanted` sets must be there. What it does not set may be there as well, since the API server fills in
/// defaults and mounts the service account token; but not a command, arguments, a working directory or a restart policy,
/// which would make it another program. Entries that were added to one of its lists do no harm, missing ones do.
pub fn same_init_container(existing: &Value, wanted: &Value) -> bool {
    let unset = |value: Option<&Value>| match value {
        None | Some(Value::Null) => true,
        Some(Value::Array(items)) => items.is_empty(),
        Some(Value::String(text)) => text.is_empty(),
        Some(_) => false,
    };
    let runs_alike = ["command", "args", "workingDir", "restartPolicy"]
        .into_iter()
        .all(|key| {
            let (there, ours) = (existing.get(key), wanted.get(key));
            there == ours || (unset(there) && unset(ours))
        });
    // A list in which more of the same follows could undo what the wanted entry does.
    let variables_alike = list(wanted, "env").iter().all(|variable| {
        let name = text(variable, "name").unwrap_or_default();
        env::count(existing, name) == 1
    });
    let mounts_alike = list(wanted, "volumeMounts").iter().all(|mount| {
        let path = text(mount, "mountPath").unwrap_or_default();
        let mut there = list(existing, "volumeMounts")
            .iter()
            .filter(|other| text(other, "mountPath").is_some_and(|mounted| volume::same_path(mounted, path)));
        // A second mount at the path would hide the first.
        matches!((there.next(), there.next()), (Some(other), None) if volume::same_mount(other, mount))
    });
    // Mounts were compared: their paths may be spelled in more than one way.
    let rest_alike = wanted.as_object().is_some_and(|wanted| {
        let mut rest = wanted.iter().filter(|(key, _)| *key != "volumeMounts");
        rest.all(|(key, value)| existing.get(key).is_some_and(|other| covers(other, value)))
    });
    runs_alike && variables_alike && mounts_alike && rest_alike
}

/// Whether `existing` has everything that `wanted` has: members of objects, and entries of lists in their order.
fn covers(existing: &Value, wanted: &Value) -> bool {
    match (existing, wanted) {
        (Value::Object(there), Value::Object(ours)) => ours
            .iter()
            .all(|(key, value)| there.get(key).is_some_and(|other| covers(other, value))),
        (Value::Array(there), Value::Array(ours)) => {
            let mut rest = there.iter();
            ours.iter().all(|value| rest.any(|other| covers(other, value)))
        }
        _ => existing == wanted,
    }
}

fn flag(pod: &Value, key: &str) -> Option<bool> {
    pod.get("spec")?.get(key)?.as_bool()
}

/// Sets `hostIPC: true`, also where the user wrote `false`.
pub(crate) fn set_host_ipc(pod: &mut Value) -> Result<bool, EditError> {
    set_flag(pod, "hostIPC", true)
}

/// Sets `enableServiceLinks: false` where it is unset; an explicit value is the user's decision and stands.
pub(crate) fn disable_service_links(pod: &mut Value) -> Result<bool, EditError> {
    match service_links(pod) {
        Some(_) => Ok(false),
        None => set_flag(pod, "enableServiceLinks", false),
    }
}

fn set_flag(pod: &mut Value, key: &str, wanted: bool) -> Result<bool, EditError> {
    let spec = spec_mut(pod)?;
    match spec.get(key) {
        None | Some(Value::Null) => {}
        Some(Value::Bool(value)) if *value == wanted => return Ok(false),
        Some(Value::Bool(_)) => {}
        Some(other) => return Err(EditError::unexpected(format!("spec.{key}"), other, "a boolean")),
    }
    spec.insert(key.to_owned(), Value::Bool(wanted));
    Ok(true)
}

/// Appends the names that are not there yet, each once. Writes nothing when there is nothing to add.
pub(crate) fn append_pull_secrets(pod: &mut Value, names: &[String]) -> Result<bool, EditError> {
    let key = "imagePullSecrets";
    let spec = pod.get("spec").unwrap_or(&Value::Null);
    let existing = checked_list(spec, key, "spec")?;
    let mut missing: Vec<&String> = Vec::new();
    for name in names {
        let known = existing.iter().any(|secret| text(secret, "name") == Some(name));
        if !known && !missing.contains(&name) {
            missing.push(name);
        }
    }
    if missing.is_empty() {
        return Ok(false);
    }
    let secrets = list_member_mut(spec_mut(pod)?, key, "spec")?;
    secrets.extend(missing.into_iter().map(|name| json!({ "name": name })));
    Ok(true)
}

/// Appends an init container, last, so that it runs after the user's.
pub(crate) fn append_init_container(pod: &mut Value, container: &Value) -> Result<bool, EditError> {
    let key = "initContainers";
    let name = own_name(container, "spec.initContainers[].name")?;
    checked_list(pod.get("spec").unwrap_or(&Value::Null), key, "spec")?;
    match init_container_by_name(pod, name) {
        Some(existing) if same_init_container(existing, container) => return Ok(false),
        Some(_) => {
            return Err(taken(
                "spec.initContainers",
                name,
                "no other init container of that name",
            ));
        }
        None => {}
    }
    if crate::container::index_by_name(pod, name).is_some() {
        return Err(taken(
            "spec.containers",
            name,
            "no container of the name that the init container gets",
        ));
    }
    list_member_mut(spec_mut(pod)?, key, "spec")?.push(container.clone());
    Ok(true)
}

/// The name that an entry to be appended must have.
pub(crate) fn own_name<'a>(entry: &'a Value, path: &str) -> Result<&'a str, EditError> {
    match entry.get("name") {
        Some(Value::String(name)) if !name.is_empty() => Ok(name),
        Some(other) => Err(EditError::unexpected(path, other, "a name")),
        None => Err(EditError::new(path, "nothing", "a name")),
    }
}

pub(crate) fn taken(path: impl Into<String>, name: &str, expected: &'static str) -> EditError {
    EditError::new(path, format!("another entry {}", error::quote(name)), expected)
}
