//! Metrics, and the values of their labels.

use lmcache_api::Kind;

use super::{code, codes, table};
use crate::live::ChildKind;
use crate::plan::Reason;
use crate::run::metrics::{ClientState, METRICS, Operation, Outcome, Step};
use crate::status::{CONDITIONS, NOT_SEEN, OTHER};

const HEAD: &str = "\
## Metrics

OpenMetrics text, without authentication, at `/metrics` of the port that `--metrics-bind-address` says. A label
`namespace` of ours is that of the custom resource: `honorLabels: true` in a ServiceMonitor, or `honor_labels: true`,
keeps Prometheus from writing that of the controller over it. Series about a custom resource go when it is deleted.
";

pub(super) fn section() -> String {
    let metrics = METRICS.iter().map(|metric| {
        [
            code(metric.name),
            metric.kind.to_string(),
            codes(metric.labels),
            metric.help.to_owned(),
        ]
    });
    let metrics = table(["Metric", "Type", "Labels", "Meaning"], metrics);
    let values = table(["Label", "Of", "Values"], values());
    format!("{HEAD}\n{metrics}\n### Values of labels\n\n{values}")
}

/// The values of every label, by the metrics that have it.
fn values() -> Vec<[String; 3]> {
    let labels = METRICS
        .iter()
        .flat_map(|metric| metric.labels.iter().map(move |label| (*label, metric.name)));
    let mut rows: Vec<([String; 2], Vec<&str>)> = Vec::new();
    for (label, metric) in labels {
        let key = [code(label), of(label, metric)];
        match rows.iter_mut().find(|(known, _)| *known == key) {
            Some((_, metrics)) => metrics.push(metric),
            None => rows.push((key, vec![metric])),
        }
    }
    let row = |([label, values], metrics): ([String; 2], Vec<&str>)| [label, codes(metrics), values];
    rows.into_iter().map(row).collect()
}

/// What a label of a metric can say.
fn of(label: &str, metric: &str) -> String {
    match (label, metric) {
        ("kind", "lmcache_controller_objects_written_total") => {
            let children = ChildKind::ALL.map(ChildKind::as_str);
            let customs = Kind::ALL.map(Kind::as_str);
            codes(children.into_iter().chain(customs).chain(["Event"]))
        }
        ("kind", _) => codes(Kind::ALL),
        ("engine_kind", _) => codes(Kind::ALL.into_iter().filter(|kind| *kind != Kind::LMCacheCoordinator)),
        ("result", _) => codes(Outcome::ALL.map(Outcome::as_str)),
        ("operation", _) => codes(Operation::ALL.map(Operation::as_str)),
        ("step", _) => {
            let children = ChildKind::ALL.map(ChildKind::as_str);
            format!(
                "the kind of a child ({}), or {}",
                codes(children),
                codes(Step::ALL.map(Step::as_str))
            )
        }
        ("reason", "lmcache_controller_reconcile_errors_total") => codes(Reason::ALL.map(Reason::as_str)),
        ("reason", "lmcache_controller_condition") => {
            let other = code(OTHER);
            format!("a [reason](#reasons) of the condition; {other}: one that this controller does not write")
        }
        ("reason", _) => format!(
            "a [skip reason](#skip-reasons); {}: no policy saw the Pod; {}: something that no policy writes",
            code(NOT_SEEN),
            code(OTHER)
        ),
        ("type", _) => codes(CONDITIONS.iter().map(|condition| condition.name)),
        ("status", _) => codes(["True", "False", "Unknown"]),
        ("state", _) => codes(ClientState::ALL.map(ClientState::as_str)),
        ("verb", _) => "verb as in RBAC".to_owned(),
        ("resource", _) => format!("resource as in RBAC, or {} (which kinds are served)", code("discovery")),
        ("code", _) => format!("HTTP status code, or {} (no answer)", code("error")),
        ("version", _) => "version of the controller".to_owned(),
        ("namespace", _) => "namespace of the custom resource".to_owned(),
        ("name" | "engine", _) => "name of the custom resource".to_owned(),
        _ => String::new(),
    }
}
