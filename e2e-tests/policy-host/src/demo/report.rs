//! Running the steps and writing the report.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use json_patch::Patch;
use serde_json::Value;

use super::{Demo, Expect, Paint, Step, unified};
use crate::{AdmissionRequest, AdmissionResponse, EvaluationContext, Policy};

/// Runs every step and writes the report. Gives the number of steps whose `expect` did not hold.
///
/// # Errors
/// Names the file that cannot be read; a step that cannot run ends the report.
pub fn run(dir: &Path, policy_dir: Option<&Path>, paint: Paint, out: &mut impl Write) -> Result<usize> {
    let demo = Demo::load(dir)?;
    if let Some(title) = &demo.title {
        writeln!(out, "{}\n", paint.bold(title))?;
    }
    let mut policies: BTreeMap<PathBuf, Policy> = BTreeMap::new();
    let mut failures = 0;
    for (index, step) in demo.steps.iter().enumerate() {
        let path = policy_path(dir, policy_dir, step)?;
        let policy = match policies.get(&path) {
            Some(policy) => policy.clone(),
            None => {
                let policy = Policy::from_file(&path)?;
                policies.insert(path, policy.clone());
                policy
            }
        };
        let heading = format!("{}. {}", index + 1, step.title);
        writeln!(out, "{}", paint.bold(&heading))?;
        if let Some(about) = &step.about {
            for line in about.lines() {
                writeln!(out, "   {}", paint.dim(line))?;
            }
        }
        let verdict = evaluate(dir, step, &policy, paint, out).with_context(|| format!("step {}", index + 1))?;
        if let Some(expect) = step.expect.filter(|expect| *expect != verdict) {
            failures += 1;
            let text = format!("   expected {}, got {}", expect.word(), verdict.word());
            writeln!(out, "{}", paint.red(&text))?;
        }
        writeln!(out)?;
    }
    Ok(failures)
}

fn policy_path(dir: &Path, policy_dir: Option<&Path>, step: &Step) -> Result<PathBuf> {
    match policy_dir {
        None => Ok(dir.join(&step.policy)),
        Some(policy_dir) => {
            let name = step.policy.file_name();
            let name = name.ok_or_else(|| anyhow!("policy {} is no file", step.policy.display()))?;
            Ok(policy_dir.join(name))
        }
    }
}

fn evaluate(dir: &Path, step: &Step, policy: &Policy, paint: Paint, out: &mut impl Write) -> Result<Expect> {
    let request = AdmissionRequest::from_file(dir.join(&step.request))?;
    let settings = step.settings(dir)?;
    let context = policy.grant_context_aware(EvaluationContext::new(step.cluster(dir)?));
    let settings_verdict = policy.validate_settings(&settings, &context);
    if !settings_verdict.valid {
        let message = settings_verdict.message.unwrap_or_default();
        return Err(anyhow!("Provided settings are not valid: {message}"));
    }
    let response = policy.validate(&request, &settings, &context).response;
    let verdict = Expect::of(&response);
    write_response(&response, verdict, paint, out)?;
    if let (Some(patch), Some(object), true) = (&response.patch, request.object(), response.allowed) {
        write_diff(object, patch, paint, out)?;
    }
    Ok(verdict)
}

fn write_response(response: &AdmissionResponse, verdict: Expect, paint: Paint, out: &mut impl Write) -> Result<()> {
    let word = match verdict {
        Expect::Admitted | Expect::Mutated => paint.green(verdict.word()),
        Expect::Refused => paint.red(verdict.word()),
    };
    match response.code() {
        Some(code) => writeln!(out, "   {word} ({code})")?,
        None => writeln!(out, "   {word}")?,
    }
    for reason in reasons(response.message()) {
        writeln!(out, "   - {}", paint.plain(reason))?;
    }
    for warning in response.warnings() {
        writeln!(out, "   {}", paint.yellow(&format!("Warning: {warning}")))?;
    }
    for (key, value) in response.audit_annotations.iter().flatten() {
        writeln!(out, "   {}", paint.dim(&format!("audit {key}: {value}")))?;
    }
    Ok(())
}

/// The reasons of a message: one a line.
pub(crate) fn reasons(message: &str) -> impl Iterator<Item = &str> {
    message.lines().map(str::trim).filter(|reason| !reason.is_empty())
}

fn write_diff(before: &Value, patch: &Patch, paint: Paint, out: &mut impl Write) -> Result<()> {
    let mut after = before.clone();
    json_patch::patch(&mut after, patch).context("the patch does not apply")?;
    for line in unified(&yaml_serde::to_string(before)?, &yaml_serde::to_string(&after)?, 3) {
        let painted = match line.chars().next() {
            Some('+') => paint.green(&line),
            Some('-') => paint.red(&line),
            Some('@') => paint.cyan(&line),
            _ => paint.plain(&line),
        };
        writeln!(out, "   {painted}")?;
    }
    Ok(())
}
