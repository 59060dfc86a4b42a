//! Reading the containers of a Pod.

use serde_json::{Map, Value};

use crate::EditError;
use crate::json::{list, member, object_mut, spec_mut, text};

/// Containers that service meshes and other injectors add, by the names they give them. None of them runs an engine.
const PROXIES: [&str; 11] = [
    "istio-proxy",
    "linkerd-proxy",
    "envoy",
    "envoy-sidecar",
    "consul-dataplane",
    "kuma-sidecar",
    "vault-agent",
    "cloud-sql-proxy",
    "cloudsql-proxy",
    "daprd",
    "queue-proxy",
];

/// `spec.containers`. Empty when absent, `null` or no list. Init containers and native sidecars are not among them.
pub fn containers(pod: &Value) -> &[Value] {
    pod.get("spec").map_or(&[], |spec| list(spec, "containers"))
}

/// The index in [`containers`] of the first one of that name.
pub fn index_by_name(pod: &Value, wanted: &str) -> Option<usize> {
    containers(pod)
        .iter()
        .position(|container| name(container) == Some(wanted))
}

/// The name of a container.
pub fn name(container: &Value) -> Option<&str> {
    text(container, "name")
}

/// `spec.initContainers`, native sidecars included. Empty when absent, `null` or no list.
pub fn init_containers(pod: &Value) -> &[Value] {
    pod.get("spec").map_or(&[], |spec| list(spec, "initContainers"))
}

/// Whether a container asks for a GPU or another accelerator: by a device plugin's resource in its limits or requests, or by
/// any resource claim. A quantity of zero asks for nothing.
pub fn wants_accelerator(container: &Value) -> bool {
    let Some(resources) = member(container, "resources") else {
        return false;
    };
    let asks = |kind: &str| {
        resources.get(kind).and_then(Value::as_object).is_some_and(|amounts| {
            amounts
                .iter()
                .any(|(resource, amount)| is_accelerator(resource) && !is_zero(amount))
        })
    };
    asks("limits") || asks("requests") || !list(resources, "claims").is_empty()
}

/// Whether a container is a proxy or agent that another injector put there, judged by its name.
pub fn is_known_proxy(container: &Value) -> bool {
    name(container).is_some_and(|name| name.ends_with("-proxy") || PROXIES.contains(&name))
}

fn is_accelerator(resource: &str) -> bool {
    matches!(resource, "nvidia.com/gpu" | "nvidia.com/gpu.shared" | "amd.com/gpu")
        || resource.starts_with("nvidia.com/mig-")
        || resource.starts_with("gpu.intel.com/")
}

/// A quantity is zero when its digits are, whatever its suffix says. What is no quantity at all counts as zero.
fn is_zero(amount: &Value) -> bool {
    match amount {
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => {
            let digits = text.split(['e', 'E']).next().unwrap_or_default();
            !digits.bytes().any(|byte| byte.is_ascii_digit() && byte != b'0')
        }
        _ => true,
    }
}

/// `spec.containers[index]` in an error message.
pub(crate) fn path(index: usize) -> String {
    format!("spec.containers[{index}]")
}

/// A container before an edit.
pub(crate) fn at(pod: &Value, index: usize) -> Result<&Value, EditError> {
    match containers(pod).get(index) {
        Some(container @ Value::Object(_)) => Ok(container),
        Some(other) => Err(EditError::unexpected(path(index), other, "an object")),
        None => Err(missing(pod, index)),
    }
}

/// A container for an edit.
pub(crate) fn at_mut(pod: &mut Value, index: usize) -> Result<&mut Map<String, Value>, EditError> {
    if index >= containers(pod).len() {
        return Err(missing(pod, index));
    }
    match spec_mut(pod)?
        .get_mut("containers")
        .and_then(|containers| containers.get_mut(index))
    {
        Some(container) => object_mut(container, &path(index)),
        None => Err(EditError::new(path(index), "nothing", "an object")),
    }
}

fn missing(pod: &Value, index: usize) -> EditError {
    match pod.get("spec").and_then(|spec| member(spec, "containers")) {
        Some(other) if !other.is_array() => EditError::unexpected("spec.containers", other, "a list"),
        _ => {
            let found = format!("a Pod with {} containers", containers(pod).len());
            EditError::new(path(index), found, "a container of that index")
        }
    }
}
