//! The labels, annotations and object names of the contract.
//!
//! They are those of the Go operator, so that manifests written for it keep working. `lmcache.ai/` is the prefix of Pod
//! labels and annotations only; the API group of the kinds is `lmcache.lmcache.ai`.

/// Prefix of all labels and annotations of ours.
pub const PREFIX: &str = "lmcache.ai/";
/// Annotation of the connection ConfigMap: the IPC mode that the servers run with (`HostIPC`, `HostShm`, `Isolated`).
pub const IPC_MODE: &str = "lmcache.ai/ipc-mode";
/// Pod annotation: role in prefill/decode disaggregation, `prefiller` or `decoder`.
pub const PD_ROLE: &str = "lmcache.ai/pd-role";
/// Pod annotation: what to do when the engine does not exist, `Admit` or `Deny`. Wins over the setting.
pub const ON_MISSING_ENGINE: &str = "lmcache.ai/on-missing-engine";
/// Pod annotation: the LMCache release inside the serving container, for images whose tag does not say.
pub const CLIENT_RELEASE: &str = "lmcache.ai/client-release";
/// Pod annotation: the vLLM release inside the serving container, for images whose tag does not say.
pub const VLLM_RELEASE: &str = "lmcache.ai/vllm-release";
/// Annotation of a mirror Pod: the API's picture of a Pod that a kubelet runs from its own file. Nothing starts from it.
pub const MIRROR_POD: &str = "kubernetes.io/config.mirror";
/// Label of a Namespace: the Pod Security level that is enforced in it.
pub const POD_SECURITY_ENFORCE: &str = "pod-security.kubernetes.io/enforce";

/// The keys by which a Pod asks for one of the two systems and learns what became of it.
#[derive(Debug)]
pub struct SystemKeys {
    /// Opt-in label; its value must be `true`.
    pub inject: &'static str,
    /// Annotation: the engine, `name` or `namespace/name`.
    pub engine: &'static str,
    /// Annotation: the container to wire.
    pub container: &'static str,
    /// Stamp `true` on a wired Pod.
    pub injected: &'static str,
    /// Why a Pod was not wired, or not wired in full.
    pub skip_reason: &'static str,
    /// Annotation: pull secrets for the payload image, separated by commas. Replaces the engine's.
    pub pull_secrets: &'static str,
}

/// Pods that use an LMCacheEngine.
pub const LMCACHE: SystemKeys = SystemKeys {
    inject: "lmcache.ai/lmcache-inject",
    engine: "lmcache.ai/lmcache-engine",
    container: "lmcache.ai/lmcache-container",
    injected: "lmcache.ai/lmcache-injected",
    skip_reason: "lmcache.ai/lmcache-skip-reason",
    pull_secrets: "lmcache.ai/lmcache-image-pull-secrets",
};

/// Pods that use a CacheBlendEngine.
pub const CACHEBLEND: SystemKeys = SystemKeys {
    inject: "lmcache.ai/cacheblend-inject",
    engine: "lmcache.ai/cacheblend-engine",
    container: "lmcache.ai/cacheblend-container",
    injected: "lmcache.ai/cacheblend-injected",
    skip_reason: "lmcache.ai/cacheblend-skip-reason",
    pull_secrets: "lmcache.ai/cacheblend-image-pull-secrets",
};

/// Stamp `true` on a Pod into which LMCache's payload was staged.
pub const PAYLOAD_STAGED: &str = "lmcache.ai/lmcache-payload-staged";
/// Why LMCache's payload was not staged.
pub const PAYLOAD_SKIP_REASON: &str = "lmcache.ai/lmcache-payload-skip-reason";

/// The labels by which a ConfigMap is known as one that the operator made, where no engine can vouch for it.
pub const OPERATOR_LABELS: [(&str, &str); 2] = [
    ("app.kubernetes.io/name", "lmcache"),
    ("app.kubernetes.io/managed-by", "lmcache-operator"),
];
/// Label of every child of an engine: the engine's name.
pub const INSTANCE_LABEL: &str = "app.kubernetes.io/instance";
