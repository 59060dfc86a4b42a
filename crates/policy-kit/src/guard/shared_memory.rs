//! A volume of the Pod's own over `/dev/shm`.
//!
//! vLLM is often given a memory volume there, since the default of a container is 64 MiB. In a Pod that shares the host's
//! memory with its engine it does harm: the buffers that server and client exchange are no longer in one place.

use super::Subject;
use super::evidence::Carrier;
use super::settings::SharedMemory;
use super::verdict::{Finding, Verdict};
use crate::pod::connection::isolated;
use crate::pod::ipc::{SHM_PATH, SHM_VOLUME};
use crate::text::quoted;
use lmcache_api::IpcMode;
use pod_edit::volume;
use serde_json::Value;

/// The name of an `emptyDir` over `/dev/shm` of a wired container that does not do without the host's.
///
/// The Pod's own word that it is isolated counts, and so does the volume that the policies add then: they may run with
/// another default mode than this policy. A connector that is not ours shares nothing with the engine.
pub(super) fn shadow<'a>(pod: &Value, carrier: &Carrier<'a>) -> Option<&'a str> {
    if carrier.takes_over || carrier.foreign || isolated(&carrier.config) {
        return None;
    }
    let mount = volume::mount_at(carrier.container, SHM_PATH)?;
    let name = mount.get("name")?.as_str()?;
    let volume = volume::volume_by_name(pod, name)?;
    (name != SHM_VOLUME && volume.get("emptyDir").is_some_and(Value::is_object)).then_some(name)
}

/// Warns of it or refuses it, unless the engine is isolated.
pub(super) fn check(subject: &Subject<'_>, carrier: &Carrier<'_>, mode: IpcMode, verdict: &mut Verdict) {
    let Some(name) = shadow(subject.pod, carrier).filter(|_| mode != IpcMode::Isolated) else {
        return;
    };
    let text = format!(
        "volume {} hides {SHM_PATH} of the host, which the engine shares ({}); remove that mount",
        quoted(name),
        mode.as_str()
    );
    verdict.because("shared-memory-shadowed");
    match subject.settings.shared_memory {
        SharedMemory::Warn => verdict.warnings.push(text),
        SharedMemory::Deny => {
            let path = format!("spec.containers[{}].volumeMounts", carrier.index);
            verdict.findings.push(Finding::new(path, text));
        }
    }
}
