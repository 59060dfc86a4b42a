//! The decision about an LMCacheEngine, CacheBlendEngine or LMCacheCoordinator.
//!
//! The rules themselves are those of `lmcache-api` and `lmcache-server`, which the controller uses too. Here is what only admission can know:
//! what the object was before, which other objects there are, and which images the platform allows.

mod clash;
mod images;
mod ratchet;

use crate::cluster::Cluster;
use crate::request::Request;
use crate::settings::{Reader, not_empty};
use lmcache_api::{FieldError, GROUP, IpcMode, Kind};
use lmcache_server::{validate, warnings};
use serde_json::Value;
use std::str::FromStr;

/// Settings of the policy `engine-validation`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// `allowedRepositories`: image repositories that engines may use, each a repository, a prefix that ends in `/*`, or `*`;
    /// `docker.io/` may be left out. Absent: any.
    pub allowed_repositories: Option<Vec<String>>,
    /// `requirePinnedImages`: refuse images whose tag can move (`latest`, `nightly`, none).
    pub require_pinned_images: bool,
    /// `ipcDefault`: the IPC mode of engines that say nothing about it, which decides whether their release can do it. Must
    /// equal the controller's and the mutating policies'.
    pub ipc_default: IpcMode,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            allowed_repositories: None,
            require_pinned_images: false,
            ipc_default: IpcMode::HostIPC,
        }
    }
}

impl Settings {
    /// Reads the settings as the user wrote them.
    ///
    /// # Errors
    /// Every complaint, sorted, in one text.
    pub fn read(json: &str) -> Result<Self, String> {
        let mut reader = Reader::new(json);
        let settings = Self {
            allowed_repositories: reader.texts("allowedRepositories", not_empty),
            require_pinned_images: reader.flag("requirePinnedImages").unwrap_or_default(),
            ipc_default: reader.choice("ipcDefault").unwrap_or(IpcMode::HostIPC),
        };
        reader.finish(settings)
    }
}

/// The verdict on an object.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Verdict {
    /// What is wrong, every fault with its path. Empty: accepted.
    pub faults: Vec<FieldError>,
    /// One sentence each.
    pub warnings: Vec<String>,
}

/// The kind under admission, where it is one of ours and its specification is what the request is about.
pub fn kind_of(request: &Request<'_>) -> Option<Kind> {
    let concerns_spec = request.sub_resource.is_none() && matches!(request.operation.as_str(), "CREATE" | "UPDATE");
    if concerns_spec && request.kind.group == GROUP {
        Kind::from_str(&request.kind.kind).ok()
    } else {
        None
    }
}

/// What happens to the object.
#[derive(Debug, Clone, Copy)]
pub enum Change<'a> {
    /// It is created.
    Create,
    /// It replaces what was stored; `None` where the request does not say what that was.
    Update(Option<&'a Value>),
}

/// Judges an object that is created or changed.
///
/// On a change, a fault that the object had before is let pass ([`ratchet`]): otherwise nobody could remove a finalizer
/// from, or mend one thing of, an object that was stored under older rules. An object that is being deleted always passes.
pub fn decide(
    kind: Kind,
    object: &Value,
    change: Change<'_>,
    namespace: Option<&str>,
    settings: &Settings,
    cluster: &dyn Cluster,
) -> Verdict {
    if object
        .pointer("/metadata/deletionTimestamp")
        .is_some_and(|time| !time.is_null())
    {
        return Verdict::default();
    }
    let mut faults = all_faults(kind, object, settings);
    let mut texts = warnings(kind, object, settings.ipc_default);
    match change {
        Change::Create => {
            let clash = clash::find(kind, object, namespace, cluster);
            faults.extend(clash.fault);
            texts.extend(clash.warnings);
        }
        Change::Update(None) => {}
        Change::Update(Some(old)) => {
            let before = all_faults(kind, old, settings);
            faults = ratchet::new_faults(faults, object, before, old);
        }
    }
    // A refusal says everything in its message.
    let warnings = if faults.is_empty() { texts } else { Vec::new() };
    Verdict { faults, warnings }
}

fn all_faults(kind: Kind, object: &Value, settings: &Settings) -> Vec<FieldError> {
    let mut faults = validate(kind, object, settings.ipc_default);
    faults.extend(images::faults(kind, object, settings));
    faults
}

/// The text of a refusal: what is refused and why, one fault a line, each starting with its path.
pub fn message(faults: &[FieldError]) -> String {
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests;
