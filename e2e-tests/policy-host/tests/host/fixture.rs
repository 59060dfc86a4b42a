//! Case folders run through the test policy.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "helpers of tests"
)]

use std::path::Path;

use crate::common::{get, pod_request, policy, scratch, write};
use policy_host::fixture;
use policy_host::host::ClusterDir;
use serde_json::{Value, json};

fn case(name: &str, settings: &Value, expected: &str) -> std::path::PathBuf {
    let dir = scratch(&format!("cases-{name}")).join(name);
    std::fs::create_dir_all(&dir).unwrap();
    write(&dir, "request.json", pod_request().to_string());
    write(&dir, "settings.yaml", settings.to_string());
    write(&dir, "expected.yaml", expected);
    dir
}

fn check(dir: &Path) -> Result<(), String> {
    fixture::check(&policy(), &fixture::load(dir).unwrap())
}

#[test]
fn a_case_that_holds() {
    let calls = json!([
        get("v1", "Namespace", "team-a", None),
        get("v1", "Pod", "a", Some("b")),
        get("v1", "Secret", "a", Some("b"))
    ]);
    let dir = case(
        "holds",
        &json!({"do": "mutate", "calls": calls}),
        "about: a mutation after three look-ups\ncovers: [L1]\nallowed: true\npatch:\n- {op: add, path: /metadata/annotations, value: {guest: was here}}\nwarnings: [gold, Cannot find resource v1/Pod, boom]\nhostCalls: 3\n",
    );
    write(
        &dir,
        "cluster.yaml",
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: team-a, labels: {tier: gold}}\n",
    );
    write(&dir, "host.yaml", "notServed: [Pod]\nfailing: {Secret: boom}\n");
    let loaded = fixture::load(&dir).unwrap();
    assert_eq!(
        (loaded.name().as_str(), loaded.expected.covers.as_slice()),
        ("holds", &["L1".to_owned()][..])
    );
    assert_eq!(fixture::check(&policy(), &loaded), Ok(()));
    let all = fixture::load_all(dir.parent().unwrap()).unwrap();
    assert_eq!(all.iter().map(fixture::Case::name).collect::<Vec<_>>(), ["holds"]);
}

#[test]
fn a_refusal_with_its_faults() {
    let settings = json!({"do": "reject", "code": 422, "message": "2 faults\nspec.l1.sizeGB: too small\nspec.server.port: no port"});
    let expected = "about: x\nallowed: false\ncode: 422\nmessage: [spec.l1, spec.server]\nfaults: [spec.l1.sizeGB, spec.server.port]\n";
    assert_eq!(check(&case("faults", &settings, expected)), Ok(()));
    let wrong = expected.replace("spec.l1.sizeGB,", "");
    let error = check(&case("wrong-faults", &settings, &wrong)).unwrap_err();
    assert!(
        error.contains("wrong-faults: x\nfaults:\n- spec.server.port\n+ spec.l1.sizeGB\n+ spec.server.port\n"),
        "{error}"
    );
}

#[test]
fn differences_name_the_case_and_the_look_ups() {
    let settings = json!({"calls": [get("v1", "Namespace", "gone", None)]});
    let dir = case(
        "differs",
        &settings,
        "about: nothing happens\nallowed: false\nhostCalls: 0\n",
    );
    assert_eq!(
        ClusterDir::load(&dir).unwrap().objects().count(),
        0,
        "a case without a cluster"
    );
    let error = check(&dir).unwrap_err();
    for part in [
        "differs: nothing happens\n",
        "allowed:\n- false\n+ true\n",
        "warnings:\n+ Host error: ",
        "hostCalls:\n- 0\n+ 1\n",
        "  get v1/Namespace gone\n",
    ] {
        assert!(error.contains(part), "{part:?} in\n{error}");
    }
    let invalid = case("invalid", &json!({"settings": "too odd"}), "about: x\nallowed: true\n");
    assert!(
        check(&invalid)
            .unwrap_err()
            .ends_with("settings are not valid: too odd")
    );
}

#[test]
fn broken_cases_are_errors() {
    let load = |name: &str, expected: &str| fixture::load(case(name, &json!({}), expected)).unwrap_err().to_string();
    assert!(
        load("typo", "about: x\nallowed: true\nhostcalls: 1\n").contains("expected.yaml: unknown field `hostcalls`")
    );
    assert!(load("no-about", "allowed: true\n").contains("missing field `about`"));
    assert!(load("both", "about: x\nallowed: true\ncode: 422\n").contains("`code` is for refusals"));
    let dir = case("no-request", &json!({}), "about: x\nallowed: true\n");
    std::fs::remove_file(dir.join("request.json")).unwrap();
    assert!(fixture::load(&dir).unwrap_err().to_string().contains("request.json"));
    assert!(
        fixture::load_all(dir.parent().unwrap())
            .unwrap_err()
            .to_string()
            .contains("holds no case")
    );
}

/// The environment variable is for a whole process, so another one tries it: this test binary, on the case in a folder.
#[test]
fn update_mode_rewrites_and_the_case_holds_afterwards() {
    const DIR: &str = "POLICY_HOST_TEST_CASE";
    if let Ok(dir) = std::env::var(DIR) {
        check(Path::new(&dir)).unwrap();
        return;
    }
    let settings = json!({"do": "mutate", "calls": [get("v1", "Namespace", "gone", None)]});
    let dir = case(
        "updates",
        &settings,
        "about: 'kept: yes'\ncovers: [L1]\nallowed: false\ncode: 500\nhostCalls: 7\n",
    );
    let rerun = |update: &str| {
        std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "fixture::update_mode_rewrites_and_the_case_holds_afterwards"])
            .env(DIR, &dir)
            .env(fixture::UPDATE_ENV, update)
            .output()
            .unwrap()
            .status
            .success()
    };
    assert!(!rerun("0"));
    assert!(rerun("1"));
    assert!(rerun("0"));
    let text = std::fs::read_to_string(dir.join("expected.yaml")).unwrap();
    assert!(
        text.starts_with("about: 'kept: yes'\ncovers: [\"L1\"]\nallowed: true\npatch:\n  - {\"op\":\"add\""),
        "{text}"
    );
    assert!(text.ends_with("hostCalls: 1\n") && !text.contains("code"), "{text}");
}
