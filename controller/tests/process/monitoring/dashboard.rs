//! `deploy/monitoring/dashboard.json`.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{served, text, unknown};

fn dashboard() -> Value {
    serde_json::from_str(&text("deploy/monitoring/dashboard.json")).unwrap()
}

fn panels(dashboard: &Value) -> &[Value] {
    dashboard["panels"].as_array().unwrap()
}

/// A query without Grafana's variables.
fn plain(query: &str) -> String {
    query.replace("$__rate_interval", "5m")
}

#[test]
fn every_query_asks_for_what_is_served() {
    let served = served();
    let dashboard = dashboard();
    let mut queries = 0;
    for panel in panels(&dashboard) {
        for target in panel["targets"].as_array().into_iter().flatten() {
            let query = target["expr"].as_str().unwrap();
            assert_eq!(unknown(&plain(query), &served), [""; 0], "{}: {query}", panel["title"]);
            queries += 1;
        }
    }
    assert!(queries > 20, "{queries}");
    for variable in dashboard["templating"]["list"].as_array().unwrap() {
        if variable["type"] == "datasource" {
            continue;
        }
        let query = variable["query"]["query"].as_str().unwrap();
        let inner = query.strip_prefix("label_values(").unwrap().strip_suffix(')').unwrap();
        let (selector, label) = inner.rsplit_once(", ").unwrap();
        assert_eq!(unknown(&format!("max by ({label}) ({selector})"), &served), [""; 0]);
    }
}

/// Legends name labels that their series have.
#[test]
fn legends_name_labels_of_their_series() {
    let served = served();
    for panel in panels(&dashboard()) {
        for target in panel["targets"].as_array().into_iter().flatten() {
            let query = target["expr"].as_str().unwrap();
            for part in target["legendFormat"].as_str().unwrap().split("{{").skip(1) {
                let label = part.split("}}").next().unwrap();
                let grouped = format!("max by ({label}) ({})", plain(query));
                assert_eq!(unknown(&grouped, &served), [""; 0], "{}", panel["title"]);
            }
        }
    }
}

#[test]
fn the_data_source_is_chosen_once() {
    let dashboard = dashboard();
    let chosen = json!({"type": "prometheus", "uid": "${datasource}"});
    let variables = dashboard["templating"]["list"].as_array().unwrap();
    assert_eq!(
        (&variables[0]["name"], &variables[0]["type"]),
        (&json!("datasource"), &json!("datasource"))
    );
    for variable in &variables[1..] {
        assert_eq!(variable["datasource"], chosen);
    }
    for panel in panels(&dashboard).iter().filter(|panel| panel["type"] != "row") {
        assert_eq!(panel["datasource"], chosen, "{}", panel["title"]);
        for target in panel["targets"].as_array().unwrap() {
            assert_eq!(target["datasource"], chosen, "{}", panel["title"]);
        }
    }
}

/// What Grafana needs to show it, and that nothing lies over anything else.
#[test]
fn the_dashboard_has_the_shape_that_grafana_reads() {
    let dashboard = dashboard();
    assert!(dashboard["schemaVersion"].as_u64().unwrap() >= 36);
    assert_eq!(dashboard["uid"], "lmcache-kubewarden");
    assert!(dashboard.get("id").is_none(), "the number belongs to one Grafana");
    let types = ["row", "stat", "timeseries", "table"];
    let mut numbers = BTreeSet::new();
    let mut taken = BTreeSet::new();
    for panel in panels(&dashboard) {
        let title = panel["title"].as_str().unwrap();
        assert!(types.contains(&panel["type"].as_str().unwrap()), "{title}");
        assert!(numbers.insert(panel["id"].as_u64().unwrap()), "{title}");
        let side = |name: &str| panel["gridPos"][name].as_u64().unwrap();
        assert!(side("w") > 0 && side("x") + side("w") <= 24, "{title}");
        for x in side("x")..side("x") + side("w") {
            for y in side("y")..side("y") + side("h") {
                assert!(taken.insert((x, y)), "{title} lies over something");
            }
        }
        if panel["type"] != "row" {
            let targets = panel["targets"].as_array().unwrap();
            let references: BTreeSet<&str> = targets.iter().map(|target| target["refId"].as_str().unwrap()).collect();
            assert!(!targets.is_empty() && references.len() == targets.len(), "{title}");
            assert!(
                panel["fieldConfig"]["defaults"].is_object() && panel["options"].is_object(),
                "{title}"
            );
        }
    }
}
