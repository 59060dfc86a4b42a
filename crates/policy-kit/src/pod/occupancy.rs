//! Who else uses the volume and the path of a payload.

use super::staging::Staging;
use super::target::named;
use pod_edit::{container, volume};
use serde_json::Value;

/// A container, other than our init container and the one that is to read the payload, that mounts the volume: it would
/// get our files among its own, or put its own among ours. The reader itself may have it only where we mount it. The name, for
/// a message.
pub(super) fn other_user(pod: &Value, target: &Value, names: &Staging) -> Option<String> {
    let containers = container::init_containers(pod).iter().chain(container::containers(pod));
    let mut others = containers.filter(|user| {
        if container::name(user) == Some(names.init_container) {
            return false;
        }
        mounts(user).any(|mount| {
            let path = text(mount, "mountPath");
            let read_only = mount.get("readOnly").and_then(Value::as_bool) == Some(true);
            let at_home = volume::same_path(path, names.path) && (read_only || std::ptr::eq(*user, target));
            text(mount, "name") == names.volume && !at_home
        })
    });
    others.next().map(|user| format!("container {}", named(user)))
}

/// A path of `target` strictly below `path` at which something is mounted. The runtime would have to make that mount point
/// inside a read-only volume, and cannot.
pub(super) fn below<'a>(target: &'a Value, path: &str) -> Option<&'a str> {
    let devices = target
        .get("volumeDevices")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let mounted = mounts(target).map(|mount| text(mount, "mountPath"));
    let mut paths = mounted.chain(devices.map(|device| text(device, "devicePath")));
    paths.find(|mounted| {
        let mut parts = mounted.split('/').filter(|part| !part.is_empty() && *part != ".");
        let starts = path
            .split('/')
            .filter(|part| !part.is_empty())
            .all(|part| parts.next() == Some(part));
        starts && parts.next().is_some()
    })
}

/// Is the volume of that name an `emptyDir`, whatever its size and medium?
pub(super) fn is_empty_dir(pod: &Value, name: &str) -> bool {
    volume::volume_by_name(pod, name).is_some_and(|volume| volume.get("emptyDir").is_some_and(Value::is_object))
}

fn mounts(container: &Value) -> impl Iterator<Item = &Value> {
    container
        .get("volumeMounts")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

fn text<'a>(object: &'a Value, key: &str) -> &'a str {
    object.get(key).and_then(Value::as_str).unwrap_or_default()
}
