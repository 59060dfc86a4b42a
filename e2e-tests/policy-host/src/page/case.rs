//! One case: evaluated, checked and shown.

use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use serde_json::Value;

use super::markdown::{block, paragraph};
use super::reduce::{readable, reduced, reduced_with_name};
use crate::demo::{ColorChoice, Expect, Paint, reasons, unified};
use crate::fixture::{self, Case};
use crate::{AdmissionResponse, EvaluationContext, Policy};

/// A case and what the policy said.
pub(super) struct Shown {
    case: Case,
    response: AdmissionResponse,
    /// The name of the policy, and whether it is one that changes objects.
    policy: String,
    mutating: bool,
}

impl Shown {
    /// Runs a case through its policy.
    ///
    /// # Errors
    /// The case cannot be read, or its `expected.yaml` does not hold.
    pub(super) fn evaluate(dir: &Path, policy: &Policy) -> Result<Self> {
        let case = fixture::load(dir)?;
        let context = policy.grant_context_aware(EvaluationContext::new(case.cluster.clone()));
        let verdict = policy.validate_settings(&case.settings, &context);
        if !verdict.valid {
            bail!("settings are not valid: {}", verdict.message.unwrap_or_default());
        }
        let evaluation = policy.validate(&case.request, &case.settings, &context);
        let calls = evaluation.kubernetes_calls();
        if let Err(differences) = fixture::compare(&case.expected, &evaluation.response, Some(calls)) {
            bail!("the case does not hold:\n{differences}");
        }
        let policy_name = dir.parent().and_then(Path::file_name).unwrap_or_default();
        Ok(Self {
            case,
            response: evaluation.response,
            policy: policy_name.to_string_lossy().into_owned(),
            mutating: policy.metadata().is_none_or(|metadata| metadata.mutating),
        })
    }

    /// What the case shows, in one sentence.
    pub(super) fn about(&self) -> &str {
        self.case.expected.about.trim()
    }

    /// The verdict in a few words: what the audit annotations say, else what the API server is told.
    pub(super) fn summary(&self) -> String {
        let annotations = self.response.audit_annotations.iter().flatten();
        let outcomes: Vec<String> = annotations
            .filter_map(|(key, outcome)| {
                let side = key.strip_suffix("outcome")?;
                let reason = self.response.audit_annotations.as_ref()?.get(&format!("{side}reason"));
                let side = side.trim_end_matches('-');
                let side = if side.is_empty() {
                    String::new()
                } else {
                    format!("{side} ")
                };
                let reason = reason.map_or_else(String::new, |reason| format!(" (`{reason}`)"));
                Some(format!("{side}{outcome}{reason}"))
            })
            .collect();
        if outcomes.is_empty() || !self.response.allowed {
            return self.verdict().to_lowercase();
        }
        outcomes.join(", ")
    }

    /// `MUTATED`, `REFUSED (422)`.
    fn verdict(&self) -> String {
        let word = Expect::of(&self.response).word();
        match self.response.code() {
            Some(code) => format!("{word} ({code})"),
            None => word.to_owned(),
        }
    }

    /// Everything below the heading of the case. `path` is the folder as the page names it.
    pub(super) fn body(&self, path: &Path, with_cluster: bool) -> Result<String> {
        let folder = path.display().to_string();
        let shown = folder.trim_start_matches("../");
        let policy = &self.policy;
        let mut out = paragraph(Some(&format!("Policy `{policy}`, case [`{shown}`]({folder})")));
        let settings = &self.case.settings;
        if settings.as_object().is_some_and(|settings| !settings.is_empty()) {
            out.push_str(&block(
                "With these settings:",
                "yaml",
                &yaml_serde::to_string(settings)?,
            ));
        }
        if with_cluster {
            let objects = self
                .case
                .cluster
                .objects()
                .map(|object| yaml_serde::to_string(&reduced_with_name(object)));
            let objects = objects.collect::<Result<Vec<_>, _>>()?;
            let label = if objects.is_empty() {
                "The cluster is empty."
            } else {
                "In the cluster:"
            };
            match objects.is_empty() {
                true => out.push_str(&paragraph(Some(label))),
                false => out.push_str(&block(label, "yaml", &objects.join("---\n"))),
            }
        }
        out.push_str(&self.request()?);
        out.push_str(&block("The policy says:", "text", &self.said()));
        out.push_str(&self.change()?);
        Ok(out)
    }

    /// What is sent: an object, or what becomes of a stored one.
    fn request(&self) -> Result<String> {
        let request = self.case.request.value();
        let text = |pointer: &str| request.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let kind = text("/kind/kind");
        let place = match text("/namespace") {
            "" => String::new(),
            namespace => format!(" in namespace `{namespace}`"),
        };
        match (request.get("oldObject"), request.get("object")) {
            (Some(old), Some(new)) => {
                let stored = block(
                    &format!("The {kind} as it is stored{place}:"),
                    "yaml",
                    &yaml(&reduced(old))?,
                );
                let change = diff(old, new)?;
                Ok(if change.is_empty() {
                    stored + &paragraph(Some("The request changes nothing that is shown here."))
                } else {
                    stored + &block("The request:", "diff", &change)
                })
            }
            (_, Some(object)) => Ok(block(
                &format!("The {kind}, created{place}:"),
                "yaml",
                &yaml(&reduced(object))?,
            )),
            _ => Ok(paragraph(Some(&format!(
                "A request without an object: {} of a {kind}{place}.",
                text("/operation")
            )))),
        }
    }

    /// Verdict, reasons, warnings and audit annotations, as the demonstration prints them.
    fn said(&self) -> String {
        let paint = Paint::new(ColorChoice::Never, &std::io::stdout());
        let mut lines = vec![self.verdict()];
        lines.extend(reasons(self.response.message()).map(|reason| format!("- {reason}")));
        lines.extend(
            self.response
                .warnings()
                .iter()
                .map(|warning| format!("Warning: {warning}")),
        );
        for (key, value) in self.response.audit_annotations.iter().flatten() {
            lines.push(format!("audit {key}: {value}"));
        }
        lines.iter().map(|line| paint.plain(line) + "\n").collect()
    }

    fn change(&self) -> Result<String> {
        let (Some(patch), Some(before)) = (&self.response.patch, self.case.request.object()) else {
            let silent = !self.mutating || !self.response.allowed;
            return Ok(paragraph((!silent).then_some("It changes nothing.")));
        };
        let mut after = before.clone();
        json_patch::patch(&mut after, patch).context("the patch does not apply")?;
        Ok(block("It changes:", "diff", &diff(before, &after)?))
    }
}

/// The difference of two objects in YAML, as far as they are shown; of the whole objects where that is nothing.
fn diff(before: &Value, after: &Value) -> Result<String> {
    let mut lines = unified(&yaml(&reduced(before))?, &yaml(&reduced(after))?, 3);
    if lines.is_empty() {
        lines = unified(&yaml(&readable(before.clone()))?, &yaml(&readable(after.clone()))?, 3);
    }
    Ok(lines.join("\n"))
}

fn yaml(value: &Value) -> Result<String> {
    yaml_serde::to_string(value).map_err(|e| anyhow!("cannot write YAML: {e}"))
}
