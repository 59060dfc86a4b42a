//! `docs/controller.md` shows the tables of the code.

use crate::plan::Reason;
use crate::status::{CONDITIONS, EVENTS};

fn page() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/controller.md");
    std::fs::read_to_string(path).unwrap()
}

/// The rows as the page has them.
fn rows() -> Vec<String> {
    let mut rows = Vec::new();
    for condition in &CONDITIONS {
        let kinds = if condition.is_of_engines_only { "engines" } else { "all" };
        rows.push(format!("| `{}` | {kinds} | {} |", condition.name, condition.meaning));
    }
    for condition in &CONDITIONS {
        for reason in condition.reasons {
            let name = match reason.reason {
                "any other" => reason.reason.to_owned(),
                reason => format!("`{reason}`"),
            };
            let remedy = Some(reason.remedy)
                .filter(|remedy| !remedy.is_empty())
                .unwrap_or("nothing");
            rows.push(format!(
                "| `{}` | {} | {name} | {} | {remedy} |",
                condition.name, reason.status, reason.meaning
            ));
        }
    }
    for event in &EVENTS {
        let name = match event.reason {
            "a reason of Reconciled" => event.reason.to_owned(),
            reason => format!("`{reason}`"),
        };
        rows.push(format!(
            "| {} | {} | {name} | {} |",
            event.about, event.type_, event.when
        ));
    }
    rows
}

#[test]
fn the_page_shows_every_condition_reason_and_event() {
    let page = page();
    let missing: Vec<String> = rows()
        .into_iter()
        .filter(|row| !page.lines().any(|line| line == row))
        .collect();
    assert!(missing.is_empty(), "docs/controller.md lacks\n{}", missing.join("\n"));
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
