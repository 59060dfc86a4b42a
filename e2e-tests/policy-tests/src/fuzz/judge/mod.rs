//! The rules that no input may make a policy break.

mod answer;
mod ownership;
pub mod peers;
mod roles;

use super::input::{Input, metadata_map};
use super::role::Role;
use super::subject::Subject;
use super::words;
use policy_host::Evaluation;
use serde_json::Value;
use std::collections::BTreeMap;

/// A broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The rule, one word.
    pub rule: &'static str,
    /// How it was broken.
    pub detail: String,
}

impl Violation {
    fn of(rule: &'static str, detail: impl ToString) -> Found {
        let detail = detail.to_string();
        Err(Self { rule, detail })
    }
}

/// Nothing, or a broken rule.
type Found = Result<(), Violation>;

/// Evaluates an input and applies every rule.
///
/// # Errors
/// The first rule that is broken.
pub fn judge(subject: &Subject, input: &Input) -> Result<Evaluation, Violation> {
    let Some(evaluation) = subject.evaluate(input) else {
        // No host could make a request of it; mutations do not yield such input.
        return Ok(Evaluation {
            response: Default::default(),
            calls: Vec::new(),
            logs: Vec::new(),
        });
    };
    answer::check(subject, &evaluation)?;
    let settings_valid = settings(subject, input)?;
    let facts = Facts {
        subject,
        input,
        evaluation: &evaluation,
        settings_valid,
    };
    match subject.role {
        Role::Engines => roles::engines(&facts)?,
        Role::Mutator(owned) => roles::mutator(&facts, owned)?,
        Role::Guard => roles::guard(&facts)?,
        Role::Preflight => roles::preflight(&facts)?,
        Role::Unknown => {}
    }
    Ok(evaluation)
}

/// What the rules of a role look at.
struct Facts<'a> {
    subject: &'a Subject,
    input: &'a Input,
    evaluation: &'a Evaluation,
    settings_valid: bool,
}

/// Whether the policy takes the settings. It says why not.
fn settings(subject: &Subject, input: &Input) -> Result<bool, Violation> {
    let verdict = subject.settings_verdict(&input.settings);
    if verdict.valid {
        return Ok(true);
    }
    let message = verdict.message.unwrap_or_default();
    if message.trim().is_empty() || message.starts_with("Error invoking") || message.starts_with("cannot convert") {
        Violation::of("settings-verdict", message)?;
    }
    Ok(false)
}

impl Facts<'_> {
    /// The policy did nothing that anybody could notice.
    fn is_silent(&self) -> bool {
        let response = &self.evaluation.response;
        response.allowed
            && response.patch.is_none()
            && response.audit_annotations.as_ref().is_none_or(BTreeMap::is_empty)
            && self.evaluation.calls.is_empty()
            && self.evaluation.logs.is_empty()
            // Of settings that no host would load a policy with, it may complain.
            && (response.warnings().is_empty() || !self.settings_valid)
    }

    fn said(&self) -> String {
        let response = &self.evaluation.response;
        format!(
            "allowed {}, code {:?}, {:?}, {} look-ups, {} records, warnings {:?}, patch {}",
            response.allowed,
            response.code(),
            response.message(),
            self.evaluation.calls.len(),
            self.evaluation.logs.len(),
            response.warnings(),
            response.patch.as_ref().map(ToString::to_string).unwrap_or_default(),
        )
    }
}

/// Whether labels or annotations of an object, or of a template anywhere in it, hold a key of ours.
fn mentions_us(value: &Value) -> bool {
    let keyed = ["labels", "annotations"]
        .into_iter()
        .filter_map(|map| metadata_map(value, map))
        .any(|map| map.keys().any(|key| key.starts_with(words::PREFIX)));
    keyed
        || match value {
            Value::Object(members) => members.values().any(mentions_us),
            Value::Array(items) => items.iter().any(mentions_us),
            _ => false,
        }
}
