//! Text in, text out.

use rstest::rstest;

use super::*;

fn digests() -> Digests {
    Digests::parse(&format!("policies: {{digests: {{demo: {}}}}}", digest())).unwrap()
}

fn digest() -> String {
    format!("sha256:{}", "0a".repeat(32))
}

#[test]
fn only_the_module_changes() {
    let text = "# A comment: module: registry://a.example/demo:v1\nspec:\n  # why\n  module: registry://a.example:5000/x/demo:v0.1.0\n  mode: protect # so\n";
    let (pinned, count) = pin(text, &digests(), None).unwrap();
    assert_eq!(count, 1);
    let expected = text.replace(
        "a.example:5000/x/demo:v0.1.0",
        &format!("a.example:5000/x/demo@{} # v0.1.0", digest()),
    );
    assert_eq!(pinned, expected);
    // Again, and to another registry.
    let (again, _) = pin(&pinned, &digests(), None).unwrap();
    assert_eq!(again, pinned);
    let other = Target::parse("b.example/y").unwrap();
    let (moved, _) = pin(&pinned, &digests(), Some(&other)).unwrap();
    assert_eq!(moved, expected.replace("a.example:5000/x/demo@", "b.example/y/demo@"));
}

#[rstest]
#[case("module: registry://a.example/demo", "module: registry://a.example/demo@DIGEST")]
#[case(
    "  module: \"registry://a.example/demo:v1\"\n",
    "  module: registry://a.example/demo@DIGEST # v1\n"
)]
#[case(
    "- module: registry://a.example:1/demo\n",
    "- module: registry://a.example:1/demo@DIGEST\n"
)]
#[case("module:\n", "module:\n")]
#[case("modules: registry://a.example/demo:v1\n", "modules: registry://a.example/demo:v1\n")]
fn lines(#[case] line: &str, #[case] expected: &str) {
    let (pinned, _) = pin(line, &digests(), None).unwrap();
    assert_eq!(pinned, expected.replace("DIGEST", &digest()));
}

#[rstest]
#[case(
    "a: b\nmodule: registry://a.example/other:v1\n",
    "line 2: there is no digest of 'other'"
)]
#[case("module: https://a.example/policy.wasm\n", "is in no registry")]
#[case("module: registry://demo\n", "has no path")]
fn what_cannot_be_pinned_is_an_error(#[case] text: &str, #[case] expected: &str) {
    let error = format!("{:#}", pin(text, &digests(), None).unwrap_err());
    assert!(error.contains(expected), "{error}");
}

/// Digests of one version in manifests of another would run what nobody asked for.
#[test]
fn digests_of_another_version_are_refused() {
    let of = format!("digestsOf: 0.2.0\npolicies: {{digests: {{demo: {}}}}}", digest());
    let of = Digests::parse(&of).unwrap();
    let error = pin("module: registry://a.example/demo:v0.1.0\n", &of, None).unwrap_err();
    let error = format!("{error:#}");
    assert!(
        error.contains("of v0.1.0 and the digests are those of 0.2.0"),
        "{error}"
    );
    for tag in ["v0.2.0", "0.2.0", "trial"] {
        let text = format!("module: registry://a.example/demo:{tag}\n");
        assert_eq!(pin(&text, &of, None).unwrap().1, 1, "{tag}");
    }
}
