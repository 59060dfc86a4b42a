//! Stamps need the wiring they claim.

use super::claims::Claims;
use super::evidence::{Judgement, Known, Wanted};
use super::settings::SharedMemory;
use super::verdict::{Finding, Verdict};
use super::{Subject, shared_memory};
use crate::cluster::remedy;
use crate::pod::connection::{self, Defaults, Dereferenced};
use crate::pod::{EngineReference, Skip, nixl};
use crate::text::quoted;
use lmcache_api::{EngineSpec, IpcMode, ipc_mode};
use serde_json::Value;

const ADVICE: &str = "Only the policies that wire Pods set a stamp: remove it from the Pod or from its template, and create the Pod anew. If a policy set it just now, another webhook changed the Pod afterwards: what it took away is named above.";

/// A stamp beside a reason that says the contrary.
const STALE: &str = "stamp-stale";

/// Refuses stamps of one system that nothing backs.
///
/// The Pod is judged first. Whatever an engine may be like, it has no part in most verdicts; it is asked for only where
/// it decides: whether a connection that leads elsewhere is its own, and whether it shares memory that a volume hides.
pub(super) fn check(subject: &Subject<'_>, claims: &Claims, verdict: &mut Verdict) {
    match (subject.engine(claims), claims.all_stale()) {
        (Ok(name), _) => {
            if verdict.engine.is_empty() {
                verdict.engine = name.to_string();
            }
            if let Err(skip) = judge(subject, claims, &name, verdict) {
                retry(claims, skip, verdict);
            }
        }
        (Err(_), Some(stale)) => accept_stale(stale, verdict),
        (Err(finding), None) => refuse(vec![finding], "engine-reference-invalid", verdict),
    }
}

/// Lets a stamp be of which the Pod itself says that it does not hold.
pub(super) fn accept_stale(warnings: Vec<String>, verdict: &mut Verdict) {
    verdict.warnings.extend(warnings);
    verdict.because(STALE);
}

/// Judges the stamps by the Pod, and where that leaves a doubt, by the engine that it names.
///
/// # Errors
/// A look-up that failed.
fn judge(subject: &Subject<'_>, claims: &Claims, name: &EngineReference, verdict: &mut Verdict) -> Result<(), Skip> {
    let pod = subject.pod;
    let wanted = Wanted::of(pod, claims.system, name);
    let judgement = wanted.judge(pod, claims, Known::Nothing);
    let proven = judgement.findings.is_empty();
    let shadow = judgement.shadow(pod);
    if proven && shadow.is_none() {
        settle(subject, judgement, None, verdict);
        return Ok(());
    }
    // The most that any engine could excuse: what is wrong then is wrong whatever a look-up would bring.
    let excused = wanted.judge(pod, claims, Known::Gone);
    if !excused.findings.is_empty() {
        settle(subject, excused, None, verdict);
        return Ok(());
    }
    match (shadow, against(subject, claims, &wanted, excused, verdict)) {
        // A warning is not worth a refusal.
        (Some(volume), Err(skip)) if proven && subject.settings.shared_memory == SharedMemory::Warn => {
            let text = format!("{}: whether volume {} hides memory", skip.problem, quoted(&volume));
            verdict
                .warnings
                .push(format!("{text} that the engine shares was not checked"));
            verdict.because(skip.reason.as_str());
            verdict.host_error = skip.host_error;
            Ok(())
        }
        (_, answer) => answer,
    }
}

/// Judges the stamps against the engine. `excused` is the judgement where it is gone.
///
/// # Errors
/// A look-up that failed.
fn against(
    subject: &Subject<'_>,
    claims: &Claims,
    wanted: &Wanted<'_>,
    excused: Judgement<'_>,
    verdict: &mut Verdict,
) -> Result<(), Skip> {
    let (pod, name, system) = (subject.pod, wanted.engine, wanted.system);
    let engine = connection::engine(subject.cluster, name, system)?;
    let stated = engine
        .as_ref()
        .map(|engine| ipc_mode(engine as &dyn EngineSpec, subject.settings.ipc_default));
    let stored = connection::dereference(subject.cluster, name, system, engine)?;
    if let (Err(gone), None) = (stored.check(), stored.spec()) {
        let text = format!("{}: {} was not compared with it", gone.problem, claims.stamp());
        verdict.warnings.push(text);
        verdict.because(gone.reason.as_str());
        settle(subject, excused, None, verdict);
        return Ok(());
    }
    let (judgement, mode) = match live(subject, &stored) {
        Some((live, mode)) => (wanted.judge(pod, claims, Known::Live(&live)), Some(mode)),
        None => (wanted.judge(pod, claims, Known::Nothing), stated),
    };
    settle(subject, judgement, mode, verdict);
    Ok(())
}

/// Refuses what is missing; of a Pod that lacks nothing, looks at what it does to the memory it shares.
fn settle(subject: &Subject<'_>, judgement: Judgement<'_>, mode: Option<IpcMode>, verdict: &mut Verdict) {
    if let (true, Some(carrier), Some(mode)) = (judgement.findings.is_empty(), &judgement.carrier, mode) {
        shared_memory::check(subject, carrier, mode, verdict);
    }
    verdict.warnings.extend(judgement.warnings);
    refuse(judgement.findings, "stamp-not-backed", verdict);
    if judgement.stale {
        verdict.because(STALE);
    }
}

/// The engine's connection for this Pod, and the mode its servers run with.
fn live(subject: &Subject<'_>, stored: &Dereferenced<'_>) -> Option<(Value, IpcMode)> {
    let defaults = Defaults {
        ipc_mode: subject.settings.ipc_default,
        cluster_domain: &subject.settings.cluster_domain,
    };
    // A role that is none has no connection of its own.
    let role = nixl::role(subject.pod, stored.spec()).ok().flatten();
    let connection = stored.connection(role, &defaults, &mut Vec::new()).ok()?;
    let json = serde_json::from_str(&connection.json).ok()?;
    Some((json, connection.ipc_mode))
}

fn refuse(findings: Vec<Finding>, reason: &'static str, verdict: &mut Verdict) {
    if findings.is_empty() {
        return;
    }
    verdict.findings.extend(findings);
    verdict.advise(ADVICE);
    verdict.because(reason);
}

/// Refuses for now. An outage passes, and controllers try again; a missing right does not.
fn retry(claims: &Claims, skip: Skip, verdict: &mut Verdict) {
    let host_error = skip.host_error.as_deref().unwrap_or_default();
    let remedy = remedy(host_error);
    // No text at all is an outage.
    let text = if remedy == crate::cluster::remedy("") {
        format!("cannot be checked, {}; try again ({remedy})", skip.problem)
    } else {
        format!(
            "cannot be checked, {}; trying again does not help: {remedy}",
            skip.problem
        )
    };
    verdict.retry.push(Finding::annotation(claims.stamp(), text));
    verdict.host_error = skip.host_error;
    verdict.reason = skip.reason.as_str();
}
