//! Kubewarden policy: everything that a Pod of a model server needs to use its engine, in one step.
//!
//! It does what connection-injection, payload-staging and cacheblend-injection do, with one set of look-ups and as a whole
//! or not at all: a Pod never gets a connector whose code was not staged. See the README for settings and reasons.

use kubewarden_policy_sdk::wapc_guest::CallResult;
use policy_kit::cluster::HostCluster;
use policy_kit::pod::{POD_INJECTION, admit};
use policy_kit::request::Request;

policy_kit::register_policy!(validate, validate_settings);

/// Answers one admission request.
///
/// # Errors
/// Never in practice: what cannot be read is let through, because an error would refuse the Pod.
pub fn validate(payload: &[u8]) -> CallResult {
    admit(&POD_INJECTION, &Request::read(payload), &HostCluster).encode()
}

/// Checks the settings when the policy is loaded.
///
/// # Errors
/// Never in practice: bad settings are an answer, not an error.
pub fn validate_settings(payload: &[u8]) -> CallResult {
    policy_kit::settings::validate(payload, POD_INJECTION.settings)
}
