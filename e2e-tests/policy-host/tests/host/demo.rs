//! `policy-host demo`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "helpers of tests"
)]

use std::path::PathBuf;

use crate::common::{guest, policy_host, policy_host_with, scratch, text, write};

const STEPS: &str = r#"title: A demonstration
steps:
  - title: Nothing to do
    policy: test_guest.wasm
    request: pod.yaml
    expect: admitted
  - title: A Pod is changed
    about: Look at the annotation.
    policy: test_guest.wasm
    request: pod.yaml
    settings: settings.yaml
    cluster: cluster.yaml
    host: host.yaml
    expect: mutated
  - title: A Pod is refused
    policy: test_guest.wasm
    request: pod.yaml
    settings: {do: reject, code: 422, message: "first; second\nthird \u001b[31m", auditAnnotations: {outcome: refused}}
    expect: refused
"#;

const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n  annotations: {guest: none}\nspec:\n  containers: [{name: a, image: b}]\n";

fn demo(name: &str, steps: &str) -> PathBuf {
    let dir = scratch(&format!("demo-{name}"));
    write(&dir, "demo.yaml", steps);
    write(&dir, "pod.yaml", POD);
    write(
        &dir,
        "cluster.yaml",
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n",
    );
    write(&dir, "host.yaml", "failing: {Node: boom}\n");
    let settings = "do: mutate\ncalls:\n- payload: {api_version: v1, kind: Node, name: n, disable_cache: true}\n";
    write(&dir, "settings.yaml", settings);
    std::fs::copy(guest(), dir.join("test_guest.wasm")).unwrap();
    dir
}

#[test]
fn reports_each_step() {
    let done = policy_host(["demo", text(&demo("report", STEPS))]);
    let expected = r#"A demonstration

1. Nothing to do
   ADMITTED

2. A Pod is changed
   Look at the annotation.
   MUTATED
   Warning: Host error: Callback evaluation failure: boom
   @@ -3,7 +3,7 @@
    metadata:
      name: web
      annotations:
   -    guest: none
   +    guest: was here
    spec:
      containers:
      - name: a

3. A Pod is refused
   REFUSED (422)
   - first; second
   - third [31m
   audit outcome: refused

"#;
    assert_eq!((done.code, done.stdout.as_str()), (0, expected), "{}", done.stderr);
}

#[test]
fn colours_only_where_wanted() {
    let dir = demo("colour", STEPS);
    let always = policy_host(["demo", "--color", "always", text(&dir)]).stdout;
    for part in [
        "\x1b[32mMUTATED\x1b[0m",
        "\x1b[31mREFUSED\x1b[0m",
        "\x1b[32m+    guest: was here\x1b[0m",
        "\x1b[33mWarning: ",
    ] {
        assert!(always.contains(part), "{part:?} in\n{always}");
    }
    let no_color = policy_host_with(["demo", "--color=always", text(&dir)], "", &[("NO_COLOR", "1")]).stdout;
    assert_eq!(no_color, always, "--color=always was asked for explicitly");
    for args in [
        ["demo", "--color=auto"],
        ["demo", "--color=never"],
        ["demo", "--no-color"],
    ] {
        assert!(
            !policy_host(args.into_iter().chain([text(&dir)]))
                .stdout
                .contains('\x1b')
        );
    }
}

#[test]
fn an_unmet_expectation_is_exit_code_one() {
    let dir = demo("unmet", &STEPS.replace("expect: mutated", "expect: refused"));
    let done = policy_host(["demo", text(&dir)]);
    assert_eq!(
        (done.code, done.stderr.as_str()),
        (1, "Error: 1 step(s) did not go as expected\n")
    );
    assert!(
        done.stdout.contains("   expected REFUSED, got MUTATED\n"),
        "{}",
        done.stdout
    );
    assert!(done.stdout.contains("3. A Pod is refused"), "the other steps run");
}

#[test]
fn policies_can_live_elsewhere() {
    let dir = demo("elsewhere", &STEPS.replace("policy: ", "policy: ../nowhere/"));
    let found = policy_host(["demo", "--policy-dir", text(guest().parent().unwrap()), text(&dir)]);
    assert_eq!(found.code, 0, "{}", found.stderr);
    let done = policy_host(["demo", text(&dir)]);
    assert_eq!(done.code, 1);
    assert!(done.stderr.contains("cannot read policy "), "{}", done.stderr);
}

#[test]
fn broken_demonstrations_are_errors() {
    let fails = |name: &str, steps: &str, expected: &str| {
        let done = policy_host(["demo", text(&demo(name, steps))]);
        assert_eq!(done.code, 1);
        assert!(
            done.stderr.starts_with("Error: ") && done.stderr.contains(expected),
            "{}",
            done.stderr
        );
        assert_eq!(done.stderr.lines().count(), 1);
    };
    fails("empty", "steps: []\n", "`steps` is empty");
    fails("typo", &STEPS.replace("expect:", "expects:"), "unknown field `expects`");
    fails(
        "verdict",
        &STEPS.replace("expect: mutated", "expect: changed"),
        "unknown variant `changed`",
    );
    fails(
        "request",
        &STEPS.replacen("pod.yaml", "no.yaml", 1),
        "step 1: cannot read ",
    );
    fails(
        "settings",
        &STEPS.replace("settings: settings.yaml", "settings: {settings: odd}"),
        "step 2: Provided settings are not valid: odd",
    );
    let done = policy_host(["demo", "/no/demo"]);
    assert!(
        done.stderr.contains("cannot read /no/demo/demo.yaml"),
        "{}",
        done.stderr
    );
}
