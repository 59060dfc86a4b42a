//! Kubewarden policy: tells whoever applies a workload what will become of its Pods.
//!
//! The warnings of the policies that wire Pods reach the controller that creates the Pods, not the person behind it. This
//! policy makes the same decision about the Pod templates of Deployments, StatefulSets, DaemonSets, Jobs, CronJobs and
//! LeaderWorkerSets and warns at once. It never refuses and never changes anything. See the README for settings and
//! warnings.

use kubewarden_policy_sdk::wapc_guest::CallResult;
use policy_kit::cluster::HostCluster;
use policy_kit::pod::POD_INJECTION;
use policy_kit::request::Request;
use policy_kit::workload::preflight;

policy_kit::register_policy!(validate, validate_settings);

/// Answers one admission request.
///
/// # Errors
/// Never in practice: what cannot be read is let through, because an error would refuse the workload.
pub fn validate(payload: &[u8]) -> CallResult {
    preflight("workload-preflight", &Request::read(payload), &HostCluster).encode()
}

/// Checks the settings when the policy is loaded. They are those of pod-injection, so that both decide alike.
///
/// # Errors
/// Never in practice: bad settings are an answer, not an error.
pub fn validate_settings(payload: &[u8]) -> CallResult {
    policy_kit::settings::validate(payload, POD_INJECTION.settings)
}
