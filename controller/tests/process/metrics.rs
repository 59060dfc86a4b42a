//! What is recorded is what is served, by the names and labels that are listed.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use lmcache_api::{ClientsStatus, Kind};
use lmcache_controller::live::Key;
use lmcache_controller::run::metrics::{METRICS, Metrics, Operation, Outcome, Type};
use lmcache_controller::status::{CONDITIONS, Shown, Summary};
use serde_json::json;

use crate::api::service;

/// An exposition, read by the rules of OpenMetrics.
#[derive(Debug, Default)]
pub struct Exposition {
    /// By family: type and help.
    pub families: BTreeMap<String, (String, String)>,
    /// By name and labels as they are written.
    pub samples: BTreeMap<String, f64>,
    /// By name: names of labels.
    pub labels: BTreeMap<String, Vec<String>>,
}

pub fn read(text: &str) -> Exposition {
    let mut read = Exposition::default();
    let text = text.strip_suffix("# EOF\n").expect("an end");
    let mut current = String::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').unwrap();
            let before = read.families.insert(name.to_owned(), (String::new(), help.to_owned()));
            assert_eq!(before, None, "{name} twice");
            name.clone_into(&mut current);
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            kind.clone_into(&mut read.families.get_mut(name).unwrap().0);
        } else {
            let (series, value) = line.rsplit_once(' ').unwrap();
            let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
            assert!(name.starts_with(&current), "{line} is not of {current}");
            let labels = labels.strip_suffix('}').unwrap();
            let names = labels.split(',').filter(|pair| !pair.is_empty()).map(|pair| {
                let (name, value) = pair.split_once('=').unwrap();
                assert!(
                    value.len() > 2 && value.starts_with('"') && value.ends_with('"'),
                    "{line}"
                );
                name.to_owned()
            });
            read.labels.insert(name.to_owned(), names.collect());
            let before = read.samples.insert(series.to_owned(), value.parse().unwrap());
            assert_eq!(before, None, "{series} twice");
        }
    }
    read
}

fn engine(name: &str) -> Key {
    Key::new(Kind::LMCacheEngine, "team-a", name)
}

fn found() -> Summary {
    let shown = |type_, status, reason| Shown { type_, status, reason };
    Summary {
        desired: 3,
        ready: 2,
        conditions: vec![
            shown("Ready", "False", "NotAllReady"),
            shown("ConfigValid", "True", "Valid"),
        ],
    }
}

pub fn filled() -> Metrics {
    let metrics = Metrics::new();
    metrics.reconciled(Kind::LMCacheEngine, Outcome::Written, Duration::from_millis(30));
    metrics.reconciled(Kind::LMCacheEngine, Outcome::Written, Duration::from_secs(2));
    metrics.error(Kind::LMCacheCoordinator, "apply", "Conflict");
    metrics.written("DaemonSet", Operation::Takeover);
    metrics.request("update", "leases", "409");
    metrics.queue_depth(Kind::CacheBlendEngine, 7);
    let counts = ClientsStatus {
        wired: 5,
        skipped: 3,
        drifted: 2,
        uncovered: 1,
    };
    let skipped = BTreeMap::from([("command-override".to_owned(), 2), ("engine-not-found".to_owned(), 1)]);
    metrics.clients(&engine("cache"), &counts, &skipped);
    metrics.found(&engine("cache"), found());
    metrics.leader(true);
    metrics
}

#[test]
fn every_listed_metric_is_served_and_no_other() {
    let read = read(&filled().text().unwrap());
    let listed: BTreeSet<String> = METRICS
        .iter()
        .map(|metric| metric.name.strip_suffix("_total").unwrap_or(metric.name).to_owned())
        .collect();
    assert_eq!(read.families.keys().cloned().collect::<BTreeSet<_>>(), listed);
    for metric in METRICS {
        let family = metric.name.strip_suffix("_total").unwrap_or(metric.name);
        let (kind, help) = &read.families[family];
        assert_eq!(
            (kind.clone(), help.clone()),
            (metric.kind.to_string(), format!("{}.", metric.help)),
            "{family}"
        );
        assert_eq!(
            metric.kind == Type::Counter,
            metric.name.ends_with("_total"),
            "{family}"
        );
        let sample = match metric.kind {
            Type::Histogram => format!("{family}_count"),
            _ => metric.name.to_owned(),
        };
        assert_eq!(read.labels[&sample], metric.labels, "{family}");
    }
}

#[test]
fn what_was_recorded_is_there() {
    let read = read(&filled().text().unwrap());
    let version = env!("CARGO_PKG_VERSION");
    for (series, value) in [
        (r#"reconciles_total{kind="LMCacheEngine",result="written"}"#, 2.0),
        (r#"reconciles_total{kind="LMCacheEngine",result="failed"}"#, 0.0),
        (
            r#"reconcile_errors_total{kind="LMCacheCoordinator",step="apply",reason="Conflict"}"#,
            1.0,
        ),
        (r#"reconcile_duration_seconds_sum{kind="LMCacheEngine"}"#, 2.03),
        (
            r#"reconcile_duration_seconds_bucket{le="0.05",kind="LMCacheEngine"}"#,
            1.0,
        ),
        (
            r#"reconcile_duration_seconds_bucket{le="+Inf",kind="LMCacheEngine"}"#,
            2.0,
        ),
        (r#"objects_written_total{kind="DaemonSet",operation="takeover"}"#, 1.0),
        (r#"api_requests_total{verb="update",resource="leases",code="409"}"#, 1.0),
        (r#"queue_depth{kind="CacheBlendEngine"}"#, 7.0),
        (r#"queue_depth{kind="LMCacheEngine"}"#, 0.0),
        (
            r#"clients{namespace="team-a",engine_kind="LMCacheEngine",engine="cache",state="wired"}"#,
            5.0,
        ),
        (
            r#"clients{namespace="team-a",engine_kind="LMCacheEngine",engine="cache",state="skipped"}"#,
            3.0,
        ),
        (
            r#"clients{namespace="team-a",engine_kind="LMCacheEngine",engine="cache",state="drifted"}"#,
            2.0,
        ),
        (
            r#"clients{namespace="team-a",engine_kind="LMCacheEngine",engine="cache",state="uncovered"}"#,
            1.0,
        ),
        (
            r#"clients_skipped{namespace="team-a",engine_kind="LMCacheEngine",engine="cache",reason="command-override"}"#,
            2.0,
        ),
        (
            r#"condition{namespace="team-a",kind="LMCacheEngine",name="cache",type="Ready",status="False",reason="NotAllReady"}"#,
            1.0,
        ),
        (
            r#"instances_desired{namespace="team-a",kind="LMCacheEngine",name="cache"}"#,
            3.0,
        ),
        (
            r#"instances_ready{namespace="team-a",kind="LMCacheEngine",name="cache"}"#,
            2.0,
        ),
        ("leader", 1.0),
        (&format!(r#"build_info{{version="{version}"}}"#), 1.0),
    ] {
        let found = read.samples.get(&format!("lmcache_controller_{series}"));
        assert_eq!(found, Some(&value), "{series} in {:#?}", read.samples);
    }
    assert!(read.samples["process_resident_memory_bytes"] > 1e6);
    assert!(read.samples["process_start_time_seconds"] > 1.7e9);
    assert!(read.samples["process_cpu_seconds_total"] >= 0.0);
}

#[test]
fn an_engine_goes_with_its_series_and_a_new_count_replaces_the_old() {
    let metrics = filled();
    let of = |name: &str| {
        let read = read(&metrics.text().unwrap());
        let names = [format!("engine=\"{name}\""), format!("name=\"{name}\"")];
        read.samples
            .into_iter()
            .filter(|(series, _)| names.iter().any(|name| series.contains(name)))
            .collect::<BTreeMap<_, _>>()
    };
    metrics.clients(&engine("second"), &ClientsStatus::default(), &BTreeMap::new());
    assert_eq!((of("cache").len(), of("second").len()), (6 + 4, 4));
    let skipped = BTreeMap::from([("command-override".to_owned(), 1)]);
    metrics.clients(&engine("cache"), &ClientsStatus::default(), &skipped);
    metrics.found(&engine("cache"), Summary::default());
    assert_eq!(of("cache").len(), 5 + 2);
    assert_eq!(of("cache").values().sum::<f64>(), 1.0);
    metrics.forget(&engine("cache"));
    metrics.forget(&engine("never seen"));
    assert_eq!((of("cache").len(), of("second").len()), (0, 4));
}

#[test]
fn text_of_others_makes_neither_odd_labels_nor_endless_series() {
    let metrics = Metrics::new();
    metrics.error(Kind::LMCacheEngine, "apply", "it said \"no\"\nand {more}");
    let mut skipped: BTreeMap<String, u32> = (0..1_000).map(|number| (format!("reason-{number}"), 1)).collect();
    skipped.insert("a\"b\\c\n".to_owned(), 5);
    skipped.insert("x".repeat(300), 5);
    metrics.clients(&engine("cache"), &ClientsStatus::default(), &skipped);
    let read = read(&metrics.text().unwrap());
    let reasons: Vec<_> = read
        .samples
        .iter()
        .filter(|(series, _)| series.contains("clients_skipped"))
        .collect();
    assert_eq!(reasons.len(), 33, "32 and other");
    assert_eq!(reasons.iter().map(|(_, count)| **count).sum::<f64>(), 1_010.0);
    assert!(
        read.samples
            .keys()
            .any(|series| series.contains(r#"step="apply",reason="other""#))
    );
}

/// Scrapes are made of it every half minute, and Prometheus keeps every series for weeks.
#[test]
fn a_thousand_engines_have_thirteen_series_each() {
    let metrics = Metrics::new();
    let before = read(&metrics.text().unwrap()).samples.len();
    let conditions = CONDITIONS.iter().map(|known| Shown {
        type_: known.name,
        status: "Unknown",
        reason: "ServiceMonitorNotInstalled",
    });
    let found = Summary {
        desired: 1,
        ready: 1,
        conditions: conditions.collect(),
    };
    for number in 0..1_000 {
        let engine = engine(&format!("engine-{number:0>40}"));
        metrics.found(&engine, found.clone());
        metrics.clients(&engine, &ClientsStatus::default(), &BTreeMap::new());
    }
    let text = metrics.text().unwrap();
    assert_eq!(read(&text).samples.len() - before, 13_000);
    assert!(text.len() < 2_500_000, "{} bytes", text.len());
}

#[tokio::test]
async fn requests_are_counted_by_what_they_ask_for() {
    use k8s_openapi::api::core::v1::Secret;
    use kube::api::{Api, ListParams};
    use kube::client::ClientBuilder;

    let metrics = Metrics::new();
    let inner = service(|_, target, _| async move {
        let code = if target.contains("/secrets/") { 404 } else { 200 };
        let list = json!({"apiVersion": "v1", "kind": "SecretList", "metadata": {}, "items": []});
        let status =
            json!({"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": 404, "reason": "NotFound"});
        Some((code, if code == 404 { status } else { list }))
    });
    let client = ClientBuilder::new(inner, "team-a")
        .with_layer(&metrics.count_requests())
        .build();
    let secrets: Api<Secret> = Api::namespaced(client.clone(), "team-a");
    secrets.list(&ListParams::default()).await.unwrap();
    assert!(secrets.get_opt("login").await.unwrap().is_none());
    let _ = client.apiserver_version().await;
    let read = read(&metrics.text().unwrap());
    for series in [
        r#"{verb="list",resource="secrets",code="200"}"#,
        r#"{verb="get",resource="secrets",code="404"}"#,
        r#"{verb="get",resource="discovery",code="200"}"#,
    ] {
        let found = read
            .samples
            .get(&format!("lmcache_controller_api_requests_total{series}"));
        assert_eq!(found, Some(&1.0), "{series} in {:#?}", read.samples);
    }
}
