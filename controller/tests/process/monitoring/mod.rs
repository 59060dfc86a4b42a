//! `deploy/monitoring` asks for what the controller serves, and for nothing else; every alert is explained.

mod dashboard;
mod promql;
mod rules;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::read_to_string;
use std::path::Path;

use lmcache_api::Kind;
use lmcache_controller::plan::Reason;
use lmcache_controller::run::metrics::{ClientState, METRICS, Operation, Outcome};
use lmcache_controller::status::{CONDITIONS, NOT_SEEN};
use policy_kit::pod::SkipReason;
use serde_json::Value;

use crate::metrics::{filled, read};
use promql::{Named, Selector};

/// Labels that Prometheus gives every series of a target, under a ServiceMonitor.
const OF_TARGETS: [&str; 7] = [
    "namespace",
    "job",
    "instance",
    "pod",
    "service",
    "endpoint",
    "container",
];
/// Series that Prometheus makes itself.
const OF_PROMETHEUS: [(&str, &[&str]); 2] = [("up", &[]), ("ALERTS", &["alertname", "alertstate", "severity"])];

fn text(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn yaml(path: &str) -> Value {
    yaml_serde::from_str(&text(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The labels of everything that can be asked for, by its name in queries.
fn served() -> BTreeMap<String, BTreeSet<String>> {
    let exposition = read(&filled().text().unwrap());
    let mut served: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (name, labels) in exposition.labels {
        served.entry(name).or_default().extend(labels);
    }
    for (name, labels) in OF_PROMETHEUS {
        let labels = labels.iter().map(|label| (*label).to_owned());
        served.entry(name.to_owned()).or_default().extend(labels);
    }
    for labels in served.values_mut() {
        labels.extend(OF_TARGETS.map(str::to_owned));
    }
    served
}

/// The words that a label can be, where they are known.
fn words(metric: &str, label: &str) -> Option<Vec<&'static str>> {
    let reasons = || CONDITIONS.iter().flat_map(|condition| condition.reasons);
    Some(match (metric, label) {
        (_, "type") => CONDITIONS.map(|condition| condition.name).to_vec(),
        (_, "status") => vec!["True", "False", "Unknown"],
        (_, "state") => ClientState::ALL.map(ClientState::as_str).to_vec(),
        (_, "result") => Outcome::ALL.map(Outcome::as_str).to_vec(),
        (_, "operation") => Operation::ALL.map(Operation::as_str).to_vec(),
        (_, "engine_kind") => Kind::ALL.map(Kind::as_str).to_vec(),
        ("lmcache_controller_condition", "reason") => reasons().map(|row| row.reason).collect(),
        ("lmcache_controller_reconcile_errors_total", "reason") => Reason::ALL.map(Reason::as_str).to_vec(),
        ("lmcache_controller_clients_skipped", "reason") => {
            let reasons = SkipReason::ALL.map(SkipReason::as_str).into_iter();
            reasons.chain([NOT_SEEN]).collect()
        }
        _ => return None,
    })
}

/// What a query asks for that is not there.
fn unknown(query: &str, served: &BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
    let Named { selectors, labels } = promql::read(query);
    let mut unknown = Vec::new();
    let mut of_all = BTreeSet::new();
    if selectors.is_empty() {
        unknown.push("any metric".to_owned());
    }
    for Selector { metric, matchers } in &selectors {
        let Some(known) = served.get(metric) else {
            unknown.push(metric.clone());
            continue;
        };
        of_all.extend(known);
        for (label, sign, value) in matchers {
            if !known.contains(label) {
                unknown.push(format!("label {label} of {metric}"));
            }
            let is_word = sign == "=" || sign == "!=";
            if is_word && words(metric, label).is_some_and(|words| !words.contains(&value.as_str())) {
                unknown.push(format!("{label}={value} of {metric}"));
            }
        }
    }
    unknown.extend(
        labels
            .into_iter()
            .filter(|label| !of_all.contains(label))
            .map(|label| format!("label {label}")),
    );
    unknown
}

#[test]
fn what_is_not_served_is_found() {
    let served = served();
    for (query, expected) in [
        ("sum by (kind) (lmcache_controller_queue_depth)", vec![]),
        (
            "lmcache_controller_queue_length",
            vec!["lmcache_controller_queue_length"],
        ),
        (
            "max by (engine) (lmcache_controller_queue_depth{name=\"a\"})",
            vec!["label name of lmcache_controller_queue_depth", "label engine"],
        ),
        (
            "lmcache_controller_clients{state=\"uncoverd\"}",
            vec!["state=uncoverd of lmcache_controller_clients"],
        ),
        ("1 > 0", vec!["any metric"]),
    ] {
        assert_eq!(unknown(query, &served), expected, "{query}");
    }
    for metric in METRICS {
        assert!(
            served.keys().any(|name| name.starts_with(metric.name)),
            "{}",
            metric.name
        );
    }
}

/// The monitor finds the Service of `deploy/controller`, by the port that the container has, and keeps our namespaces.
#[test]
fn the_service_monitor_leads_to_the_controller() {
    let monitor = yaml("deploy/monitoring/service-monitor.yaml");
    let service = yaml("deploy/controller/service.yaml");
    let rules = yaml("deploy/monitoring/prometheus-rule.yaml");
    for (key, value) in monitor["spec"]["selector"]["matchLabels"].as_object().unwrap() {
        assert_eq!(&service["metadata"]["labels"][key], value, "{key}");
    }
    let namespace = &service["metadata"]["namespace"];
    assert_eq!(&monitor["spec"]["namespaceSelector"]["matchNames"][0], namespace);
    for object in [&monitor, &rules] {
        assert_eq!(&object["metadata"]["namespace"], namespace);
        assert_eq!(object["apiVersion"], "monitoring.coreos.com/v1");
    }
    let endpoint = &monitor["spec"]["endpoints"][0];
    assert_eq!(endpoint["port"], service["spec"]["ports"][0]["name"]);
    assert_eq!(endpoint["honorLabels"], true);
    let kustomization = yaml("deploy/monitoring/kustomization.yaml");
    for file in ["prometheus-rule.yaml", "service-monitor.yaml"] {
        assert!(kustomization["resources"].as_array().unwrap().contains(&file.into()));
    }
    let files = &kustomization["configMapGenerator"][0]["files"];
    assert_eq!(files[0], "lmcache.json=dashboard.json");
}
