//! What became of a Pod, in the words that stand on it.

use super::system::System;
use crate::text::{WARNING_BYTES, ascii_line, cut};
use pod_edit::Plan;

/// What stands between problem and remedy in the warning about a Pod that is left alone.
pub(crate) const NOT_WIRED: &str = ": not wired; ";

/// Why a Pod was not wired. The text stands in the skip-reason annotation and is part of the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SkipReason {
    /// The opt-in label without the engine annotation.
    EngineAnnotationMissing,
    /// The Pod asked for both systems.
    CacheblendTakesPrecedence,
    /// The engine annotation holds no name.
    EngineReferenceInvalid,
    /// The engine is in a namespace that the Pod may not use.
    CrossNamespaceForbidden,
    /// Neither the engine nor its connection ConfigMap exists.
    EngineNotFound,
    /// The name belongs to an engine of the other kind.
    EngineKindMismatch,
    /// The connection ConfigMap cannot be used and there is no engine to render one from.
    ConnectionConfigInvalid,
    /// A look-up failed.
    LookupUnavailable,
    /// `lmcache.ai/pd-role` is neither `prefiller` nor `decoder`.
    UnknownPdRole,
    /// No such container.
    TargetContainerNotFound,
    /// The container's command does not hand its arguments on to vLLM.
    CommandOverride,
    /// The container runs a server that has no way to take the connection.
    EngineTypeUnsupported,
    /// The user's own connector stands.
    KvTransferConfigPresent,
    /// A CacheBlendEngine that names no payload.
    PayloadImageUnset,
    /// The engine's payload cannot be staged into this Pod.
    PayloadNotStaged,
    /// The client cannot work in this vLLM, or not in the engine's IPC mode.
    EngineImageIncompatible,
    /// Client and server speak different protocols.
    ClientServerSkew,
    /// vLLM's block size does not divide the server's chunk size.
    BlockSizeMismatch,
    /// The Pod would be refused once it is wired: by its namespace's Pod Security level, or by Kubernetes itself.
    PodSecurityForbidsHostIpc,
    /// The Pod is not shaped like a Pod, so it cannot be edited without damage.
    PodMalformed,
}

impl SkipReason {
    /// The text of the annotation.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::EngineAnnotationMissing => "engine-annotation-missing",
            Self::CacheblendTakesPrecedence => "cacheblend-takes-precedence",
            Self::EngineReferenceInvalid => "engine-reference-invalid",
            Self::CrossNamespaceForbidden => "cross-namespace-forbidden",
            Self::EngineNotFound => "engine-not-found",
            Self::EngineKindMismatch => "engine-kind-mismatch",
            Self::ConnectionConfigInvalid => "connection-config-invalid",
            Self::LookupUnavailable => "lookup-unavailable",
            Self::UnknownPdRole => "unknown-pd-role",
            Self::TargetContainerNotFound => "target-container-not-found",
            Self::CommandOverride => "command-override",
            Self::EngineTypeUnsupported => "engine-type-unsupported",
            Self::KvTransferConfigPresent => "kv-transfer-config-present",
            Self::PayloadImageUnset => "payload-image-unset",
            Self::PayloadNotStaged => "payload-not-staged",
            Self::EngineImageIncompatible => "engine-image-incompatible",
            Self::ClientServerSkew => "client-server-skew",
            Self::BlockSizeMismatch => "block-size-mismatch",
            Self::PodSecurityForbidsHostIpc => "pod-security-forbids-host-ipc",
            Self::PodMalformed => "pod-malformed",
        }
    }
}

/// What keeps a payload from being staged. The text stands in the payload's own skip-reason annotation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Obstacle {
    /// The engine names no payload image, or its own default one.
    PayloadImageUnset,
    /// Another volume has the name.
    VolumeNameTaken,
    /// Another init container, or a container, has the name.
    InitContainerNameTaken,
    /// Something else is mounted at the path.
    MountPathTaken,
    /// `PYTHONPATH` comes from a field, ConfigMap or Secret, so nothing can be put in front of it.
    PythonPathNotLiteral,
}

impl Obstacle {
    /// The text of the annotation.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PayloadImageUnset => "payload-image-unset",
            Self::VolumeNameTaken => "volume-name-taken",
            Self::InitContainerNameTaken => "init-container-name-taken",
            Self::MountPathTaken => "mount-path-taken",
            Self::PythonPathNotLiteral => "python-path-not-literal",
        }
    }

    /// What to change.
    pub(super) fn remedy(self) -> &'static str {
        match self {
            Self::PayloadImageUnset => "set injection.payloadImage.repository on the engine",
            Self::PythonPathNotLiteral => "give PYTHONPATH a literal value",
            Self::VolumeNameTaken | Self::InitContainerNameTaken | Self::MountPathTaken => {
                "rename or remove what is in the way"
            }
        }
    }
}

/// Why a Pod is left as it is, and what the person who reads it can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skip {
    /// The reason that goes on the Pod.
    pub reason: SkipReason,
    /// What was found, in a few words.
    pub problem: String,
    /// What to change.
    pub remedy: String,
    /// What the host said, for the log: too long and too foreign for a warning.
    pub host_error: Option<String>,
    /// What keeps the payload from being staged, where that is the reason.
    pub obstacle: Option<Obstacle>,
}

impl Skip {
    pub(crate) fn new(reason: SkipReason, problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            reason,
            problem: problem.into(),
            remedy: remedy.into(),
            host_error: None,
            obstacle: None,
        }
    }

    /// The same, for a system whose engines have no isolated mode to change to.
    pub(super) fn without_isolation(self, system: &System, remedy: &str) -> Self {
        if !system.blends() || self.reason != SkipReason::PodSecurityForbidsHostIpc {
            return self;
        }
        Self {
            remedy: remedy.to_owned(),
            ..self
        }
    }

    /// Adds what the host said.
    pub(crate) fn said_by_host(self, text: String) -> Self {
        Self {
            host_error: Some(text),
            ..self
        }
    }

    /// The sentence for a Pod that is admitted unwired. What is too long for a warning is cut from the problem: the
    /// remedy stays.
    pub fn warning(&self) -> String {
        let room = WARNING_BYTES.saturating_sub(NOT_WIRED.len() + self.remedy.len());
        format!("{}{NOT_WIRED}{}", cut(&ascii_line(&self.problem), room), self.remedy)
    }

    /// The text for a Pod that is refused instead.
    pub fn refusal(&self) -> String {
        format!("{}: {}; {}", self.reason.as_str(), self.problem, self.remedy)
    }
}

/// The verdict on a Pod.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The Pod did not ask for anything: it is none of our business.
    NotOptedIn,
    /// The Pod asked, but the policy has no part in that: it stages payloads, and the engine has none.
    NotNeeded,
    /// The Pod stays as it is but for the reason on it.
    Skipped(SkipReason),
    /// The Pod is wired; the reason is there when one part was the user's own.
    Wired(Option<SkipReason>),
    /// The Pod is refused because a setting or its own annotation asks for that.
    Refused {
        /// Why it could not be wired.
        reason: SkipReason,
        /// Text for the user.
        message: String,
        /// HTTP status: 404 for a missing engine, 503 for a look-up that failed.
        code: u16,
    },
}

/// The verdict with everything that follows from it.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// What became of the Pod.
    pub outcome: Outcome,
    /// The edits, to be applied whole or not at all.
    pub plan: Plan,
    /// One sentence each.
    pub warnings: Vec<String>,
    /// The engine as `namespace/name`, empty where none was named.
    pub engine: String,
    /// What the host said to a look-up that failed, for the log.
    pub host_error: Option<String>,
    /// What keeps the payload from being staged, where that is the reason.
    pub obstacle: Option<Obstacle>,
}
