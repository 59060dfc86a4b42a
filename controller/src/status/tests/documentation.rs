//! The tables, of which documentation is made, have everything that the code can say.

use std::collections::BTreeSet;

use super::properties::passes;
use super::support::{LATER, engine, numbers, said};
use crate::plan::Reason;
use crate::status::words::{clients, phases, reasons, types};
use crate::status::{CONDITIONS, EVENTS, OF_RECONCILED, PHASES, news};

#[test]
fn every_word_is_in_a_table() {
    let listed = |words: &[&'static str]| words.iter().copied().collect::<BTreeSet<_>>();
    let conditions = CONDITIONS.map(|condition| condition.name);
    assert_eq!(listed(types::ALL), listed(&conditions));
    let documented = PHASES.map(|phase| phase.phase);
    assert_eq!(listed(phases::ALL), listed(&documented));
    let rows = || CONDITIONS.iter().flat_map(|condition| condition.reasons);
    for reason in reasons::ALL {
        assert!(rows().any(|row| row.reason == *reason), "{reason}");
    }
    for reason in clients::ALL {
        assert!(EVENTS.iter().any(|event| event.reason == *reason), "{reason}");
    }
}

#[test]
fn every_reason_of_a_problem_is_documented() {
    let reconciled = CONDITIONS
        .iter()
        .find(|condition| condition.name == "Reconciled")
        .unwrap();
    for reason in Reason::ALL {
        assert!(
            reconciled
                .reasons
                .iter()
                .any(|row| row.reason == reason.as_str() && row.status == "False")
        );
    }
}

/// From every state to every other: what is told is in the table of Events.
#[test]
fn every_event_is_listed() {
    let mut statuses: Vec<_> = passes().iter().map(|pass| pass.status_at(LATER)).collect();
    statuses.push(serde_json::Value::Null);
    statuses.push(engine(numbers(1, 1)).status_at(LATER));
    // Of those that say the same, but for numbers and names, one is enough.
    let mut seen = BTreeSet::new();
    statuses.retain(|status| seen.insert(CONDITIONS.map(|condition| said(status, condition.name))));
    let mut told = BTreeSet::new();
    for before in &statuses {
        for after in &statuses {
            for news in news(before, after) {
                told.insert((news.warning, news.reason));
            }
        }
    }
    assert!(told.len() > 10, "{told:?}");
    for (warning, reason) in &told {
        let of_type = if *warning { "Warning" } else { "Normal" };
        let is_of_reconciled = Reason::ALL
            .into_iter()
            .any(|known| known.as_str() == reason && !known.passes_by_itself());
        let listed = EVENTS.iter().any(|event| {
            let is_meant = event.reason == reason || (event.reason == OF_RECONCILED && is_of_reconciled);
            is_meant && event.type_ == of_type
        });
        assert!(listed, "{of_type} {reason}");
    }
}
