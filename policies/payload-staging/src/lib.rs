//! Kubewarden policy: stages the payload of an LMCacheEngine into the Pods that use it.
//!
//! A Pod that is wired to an engine with `injection.payloadImage` gets a volume, an init container that fills it with
//! LMCache's code, and that code in front of its `PYTHONPATH`. It decides like connection-injection, which wires the
//! connection. See the README for settings and reasons.

use kubewarden_policy_sdk::wapc_guest::CallResult;
use policy_kit::cluster::HostCluster;
use policy_kit::pod::{PAYLOAD_STAGING, admit};
use policy_kit::request::Request;

policy_kit::register_policy!(validate, validate_settings);

/// Answers one admission request.
///
/// # Errors
/// Never in practice: what cannot be read is let through, because an error would refuse the Pod.
pub fn validate(payload: &[u8]) -> CallResult {
    admit(&PAYLOAD_STAGING, &Request::read(payload), &HostCluster).encode()
}

/// Checks the settings when the policy is loaded.
///
/// # Errors
/// Never in practice: bad settings are an answer, not an error.
pub fn validate_settings(payload: &[u8]) -> CallResult {
    policy_kit::settings::validate(payload, PAYLOAD_STAGING.settings)
}
