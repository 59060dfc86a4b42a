//! The page has all of what the code can say.

use policy_kit::pod::SkipReason;

use super::run;
use crate::plan::Reason;
use crate::run::metrics::METRICS;
use crate::status::{CONDITIONS, EVENTS};

/// The rows of the table under a heading.
fn rows<'a>(page: &'a str, heading: &str) -> Vec<&'a str> {
    let (_, rest) = page.split_once(&format!("\n{heading}\n")).unwrap();
    let lines = rest.lines().skip_while(|line| !line.starts_with("|---"));
    lines.skip(1).take_while(|line| line.starts_with('|')).collect()
}

#[test]
fn tables_have_a_row_for_everything() {
    let page = run();
    assert_eq!(rows(&page, "## Metrics").len(), METRICS.len());
    assert_eq!(rows(&page, "## Conditions").len(), CONDITIONS.len());
    let reasons: usize = CONDITIONS.iter().map(|condition| condition.reasons.len()).sum();
    assert_eq!(rows(&page, "### Reasons").len(), reasons);
    assert_eq!(rows(&page, "## Events").len(), EVENTS.len());
    assert_eq!(rows(&page, "## Skip reasons").len(), SkipReason::ALL.len());
    assert_eq!(rows(&page, "### Payloads").len(), 5);
}

#[test]
fn every_label_says_what_it_can_say() {
    let page = run();
    let values = rows(&page, "### Values of labels");
    for metric in METRICS {
        for label in metric.labels {
            let row = values
                .iter()
                .find(|row| row.starts_with(&format!("| `{label}` |")) && row.contains(&format!("`{}`", metric.name)));
            let row = row.unwrap_or_else(|| panic!("{label} of {}", metric.name));
            let said = row.trim_end_matches('|').rsplit('|').next().unwrap();
            assert!(!said.trim().is_empty(), "{row}");
        }
    }
}

#[test]
fn rows_fit_their_tables() {
    let page = run();
    let mut columns = 0;
    for line in page.lines() {
        match line.strip_prefix('|') {
            Some(_) if columns == 0 => columns = line.matches('|').count(),
            Some(_) => assert_eq!(line.matches('|').count(), columns, "{line}"),
            None => columns = 0,
        }
    }
}

#[test]
fn events_name_the_reasons_that_do_not_pass_by_themselves() {
    let page = run();
    let events = rows(&page, "## Events").join("\n");
    for reason in Reason::ALL {
        let is_told = !reason.passes_by_itself();
        assert_eq!(
            events.contains(&format!("`{}`", reason.as_str())),
            is_told,
            "{reason:?}"
        );
    }
}
