//! The alerts of `deploy/monitoring`: promtool takes them and their unit tests pass, and each is seen to fire in a real
//! Prometheus that watches a real controller.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

#[path = "alerts/causes.rs"]
mod causes;
#[path = "alerts/rules.rs"]
mod rules;
mod shared;
#[path = "alerts/watched.rs"]
mod watched;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};
use control_plane::Tool;
use control_plane::process::Folder;
use serde_json::Value;

/// The unit tests of the rules.
fn unit_tests() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("alerts");
    let entries = fs::read_dir(folder).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn every_alert_is_tested_where_it_fires_and_where_it_does_not() {
    let mut cases: BTreeMap<String, [usize; 2]> = BTreeMap::new();
    for file in unit_tests() {
        let text = fs::read_to_string(&file).unwrap();
        let file: Value = yaml_serde::from_str(&text).unwrap();
        let groups = file["tests"].as_array().unwrap();
        for case in groups
            .iter()
            .flat_map(|group| group["alert_rule_test"].as_array().unwrap())
        {
            let alerts = case["exp_alerts"].as_array().map_or(0, Vec::len);
            let name = case["alertname"].as_str().unwrap().to_owned();
            cases.entry(name).or_default()[usize::from(alerts > 0)] += 1;
        }
    }
    let mut untested = Vec::new();
    for alert in rules::names().unwrap() {
        let [silent, fires] = cases.remove(&alert).unwrap_or_default();
        if silent == 0 || fires == 0 {
            untested.push(alert);
        }
    }
    assert_eq!(untested, [""; 0]);
    assert_eq!(cases, BTreeMap::new(), "no such alerts");
}

/// Runs promtool in a folder.
fn promtool(folder: &Path, arguments: &[&str]) -> Result<String> {
    let output = Command::new(Tool::Promtool.find()?)
        .args(arguments)
        .current_dir(folder)
        .output()?;
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    ensure!(output.status.success(), "promtool {arguments:?}: {said}");
    Ok(said)
}

#[test]
#[ignore = "needs promtool: make e2e"]
fn promtool_takes_the_rules() -> Result<()> {
    let folder = Folder::new()?;
    fs::write(folder.path().join("rules.yaml"), rules::groups()?.to_string())?;
    let said = promtool(
        folder.path(),
        &["check", "rules", "--lint=all", "--lint-fatal", "rules.yaml"],
    )?;
    let expected = format!("SUCCESS: {} rules found", rules::names()?.len());
    assert!(said.contains(&expected), "{said}");

    // Not a word of what it does not know.
    let mut faulty = rules::groups()?;
    faulty["groups"][0]["rules"][0]["expr"] = "sum(".into();
    fs::write(folder.path().join("faulty.yaml"), faulty.to_string())?;
    let refused = promtool(folder.path(), &["check", "rules", "faulty.yaml"]);
    assert!(refused.is_err(), "{refused:?}");
    Ok(())
}

#[test]
#[ignore = "needs promtool: make e2e"]
fn the_unit_tests_of_the_rules_pass() -> Result<()> {
    let folder = Folder::new()?;
    fs::write(
        folder.path().join("rules.yaml"),
        rules::without_long_texts()?.to_string(),
    )?;
    for file in unit_tests() {
        let name = file.file_name().unwrap();
        fs::copy(&file, folder.path().join(name))?;
        promtool(folder.path(), &["test", "rules", &name.to_string_lossy()])?;
    }
    Ok(())
}
