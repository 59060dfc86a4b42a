//! One record for each decision, in the policy server's log.
//!
//! The record is the host call that the SDK's slog drain makes, made directly: slog and the drain format every type that
//! could ever be logged, floats of both widths among them, which is a tenth of a policy for one line of texts.

use crate::text::cut;
use kubewarden_policy_sdk::wapc_guest::host_call;
use serde::Serialize;

/// What is known about a decision.
#[derive(Debug, Serialize)]
pub struct Decision<'a> {
    /// Name of the policy.
    pub policy: &'static str,
    /// The engine it is about, `namespace/name`; empty where none was named.
    pub engine: &'a str,
    /// What became of the object, one word.
    pub outcome: &'static str,
    /// Why; empty where there is nothing to explain.
    pub reason: &'a str,
    /// What the host said to a look-up that failed, cut to 300 bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_error: Option<String>,
}

#[derive(Serialize)]
struct Record<'a> {
    level: &'static str,
    message: &'static str,
    line: u32,
    column: u32,
    file: &'static str,
    #[serde(flatten)]
    decision: &'a Decision<'a>,
}

impl Decision<'_> {
    /// Writes the one record of a decision: a warning where a look-up failed. Every record is a host call, so nothing is
    /// logged about objects that do not concern us.
    pub fn write(self) {
        let decision = Self {
            host_error: self.host_error.map(|text| cut(&text, 300)),
            ..self
        };
        let record = Record {
            level: if decision.host_error.is_some() {
                "warning"
            } else {
                "info"
            },
            message: "decision",
            line: line!(),
            column: column!(),
            file: file!(),
            decision: &decision,
        };
        // A host that takes no log record is no reason to fail an admission.
        if let Ok(record) = serde_json::to_vec(&record) {
            let _ = host_call("kubewarden", "tracing", "log", &record);
        }
    }
}
