//! Why a Pod is not wired: the words that stand on it, and what they mean.

use crate::words;

words! {
    /// Why a Pod was not wired. The text stands in the skip-reason annotation and is part of the contract.
    pub enum SkipReason {
        /// The opt-in label without the engine annotation.
        EngineAnnotationMissing = "engine-annotation-missing",
        /// The Pod asked for both systems.
        CacheblendTakesPrecedence = "cacheblend-takes-precedence",
        /// The engine annotation holds no name.
        EngineReferenceInvalid = "engine-reference-invalid",
        /// The engine is in a namespace that the Pod may not use.
        CrossNamespaceForbidden = "cross-namespace-forbidden",
        /// A look-up failed.
        LookupUnavailable = "lookup-unavailable",
        /// The name belongs to an engine of the other kind.
        EngineKindMismatch = "engine-kind-mismatch",
        /// Neither the engine nor its connection ConfigMap exists.
        EngineNotFound = "engine-not-found",
        /// `lmcache.ai/pd-role` is neither `prefiller` nor `decoder`.
        UnknownPdRole = "unknown-pd-role",
        /// The connection ConfigMap cannot be used and there is no engine to render one from.
        ConnectionConfigInvalid = "connection-config-invalid",
        /// No such container.
        TargetContainerNotFound = "target-container-not-found",
        /// The container runs a server that has no way to take the connection.
        EngineTypeUnsupported = "engine-type-unsupported",
        /// The container's command does not hand its arguments on to vLLM.
        CommandOverride = "command-override",
        /// The user's own connector stands.
        KvTransferConfigPresent = "kv-transfer-config-present",
        /// A CacheBlendEngine that names no payload.
        PayloadImageUnset = "payload-image-unset",
        /// The engine's payload cannot be staged into this Pod.
        PayloadNotStaged = "payload-not-staged",
        /// The client cannot work in this vLLM, or not in the engine's IPC mode.
        EngineImageIncompatible = "engine-image-incompatible",
        /// Client and server speak different protocols.
        ClientServerSkew = "client-server-skew",
        /// vLLM's block size does not divide the server's chunk size.
        BlockSizeMismatch = "block-size-mismatch",
        /// The Pod would be refused once it is wired: by its namespace's Pod Security level, or by Kubernetes itself.
        PodSecurityForbidsHostIpc = "pod-security-forbids-host-ipc",
        /// The Pod is not shaped like a Pod, so it cannot be edited without damage.
        PodMalformed = "pod-malformed",
    }
}

words! {
    /// What keeps a payload from being staged. The text stands in the payload's own skip-reason annotation.
    pub enum Obstacle {
        /// The engine names no payload image, or its own default one.
        PayloadImageUnset = "payload-image-unset",
        /// Another volume has the name.
        VolumeNameTaken = "volume-name-taken",
        /// Another init container, or a container, has the name.
        InitContainerNameTaken = "init-container-name-taken",
        /// Something else is mounted at the path.
        MountPathTaken = "mount-path-taken",
        /// `PYTHONPATH` comes from a field, ConfigMap or Secret, so nothing can be put in front of it.
        PythonPathNotLiteral = "python-path-not-literal",
    }
}

/// Of which engines a Pod asks that a reason is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asks {
    /// LMCacheEngines.
    LMCache,
    /// CacheBlendEngines.
    CacheBlend,
    /// Either.
    Both,
}

impl SkipReason {
    /// Which Pods can have it.
    pub const fn of(self) -> Asks {
        match self {
            Self::CacheblendTakesPrecedence
            | Self::ConnectionConfigInvalid
            | Self::EngineImageIncompatible
            | Self::ClientServerSkew => Asks::LMCache,
            Self::PayloadImageUnset => Asks::CacheBlend,
            Self::EngineAnnotationMissing
            | Self::EngineReferenceInvalid
            | Self::CrossNamespaceForbidden
            | Self::LookupUnavailable
            | Self::EngineKindMismatch
            | Self::EngineNotFound
            | Self::UnknownPdRole
            | Self::TargetContainerNotFound
            | Self::EngineTypeUnsupported
            | Self::CommandOverride
            | Self::KvTransferConfigPresent
            | Self::PayloadNotStaged
            | Self::BlockSizeMismatch
            | Self::PodSecurityForbidsHostIpc
            | Self::PodMalformed => Asks::Both,
        }
    }

    /// What was found, for documentation.
    pub const fn cause(self) -> &'static str {
        match self {
            Self::EngineAnnotationMissing => "the Pod has the label, and no annotation that names an engine",
            Self::CacheblendTakesPrecedence => "the Pod opts in to a CacheBlendEngine too",
            Self::EngineReferenceInvalid => "the annotation is neither a name nor `namespace/name`",
            Self::CrossNamespaceForbidden => "the engine is in another namespace, which the settings do not allow",
            Self::LookupUnavailable => "the engine, its ConfigMap or the Namespace could not be read",
            Self::EngineKindMismatch => "the name is that of an engine of the other kind",
            Self::EngineNotFound => "there is no such engine",
            Self::UnknownPdRole => {
                "the engine has `spec.pd`, and `lmcache.ai/pd-role` is neither `prefiller` nor `decoder`"
            }
            Self::ConnectionConfigInvalid => "there is no engine, and the ConfigMap of its name holds no connection",
            Self::TargetContainerNotFound => "the container that annotation or engine names is not in the Pod",
            Self::EngineTypeUnsupported => "the container runs SGLang, which takes no `--kv-transfer-config`",
            Self::CommandOverride => "a shell or an unknown program starts vLLM, and would not hand arguments on",
            Self::KvTransferConfigPresent => {
                "the container has a `--kv-transfer-config` of its own. Beside a stamp: only that was left as it is"
            }
            Self::PayloadImageUnset => "the engine names no image of the plugin",
            Self::PayloadNotStaged => "the engine's code cannot be put into this Pod; see the next table",
            Self::EngineImageIncompatible => {
                "this LMCache does not work in this vLLM, or not with the engine's way of sharing memory"
            }
            Self::ClientServerSkew => "LMCache in the Pod and in the server speak different protocols",
            Self::BlockSizeMismatch => "vLLM's block size does not divide the engine's chunk size",
            Self::PodSecurityForbidsHostIpc => {
                "Kubernetes would refuse the wired Pod: Pod Security of the namespace, `hostUsers: false`, or a sysctl"
            }
            Self::PodMalformed => "a part of the Pod has a type that no Pod has",
        }
    }

    /// What to do, for documentation.
    pub const fn cure(self) -> &'static str {
        match self {
            Self::EngineAnnotationMissing => "name the engine in the annotation, on the Pod template",
            Self::CacheblendTakesPrecedence => "keep one of the two opt-ins",
            Self::EngineReferenceInvalid => "write the name as `kubectl get lmcacheengines,cacheblendengines` shows it",
            Self::CrossNamespaceForbidden => {
                "use an engine of the Pod's namespace, or add the engine's to `allowedEngineNamespaces`"
            }
            Self::LookupUnavailable => {
                "grant what the admission warning names; if nothing is missing, recreate the Pod"
            }
            Self::EngineKindMismatch => {
                "name an engine of the right kind, or use the other system's label and annotation"
            }
            Self::EngineNotFound => {
                "create the engine, then recreate the Pod; where both come at once, set `lmcache.ai/on-missing-engine: Deny`"
            }
            Self::UnknownPdRole => "correct the annotation",
            Self::ConnectionConfigInvalid => "create the engine",
            Self::TargetContainerNotFound => "correct the name; init containers do not count",
            Self::EngineTypeUnsupported => "none here: configure LMCache by SGLang's own means",
            Self::CommandOverride => "run vLLM without a shell: `command: [vllm, serve]` and arguments in `args`",
            Self::KvTransferConfigPresent => "remove the flag to use the engine's connection",
            Self::PayloadImageUnset => "set `injection.payloadImage.repository` on the engine",
            Self::PayloadNotStaged => "rename what is in the way, or correct the engine",
            Self::EngineImageIncompatible | Self::ClientServerSkew => {
                "use releases that work together; where tags do not tell, say them in `lmcache.ai/client-release` and \
                 `lmcache.ai/vllm-release`"
            }
            Self::BlockSizeMismatch => "use a divisor of the chunk size",
            Self::PodSecurityForbidsHostIpc => "an engine with `isolatedIPC: true`, or another namespace",
            Self::PodMalformed => "correct the Pod; the API server will refuse it anyway",
        }
    }
}

impl Obstacle {
    /// What was found, for documentation.
    pub const fn cause(self) -> &'static str {
        match self {
            Self::PayloadImageUnset => {
                "`payloadImage` names no repository, or the engine's default image, which carries no payload"
            }
            Self::VolumeNameTaken => "another volume has the name of ours, or another container mounts ours otherwise",
            Self::InitContainerNameTaken => "another container has the name of our init container",
            Self::MountPathTaken => "something else is mounted at or below the path of the payload",
            Self::PythonPathNotLiteral => {
                "`PYTHONPATH` comes from `valueFrom`, so that nothing can be put in front of it"
            }
        }
    }

    /// What to change.
    pub const fn remedy(self) -> &'static str {
        match self {
            Self::PayloadImageUnset => "set injection.payloadImage.repository on the engine",
            Self::PythonPathNotLiteral => "give PYTHONPATH a literal value",
            Self::VolumeNameTaken | Self::InitContainerNameTaken | Self::MountPathTaken => {
                "rename or remove what is in the way"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    /// Longer texts about each are in the README of pod-injection, and in docs/troubleshooting.md.
    #[test]
    fn every_reason_is_on_the_pages_that_explain_it() {
        let readme = include_str!("../../../../policies/pod-injection/README.md");
        let troubleshooting = include_str!("../../../../docs/troubleshooting.md");
        for reason in SkipReason::ALL {
            let letters = match reason.of() {
                Asks::LMCache => "L",
                Asks::CacheBlend => "B",
                Asks::Both => "L B",
            };
            let row = format!("\n| `{}` | {letters} |", reason.as_str());
            assert!(readme.contains(&row), "{row}");
            let row = format!("\n| `{}` |", reason.as_str());
            assert!(troubleshooting.contains(&row), "{row}");
        }
        for obstacle in Obstacle::ALL {
            let row = format!("\n| `{}` |", obstacle.as_str());
            assert!(readme.contains(&row), "{row}");
        }
    }
}
