use serde_json::json;

use super::support::{codes, controller, found, go_operator, lease, report};
use crate::adopt::{Level, codes as code};

#[test]
fn it_is_recognised_by_its_image_or_by_kubebuilders_label_and_its_name() {
    let mut mirrored = go_operator(1);
    mirrored["spec"]["template"]["spec"]["containers"][0]["image"] =
        json!("registry.example.com/mirror/lmcache-operator@sha256:0a");
    mirrored["metadata"]["labels"] = json!({});
    let mut rebuilt = go_operator(1);
    rebuilt["spec"]["template"]["spec"]["containers"][0]["image"] = json!("controller:latest");
    let mut helm = go_operator(1);
    helm["metadata"]["name"] = json!("cache-controller-manager");
    helm["metadata"]["namespace"] = json!("serving");
    for (name, deployment, version) in [
        ("mirrored", mirrored, None),
        ("rebuilt", rebuilt, Some("latest")),
        ("by Helm", helm, Some("v0.5.2")),
    ] {
        let report = report([deployment]);
        assert_eq!(report.go_operator.len(), 1, "{name}");
        assert_eq!(report.go_operator[0].version.as_deref(), version, "{name}");
        assert!(report.controller.is_empty(), "{name}");
        assert_eq!(codes(&report, Level::First), [code::GO_OPERATOR_RUNS], "{name}");
    }
}

#[test]
fn other_operators_made_with_kubebuilder_are_none() {
    let mut other = go_operator(1);
    other["spec"]["template"]["spec"]["containers"][0]["image"] = json!("registry.example.com/operator:v1");
    other["metadata"]["name"] = json!("database-controller-manager");
    other["metadata"]["namespace"] = json!("database-system");
    let report = report([other]);
    assert!(report.go_operator.is_empty());
    assert!(report.clear, "{:#?}", report.findings);
}

#[test]
fn what_runs_must_stop_and_two_are_worse() {
    let alone = report([go_operator(2)]);
    let finding = found(&alone, code::GO_OPERATOR_RUNS);
    assert!(!alone.clear);
    assert!(
        finding.todo.ends_with(
            "kubectl -n lmcache-operator-system scale deployment lmcache-operator-controller-manager --replicas=0"
        ),
        "{finding:?}"
    );
    let both = report([go_operator(1), controller(2)]);
    assert_eq!(codes(&both, Level::First), [code::TWO_CONTROLLERS]);
    let finding = found(&both, code::TWO_CONTROLLERS);
    assert!(
        finding.found.contains("lmcache-system/lmcache-controller"),
        "{finding:?}"
    );
    let after = report([go_operator(0), controller(2)]);
    assert!(after.clear, "{:#?}", after.findings);
    let finding = found(&after, code::LEFTOVERS);
    assert!(
        finding
            .found
            .contains("lmcache-operator-system/lmcache-operator-controller-manager")
    );
    // By Helm, its release may still take the CRDs along, whatever those say of themselves by now.
    let mut helm = go_operator(0);
    helm["metadata"]["annotations"] =
        json!({"meta.helm.sh/release-name": "cache", "meta.helm.sh/release-namespace": "serving"});
    let after = report([helm, controller(2)]);
    let finding = found(&after, code::LEFTOVERS);
    assert!(
        finding.todo.contains("helm uninstall of serving/cache") && finding.todo.contains("all three CRDs"),
        "{finding:?}"
    );
}

#[test]
fn a_pod_that_ends_and_a_fresh_lease_still_count() {
    let mut ending = go_operator(0);
    ending["status"] = json!({"replicas": 1});
    assert_eq!(codes(&report([ending]), Level::First), [code::GO_OPERATOR_RUNS]);

    let of = |seconds| lease("lmcache-operator-system", "f517be84.lmcache.ai", seconds);
    let fresh = report([go_operator(0), of(5)]);
    assert_eq!(codes(&fresh, Level::First), [code::GO_OPERATOR_RUNS]);
    let note = fresh
        .of(Level::Note)
        .find(|finding| finding.code == code::GO_OPERATOR_RUNS)
        .unwrap();
    assert!(
        note.found.contains("has no Pods") && note.todo.contains("look again in a minute"),
        "{note:?}"
    );
    let old = report([go_operator(0), of(300)]);
    assert!(old.clear, "{:#?}", old.findings);
    assert!(!old.go_operator[0].leader.as_ref().unwrap().is_fresh);
    // One that runs where no Deployment of it is recognised, and then beside ours.
    let elsewhere = lease("elsewhere", "f517be84.lmcache.ai", 5);
    let alone = report([go_operator(0), elsewhere.clone()]);
    assert_eq!(codes(&alone, Level::First), [code::GO_OPERATOR_RUNS]);
    let finding = found(&alone, code::GO_OPERATOR_RUNS);
    assert!(
        finding.found.contains("elsewhere/f517be84.lmcache.ai") && finding.found.contains("pod-0"),
        "{finding:?}"
    );
    assert_eq!(alone.next.map(|next| next.step), Some(2));
    let both = report([controller(1), elsewhere]);
    assert_eq!(codes(&both, Level::First), [code::TWO_CONTROLLERS]);
    assert!(report([lease("elsewhere", "f517be84.lmcache.ai", 300)]).clear);
}

#[test]
fn what_is_reconciled_comes_back() {
    let mut synced = go_operator(1);
    synced["metadata"]["annotations"] =
        json!({"argocd.argoproj.io/tracking-id": "lmcache:apps/Deployment:lmcache-operator-system/manager"});
    let report = report([synced]);
    let finding = found(&report, code::BROUGHT_BACK);
    assert_eq!(finding.level, Level::Note);
    assert!(finding.found.contains("Argo CD lmcache"), "{finding:?}");
}
