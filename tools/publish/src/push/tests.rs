//! What a registry says of a tag before it is pushed.

use rstest::rstest;

use super::*;

fn registry(code: &str) -> OciDistributionError {
    let envelope = format!(r#"{{"errors": [{{"code": "{code}", "message": "", "detail": null}}]}}"#);
    OciDistributionError::RegistryError {
        envelope: serde_json::from_str(&envelope).unwrap(),
        url: "https://registry.example.com/v2/policies/manifests/v1".into(),
    }
}

fn server(code: u16) -> OciDistributionError {
    OciDistributionError::ServerError {
        code,
        url: "https://registry.example.com/v2/policies/manifests/v1".into(),
        message: String::new(),
    }
}

/// A tag is taken for free only where the registry says so, or does not let anybody see it yet.
#[rstest]
#[case::no_manifest(registry("MANIFEST_UNKNOWN"), true)]
#[case::no_repository(registry("NAME_UNKNOWN"), true)]
#[case::denied(registry("DENIED"), true)]
#[case::not_found(server(404), true)]
#[case::forbidden(server(403), true)]
#[case::too_many(registry("TOOMANYREQUESTS"), false)]
#[case::too_many_without_a_body(server(429), false)]
#[case::out_of_order(server(503), false)]
fn only_what_may_be_missing_is_pushed(#[case] error: OciDistributionError, #[case] expected: bool) {
    assert_eq!(may_be_missing(&error), expected, "{error}");
}
