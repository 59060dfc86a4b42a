//! The decision about a Pod, in words for the person who applies the template that it would be made from.

use super::kind::Kind;
use crate::pod::{Decision, NOT_WIRED, Outcome, SkipReason};
use crate::text::{WARNING_BYTES, ascii_line, cut};

/// End of a remedy for someone who looks at a Pod that was created unwired.
const RECREATE: &str = ", then recreate the Pod";

/// A warning in two parts. What is too long is cut from the first, so that the advice in the second stays.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Said {
    pub problem: String,
    pub rest: String,
}

impl Said {
    /// The warning, headed by the name of the template that it is about; empty where there is nothing to tell apart.
    pub fn about(&self, template: &str) -> String {
        let colon = if template.is_empty() { "" } else { ": " };
        let room = WARNING_BYTES.saturating_sub(template.len() + colon.len() + self.rest.len());
        format!(
            "{template}{colon}{}{}",
            cut(&ascii_line(&self.problem), room),
            self.rest
        )
    }
}

/// Keys as they are listed in a warning.
pub(super) fn listed(keys: &[&str]) -> String {
    keys.join(", ")
}

/// What a decision says to the person who applies a workload of this kind.
pub(super) fn of_decision(kind: Kind, decision: &Decision) -> Vec<Said> {
    let mut said = Vec::new();
    if let Outcome::Refused { reason, message, .. } = &decision.outcome {
        said.push(refusal(*reason, message));
    }
    said.extend(decision.warnings.iter().map(|text| {
        let text = match text.strip_prefix("the Pod ") {
            Some(rest) => format!("the template {rest}"),
            None => text.clone(),
        };
        match (&decision.outcome, text.split_once(NOT_WIRED)) {
            (Outcome::Skipped(reason), Some((problem, remedy))) => Said {
                problem: problem.to_owned(),
                rest: format!("{}; {}", consequence(*reason), own_remedy(kind, *reason, remedy)),
            },
            _ => Said {
                problem: text,
                rest: String::new(),
            },
        }
    }));
    said
}

/// What becomes of the Pods of a template that would be skipped.
fn consequence(reason: SkipReason) -> &'static str {
    match reason {
        // Nobody could tell, now. What holds when the Pods are created is another question.
        SkipReason::LookupUnavailable => ": the template was not checked",
        SkipReason::CacheblendTakesPrecedence => ": Pods will not use the LMCacheEngine",
        _ => ": Pods will not be wired",
    }
}

/// The remedy without "recreate the Pod": what does that for Pods of this kind of workload.
fn own_remedy(kind: Kind, reason: SkipReason, remedy: &str) -> String {
    let Some(first) = remedy.strip_suffix(RECREATE) else {
        return remedy.to_owned();
    };
    let then = match kind {
        _ if reason == SkipReason::LookupUnavailable => "",
        Kind::Deployment | Kind::StatefulSet | Kind::DaemonSet => ", then restart the Pods (kubectl rollout restart)",
        Kind::Job => ", then recreate the Job",
        Kind::CronJob => ", before the next Job starts",
        Kind::LeaderWorkerSet => ", then recreate the Pods",
    };
    format!("{first}{then}")
}

/// The workload is accepted; its Pods will not be, until what they need is there.
fn refusal(reason: SkipReason, message: &str) -> Said {
    let text = message
        .strip_prefix(reason.as_str())
        .unwrap_or(message)
        .trim_start_matches(": ");
    let (problem, remedy) = text.split_once("; ").unwrap_or((text, ""));
    let rest = match reason {
        SkipReason::EngineNotFound => ": Pods will be refused until it does; create it".to_owned(),
        _ => format!(
            ": the template was not checked, and Pods will be refused while this lasts; {}",
            remedy.strip_suffix(RECREATE).unwrap_or(remedy)
        ),
    };
    Said {
        problem: problem.to_owned(),
        rest,
    }
}
