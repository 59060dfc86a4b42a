//! `policy-host check`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "helpers of tests"
)]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::{Done, METADATA, annotated, guest, policy_host, scratch, text, write};
use rstest::rstest;

const GOOD: &str = r#"apiVersion: policies.kubewarden.io/v1
kind: ClusterAdmissionPolicy
metadata: {name: good}
spec:
  module: registry://ghcr.io/acme/policies/annotated:v0.1.0
  mutating: true
  contextAwareResources:
    - {apiVersion: v1, kind: Namespace}
  settings: {}
"#;

/// A folder for manifests, with the annotated test policy in another one.
fn folder(name: &str) -> (PathBuf, PathBuf) {
    let modules = scratch(&format!("check-{name}-modules"));
    annotated(&modules);
    let dir = scratch(&format!("check-{name}"));
    (dir, modules)
}

fn check(dir: &Path, modules: &Path, flags: &[&str]) -> Done {
    let args = ["check", text(dir), "--policy-dir", text(modules)];
    policy_host(args.into_iter().chain(flags.iter().copied()))
}

/// What is said about one manifest, without file and kind, and the exit code.
fn verdict(manifest: &str) -> (i32, String) {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let (dir, modules) = folder(&format!("one-{}", COUNT.fetch_add(1, Ordering::Relaxed)));
    write(&dir, "policy.yaml", manifest);
    let done = check(&dir, &modules, &[]);
    let report = done.stdout.split_once(": ").expect("a file").1;
    (done.code, report.replace(text(&modules), "MODULES"))
}

#[test]
fn reads_every_document_below_the_folder_and_reports_all_faults() {
    let (dir, modules) = folder("tree");
    write(
        &dir,
        "a.yaml",
        format!("kind: ConfigMap\napiVersion: v1\n---\n{GOOD}---\n{GOOD}"),
    );
    std::fs::create_dir_all(dir.join("sub/deeper")).unwrap();
    write(
        &dir,
        "sub/deeper/b.yml",
        GOOD.replace("settings: {}", "settings: {settings: odd}"),
    );
    let list = serde_json::json!({"kind": "List", "apiVersion": "v1", "items": [
        yaml_serde::from_str::<serde_json::Value>(&GOOD.replace("mutating: true", "mutating: false")).unwrap(),
    ]});
    write(&dir, "c.json", list.to_string());
    write(&dir, "chart.yaml", "{{ if .Values.rbac }}\nkind: [\n");
    write(&dir, "notes.txt", GOOD.replace("mutating: true", ""));
    write(
        &dir,
        "template.yaml",
        "apiVersion: policies.kubewarden.io/v1\n{{ if }}\nkind: [\n",
    );
    let done = check(&dir, &modules, &[]);
    let shown = done.stdout.replace(text(&dir), "DIR");
    let (unreadable, rest): (Vec<&str>, Vec<&str>) = shown.lines().partition(|line| line.contains("is no YAML: "));
    assert_eq!(
        rest,
        [
            "DIR/a.yaml: ClusterAdmissionPolicy good: ok",
            "DIR/a.yaml: ClusterAdmissionPolicy good: ok",
            "DIR/c.json: ClusterAdmissionPolicy good: 1 fault",
            "  spec.mutating: must be true: Kubewarden refuses every object that the policy changes",
            "DIR/sub/deeper/b.yml: ClusterAdmissionPolicy good: 1 fault",
            "  spec.settings: odd",
            "DIR/template.yaml: 1 fault",
        ]
    );
    assert_eq!(unreadable.len(), 1);
    assert_eq!(
        (done.code, done.stderr.as_str()),
        (1, "Error: 3 faults in 3 of 5 manifests\n")
    );
}

#[rstest]
#[case::module_absent("module", "", "spec.module: is missing")]
#[case::module_no_text("module", "module: 1", "spec.module: must be a string, found a number")]
#[case::module_nameless(
    "module",
    "module: registry://ghcr.io/acme/:v1",
    "'registry://ghcr.io/acme/:v1' does not name a module"
)]
#[case::module_unknown(
    "module",
    "module: other:v1",
    "spec.module: other.wasm is not in MODULES; --allow-unknown-modules lets it pass"
)]
#[case::settings_list("settings", "settings: [1]", "spec.settings: must be a map, found a list")]
#[case::settings_trap(
    "settings",
    "settings: {settings: {trap: true}}",
    "spec.settings: Error invoking settings validation"
)]
#[case::settings_many(
    "settings",
    "settings: {settings: \"a: no\\n b: no\"}",
    "spec.settings: a: no; b: no\n"
)]
#[case::settings_mute(
    "settings",
    "settings: {settings: ''}",
    "spec.settings: the policy refuses them without a reason"
)]
#[case::mutating_absent("mutating", "", "spec.mutating: is missing; the policy needs true")]
#[case::mutating_no_bool(
    "mutating",
    "mutating: 'yes'",
    "spec.mutating: must be true or false, found a string"
)]
#[case::mode("settings", "mode: off", "spec.mode: must be protect or monitor, found \"off\"")]
#[case::reads_nothing(
    "contextAwareResources",
    "contextAwareResources: []",
    "spec.contextAwareResources: lacks what the policy reads: v1 Namespace"
)]
#[case::reads_map(
    "contextAwareResources",
    "contextAwareResources: {}",
    "spec.contextAwareResources: must be a list, found a map"
)]
#[case::reads_part(
    "contextAwareResources",
    "contextAwareResources: [{apiVersion: v1}]",
    "spec.contextAwareResources[0]: missing field `kind`"
)]
fn faults(#[case] field: &str, #[case] replacement: &str, #[case] expected: &str) {
    let mut manifest = String::new();
    for line in GOOD
        .lines()
        .filter(|line| !line.contains(field) && !line.contains("kind: Namespace"))
    {
        manifest += &format!("{line}\n");
    }
    manifest += &format!("  {replacement}\n");
    if field != "contextAwareResources" {
        manifest += "  contextAwareResources: [{apiVersion: v1, kind: Namespace}]\n";
    }
    let manifest = manifest.replacen("  contextAwareResources:\n", "", 1);
    let (code, report) = verdict(&manifest);
    assert!(code == 1 && report.contains(expected), "{report}");
}

#[rstest]
#[case::monitor("mode: monitor", "spec.mode: in mode monitor the changes of the policy are dropped")]
#[case::surplus(
    "contextAwareResources: [{apiVersion: v1, kind: Namespace}, {apiVersion: v1, kind: Secret}]",
    "spec.contextAwareResources: grants what the policy does not read: v1 Secret"
)]
fn warnings_are_no_faults(#[case] addition: &str, #[case] expected: &str) {
    let manifest = if addition.starts_with("mode") {
        format!("{GOOD}  {addition}\n")
    } else {
        GOOD.replace(
            "contextAwareResources:\n    - {apiVersion: v1, kind: Namespace}",
            addition,
        )
    };
    let (code, report) = verdict(&manifest);
    let expected = format!("ClusterAdmissionPolicy good: ok, 1 warning\n  warning: {expected}\n");
    assert_eq!((code, report), (0, expected));
}

#[test]
fn unknown_modules_pass_where_that_is_allowed_but_the_rest_is_checked() {
    let (dir, modules) = folder("unknown");
    write(&dir, "p.yaml", GOOD.replace("annotated:", "other:"));
    let done = check(&dir, &modules, &["--allow-unknown-modules"]);
    assert!(
        done.code == 0 && done.stdout.contains("other.wasm is not in"),
        "{done:?}"
    );
    assert!(done.stdout.contains("ok, 1 warning"), "{done:?}");
    write(
        &dir,
        "p.yaml",
        GOOD.replace("annotated:", "other:")
            .replace("settings: {}", "settings: 1"),
    );
    assert_eq!(check(&dir, &modules, &["--allow-unknown-modules"]).code, 1);
}

#[test]
fn a_namespaced_policy_cannot_read_from_the_cluster() {
    let namespaced = GOOD.replace("ClusterAdmissionPolicy", "AdmissionPolicy");
    let (code, report) = verdict(&namespaced.replace("{name: good}", "{name: good, namespace: a}"));
    assert_eq!(code, 1);
    assert_eq!(
        report,
        "AdmissionPolicy a/good: 2 faults\n  \
         spec.contextAwareResources: only cluster-wide kinds have this field\n  \
         spec.module: the policy reads v1 Namespace, which only cluster-wide kinds can grant\n"
    );
    // Without the field, and for a policy that reads nothing, there is nothing to say.
    let (dir, modules) = folder("namespaced-reads-nothing");
    let metadata = METADATA.replace("contextAwareResources:\n  - {apiVersion: v1, kind: Namespace}\n", "");
    let metadata = write(&modules, "metadata.yml", metadata);
    let module = modules.join("annotated.wasm");
    policy_host(["annotate", "-m", text(&metadata), "-o", text(&module), text(guest())]);
    let grant = "  contextAwareResources:\n    - {apiVersion: v1, kind: Namespace}\n";
    write(&dir, "p.yaml", namespaced.replace(grant, ""));
    let done = check(&dir, &modules, &[]);
    assert!(done.stdout.ends_with("AdmissionPolicy good: ok\n"), "{done:?}");
}

#[test]
fn every_member_of_a_group_is_checked() {
    let group = r"apiVersion: policies.kubewarden.io/v1
kind: ClusterAdmissionPolicyGroup
metadata: {name: both}
spec:
  expression: first() && second()
  policies:
    first:
      module: registry://ghcr.io/acme/plain:v1
      contextAwareResources: [{apiVersion: v1, kind: Namespace}]
      settings: {settings: odd}
    second: {module: annotated}
    third: 1
";
    let (dir, modules) = folder("group");
    let metadata = write(
        &modules,
        "metadata.yml",
        METADATA.replace("mutating: true", "mutating: false"),
    );
    let plain = modules.join("plain.wasm");
    policy_host(["annotate", "-m", text(&metadata), "-o", text(&plain), text(guest())]);
    write(&dir, "group.yaml", group);
    let done = check(&dir, &modules, &[]);
    let lines: Vec<&str> = done.stdout.lines().skip(1).collect();
    assert_eq!(
        lines,
        [
            "  spec.policies.first.settings: odd",
            "  spec.policies.second.module: the policy changes objects, which no policy of a group may",
            "  spec.policies.second.contextAwareResources: lacks what the policy reads: v1 Namespace",
            "  spec.policies.third: must be a map, found a number",
        ]
    );
    write(&dir, "group.yaml", group.replace("Cluster", ""));
    let done = check(&dir, &modules, &[]);
    assert!(
        done.stdout.contains("first.module: the policy reads v1 Namespace"),
        "{done:?}"
    );
    write(
        &dir,
        "group.yaml",
        "apiVersion: policies.kubewarden.io/v1\nkind: AdmissionPolicyGroup\nspec: {policies: {}}\n",
    );
    let done = check(&dir, &modules, &[]);
    assert!(
        done.stdout
            .contains("AdmissionPolicyGroup without a name: 1 fault\n  spec.policies: must have"),
        "{done:?}"
    );
}

#[test]
fn modules_must_be_annotated_policies() {
    let (dir, modules) = folder("modules");
    std::fs::copy(guest(), modules.join("bare.wasm")).unwrap();
    write(&modules, "broken.wasm", "no wasm");
    let manifest = |module: &str| GOOD.replace("annotated:", &format!("{module}:"));
    write(
        &dir,
        "p.yaml",
        format!(
            "{}---\n{}---\n{}",
            manifest("bare"),
            manifest("broken"),
            manifest("broken")
        ),
    );
    let done = check(&dir, &modules, &[]);
    assert!(
        done.stdout
            .contains("spec.module: the module carries no Kubewarden metadata"),
        "{done:?}"
    );
    assert_eq!(done.stdout.matches("broken.wasm: ").count(), 2, "{done:?}");
    assert_eq!(done.stderr, "Error: 3 faults in 3 of 3 manifests\n");
}

#[test]
fn a_check_of_nothing_is_an_error() {
    let (dir, modules) = folder("nothing");
    write(
        &dir,
        "a.yaml",
        "apiVersion: policies.kubewarden.io/v1\nkind: PolicyServer\nmetadata: {name: default}\n",
    );
    check(&dir, &modules, &[]).fails_with("holds no manifest of a policy");
    check(&dir.join("absent"), &modules, &[]).fails_with("cannot read ");
    let file = write(&dir, "b.txt", GOOD);
    assert_eq!(check(&file, &modules, &[]).code, 0, "one file, whatever its name");
}
