//! How a Pod comes to share memory with the servers of its engine.

use super::outcome::Skip;
use super::reasons::SkipReason;
use crate::text::quoted;
use lmcache_api::IpcMode;
use pod_edit::{Edit, container, volume};
use serde_json::{Value, json};

/// Where CUDA IPC handles and shared KV buffers live.
pub(crate) const SHM_PATH: &str = "/dev/shm";
/// Name of the volume that we add for it.
pub(crate) const SHM_VOLUME: &str = "lmcache-dev-shm";

/// What has to be done to a Pod.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Wiring {
    pub edits: Vec<Edit>,
    pub warnings: Vec<String>,
    /// A host namespace or a path of the host is added: the namespace's Pod Security level has a say.
    pub touches_host: bool,
}

/// Plans the edits for one mode on one target container.
///
/// # Errors
/// A Pod that Kubernetes would refuse once it shares the host's IPC namespace.
pub(crate) fn plan(mode: IpcMode, pod: &Value, target: usize) -> Result<Wiring, Skip> {
    let mut wiring = Wiring::default();
    let host_ipc = pod.pointer("/spec/hostIPC").and_then(Value::as_bool);
    let Some(container) = container::containers(pod).get(target) else {
        return Ok(wiring);
    };
    let mounted = volume::mount_at(container, SHM_PATH);
    if let Some(mount) = mounted.filter(|mount| mode != IpcMode::Isolated && !is_host_shm(pod, mount)) {
        let name = mount.get("name").and_then(Value::as_str).unwrap_or_default();
        wiring.warnings.push(format!(
            "{SHM_PATH} of the host is shadowed by volume {} in the target container: CUDA IPC with the engine will fail; remove that mount",
            quoted(name)
        ));
    }
    if host_ipc == Some(true) {
        return Ok(wiring);
    }
    match mode {
        IpcMode::HostIPC => {
            if let Some(obstacle) = excludes_host_ipc(pod) {
                let problem = format!("{obstacle}, and Kubernetes refuses that together with host IPC");
                let remedy = "use an engine with isolatedIPC: true";
                return Err(Skip::new(SkipReason::PodSecurityForbidsHostIpc, problem, remedy));
            }
            if host_ipc == Some(false) {
                let text = "the Pod says hostIPC: false, but the engine shares host IPC: set to true";
                wiring.warnings.push(text.to_owned());
            }
            wiring.edits.push(Edit::SetHostIpc);
            wiring.touches_host = true;
        }
        IpcMode::HostShm | IpcMode::Isolated if mounted.is_some() => {}
        IpcMode::HostShm | IpcMode::Isolated => {
            let volume = shm_volume(mode);
            let mount = Edit::AppendMount {
                container: target,
                mount: shm_mount(),
            };
            match volume::volume_by_name(pod, SHM_VOLUME) {
                Some(existing) if *existing == volume => wiring.edits.push(mount),
                Some(_) if mode == IpcMode::Isolated => wiring.warnings.push(format!(
                    "the Pod has a volume {SHM_VOLUME} of its own, so no memory-backed {SHM_PATH} was added; rename that volume"
                )),
                Some(_) => wiring.warnings.push(format!(
                    "the Pod has a volume {SHM_VOLUME} of its own, so {SHM_PATH} is not shared with the engine; rename that volume"
                )),
                None => {
                    wiring.touches_host = mode == IpcMode::HostShm;
                    wiring.edits.push(Edit::AppendVolume(volume));
                    wiring.edits.push(mount);
                }
            }
        }
    }
    Ok(wiring)
}

/// Does this mount show the host's `/dev/shm`, all of it?
pub(crate) fn is_host_shm(pod: &Value, mount: &Value) -> bool {
    let part = |key: &str| {
        mount
            .get(key)
            .and_then(Value::as_str)
            .is_some_and(|path| !path.is_empty())
    };
    let name = mount.get("name").and_then(Value::as_str).unwrap_or_default();
    let host_path = volume::volume_by_name(pod, name).and_then(|volume| volume.pointer("/hostPath/path"));
    host_path
        .and_then(Value::as_str)
        .is_some_and(|path| volume::same_path(path, SHM_PATH))
        && !part("subPath")
        && !part("subPathExpr")
}

/// What in a Pod Kubernetes allows only without host IPC: a user namespace of its own, and sysctls of the IPC namespace.
fn excludes_host_ipc(pod: &Value) -> Option<String> {
    if pod.pointer("/spec/hostUsers").and_then(Value::as_bool) == Some(false) {
        return Some("the Pod says hostUsers: false".to_owned());
    }
    let sysctls = pod.pointer("/spec/securityContext/sysctls").and_then(Value::as_array);
    let names = sysctls
        .into_iter()
        .flatten()
        .filter_map(|sysctl| sysctl.get("name").and_then(Value::as_str));
    names
        .into_iter()
        .find(|name| {
            // Kubernetes takes `/` for `.` in these names.
            let name = name.replace('/', ".");
            name == "kernel.sem"
                || ["kernel.shm", "kernel.msg", "fs.mqueue."]
                    .iter()
                    .any(|prefix| name.starts_with(prefix))
        })
        .map(|name| format!("the Pod sets sysctl {}", quoted(name)))
}

/// The mount of that volume.
pub(super) fn shm_mount() -> Value {
    json!({"name": SHM_VOLUME, "mountPath": SHM_PATH})
}

/// The volume that shares memory in a mode without host IPC.
pub(super) fn shm_volume(mode: IpcMode) -> Value {
    if mode == IpcMode::Isolated {
        json!({"name": SHM_VOLUME, "emptyDir": {"medium": "Memory"}})
    } else {
        json!({"name": SHM_VOLUME, "hostPath": {"path": SHM_PATH, "type": "Directory"}})
    }
}

/// The reason to leave a Pod alone in a namespace that enforces `level`.
pub(super) fn forbidden(namespace: &str, level: &str) -> Skip {
    Skip::new(
        SkipReason::PodSecurityForbidsHostIpc,
        format!("namespace {namespace} enforces Pod Security {level}, which forbids host IPC"),
        "use an engine with isolatedIPC: true, or another namespace",
    )
}

/// Does this Pod Security level refuse host namespaces and host paths?
pub(super) fn forbids_host(level: &str) -> bool {
    matches!(level, "baseline" | "restricted")
}
