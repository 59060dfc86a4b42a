//! Conditions, phases and Events.

use super::{code, codes, table};
use crate::plan::Reason;
use crate::status::{ANY_OTHER, CONDITIONS, ConditionDoc, EVENTS, OF_RECONCILED, PHASES, ReasonDoc};

const CONDITIONS_HEAD: &str = "\
## Conditions

Of `status.conditions`; [the controller](controller.md#status) says when they are written. Conditions of other types
are other people's, and stay.
";
const EVENTS_HEAD: &str = "\
## Events

Sent when something changes; an object at rest gives none. A reason about a custom resource is that of its condition.
";

pub(super) fn section() -> String {
    let types = CONDITIONS.iter().map(|condition| {
        let kinds = if condition.is_of_engines_only { "engines" } else { "all" };
        [code(condition.name), kinds.to_owned(), condition.meaning.to_owned()]
    });
    let types = table(["Condition", "Of", "True means"], types);
    let reasons = CONDITIONS
        .iter()
        .flat_map(|condition| condition.reasons.iter().map(move |reason| row(condition, reason)));
    let reasons = table(["Condition", "Status", "Reason", "Meaning", "What to do"], reasons);
    let phases = PHASES.map(|phase| [code(phase.phase), phase.when.to_owned()]);
    let phases = table(["Phase", "The first that fits"], phases);
    let events = table(["About", "Type", "Reason", "When"], events());
    format!(
        "{CONDITIONS_HEAD}\n{types}\n### Reasons\n\n{reasons}\n### Phases\n\nOf `status.phase`.\n\n{phases}\n{EVENTS_HEAD}\n{events}"
    )
}

fn row(condition: &ConditionDoc, reason: &ReasonDoc) -> [String; 5] {
    let name = match reason.reason {
        ANY_OTHER => ANY_OTHER.to_owned(),
        reason => code(reason),
    };
    let remedy = Some(reason.remedy).filter(|remedy| !remedy.is_empty());
    [
        code(condition.name),
        reason.status.to_owned(),
        name,
        reason.meaning.to_owned(),
        remedy.unwrap_or("nothing").to_owned(),
    ]
}

fn events() -> Vec<[String; 4]> {
    let told = |reason: &Reason| !reason.passes_by_itself();
    let of_reconciled = || codes(Reason::ALL.into_iter().filter(told).map(Reason::as_str));
    let rows = EVENTS.iter().map(|event| {
        let reason = match event.reason {
            OF_RECONCILED => of_reconciled(),
            reason => code(reason),
        };
        [
            event.about.to_owned(),
            event.type_.to_owned(),
            reason,
            event.when.to_owned(),
        ]
    });
    rows.collect()
}
