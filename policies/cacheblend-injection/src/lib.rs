//! Kubewarden policy: wires the Pods of a model server to their CacheBlendEngine.
//!
//! A Pod that carries the label `lmcache.ai/cacheblend-inject: "true"` and the annotation `lmcache.ai/cacheblend-engine` gets
//! the engine's connector with its code, the engine's way of sharing memory, and the arguments that CacheBlend needs. A Pod
//! that cannot be wired starts all the same and carries the reason. See the README for settings and reasons.

use kubewarden_policy_sdk::wapc_guest::CallResult;
use policy_kit::cluster::HostCluster;
use policy_kit::pod::{CACHEBLEND_INJECTION, admit};
use policy_kit::request::Request;

policy_kit::register_policy!(validate, validate_settings);

/// Answers one admission request.
///
/// # Errors
/// Never in practice: what cannot be read is let through, because an error would refuse the Pod.
pub fn validate(payload: &[u8]) -> CallResult {
    admit(&CACHEBLEND_INJECTION, &Request::read(payload), &HostCluster).encode()
}

/// Checks the settings when the policy is loaded.
///
/// # Errors
/// Never in practice: bad settings are an answer, not an error.
pub fn validate_settings(payload: &[u8]) -> CallResult {
    policy_kit::settings::validate(payload, CACHEBLEND_INJECTION.settings)
}
