//! `policy-host scaffold page`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "helpers of tests"
)]

use std::path::{Path, PathBuf};

use crate::common::{annotated, pod_request, policy_host, scratch, text, write};
use serde_json::{Value, json};

const INPUT: &str = r"title: A page
intro: |-
  An *intro*.
sections:
  - heading: First
    text: Some text.
    cases:
      - fixtures/annotated/changed
      - {case: fixtures/annotated/refused, title: No, text: More., cluster: true}
    sections:
      - heading: Deeper
        cases: [fixtures/annotated/updated]
  - heading: First
";

/// A folder with modules, cases and this input.
fn page(name: &str, input: &str) -> PathBuf {
    let dir = scratch(&format!("page-{name}"));
    annotated(&dir);
    let mut request = pod_request();
    let wire = json!({"kv_connector": "X", "text": "y".repeat(60)}).to_string();
    request["object"] = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "annotations": {"guest": "none"}},
        "spec": {"containers": [{"name": "a", "args": [wire]}]},
    });
    case(
        &dir,
        "changed",
        &request,
        "about: The Pod is changed.\nallowed: true\npatch:\n- {op: replace, path: /metadata/annotations/guest, value: was here}\n",
    );
    write(&dir.join("fixtures/annotated/changed"), "settings.yaml", "do: mutate\n");
    case(
        &dir,
        "refused",
        &request,
        "about: The Pod is refused.\nallowed: false\ncode: 422\n",
    );
    let refusal =
        "do: reject\nmessage: \"first\\nsecond\"\ncode: 422\nauditAnnotations: {outcome: refused, reason: why}\n";
    write(&dir.join("fixtures/annotated/refused"), "settings.yaml", refusal);
    let cluster = "apiVersion: v1\nkind: Namespace\nmetadata: {name: a, uid: u}\n";
    write(&dir.join("fixtures/annotated/refused"), "cluster.yaml", cluster);
    request["operation"] = json!("UPDATE");
    request["oldObject"] = request["object"].clone();
    request["object"]["metadata"]["annotations"]["guest"] = json!("another");
    case(&dir, "updated", &request, "about: Nothing is said.\nallowed: true\n");
    write(&dir, "page.yaml", input);
    dir
}

fn case(dir: &Path, name: &str, request: &Value, expected: &str) {
    let case = dir.join("fixtures/annotated").join(name);
    std::fs::create_dir_all(&case).unwrap();
    write(&case, "request.json", request.to_string());
    write(&case, "expected.yaml", expected);
}

fn scaffold(dir: &Path) -> crate::common::Done {
    let input = dir.join("page.yaml");
    policy_host(["scaffold", "page", text(&input), "--policy-dir", text(dir)])
}

#[test]
fn shows_what_is_sent_said_and_changed() {
    let dir = page("whole", INPUT);
    let done = scaffold(&dir);
    let expected = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/page.md")).unwrap();
    assert_eq!(
        (done.code, done.stdout.as_str()),
        (0, expected.as_str()),
        "{}",
        done.stderr
    );
    let out = dir.join("out.md");
    let input = dir.join("page.yaml");
    policy_host([
        "scaffold",
        "page",
        text(&input),
        "--policy-dir",
        text(&dir),
        "-o",
        text(&out),
    ]);
    assert_eq!(std::fs::read_to_string(out).unwrap(), expected);
}

#[test]
fn a_page_shows_only_what_holds() {
    let dir = page("stale", INPUT);
    write(
        &dir.join("fixtures/annotated/updated"),
        "expected.yaml",
        "about: x\nallowed: false\n",
    );
    scaffold(&dir).fails_with("fixtures/annotated/updated: the case does not hold:; allowed:; - false; + true");
    write(
        &dir.join("fixtures/annotated/refused"),
        "settings.yaml",
        "settings: odd\n",
    );
    scaffold(&dir).fails_with("fixtures/annotated/refused: settings are not valid: odd");
}

#[test]
fn broken_input_is_an_error() {
    for (number, (input, expected)) in [
        ("title: x\nsections: []\n", "`sections` is empty"),
        ("sections: [{heading: x}]\n", "missing field `title`"),
        ("title: x\nsections: [{heading: x, note: y}]\n", "unknown field `note`"),
        (
            "title: x\nsections: [{heading: x, cases: [1]}]\n",
            "must be a path or a map, found a number",
        ),
        (
            "title: x\nsections: [{heading: x, cases: [{case: y, titel: z}]}]\n",
            "entry of cases: unknown field `titel`",
        ),
        (
            "title: x\nsections: [{heading: x, cases: [fixtures/annotated/none]}]\n",
            "annotated/none: holds no request.json",
        ),
        (
            "title: x\nsections: [{heading: x, cases: [fixtures/other/a]}]\n",
            "fixtures/other/a: ",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        scaffold(&page(&format!("broken-{number}"), input)).fails_with(expected);
    }
}
