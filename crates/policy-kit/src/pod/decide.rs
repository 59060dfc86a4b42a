//! The decision itself.

use super::examine::{self, Examined, Subject};
use super::mutator::Side;
use super::outcome::{Decision, Outcome, Skip};
use super::reasons::SkipReason;
use super::reference;
use super::settings::{Admission, Settings};
use super::wiring::{self, Part};
use super::{OptedIn, command, connection};
use crate::cluster::Cluster;
use crate::keys::{self, PAYLOAD_SKIP_REASON};
use crate::text::quoted;
use pod_edit::{Edit, EditError, Plan, metadata};
use serde_json::Value;

/// Decides about a Pod that is being created, for one side of the work.
///
/// `namespace` is that of the request; the Pod's own counts where the request has none. The answer holds the edits as a
/// plan: a skip holds reasons and nothing else.
pub fn decide(
    pod: &Value,
    namespace: Option<&str>,
    settings: &Settings,
    cluster: &dyn Cluster,
    side: Side,
) -> Decision {
    let annotation = match OptedIn::of(pod, settings.opt_in, side.system) {
        OptedIn::No => return unchanged(Outcome::NotOptedIn, String::new()),
        OptedIn::Incomplete(skip) => return skipped(skip, String::new(), side),
        OptedIn::To(annotation) => annotation,
    };
    let own_namespace = pod.pointer("/metadata/namespace").and_then(Value::as_str);
    let namespace = namespace
        .or(own_namespace)
        .filter(|namespace| !namespace.is_empty())
        .unwrap_or("default");
    let name = match reference::parse(&annotation, side.system.keys.engine, namespace, settings) {
        Ok(name) => name,
        Err(skip) => return skipped(skip, String::new(), side),
    };
    if pod.pointer("/spec/os/name").and_then(Value::as_str) == Some("windows") {
        return skipped(command::windows(), name.to_string(), side);
    }
    let mut warnings = Vec::new();
    let subject = Subject {
        system: side.system,
        pod,
        namespace,
        name: &name,
        settings,
    };
    match wire(subject, cluster, side.part, &mut warnings) {
        Ok((outcome, edits)) => Decision {
            outcome,
            plan: Plan::from(edits),
            warnings,
            engine: name.to_string(),
            host_error: None,
            obstacle: None,
        },
        Err(skip) => {
            let on_missing = misspelt(pod).filter(|_| skip.reason == SkipReason::EngineNotFound);
            let mut decision =
                refused(&skip, subject, side.part).unwrap_or_else(|| skipped(skip, name.to_string(), side));
            decision.warnings.extend(on_missing);
            decision
        }
    }
}

/// Looks at everything and plans the edits of one part.
fn wire(
    subject: Subject<'_>,
    cluster: &dyn Cluster,
    part: Part,
    warnings: &mut Vec<String>,
) -> Result<(Outcome, Vec<Edit>), Skip> {
    let engine = connection::engine(cluster, subject.name, subject.system)?;
    if part == Part::Staging && examine::stages_nothing(engine.as_ref(), subject.pod) {
        return Ok((Outcome::NotNeeded, Vec::new()));
    }
    let examined = examine::examine(subject, engine, cluster, warnings)?;
    // Without a payload the connection is the whole, and is tried when it is made.
    let shared = part == Part::Staging || (part == Part::Connection && examined.staging.is_some());
    if shared {
        whole_fits(&examined)?;
    }
    let edits = wiring::edits(&examined, part, warnings);
    let outcome = if part == Part::Staging && examined.staging.is_none() {
        Outcome::NotNeeded
    } else {
        Outcome::Wired(examined.left_to_user())
    };
    Ok((outcome, edits))
}

/// Where the work is shared between policies, neither does its part unless both parts fit.
fn whole_fits(examined: &Examined<'_>) -> Result<(), Skip> {
    let whole = Plan::from(wiring::edits(examined, Part::Whole, &mut Vec::new()));
    whole
        .check(examined.subject.pod)
        .map_err(|(_, error)| command::unfit(&error))
}

/// The decision for a Pod into which the plan does not fit, found out when it was applied.
pub fn unfit(engine: String, error: &EditError, side: Side) -> Decision {
    skipped(command::unfit(error), engine, side)
}

fn unchanged(outcome: Outcome, engine: String) -> Decision {
    Decision {
        outcome,
        plan: Plan::default(),
        warnings: Vec::new(),
        engine,
        host_error: None,
        obstacle: None,
    }
}

/// A Pod that is left alone. What was noticed on the way about a wiring that does not happen is not said.
///
/// The reason is the connection's; the payload has one of its own only where it is the obstacle.
fn skipped(skip: Skip, engine: String, side: Side) -> Decision {
    let mut notes = Vec::new();
    if side.part.connects() {
        notes.push(Edit::SetAnnotation {
            key: side.system.keys.skip_reason.into(),
            value: skip.reason.as_str().into(),
        });
    }
    if let Some(obstacle) = skip.obstacle.filter(|_| side.part.stages() && !side.system.blends()) {
        notes.push(Edit::SetAnnotation {
            key: PAYLOAD_SKIP_REASON.into(),
            value: obstacle.as_str().into(),
        });
    }
    Decision {
        outcome: Outcome::Skipped(skip.reason),
        plan: Plan::from(notes),
        warnings: vec![skip.warning()],
        engine,
        host_error: skip.host_error,
        obstacle: skip.obstacle,
    }
}

/// The refusal of a Pod, where a setting or the Pod's own annotation asks for one. A missing engine is the connection's to
/// refuse: who only stages does not even look, as a rule.
fn refused(skip: &Skip, subject: Subject<'_>, part: Part) -> Option<Decision> {
    let Subject {
        pod, settings, name, ..
    } = subject;
    let (denied, code) = match skip.reason {
        SkipReason::EngineNotFound => (
            part.connects() && on_missing_engine(pod, settings) == Admission::Deny,
            404,
        ),
        SkipReason::LookupUnavailable => (settings.on_unavailable == Admission::Deny, 503),
        _ => (false, 0),
    };
    let outcome = denied.then(|| Outcome::Refused {
        reason: skip.reason,
        message: skip.refusal(),
        code,
    })?;
    Some(Decision {
        host_error: skip.host_error.clone(),
        ..unchanged(outcome, name.to_string())
    })
}

fn on_missing_engine(pod: &Value, settings: &Settings) -> Admission {
    let word = metadata::annotation(pod, keys::ON_MISSING_ENGINE).map(str::trim);
    word.and_then(crate::settings::Choice::from_word)
        .unwrap_or(settings.on_missing_engine)
}

/// The warning for an annotation `on-missing-engine` that is neither of its words, and so has no effect.
fn misspelt(pod: &Value) -> Option<String> {
    let word = metadata::annotation(pod, keys::ON_MISSING_ENGINE)?.trim();
    let known = <Admission as crate::settings::Choice>::from_word(word).is_some();
    (!known).then(|| {
        format!(
            "{} is {}: ignored; write Admit or Deny",
            keys::ON_MISSING_ENGINE,
            quoted(word)
        )
    })
}
