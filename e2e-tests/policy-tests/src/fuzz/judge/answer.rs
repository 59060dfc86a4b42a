//! What holds for the answer of every policy.

use super::super::subject::Subject;
use super::{Found, Violation};
use policy_host::Evaluation;
use serde_json::Value;

/// Most bytes of one warning: the API server cuts longer ones.
const WARNING_BYTES: usize = 256;
/// Most bytes of all warnings of an answer: the API server drops what goes beyond.
const WARNINGS_BYTES: usize = 4096;

/// Checks the answer of a policy.
pub fn check(subject: &Subject, evaluation: &Evaluation) -> Found {
    let response = &evaluation.response;
    if response.code() == Some(500) || response.message().starts_with("internal server error") {
        return Violation::of("failure", response.message());
    }
    if !response.allowed {
        let code = response.code().unwrap_or_default();
        if !(400..500).contains(&code) && code != 503 {
            return Violation::of("refusal-without-code", format!("code {code}: {}", response.message()));
        }
        if response.message().trim().is_empty() {
            return Violation::of("refusal-without-message", format!("code {code}"));
        }
        if response.patch.is_some() {
            return Violation::of("refusal-with-patch", response.message());
        }
    }
    warnings(response.warnings())?;
    for (key, value) in response.audit_annotations.iter().flatten() {
        if key.is_empty() || key.contains('/') || value.is_empty() {
            return Violation::of("audit-annotation", format!("{key:?}: {value:?}"));
        }
    }
    lookups(subject, evaluation)?;
    for record in &evaluation.logs {
        if record.message.is_empty() || record.message.starts_with("cannot parse the log record") {
            return Violation::of("log-record", format!("{record:?}"));
        }
        if record
            .fields
            .values()
            .filter_map(Value::as_str)
            .any(|text| text.len() > 4096)
        {
            return Violation::of(
                "long-log-record",
                format!("{} has a text of more than 4096 bytes", record.message),
            );
        }
    }
    Ok(())
}

fn warnings(warnings: &[String]) -> Found {
    for warning in warnings {
        if warning.is_empty() || warning.len() > WARNING_BYTES {
            return Violation::of("warning-length", format!("{} bytes: {warning}", warning.len()));
        }
        if !warning.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
            return Violation::of("warning-ascii", format!("{warning:?}"));
        }
    }
    let together: usize = warnings.iter().map(String::len).sum();
    if together > WARNINGS_BYTES {
        return Violation::of("warnings-length", format!("{together} bytes together"));
    }
    Ok(())
}

fn lookups(subject: &Subject, evaluation: &Evaluation) -> Found {
    if evaluation.calls.len() > subject.role.lookups() {
        let calls: Vec<String> = evaluation.calls.iter().map(|call| call.request.to_string()).collect();
        return Violation::of("look-ups", format!("{}: {}", calls.len(), calls.join(", ")));
    }
    for (number, call) in evaluation.calls.iter().enumerate() {
        if evaluation
            .calls
            .iter()
            .skip(number + 1)
            .any(|later| later.request == call.request)
        {
            return Violation::of("asked-twice", &call.request);
        }
        let granted = call.request.resource().is_some_and(|(api_version, kind)| {
            subject
                .reads
                .iter()
                .any(|(granted_version, granted_kind)| granted_version == api_version && granted_kind == kind)
        });
        if !granted {
            return Violation::of("look-up-not-granted", &call.request);
        }
    }
    Ok(())
}
