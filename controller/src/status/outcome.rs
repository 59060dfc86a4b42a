//! Conditions about the specification and about what became of the children.

use super::condition::{Condition, Previous, State};
use super::text::{bracketed, names, sentences};
use super::words::{reasons, types};
use crate::build::may_copy;
use crate::live::{SecretSource, ServerPod};
use crate::plan::{Inputs, Monitors, ROLLOUT_ANNOTATION, Reason, Report, Rival, Sought, Verdict};

/// Whether the specification can be built. Faults stand there as the Go operator writes them.
pub(super) fn config_valid(report: &Report) -> Condition {
    let found = |state, reason, message: &str| Condition::new(types::CONFIG_VALID, state, reason, message);
    match &report.verdict {
        Verdict::Valid => found(State::True, reasons::VALID, "Spec validation passed"),
        Verdict::Invalid(faults) => {
            let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
            found(State::False, reasons::VALIDATION_FAILED, &bracketed(&faults))
        }
        Verdict::Rivalled(_) => found(
            State::Unknown,
            reasons::NAME_CONFLICT,
            "not looked at as long as another object has the name",
        ),
    }
}

/// Whether the children are as the specification has them.
pub(super) fn reconciled(inputs: &Inputs, report: &Report, previous: Previous<'_>) -> Condition {
    let found = |state, reason, message: String| Condition::new(types::RECONCILED, state, reason, message);
    match &report.verdict {
        Verdict::Valid => {}
        Verdict::Invalid(_) => {
            let message = "the children stay as they are until the faults in condition ConfigValid are corrected";
            return found(State::False, reasons::VALIDATION_FAILED, message.to_owned());
        }
        Verdict::Rivalled(rival) => return found(State::False, reasons::NAME_CONFLICT, name_conflict(rival)),
    }
    // What keeps the servers from working goes first.
    let (aside, first): (Vec<_>, Vec<_>) = report.problems.iter().partition(|problem| problem.reason.is_aside());
    if first.is_empty()
        && let Some(what) = awaited(inputs)
    {
        // After a start of the controller all is as it was, and only not yet looked up again.
        let is_known = previous.generation(types::RECONCILED) == Some(inputs.custom.facts.generation);
        let known = previous.found(types::RECONCILED).filter(|_| is_known);
        return known.unwrap_or_else(|| found(State::Unknown, reasons::WAITING, format!("{what} is being looked up")));
    }
    let problems: Vec<_> = first.into_iter().chain(aside).collect();
    if let Some(problem) = problems.first() {
        let messages: Vec<String> = problems
            .iter()
            .map(|problem| format!("{}: {}", problem.child, problem.message))
            .collect();
        return found(State::False, problem.reason.as_str(), sentences(&messages));
    }
    if let Some(paths) = &report.legacy_template {
        let paths = names(paths.iter().map(String::as_str));
        let message = format!(
            "the Pods run on with the template that the Go operator made for this specification; the next change \
             that concerns the Pods, or the annotation {ROLLOUT_ANNOTATION}, brings a rollout that changes {paths}"
        );
        return found(State::True, reasons::LEGACY_TEMPLATE_KEPT, message);
    }
    let message = "every child is as the specification has it".to_owned();
    found(State::True, reasons::RECONCILED, message)
}

fn name_conflict(rival: &Rival) -> String {
    let Rival { key, created, .. } = rival;
    format!(
        "{key}, created {created}, has this name, and the children of both would be the same objects; delete one of \
         the two, or create this one under another name"
    )
}

/// What a step waited for without being told that it is not there.
fn awaited(inputs: &Inputs) -> Option<String> {
    match &inputs.custom.facts.login {
        Some(login) if matches!(inputs.login, Sought::Unknown) => return Some(format!("Secret {login}")),
        _ => {}
    }
    let monitors = inputs.custom.facts.wants_monitor && inputs.monitors == Monitors::Unknown;
    monitors.then(|| "the kind ServiceMonitor".to_owned())
}

/// The sum, for `kubectl wait`, Argo CD and everything else that goes by kstatus. A problem that leaves the servers
/// working does not count.
pub(super) fn ready(
    config_valid: &Condition,
    reconciled: &Condition,
    all_ready: &Condition,
    nothing_desired: Option<(&'static str, &str)>,
) -> Condition {
    let mut aside = Reason::ALL.into_iter().filter(|reason| reason.is_aside());
    let is_aside = aside.any(|reason| reason.as_str() == reconciled.reason);
    let parts = [
        Some(config_valid),
        Some(reconciled).filter(|_| !is_aside),
        Some(all_ready),
    ];
    let parts = || parts.into_iter().flatten();
    let bad = parts().find(|part| part.state == State::False);
    let bad = bad.or_else(|| parts().find(|part| part.state != State::True));
    match (bad, nothing_desired) {
        (Some(bad), Some((reason, message))) if bad.type_ == types::ALL_INSTANCES_READY => {
            Condition::new(types::READY, State::False, reason, message)
        }
        (Some(bad), _) => Condition {
            type_: types::READY,
            state: State::False,
            ..bad.clone()
        },
        (None, _) => Condition {
            type_: types::READY,
            ..all_ready.clone()
        },
    }
}

/// Whether servers run that read a Secret before it was last changed: they never read it again. `None` where no Secret
/// is named.
pub(super) fn l2_reconnect(inputs: &Inputs, servers: &[&ServerPod], previous: Previous<'_>) -> Option<Condition> {
    let found = |state, reason, message| Condition::new(types::L2_RECONNECT_NEEDED, state, reason, message);
    let facts = &inputs.custom.facts;
    let sought = [
        (facts.login.as_ref(), &inputs.login),
        (facts.master_key.as_ref(), &inputs.master_key),
    ];
    let named: Vec<_> = sought
        .into_iter()
        .filter_map(|(name, sought)| Some((name?, sought)))
        .collect();
    if named.is_empty() {
        return None;
    }
    // When a Secret changed is nobody's business who may not have it.
    let namespace = inputs.custom.namespace();
    let is_shared = |secret: &&SecretSource| may_copy(&secret.value(), namespace);
    let secrets = || {
        named
            .iter()
            .filter_map(|(name, sought)| Some((name, secret(sought).filter(is_shared)?)))
    };
    let is_older = |pod: &ServerPod, secret: &SecretSource| pod.facts.started < secret.facts.changed;
    let staying = || servers.iter().filter(|pod| !pod.facts.is_ending);
    let older = staying().filter(|pod| secrets().any(|(_, secret)| is_older(pod, secret)));
    let older: Vec<&str> = older.map(|pod| pod.name()).collect();
    if !older.is_empty() {
        let changed = secrets().filter(|(_, secret)| staying().any(|pod| is_older(pod, secret)));
        let changed: Vec<String> = changed.map(|(name, _)| name.to_string()).collect();
        let message = format!(
            "started before Secret {} was last changed: Pods {}; unless a rollout replaces them already, delete them",
            changed.join(" and "),
            names(older)
        );
        return Some(found(State::True, reasons::SECRET_CHANGED, message));
    }
    if named.iter().any(|(_, sought)| matches!(sought, Sought::Unknown)) {
        return previous.found(types::L2_RECONNECT_NEEDED);
    }
    let unread = named
        .iter()
        .find(|(_, sought)| secret(sought).filter(is_shared).is_none());
    Some(match unread {
        Some((name, _)) => {
            let message = format!("Secret {name} does not exist, or may not be read for this engine");
            found(State::Unknown, reasons::SECRET_NOT_READABLE, message)
        }
        None => {
            let message = "every server was started after the last change of its Secrets".to_owned();
            found(State::False, reasons::UP_TO_DATE, message)
        }
    })
}

fn secret<T: AsRef<SecretSource>>(sought: &Sought<T>) -> Option<&SecretSource> {
    match sought {
        Sought::Found(secret) => Some(secret.as_ref()),
        _ => None,
    }
}
