//! Who owns an object, where several tools write the same labels.

use serde_json::{Value, json};

use super::support::{codes, crds, found, go_operator, go_webhooks, report, stored};
use crate::adopt::{Level, Report, codes as code};

const INSTANCE: &str = "app.kubernetes.io/instance";

/// CRDs, Deployment and webhooks of the Go operator with this metadata, and an engine.
fn with(metadata: &Value) -> Report {
    let mut objects = crds(false);
    objects.extend([go_operator(1), go_webhooks("Ignore")]);
    for object in &mut objects {
        for (key, value) in metadata.as_object().unwrap() {
            object["metadata"][key] = value.clone();
        }
    }
    objects.extend(stored("minimal"));
    report(objects)
}

fn brought_back(report: &Report) -> Vec<&str> {
    let notes = report
        .of(Level::Note)
        .filter(|finding| finding.code == code::BROUGHT_BACK);
    notes.map(|finding| finding.found.as_str()).collect()
}

/// Before Argo CD 3.0 the label says whose an object is, and nothing else does.
#[test]
fn argo_cd_is_known_by_its_label_where_it_wrote_the_object() {
    for manager in ["argocd-controller", "argocd-application-controller"] {
        let written = json!([{"manager": manager, "operation": "Update"}]);
        for labels in [
            json!({INSTANCE: "cache"}),
            json!({INSTANCE: "cache", "app.kubernetes.io/managed-by": "Helm"}),
        ] {
            let report = with(&json!({"labels": labels, "managedFields": written}));
            assert!(
                found(&report, code::CRDS_AT_RISK).found.contains("Argo CD cache"),
                "{:#?}",
                report.findings
            );
            let notes = brought_back(&report);
            assert_eq!(notes.len(), 3, "{notes:#?}");
            assert!(
                notes.iter().all(|note| note.contains("Argo CD cache owns ")),
                "{notes:#?}"
            );
        }
    }
}

/// Helm's charts and others set the label too. What is not known is a note, and no reason to wait.
#[test]
fn the_label_alone_is_told_as_uncertain() {
    let report =
        with(&json!({"labels": {INSTANCE: "cache"}, "managedFields": [{"manager": "kubectl-client-side-apply"}]}));
    assert!(
        !codes(&report, Level::First).contains(&code::CRDS_AT_RISK),
        "{:#?}",
        report.findings
    );
    let notes = brought_back(&report);
    assert_eq!(notes.len(), 3, "{notes:#?}");
    assert!(
        notes
            .iter()
            .all(|note| note.contains("Argo CD cache may own ") && note.contains(INSTANCE)),
        "{notes:#?}"
    );
    assert!(report.to_string().contains("perhaps Argo CD cache"), "{report}");
    assert_eq!(report.next.as_ref().map(|next| next.step), Some(2));

    // Tracked by a label of another name.
    let report =
        with(&json!({"labels": {"example.com/app": "cache"}, "managedFields": [{"manager": "argocd-controller"}]}));
    let notes = brought_back(&report);
    assert_eq!(notes.len(), 3, "{notes:#?}");
    assert!(notes.iter().all(|note| note.contains("may own ")), "{notes:#?}");
}

#[test]
fn the_label_of_a_helm_release_or_of_a_child_is_not_argo_cds() {
    for metadata in [
        json!({
            "labels": {INSTANCE: "cache", "app.kubernetes.io/managed-by": "Helm"},
            "annotations": {"meta.helm.sh/release-name": "cache", "meta.helm.sh/release-namespace": "ops"},
        }),
        json!({"labels": {INSTANCE: "kv", "app.kubernetes.io/managed-by": "lmcache-operator"}}),
    ] {
        let report = with(&metadata);
        assert_eq!(brought_back(&report), [""; 0]);
        assert!(!report.to_string().contains("Argo CD"), "{report}");
    }
}

/// CRDs have to change as well.
#[test]
fn crds_are_brought_back_too() {
    for (metadata, owner) in [
        (
            json!({"annotations": {"argocd.argoproj.io/tracking-id": "cache:x:y"}}),
            "Argo CD cache",
        ),
        (
            json!({"labels": {"kustomize.toolkit.fluxcd.io/name": "cache", "kustomize.toolkit.fluxcd.io/namespace": "flux"}}),
            "Flux Kustomization flux/cache",
        ),
        (
            json!({"labels": {"helm.toolkit.fluxcd.io/name": "cache", "helm.toolkit.fluxcd.io/namespace": "flux"}}),
            "Flux HelmRelease flux/cache",
        ),
    ] {
        let report = with(&metadata);
        let notes = brought_back(&report);
        let said = format!("{owner} owns CRDs ");
        assert!(
            notes
                .iter()
                .any(|note| note.contains(&said) && note.contains("lmcacheengines")),
            "{notes:#?}"
        );
    }
    // What has to change no more is not brought back, unless it is the Go operator's application that has it.
    let mut ours = crds(true);
    for crd in &mut ours {
        crd["metadata"]["annotations"] = json!({"argocd.argoproj.io/tracking-id": "cache:x:y"});
    }
    assert_eq!(brought_back(&report(ours.clone())), [""; 0]);
    let mut go = go_operator(0);
    go["metadata"]["annotations"] = json!({"argocd.argoproj.io/tracking-id": "cache:x:z"});
    ours.push(go);
    assert_eq!(brought_back(&report(ours)).len(), 1);
}

/// What Flux's HelmRelease deletes is what `helm uninstall` deletes.
#[test]
fn a_helm_release_of_flux_keeps_what_its_manifest_keeps() {
    let labels = json!({"helm.toolkit.fluxcd.io/name": "cache", "helm.toolkit.fluxcd.io/namespace": "flux"});
    let release = json!({"meta.helm.sh/release-name": "cache", "meta.helm.sh/release-namespace": "ops"});
    let mut kept = release.clone();
    kept["helm.sh/resource-policy"] = json!("keep");
    let written = |manager: &str| {
        json!([{
            "manager": manager, "fieldsV1": {"f:metadata": {"f:annotations": {"f:helm.sh/resource-policy": {}}}},
        }])
    };
    let is_at_risk = |report: &Report| codes(report, Level::First).contains(&code::CRDS_AT_RISK);

    let alone = with(&json!({"labels": labels, "annotations": release}));
    assert!(is_at_risk(&alone));
    let flux = alone
        .findings
        .iter()
        .find(|finding| finding.found.contains("Flux HelmRelease flux/cache is removed"))
        .unwrap();
    assert!(
        flux.todo.contains("helm.sh/resource-policy: keep") && flux.todo.contains("postRenderers"),
        "{flux:?}"
    );
    let by_hand = with(&json!({"labels": labels, "annotations": kept, "managedFields": written("kubectl-annotate")}));
    assert!(is_at_risk(&by_hand));
    let mended = with(&json!({"labels": labels, "annotations": kept, "managedFields": written("helm-controller")}));
    assert!(!is_at_risk(&mended), "{:#?}", mended.findings);
    // From the chart's folder crds/ they are in no manifest, and Helm never deletes them.
    let folder = with(&json!({"labels": labels}));
    assert!(!is_at_risk(&folder), "{:#?}", folder.findings);
}
