use serde_json::{Value, json};

use super::support::{codes, crds, go_operator, go_webhooks, lease, report, stored};
use crate::adopt::{Level, codes as code};

fn as_it_was() -> Vec<Value> {
    let mut objects = stored("full");
    objects.extend(crds(false));
    objects.extend([
        go_operator(1),
        go_webhooks("Ignore"),
        lease("lmcache-operator-system", "f517be84.lmcache.ai", 1),
    ]);
    objects
}

#[test]
fn people_read_what_matters() {
    let report = report(as_it_was());
    let text = report.to_string();
    for line in [
        "Looked at on 2026-11-29T12:00:00Z; nothing was written, and no Secret was read",
        "the Go operator: Deployment lmcache-operator-system/lmcache-operator-controller-manager, 1 of 1 replicas ready",
        "      image lmcache/lmcache-operator:v0.5.2",
        "      led by \"pod-0\", renewed at 2026-11-29T11:59:59Z",
        "lmcache-controller: no Deployment found",
        "custom resources: 0 CacheBlendEngine, 0 LMCacheCoordinator, 1 LMCacheEngine",
        "CRD lmcacheengines.lmcache.lmcache.ai: of the Go operator",
        "judged by defaults: ipcDefault HostIPC, clusterDomain cluster.local",
        "the Go operator's mcacheblendpod.lmcache.ai (mutating), failurePolicy Ignore, asked about lmcache.ai/cacheblend-inject",
        "authority from Certificate lmcache-operator-system/lmcache-operator-serving-cert",
        ": servers run on; a later rollout changes spec.containers[lmcache].",
        "To be done first\n  [go-operator-runs] the Go operator runs: ",
        "      -> stop it before lmcache-controller starts",
        "Next: step 2, Policies that look\n",
    ] {
        assert!(text.contains(line), "{line:?} in\n{text}");
    }
    assert!(text.lines().all(|line| line.len() < 600), "{text}");
}

#[test]
fn programs_read_the_same() {
    let report = report(as_it_was());
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["clear"], false);
    assert_eq!(json["next"], json!({"step": 2, "title": "Policies that look"}));
    assert_eq!(json["goOperator"][0]["version"], "v0.5.2");
    assert_eq!(json["goOperator"][0]["leader"]["isFresh"], true);
    assert_eq!(json["counts"]["LMCacheEngine"], 1);
    assert_eq!(json["crds"][0]["isOurs"], false);
    assert_eq!(json["webhooks"][0]["whose"], "go-operator");
    assert_eq!(json["webhooks"][0]["failurePolicy"], "Ignore");
    assert_eq!(json["engines"][0]["servers"], "kept");
    assert_eq!(json["engines"][0]["ofTheGoOperator"], 5);
    assert_eq!(json["settings"]["ipcDefault"], "HostIPC");
    assert_eq!(
        codes(&report, Level::First),
        [code::GO_OPERATOR_RUNS, code::GO_WEBHOOKS],
        "{json:#}"
    );
    for finding in json["findings"].as_array().unwrap() {
        assert!(code::ALL.contains(&finding["code"].as_str().unwrap()), "{finding}");
        assert!(["first", "change", "note"].contains(&finding["level"].as_str().unwrap()));
    }
}

#[test]
fn an_empty_cluster_has_nothing_to_do() {
    let report = report([]);
    let text = report.to_string();
    assert!(report.clear);
    assert!(text.ends_with("Nothing is left to do.\n"), "{text}");
    assert!(!text.contains("Engines and coordinators"), "{text}");
}
