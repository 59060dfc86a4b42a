use serde_json::{Value, json};

use super::support::{codes, crds, found, report, stored};
use crate::adopt::{Level, codes as code};

/// The CRDs with this metadata, and an engine.
fn with(metadata: &Value) -> Vec<Value> {
    let mut objects = crds(false);
    for crd in &mut objects {
        for (key, value) in metadata.as_object().unwrap() {
            crd["metadata"][key] = value.clone();
        }
    }
    objects.extend(stored("minimal"));
    objects
}

fn helm(manager: Option<&str>) -> Value {
    let mut annotations = json!({"meta.helm.sh/release-name": "cache", "meta.helm.sh/release-namespace": "ops"});
    let mut fields = json!({});
    if let Some(manager) = manager {
        annotations["helm.sh/resource-policy"] = json!("keep");
        let fields_v1 = json!({"f:metadata": {"f:annotations": {"f:helm.sh/resource-policy": {}}}});
        fields = json!([{"manager": manager, "operation": "Update", "fieldsV1": fields_v1}]);
    }
    json!({
        "annotations": annotations, "labels": {"app.kubernetes.io/managed-by": "Helm"}, "managedFields": fields,
    })
}

#[test]
fn a_release_takes_its_crds_along_unless_it_says_otherwise_itself() {
    let alone = report(with(&helm(None)));
    let finding = found(&alone, code::CRDS_AT_RISK);
    assert_eq!(finding.level, Level::First);
    assert!(
        finding.found.starts_with("cacheblendengines") || finding.found.starts_with("lmcacheengines"),
        "{finding:?}"
    );
    assert!(
        finding.found.contains("Helm ops/cache") && !finding.found.contains("by hand"),
        "{finding:?}"
    );
    assert!(finding.todo.contains("helm get manifest cache -n ops"), "{finding:?}");

    let by_hand = report(with(&helm(Some("kubectl-annotate"))));
    let finding = found(&by_hand, code::CRDS_AT_RISK);
    assert!(finding.found.contains("set by hand"), "{finding:?}");

    let kept = report(with(&helm(Some("helm"))));
    assert!(kept.clear, "{:#?}", kept.findings);
}

#[test]
fn without_objects_there_is_nothing_to_lose() {
    let mut objects = with(&helm(None));
    objects.retain(|object| object["kind"] == "CustomResourceDefinition");
    let report = report(objects);
    assert!(report.clear);
    assert_eq!(found(&report, code::CRDS_AT_RISK).level, Level::Note);
}

#[test]
fn gitops_takes_them_along_as_well() {
    let tracking = "argocd.argoproj.io/tracking-id";
    for (metadata, tool, is_clear) in [
        (json!({"annotations": {tracking: "cache:x:y"}}), "Argo CD cache", false),
        // Kept when the application goes, and not when its source has it no more.
        (
            json!({"annotations": {tracking: "cache:x:y", "argocd.argoproj.io/sync-options": "Delete=false"}}),
            "Argo CD cache",
            false,
        ),
        (
            json!({"annotations": {tracking: "cache:x:y", "argocd.argoproj.io/sync-options": "Prune=false, Delete=false"}}),
            "",
            true,
        ),
        (
            json!({"labels": {"kustomize.toolkit.fluxcd.io/name": "cache", "kustomize.toolkit.fluxcd.io/namespace": "flux"}}),
            "Flux Kustomization flux/cache",
            false,
        ),
        (
            json!({
                "labels": {"kustomize.toolkit.fluxcd.io/name": "cache"},
                "annotations": {"kustomize.toolkit.fluxcd.io/prune": "disabled"},
            }),
            "",
            true,
        ),
        (
            json!({"labels": {"operators.coreos.com/lmcache.ops": ""}}),
            "OLM lmcache.ops",
            false,
        ),
        (json!({}), "", true),
    ] {
        let report = report(with(&metadata));
        assert_eq!(report.clear, is_clear, "{metadata}: {:#?}", report.findings);
        if !is_clear {
            let finding = found(&report, code::CRDS_AT_RISK);
            assert!(finding.found.contains(tool), "{finding:?}");
        }
    }
}

#[test]
fn ours_are_told_from_the_go_operators() {
    let theirs = report(crds(false));
    assert!(theirs.crds.iter().all(|crd| !crd.is_ours));
    assert_eq!(codes(&theirs, Level::Note), [code::CRDS_OF_THE_GO_OPERATOR]);
    let ours = report(crds(true));
    assert_eq!(ours.crds.len(), 3);
    assert!(ours.crds.iter().all(|crd| crd.is_ours));
    assert!(ours.findings.is_empty(), "{:#?}", ours.findings);
    let none = report([]);
    assert_eq!(codes(&none, Level::Note), [code::NO_CRDS]);
    assert_eq!(none.next, None);
}
