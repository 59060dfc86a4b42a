//! One record for each decision, in the policy server's log.
//!
//! The record is the host call that the SDK's slog drain makes, made directly: slog and the drain format every type that
//! could ever be logged, floats of both widths among them, which is a tenth of a policy for one line of texts.

use kubewarden_policy_sdk::wapc_guest::host_call;
use serde::Serialize;

#[derive(Serialize)]
struct Record<'a> {
    level: &'static str,
    message: &'static str,
    line: u32,
    column: u32,
    file: &'static str,
    policy: &'static str,
    engine: &'a str,
    outcome: &'static str,
    reason: &'a str,
}

/// Writes the one record of a decision. Every record is a host call, so nothing is logged about objects that do not
/// concern us.
pub fn decision(policy: &'static str, engine: &str, outcome: &'static str, reason: &str) {
    let record = Record {
        level: "info",
        message: "decision",
        line: line!(),
        column: column!(),
        file: file!(),
        policy,
        engine,
        outcome,
        reason,
    };
    // A host that takes no log record is no reason to fail an admission.
    if let Ok(record) = serde_json::to_vec(&record) {
        let _ = host_call("kubewarden", "tracing", "log", &record);
    }
}
