//! Metadata: what is refused, `annotate`, `inspect`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "helpers of tests"
)]

use crate::common::{METADATA, annotated, guest, policy_host, run_policy, scratch, text, write};
use policy_host::Policy;
use policy_host::metadata::{Metadata, SECTION, check, custom_section};
use rstest::rstest;
use serde_json::{Value, json};

/// The metadata with the lines of one top-level key replaced.
fn with(key: &str, replacement: &str) -> String {
    let mut out = String::new();
    let mut inside = false;
    for line in METADATA.lines() {
        if !line.starts_with([' ', '-']) {
            inside = line.starts_with(&format!("{key}:"));
        }
        if !inside {
            out.push_str(line);
            out.push('\n');
        }
    }
    out + replacement + "\n"
}

const RULE: &str = "{apiGroups: [''], apiVersions: [v1], resources: [pods], operations: [CREATE]}";

#[rstest]
#[case("rules", "", "rules: is required")]
#[case("rules", "rules: []", "rules: must have at least one entry")]
#[case("rules", "rules: pods", "rules: must be a list, found a string")]
#[case("rules", "rules: [pods]", "rules[0]: must be a map, found a string")]
#[case(
    "rules",
    "rules: [{apiGroups: [''], apiVersions: [v1], resources: [pods]}]",
    "rules[0].operations: is required"
)]
#[case(
    "rules",
    "rules: [{apiGroups: [], apiVersions: [v1], resources: [pods], operations: [CREATE]}]",
    "rules[0].apiGroups: must have at least one entry"
)]
#[case(
    "rules",
    "rules: [{apiGroups: [''], apiVersions: [''], resources: [pods], operations: [CREATE]}]",
    "rules[0].apiVersions[0]: must not be empty"
)]
#[case(
    "rules",
    "rules: [{apiGroups: [''], apiVersions: [v1], resources: [pods], operations: [CREATE, PATCH]}]",
    "rules[0].operations[1]: unknown operation PATCH; known are CREATE, UPDATE, DELETE, CONNECT, *"
)]
#[case(
    "rules",
    "rules: [{apiGroups: [''], apiVersions: [v1], resources: ['*', pods], operations: [CREATE]}]",
    "rules[0].resources: \"*\" must be the only entry"
)]
#[case(
    "rules",
    "rules: [{apiGroups: [''], apiVersions: [1], resources: [pods], operations: [CREATE]}]",
    "rules[0].apiVersions[0]: must be a string, found a number"
)]
#[case("mutating", "", "mutating: is required and has no default: true or false")]
#[case("mutating", "mutating: 'yes'", "mutating: must be true or false, found a string")]
#[case(
    "backgroundAudit",
    "backgroundAudit: 0",
    "backgroundAudit: must be true or false, found a number"
)]
#[case(
    "executionMode",
    "executionMode: wapc",
    "executionMode: must be one of kubewarden-wapc, opa, gatekeeper, wasi, found \"wapc\""
)]
#[case(
    "policyType",
    "policyType: pod",
    "policyType: must be one of kubernetes, raw, found \"pod\""
)]
#[case(
    "hostCapabilities",
    "hostCapabilities: [kubernetes/get]",
    "hostCapabilities[0]: unknown host capability 'kubernetes/get'"
)]
#[case(
    "hostCapabilities",
    "hostCapabilities: ['kubernetes/*', oci]",
    "hostCapabilities[1]: host capability 'oci' is incomplete"
)]
#[case(
    "hostCapabilities",
    "hostCapabilities: oci/*",
    "hostCapabilities: must be a list, found a string"
)]
#[case(
    "contextAwareResources",
    "contextAwareResources: [{apiVersion: v1}]",
    "contextAwareResources[0].kind: must be a non-empty string"
)]
#[case(
    "contextAwareResources",
    "contextAwareResources: [{apiVersion: '', kind: Pod}]",
    "contextAwareResources[0].apiVersion: must be a non-empty string"
)]
#[case(
    "minimumKubewardenVersion",
    "minimumKubewardenVersion: 1.30",
    "minimumKubewardenVersion: must be a semantic version such as \"1.2.3\", found 1.3"
)]
#[case(
    "annotations",
    "annotations: {io.kubewarden.policy.version: v1.0.0}",
    "annotations[\"io.kubewarden.policy.version\"]: must be a semantic version"
)]
#[case(
    "annotations",
    "annotations: {io.kubewarden.policy.severity: urgent}",
    "annotations[\"io.kubewarden.policy.severity\"]: must be one of info, low, medium, high, critical, found \"urgent\""
)]
#[case(
    "annotations",
    "annotations: {a: 1}",
    "annotations[\"a\"]: must be a string, found a number; quote it"
)]
#[case("annotations", "annotations: [a]", "annotations: must be a map, found a list")]
#[case(
    "protocolVersion",
    "protocolVersion: v1",
    "protocolVersion: is written by `annotate`; remove it"
)]
#[case("x", "mutatin: true", "mutatin: unknown key; known are ")]
fn bad_metadata_names_file_and_key(#[case] key: &str, #[case] replacement: &str, #[case] expected: &str) {
    let dir = scratch(&format!(
        "bad-{key}-{}",
        replacement.bytes().map(u32::from).sum::<u32>()
    ));
    let metadata = write(&dir, "metadata.yml", with(key, replacement));
    let out = dir.join("out.wasm");
    let done = policy_host(["annotate", "-m", text(&metadata), "-o", text(&out), text(guest())]);
    done.fails_with(&format!("metadata.yml: {expected}"));
    assert_eq!(done.stderr.lines().count(), 1, "{}", done.stderr);
    assert!(!out.exists());
}

#[test]
fn all_faults_are_named_at_once_and_good_metadata_has_none() {
    let faults: Vec<String> = check(&json!({"rules": [], "policyType": "x"}))
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        faults,
        [
            "rules: must have at least one entry",
            "mutating: is required and has no default: true or false",
            "policyType: must be one of kubernetes, raw, found \"x\"",
        ]
    );
    assert_eq!(check(&json!([])).len(), 1);
    let minimal = with("rules", &format!("rules: [{RULE}]\ncontextAware: false"));
    assert_eq!(check(&yaml_serde::from_str(&minimal).unwrap()), []);
}

#[test]
fn annotate_writes_the_section_of_kwctl() {
    let dir = scratch("annotate");
    let metadata = write(&dir, "metadata.yml", METADATA);
    let readme = write(&dir, "README.md", "# Usage\n\nText.\n");
    let out = dir.join("out.wasm");
    let args = [
        "annotate",
        "-m",
        text(&metadata),
        "-u",
        text(&readme),
        "-o",
        text(&out),
        text(guest()),
    ];
    assert_eq!(policy_host(args).code, 0);
    let wasm = std::fs::read(&out).unwrap();
    let section: Value = serde_json::from_slice(custom_section(&wasm, SECTION).unwrap().unwrap()).unwrap();
    let keys: Vec<&String> = section.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
            "protocolVersion",
            "rules",
            "annotations",
            "mutating",
            "backgroundAudit",
            "executionMode",
            "policyType",
            "contextAwareResources",
            "hostCapabilities",
            "minimumKubewardenVersion"
        ]
    );
    assert_eq!(section["protocolVersion"], "v1");
    assert_eq!(section["executionMode"], "kubewarden-wapc");
    assert_eq!(
        section["contextAwareResources"],
        json!([{"apiVersion": "v1", "kind": "Namespace"}])
    );
    assert_eq!(
        section["annotations"]["io.kubewarden.policy.usage"],
        "# Usage\n\nText.\n"
    );
    let version = section["annotations"]["io.kubewarden.kwctl"].as_str().unwrap();
    assert!(version.starts_with("policy-host "), "{version}");
    assert_eq!(run_policy(&out, json!({}), &[]).response()["allowed"], true);
}

#[test]
fn annotate_replaces_what_is_there() {
    let dir = scratch("annotate-twice");
    let once = annotated(&dir);
    let changed = write(&dir, "changed.yml", with("mutating", "mutating: false"));
    let twice = dir.join("twice.wasm");
    assert_eq!(
        policy_host(["annotate", "-m", text(&changed), "-o", text(&twice), text(&once)]).code,
        0
    );
    assert!(!Policy::from_file(&twice).unwrap().metadata().unwrap().mutating);
    let wasm = std::fs::read(&twice).unwrap();
    let occurrences = wasm
        .windows(SECTION.len())
        .filter(|window| *window == SECTION.as_bytes())
        .count();
    assert_eq!(occurrences, 1);
    // The same input gives the same bytes, also in place.
    assert_eq!(
        policy_host(["annotate", "-m", text(&changed), "-o", text(&twice), text(&twice)]).code,
        0
    );
    assert_eq!(std::fs::read(&twice).unwrap(), wasm);
}

#[test]
fn annotate_repairs_a_broken_section_that_run_refuses() {
    let dir = scratch("broken-section");
    let wasm = std::fs::read(guest()).unwrap();
    let broken = policy_host::metadata::replace_custom_section(&wasm, SECTION, b"{}").unwrap();
    let broken = write(&dir, "broken.wasm", broken);
    run_policy(&broken, json!({}), &[])
        .fails_with("custom section io.kubewarden.metadata cannot be read: missing field `rules`");
    let metadata = write(&dir, "metadata.yml", METADATA);
    assert_eq!(
        policy_host(["annotate", "-m", text(&metadata), "-o", text(&broken), text(&broken)]).code,
        0
    );
    run_policy(&broken, json!({}), &[]).response();
}

#[test]
fn annotate_names_missing_files_and_foreign_modules() {
    let dir = scratch("annotate-errors");
    let metadata = write(&dir, "metadata.yml", METADATA);
    let (m, out) = (text(&metadata), dir.join("out.wasm"));
    let out = text(&out);
    policy_host(["annotate", "-m", "/no/m.yml", "-o", out, text(guest())]).fails_with("cannot read /no/m.yml");
    policy_host(["annotate", "-m", m, "-o", out, "/no/p.wasm"]).fails_with("cannot read policy /no/p.wasm");
    policy_host(["annotate", "-m", m, "-o", "/no/out.wasm", text(guest())]).fails_with("cannot write /no/out.wasm");
    policy_host(["annotate", "-m", m, "-u", "/no/R.md", "-o", out, text(guest())]).fails_with("cannot read /no/R.md");
    let empty = write(&dir, "empty.wasm", b"\0asm\x01\0\0\0");
    policy_host(["annotate", "-m", m, "-o", out, text(&empty)])
        .fails_with("empty.wasm: cannot read the protocol version");
}

#[rstest]
#[case(
    "executionMode: opa",
    "policies of execution mode 'opa' do not run in policy-host; use kwctl"
)]
fn foreign_execution_modes_do_not_run(#[case] line: &str, #[case] expected: &str) {
    let dir = scratch("execution-mode");
    let metadata = write(&dir, "metadata.yml", format!("{METADATA}{line}\n"));
    let out = dir.join("out.wasm");
    assert_eq!(
        policy_host(["annotate", "-m", text(&metadata), "-o", text(&out), text(guest())]).code,
        0
    );
    run_policy(&out, json!({}), &[]).fails_with(expected);
}

#[test]
fn metadata_can_make_a_policy_raw() {
    let dir = scratch("raw");
    let metadata = write(&dir, "metadata.yml", format!("{METADATA}policyType: raw\n"));
    let out = dir.join("out.wasm");
    assert_eq!(
        policy_host(["annotate", "-m", text(&metadata), "-o", text(&out), text(guest())]).code,
        0
    );
    let args = ["run", "-r", "-", text(&out)];
    let response = crate::common::policy_host_with(args, r#"{"any": "json"}"#, &[]).response();
    assert_eq!(response["allowed"], true);
}

#[test]
fn inspect_shows_metadata_and_sizes() {
    let dir = scratch("inspect");
    let policy = annotated(&dir);
    let shown = policy_host(["inspect", text(&policy)]).stdout;
    for line in [
        "  title             test-guest",
        "  mutating          true",
        "  CREATE of pods in core/v1",
        "  v1/Namespace",
        "  kubernetes/get_resource",
        "  needs Kubewarden  1.30.0",
    ] {
        assert!(shown.lines().any(|found| found == line), "{line:?} in\n{shown}");
    }
    let size = std::fs::metadata(&policy).unwrap().len();
    assert!(shown.contains(&format!("  module            {size} bytes")), "{shown}");
    let json: Metadata = serde_json::from_str(&policy_host(["inspect", "-o", "json", text(&policy)]).stdout).unwrap();
    let yaml: Metadata = yaml_serde::from_str(&policy_host(["inspect", "-o", "yaml", text(&policy)]).stdout).unwrap();
    assert_eq!(json, yaml);
    assert_eq!(Some(&json), Policy::from_file(&policy).unwrap().metadata());
    assert!(
        policy_host(["inspect", text(guest())])
            .stdout
            .starts_with("No Kubewarden metadata")
    );
    policy_host(["inspect", "-o", "json", text(guest())]).fails_with("carries no Kubewarden metadata");
}
