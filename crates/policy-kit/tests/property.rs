//! What holds for every Pod, however odd, and whatever the cluster answers.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]
#![cfg(not(target_arch = "wasm32"))]

mod support;

use json_patch::PatchOperation;
use policy_kit::pod::{Outcome, Settings, decide};
use policy_kit::text::{WARNING_BYTES, warnings};
use proptest::prelude::*;
use serde_json::Value;
use support::{any_json, cluster, pod, settings};

/// May the injection add this path, or put something there?
fn owned(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    match parts.as_slice() {
        ["metadata", "annotations"] => true,
        ["metadata", "annotations", key] => key.starts_with("lmcache.ai~1lmcache-"),
        ["spec", "hostIPC" | "enableServiceLinks" | "volumes"] => true,
        ["spec", "volumes", _] => true,
        ["spec", "containers", _, "args" | "env" | "volumeMounts"] => true,
        ["spec", "containers", _, "args" | "env" | "volumeMounts", _] => true,
        _ => false,
    }
}

/// A list may grow at its end; what stood in it stays. Only a `--` moves behind what was put before it.
fn check_list_operation(before: &Value, path: &str, adds: bool) -> Result<(), TestCaseError> {
    let Some((list, index)) = path.rsplit_once('/') else {
        return Ok(());
    };
    let (Some(items), Ok(index)) = (before.pointer(list).and_then(Value::as_array), index.parse::<usize>()) else {
        return Ok(());
    };
    let dashes = items.iter().position(|item| item == "--");
    let from = if list.ends_with("/args") {
        dashes.unwrap_or(items.len())
    } else {
        items.len()
    };
    prop_assert!(index >= from, "{path}: index {index} of a list of {}", items.len());
    prop_assert!(adds || list.ends_with("/args"), "{path} is replaced");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, max_global_rejects: 1_000_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_pod_keeps_everything_we_do_not_own(before in pod(), cluster in cluster(), settings in settings()) {
        let mut after = before.clone();
        let decision = decide(&before, Some("team-a"), &settings, &cluster);
        prop_assert!(cluster.asked.get() <= 3, "{} look-ups", cluster.asked.get());
        let applied = decision.plan.apply(&mut after);
        if applied.is_err() {
            prop_assert_eq!(&before, &after, "an edit that fails leaves the Pod as it was");
            return Ok(());
        }
        let patch = json_patch::diff(&before, &after);
        for operation in patch.0.iter() {
            match operation {
                PatchOperation::Add(operation) => {
                    prop_assert!(owned(operation.path.as_str()), "adds {}", operation.path);
                    check_list_operation(&before, operation.path.as_str(), true)?;
                }
                PatchOperation::Replace(operation) => {
                    prop_assert!(owned(operation.path.as_str()), "replaces {}", operation.path);
                    check_list_operation(&before, operation.path.as_str(), false)?;
                }
                PatchOperation::Remove(operation) => {
                    prop_assert_eq!(operation.path.as_str(), "/metadata/annotations/lmcache.ai~1lmcache-skip-reason");
                }
                other => prop_assert!(false, "unexpected {:?}", other),
            }
        }
        if let Outcome::Skipped(reason) = decision.outcome {
            prop_assert!(patch.0.len() <= 1, "a skip is one annotation: {}", patch);
            let noted = after.pointer("/metadata/annotations/lmcache.ai~1lmcache-skip-reason");
            prop_assert_eq!(noted.and_then(Value::as_str), Some(reason.as_str()));
        }
        if decision.outcome == Outcome::NotOptedIn {
            prop_assert!(patch.0.is_empty() && cluster.asked.get() == 0);
        }
        for warning in warnings(decision.warnings) {
            prop_assert!(warning.len() <= WARNING_BYTES && warning.bytes().all(|byte| (b' '..=b'~').contains(&byte)));
        }

        let again = decide(&after, Some("team-a"), &settings, &cluster);
        let mut twice = after.clone();
        prop_assert!(again.plan.apply(&mut twice).is_ok());
        prop_assert_eq!(after, twice, "a second run changes nothing");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_json_gets_a_decision(object in any_json(), cluster in cluster(), namespace in proptest::option::of("[ -~]{0,9}")) {
        let mut after = object.clone();
        let decision = decide(&object, namespace.as_deref(), &Settings::default(), &cluster);
        if decision.plan.apply(&mut after).is_err() {
            prop_assert_eq!(object, after);
        }
    }

    #[test]
    fn any_settings_get_an_answer(settings in any_json()) {
        let answer = Settings::read(&settings.to_string());
        prop_assert!(answer.is_ok() || answer.is_err_and(|complaint| !complaint.is_empty()));
    }
}
