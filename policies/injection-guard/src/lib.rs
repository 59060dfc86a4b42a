//! Kubewarden policy: what the policies wrote on a Pod is true, stays as it is, and is up to date.
//!
//! A stamp such as `lmcache.ai/lmcache-injected: "true"` is accepted only on a Pod that holds the wiring it claims; nobody
//! changes our labels and annotations later; and in an audit, Pods are reported that no longer agree with their engine. See
//! the README for settings, and for the two ways in which the policy is installed.

use kubewarden_policy_sdk::wapc_guest::CallResult;
use policy_kit::cluster::HostCluster;
use policy_kit::guard::{Settings, admit};
use policy_kit::request::Request;

policy_kit::register_policy!(validate, validate_settings);

/// Answers one admission request.
///
/// # Errors
/// Never in practice: what cannot be read claims nothing, and is let through.
pub fn validate(payload: &[u8]) -> CallResult {
    admit("injection-guard", &Request::read(payload), &HostCluster).encode()
}

/// Checks the settings when the policy is loaded.
///
/// # Errors
/// Never in practice: bad settings are an answer, not an error.
pub fn validate_settings(payload: &[u8]) -> CallResult {
    policy_kit::settings::validate(payload, Settings::read)
}
