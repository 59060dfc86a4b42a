//! The page says what there is.

use super::support::root;
use crate::adopt::codes::ALL;

#[test]
fn every_code_is_in_the_table_and_no_other() {
    let page = std::fs::read_to_string(root().join("docs/migrate-from-go-operator.md")).unwrap();
    let (_, table) = page.split_once("| Code | Level | Says |\n|---|---|---|\n").unwrap();
    let rows = table.lines().take_while(|line| line.starts_with('|'));
    let written: Vec<&str> = rows.map(|row| row.split('`').nth(1).unwrap()).collect();
    assert_eq!(written, ALL);
}

/// What the page lets people look for by hand is what the check goes by, field managers included.
#[test]
fn the_page_looks_for_every_owner() {
    let page = std::fs::read_to_string(root().join("docs/migrate-from-go-operator.md")).unwrap();
    let (_, step) = page.split_once("## Step 1").unwrap();
    let (step, _) = step.split_once("## Step 2").unwrap();
    for words in [
        "--show-managed-fields",
        "meta.helm.sh|resource-policy|argocd|fluxcd|app.kubernetes.io/(instance|managed-by):",
        "argocd-controller",
        "argocd-application-controller",
        "HelmRelease",
        "spec.postRenderers",
    ] {
        assert!(step.contains(words), "{words}");
    }
}
