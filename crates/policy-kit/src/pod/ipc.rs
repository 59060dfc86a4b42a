//! How a Pod comes to share memory with the servers of its engine.

use super::outcome::{Skip, SkipReason};
use lmcache_api::IpcMode;
use pod_edit::{Edit, container, volume};
use serde_json::{Value, json};

/// Where CUDA IPC handles and shared KV buffers live.
const SHM_PATH: &str = "/dev/shm";
/// Name of the volume that we add for it.
pub(super) const SHM_VOLUME: &str = "lmcache-dev-shm";

/// What has to be done to a Pod.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Wiring {
    pub edits: Vec<Edit>,
    pub warnings: Vec<String>,
    /// A host namespace or a path of the host is added: the namespace's Pod Security level has a say.
    pub touches_host: bool,
}

/// Plans the edits for one mode on one target container.
pub(super) fn plan(mode: IpcMode, pod: &Value, target: usize) -> Wiring {
    let mut wiring = Wiring::default();
    let host_ipc = pod.pointer("/spec/hostIPC").and_then(Value::as_bool);
    let Some(container) = container::containers(pod).get(target) else {
        return wiring;
    };
    let shadow = volume::mount_at(container, SHM_PATH)
        .and_then(|mount| mount.get("name"))
        .and_then(Value::as_str);
    let host_path = |name: &str| {
        volume::volume_by_name(pod, name)
            .and_then(|volume| volume.pointer("/hostPath/path"))
            .and_then(Value::as_str)
            == Some(SHM_PATH)
    };
    let shadowed = shadow.is_some_and(|name| !host_path(name));
    if shadowed && mode != IpcMode::Isolated {
        wiring.warnings.push(format!(
            "{SHM_PATH} of the host is shadowed by volume {} in the target container: CUDA IPC with the engine will fail; remove that mount",
            crate::text::quoted(shadow.unwrap_or_default())
        ));
    }
    match mode {
        IpcMode::HostIPC => {
            if host_ipc == Some(true) {
                return wiring;
            }
            if host_ipc == Some(false) {
                wiring
                    .warnings
                    .push("the Pod says hostIPC: false, but the engine shares host IPC: set to true".to_owned());
            }
            wiring.edits.push(Edit::SetHostIpc);
            wiring.touches_host = true;
        }
        IpcMode::HostShm | IpcMode::Isolated => {
            if host_ipc == Some(true) || shadow.is_some() {
                return wiring;
            }
            let volume = shm_volume(mode);
            let mount = Edit::AppendMount {
                container: target,
                mount: json!({"name": SHM_VOLUME, "mountPath": SHM_PATH}),
            };
            match volume::volume_by_name(pod, SHM_VOLUME) {
                Some(existing) if *existing == volume => wiring.edits.push(mount),
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
    wiring
}

fn shm_volume(mode: IpcMode) -> Value {
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
        format!(
            "namespace {namespace} enforces Pod Security {level}, which forbids host IPC: not wired; use an engine with isolatedIPC: true, or another namespace"
        ),
    )
}

/// Does this Pod Security level refuse host namespaces and host paths?
pub(super) fn forbids_host(level: &str) -> bool {
    matches!(level, "baseline" | "restricted")
}
