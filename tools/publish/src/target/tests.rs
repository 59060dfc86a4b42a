//! What people write as REGISTRY.

use rstest::rstest;

use super::*;

#[rstest]
#[case("ghcr.io/acme/policies", "ghcr.io", "ghcr.io/acme/policies/demo")]
#[case("registry://ghcr.io/acme/", "ghcr.io", "ghcr.io/acme/demo")]
#[case("127.0.0.1:5000/a/b", "127.0.0.1:5000", "127.0.0.1:5000/a/b/demo")]
#[case(
    "registry.example.com:8443",
    "registry.example.com:8443",
    "registry.example.com:8443/demo"
)]
#[case("localhost/a", "localhost", "localhost/a/demo")]
fn hosts_with_paths(#[case] text: &str, #[case] host: &str, #[case] repository: &str) {
    let target = Target::parse(text).unwrap();
    assert_eq!(target.host(), host);
    assert_eq!(target.repository("demo"), repository);
    let reference = target.reference("demo", "v0.1.0").unwrap();
    assert_eq!(reference.whole(), format!("{repository}:v0.1.0"));
    assert_eq!(target.pinned("demo", "sha256:0a"), format!("{repository}@sha256:0a"));
}

#[rstest]
#[case("acme/policies", "'acme' is no host")]
#[case("", "is no host")]
#[case("https://ghcr.io/acme", "without a scheme")]
#[case("ghcr.io/Acme", "no reference")]
#[case("ghcr.io/acme:v1", "no reference")]
#[case("ghcr.io/acme@sha256:0a", "no reference")]
#[case("ghcr.io/ac me", "no reference")]
fn anything_else_is_refused(#[case] text: &str, #[case] expected: &str) {
    let error = Target::parse(text).unwrap_err().to_string();
    assert!(error.contains(expected), "{error}");
}

#[test]
fn a_tag_that_is_none_is_refused() {
    let target = Target::parse("ghcr.io/acme").unwrap();
    for tag in ["", "a b", "-v1", "v1/x", "v1@sha256:00"] {
        assert!(target.reference("demo", tag).is_err(), "{tag}");
    }
}

#[rstest]
#[case("ghcr.io/a", Protocol::Https)]
#[case("10.0.0.1:5000/a", Protocol::Https)]
#[case("localhost.example.com/a", Protocol::Https)]
#[case("localhost:5000/a", Protocol::Http)]
#[case("127.0.0.1/a", Protocol::Http)]
#[case("127.8.8.8:1/a", Protocol::Http)]
fn plain_text_stays_on_the_machine(#[case] text: &str, #[case] expected: Protocol) {
    let target = Target::parse(text).unwrap();
    assert_eq!(target.protocol(false), expected);
    assert_eq!(target.protocol(true), Protocol::Http);
}
