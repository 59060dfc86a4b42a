//! How clients reach the memory of the server on their node.

use crate::words::words;
use crate::{EngineSpec, GpuVendor, Kind, Release, server_release};

words! {
    /// How the vLLM process and the cache server on its node exchange memory.
    pub enum IpcMode {
        /// Both Pods join the host's IPC namespace (`hostIPC: true`).
        HostIPC = "HostIPC",
        /// Both Pods mount the host's `/dev/shm`.
        HostShm = "HostShm",
        /// Memory handles travel over the message queue: nothing of the host is shared.
        Isolated = "Isolated",
    }
}

/// The first release whose servers can do without shared host memory.
const FIRST_ISOLATED: Release = Release {
    major: 0,
    minor: 5,
    patch: 5,
};

/// The mode of an engine. `install_default` decides only where the engine says nothing at all.
///
/// | `isolatedIPC` | `hostIPC` | LMCacheEngine | CacheBlendEngine, which has no `isolatedIPC` |
/// |---|---|---|---|
/// | true | any | Isolated | |
/// | unset or false | true | HostIPC | HostIPC |
/// | false | unset or false | HostShm | |
/// | unset | false | nvidia Isolated, amd and releases before 0.5.5 HostShm | HostShm |
/// | unset | unset | `install_default` | `install_default` |
///
/// `hostIPC: false` alone is what the CRDs of Go operators from 0.5.4 on store into every object, hence read as the operator
/// that belongs to the servers reads it: that of 0.5.4 knows no isolation, nor do its servers. An `install_default` of Isolated gives HostShm to engines that could not be isolated by that rule: on amd,
/// and every CacheBlendEngine.
pub fn ipc_mode(spec: &dyn EngineSpec, install_default: IpcMode) -> IpcMode {
    let knows_isolation = || server_release(spec).is_none_or(|release| release >= FIRST_ISOLATED);
    let can_isolate = spec.kind() == Kind::LMCacheEngine && spec.gpu_vendor() == GpuVendor::Nvidia;
    match (spec.isolated_ipc(), spec.host_ipc()) {
        (Some(true), _) => IpcMode::Isolated,
        (_, Some(true)) => IpcMode::HostIPC,
        (Some(false), _) => IpcMode::HostShm,
        (None, Some(false)) if can_isolate && knows_isolation() => IpcMode::Isolated,
        (None, Some(false)) => IpcMode::HostShm,
        (None, None) if install_default == IpcMode::Isolated && !can_isolate => IpcMode::HostShm,
        (None, None) => install_default,
    }
}
