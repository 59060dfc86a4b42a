//! Volumes and their mounts.

use serde_json::Value;

use crate::json::{checked_list, list, list_member_mut, spec_mut, text};
use crate::pod::{own_name, taken};
use crate::{EditError, container, error};

/// The volume of that name.
pub fn volume_by_name<'a>(pod: &'a Value, name: &str) -> Option<&'a Value> {
    list(pod.get("spec")?, "volumes")
        .iter()
        .find(|volume| text(volume, "name") == Some(name))
}

/// What a container has mounted at `path`. `/dev/shm`, `/dev/shm/` and `/dev//shm` are one path, as the kernel has it.
pub fn mount_at<'a>(container: &'a Value, path: &str) -> Option<&'a Value> {
    list(container, "volumeMounts")
        .iter()
        .find(|mount| text(mount, "mountPath").is_some_and(|mounted| same_path(mounted, path)))
}

/// Compares two paths without regard to repeated and trailing slashes. `..` is not resolved: the API server refuses it.
pub fn same_path(a: &str, b: &str) -> bool {
    let parts = |path| str::split(path, '/').filter(|part: &&str| !part.is_empty() && *part != ".");
    a.starts_with('/') == b.starts_with('/') && parts(a).eq(parts(b))
}

/// Whether a mount that stands in a Pod does what `wanted` would do: same volume at the same path and of the same subpath,
/// and writable if `wanted` is.
pub fn same_mount(existing: &Value, wanted: &Value) -> bool {
    let subpath = |mount, key| text(mount, key).unwrap_or_default();
    let read_only = |mount: &Value| mount.get("readOnly").and_then(Value::as_bool).unwrap_or(false);
    let path = |mount| text(mount, "mountPath").unwrap_or_default();
    text(existing, "name") == text(wanted, "name")
        && same_path(path(existing), path(wanted))
        && subpath(existing, "subPath") == subpath(wanted, "subPath")
        && subpath(existing, "subPathExpr") == subpath(wanted, "subPathExpr")
        && (read_only(wanted) || !read_only(existing))
}

/// Appends a volume. One of the same name and content is left as it is, one of other content is an error.
pub(crate) fn append_volume(pod: &mut Value, volume: &Value) -> Result<bool, EditError> {
    let name = own_name(volume, "spec.volumes[].name")?;
    checked_list(pod.get("spec").unwrap_or(&Value::Null), "volumes", "spec")?;
    match volume_by_name(pod, name) {
        Some(existing) if existing == volume => Ok(false),
        Some(_) => Err(taken("spec.volumes", name, "no other volume of that name")),
        None => {
            list_member_mut(spec_mut(pod)?, "volumes", "spec")?.push(volume.clone());
            Ok(true)
        }
    }
}

/// Appends a mount to a container. The same volume mounted there already is left as it is, another one is an error.
pub(crate) fn append_mount(pod: &mut Value, index: usize, mount: &Value) -> Result<bool, EditError> {
    let path = container::path(index);
    own_name(mount, &format!("{path}.volumeMounts[].name"))?;
    let Some(mount_path) = text(mount, "mountPath").filter(|path| !path.is_empty()) else {
        return Err(EditError::new(
            format!("{path}.volumeMounts[].mountPath"),
            "nothing",
            "a path",
        ));
    };
    let target = container::at(pod, index)?;
    checked_list(target, "volumeMounts", &path)?;
    match mount_at(target, mount_path) {
        Some(existing) if same_mount(existing, mount) => return Ok(false),
        Some(existing) => {
            let other = text(existing, "name").unwrap_or_default();
            return Err(EditError::new(
                format!("{path}.volumeMounts"),
                format!("volume {} at {}", error::quote(other), error::quote(mount_path)),
                "nothing else mounted at that path",
            ));
        }
        None => {}
    }
    if let Some(device) = list(target, "volumeDevices")
        .iter()
        .find(|device| text(device, "devicePath").is_some_and(|path| same_path(path, mount_path)))
    {
        return Err(taken(
            format!("{path}.volumeDevices"),
            text(device, "name").unwrap_or_default(),
            "no device at the path of the mount",
        ));
    }
    list_member_mut(container::at_mut(pod, index)?, "volumeMounts", &path)?.push(mount.clone());
    Ok(true)
}
