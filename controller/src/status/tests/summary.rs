//! What metrics show of a status.

use serde_json::json;

use super::properties::passes;
use super::support::*;
use crate::status::{CONDITIONS, Shown, summary};

#[test]
fn numbers_and_conditions_are_those_of_the_status() {
    let found = summary(&engine(numbers(3, 2)).status_at(NOW));
    assert_eq!((found.desired, found.ready), (3, 2));
    let said: Vec<String> = found
        .conditions
        .iter()
        .map(|shown| format!("{}={} {}", shown.type_, shown.status, shown.reason))
        .collect();
    assert_eq!(
        said,
        [
            "Ready=False NotAllReady",
            "ConfigValid=True Valid",
            "Reconciled=True Reconciled",
            "Available=True AtLeastOneReady",
            "AllInstancesReady=False NotAllReady",
            "ClientsCovered=True NoClients",
        ]
    );
    let found = summary(&coordinator(numbers(2, 1)).status_at(NOW));
    assert_eq!((found.desired, found.ready, found.conditions.len()), (2, 1, 5));
}

/// Every new value is a new series, and the controller's own are all words of its tables.
#[test]
fn every_status_is_shown_in_words_of_the_tables() {
    for pass in passes() {
        let status = pass.status();
        let found = summary(&status);
        let stored = status["conditions"].as_array().unwrap();
        assert_eq!(found.conditions.len(), stored.len());
        assert!(found.conditions.len() <= CONDITIONS.len());
        for shown in found.conditions {
            assert_eq!(said(&status, shown.type_), format!("{} {}", shown.status, shown.reason));
        }
    }
}

#[test]
fn what_others_wrote_makes_no_series() {
    let theirs = json!({"conditions": [
        {"type": "example.com/Audited", "status": "True", "reason": "Fine"},
        {"type": "Available", "status": "Perhaps", "reason": "AllReady"},
        {"type": "Ready", "status": "False", "reason": "any text\n"},
        "no condition",
    ], "desiredInstances": "three"});
    let found = summary(&theirs);
    assert_eq!((found.desired, found.ready), (0, 0));
    let other = Shown {
        type_: "Ready",
        status: "False",
        reason: "other",
    };
    assert_eq!(found.conditions, [other]);
    assert_eq!(summary(&json!(null)), summary(&json!({})));
}
