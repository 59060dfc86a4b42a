//! The rules of `deploy/monitoring/prometheus-rule.yaml`, as Prometheus reads them.

use anyhow::{Context, Result};
use control_plane::cluster::read;
use serde_json::Value;

/// How many times faster than in a cluster the rules are in a test: half an hour is nine seconds.
const FASTER: f64 = 200.0;

/// What a rule file holds: `{"groups": [...]}`.
pub fn groups() -> Result<Value> {
    let mut objects = read("deploy/monitoring/prometheus-rule.yaml")?;
    let rule = objects.pop().context("an empty file")?;
    Ok(rule["spec"].clone())
}

/// The names of the alerts.
pub fn names() -> Result<Vec<String>> {
    let mut groups = groups()?;
    let rules = rules(&mut groups);
    Ok(rules.map(|rule| rule["alert"].as_str().unwrap().to_owned()).collect())
}

/// The same with one text each, so that unit tests need not repeat whole paragraphs.
pub fn without_long_texts() -> Result<Value> {
    let mut groups = groups()?;
    for rule in rules(&mut groups) {
        rule["annotations"]
            .as_object_mut()
            .unwrap()
            .retain(|key, _| key == "summary");
    }
    Ok(groups)
}

/// The same with everything that rules wait for shortened. What they look back at stays.
pub fn faster() -> Result<Value> {
    let mut groups = groups()?;
    for rule in rules(&mut groups) {
        for key in ["for", "keep_firing_for"] {
            if let Some(text) = rule[key].as_str() {
                let minutes: f64 = text.strip_suffix('m').context("not in minutes")?.parse()?;
                rule[key] = format!("{:.0}ms", minutes * 60_000.0 / FASTER).into();
            }
        }
    }
    Ok(groups)
}

fn rules(groups: &mut Value) -> impl Iterator<Item = &mut Value> {
    let groups = groups["groups"].as_array_mut().unwrap().iter_mut();
    groups.flat_map(|group| group["rules"].as_array_mut().unwrap())
}
