//! `policy-host scaffold`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "helpers of tests"
)]

use crate::common::{METADATA, annotated, guest, policy_host, scratch, text, write};
use rstest::rstest;
use serde_json::{Value, json};

#[test]
fn scaffolds_a_manifest() {
    let dir = scratch("manifest");
    let policy = annotated(&dir);
    let scaffold = |flags: &[&str]| {
        let mut args = vec!["scaffold", "manifest", "-t", "ClusterAdmissionPolicy"];
        args.extend(flags);
        args.push(text(&policy));
        policy_host(args)
    };
    let done = scaffold(&["--settings-json", r#"{"a": 1}"#]);
    assert!(done.stderr.contains("without --allow-context-aware"), "{}", done.stderr);
    let manifest: Value = yaml_serde::from_str(&done.stdout).unwrap();
    assert_eq!(
        manifest,
        json!({
            "apiVersion": "policies.kubewarden.io/v1",
            "kind": "ClusterAdmissionPolicy",
            "metadata": {
                "annotations": {
                    "io.kubewarden.policy.category": "Resource validation",
                    "io.kubewarden.policy.severity": "medium",
                },
                "name": "test-guest",
            },
            "spec": {
                "module": "registry://ghcr.io/acme/policies/test-guest:v0.1.0",
                "settings": {"a": 1},
                "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}],
                "mutating": true,
                "backgroundAudit": false,
                "contextAwareResources": [],
            },
        })
    );
    let settings = write(&dir, "settings.yaml", "b: 2\n");
    let flags = [
        "--allow-context-aware",
        "--title",
        "mine",
        "--module",
        "file:///p.wasm",
        "-s",
        text(&settings),
        "--settings-json",
        "{}",
    ];
    let done = scaffold(&flags);
    assert_eq!((done.stderr.as_str(), &done.stdout), ("", &scaffold(&flags).stdout));
    let manifest: Value = yaml_serde::from_str(&done.stdout).unwrap();
    assert_eq!(manifest["metadata"]["name"], "mine");
    assert_eq!(manifest["spec"]["module"], "file:///p.wasm");
    assert_eq!(manifest["spec"]["settings"], json!({"b": 2}));
    assert_eq!(
        manifest["spec"]["contextAwareResources"],
        json!([{"apiVersion": "v1", "kind": "Namespace"}])
    );
    scaffold(&["--title", "Not A Name"]).fails_with("'Not A Name' cannot name the policy");
    let namespaced = ["scaffold", "manifest", "-t", "AdmissionPolicy", text(&policy)];
    let manifest: Value = yaml_serde::from_str(&policy_host(namespaced).stdout).unwrap();
    assert_eq!(
        (&manifest["kind"], manifest["spec"].get("contextAwareResources")),
        (&json!("AdmissionPolicy"), None)
    );
    policy_host([
        "scaffold",
        "manifest",
        "-t",
        "AdmissionPolicy",
        "--allow-context-aware",
        text(&policy),
    ])
    .fails_with("cannot read from the cluster");
    policy_host(["scaffold", "manifest", "-t", "AdmissionPolicy", text(guest())])
        .fails_with("carries no Kubewarden metadata");
}

fn artifacthub(metadata: &str, flags: &[&str], dir: &std::path::Path) -> crate::common::Done {
    let metadata = write(dir, "metadata.yml", metadata);
    let mut args = vec!["scaffold", "artifacthub", "-m", text(&metadata)];
    args.extend(flags);
    policy_host(args)
}

#[test]
fn scaffolds_an_artifacthub_package_the_same_each_time() {
    let dir = scratch("artifacthub");
    let questions = "questions:\n  - variable: a\n    type: string\n";
    let questions_path = write(&dir, "questions-ui.yml", questions);
    let out = dir.join("artifacthub-pkg.yml");
    let flags = [
        "-q",
        text(&questions_path),
        "-o",
        text(&out),
        "--created-at",
        "2026-01-31T12:00:00Z",
    ];
    assert_eq!(artifacthub(METADATA, &flags, &dir).code, 0);
    let first = std::fs::read_to_string(&out).unwrap();
    assert_eq!(artifacthub(METADATA, &flags, &dir).code, 0);
    assert_eq!(std::fs::read_to_string(&out).unwrap(), first);
    let package: Value = yaml_serde::from_str(&first).unwrap();
    assert_eq!(
        (&package["version"], &package["name"]),
        (&json!("0.1.0"), &json!("test-guest"))
    );
    assert_eq!(package["createdAt"], "2026-01-31T12:00:00Z");
    assert_eq!(
        package["containersImages"],
        json!([{"name": "policy", "image": "ghcr.io/acme/policies/test-guest:v0.1.0"}])
    );
    assert_eq!(
        package["links"],
        json!([
            {"name": "policy", "url": "https://github.com/acme/policies/releases/download/test-guest%2Fv0.1.0/policy.wasm"},
            {"name": "source", "url": "https://github.com/acme/policies"},
        ])
    );
    assert_eq!(
        package["maintainers"],
        json!([{"name": "A Person", "email": "a@example.com"}, {"name": "B", "email": "b@example.com"}])
    );
    assert_eq!(package["keywords"], json!(["test", "guest"]));
    assert_eq!(package["provider"], json!({"name": "kubewarden"}));
    let annotations = &package["annotations"];
    assert_eq!(
        (
            &annotations["kubewarden/mutation"],
            &annotations["kubewarden/resources"]
        ),
        (&json!("true"), &json!("Pod"))
    );
    assert_eq!(annotations["kubewarden/questions-ui"], questions);
    let rules: Value = yaml_serde::from_str(annotations["kubewarden/rules"].as_str().unwrap()).unwrap();
    assert_eq!(rules[0]["operations"], json!(["CREATE"]));
    assert!(
        annotations["kubewarden/contextAwareResources"]
            .as_str()
            .unwrap()
            .contains("kind: Namespace")
    );
    assert_eq!(annotations.get("kubewarden/hidden-ui"), None);
    let to_stdout = artifacthub(
        METADATA,
        &[
            "-q",
            text(&questions_path),
            "-o",
            "-",
            "--created-at",
            "2026-01-31T12:00:00Z",
        ],
        &dir,
    );
    assert_eq!(to_stdout.stdout, first);
    let now: Value = yaml_serde::from_str(&artifacthub(METADATA, &["-o", "-"], &dir).stdout).unwrap();
    policy_host::metadata::check_timestamp(now["createdAt"].as_str().unwrap()).unwrap();
}

#[rstest]
#[case("io.kubewarden.policy.version")]
#[case("io.kubewarden.policy.title")]
#[case("io.kubewarden.policy.description")]
#[case("io.kubewarden.policy.ociUrl")]
#[case("io.artifacthub.displayName")]
fn a_package_needs_its_annotations(#[case] key: &str) {
    let lines: String = METADATA
        .lines()
        .filter(|line| !line.contains(key))
        .map(|line| format!("{line}\n"))
        .collect();
    let dir = scratch(&format!("artifacthub-{key}"));
    artifacthub(&lines, &["-o", "-"], &dir).fails_with(&format!("metadata.yml: annotations[\"{key}\"] is required"));
}

#[test]
fn a_package_refuses_bad_questions_times_and_authors() {
    let dir = scratch("artifacthub-errors");
    for (content, expected) in [
        ("", "the questions file is empty"),
        ("a: 1\n", "has no list `questions`"),
        ("[1]\n", "must be a map, found a list"),
    ] {
        let questions = write(&dir, "q.yml", content);
        artifacthub(METADATA, &["-o", "-", "-q", text(&questions)], &dir).fails_with(expected);
    }
    artifacthub(METADATA, &["-o", "-", "--created-at", "today"], &dir)
        .fails_with("--created-at: 'today' is no RFC 3339 time");
    let author = METADATA.replace("A Person <a@example.com>", "A Person");
    artifacthub(&author, &["-o", "-"], &dir).fails_with("must be `Name <mail>`, found \"A Person\"");
}
