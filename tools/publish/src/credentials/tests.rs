//! Environment and config.json, in this order. `YWNtZTpoaWRkZW4=` is `acme:hidden`.

use rstest::rstest;

use super::*;

const CONFIG: &str = r#"{"auths": {
    "ghcr.io": {"auth": "YWNtZTpoaWRkZW4="},
    "https://index.docker.io/v1/": {"auth": "YWNtZTpoaWRkZW4="},
    "token.example.com": {"identitytoken": "hidden"},
    "broken.example.com": {"auth": "hidden"}
}, "credHelpers": {"helped.example.com": "hidden-and-not-installed"}}"#;

fn basic(user: &str, password: &str) -> RegistryAuth {
    RegistryAuth::Basic(user.to_owned(), password.to_owned())
}

fn none(_: &str) -> Option<String> {
    None
}

#[rstest]
#[case("ghcr.io", basic("acme", "hidden"))]
#[case("docker.io", basic("acme", "hidden"))]
#[case("other.example.com", RegistryAuth::Anonymous)]
fn docker_knows(#[case] host: &str, #[case] expected: RegistryAuth) {
    assert!(find(host, none, Some(CONFIG.as_bytes())).unwrap() == expected);
    assert!(find(host, none, None).unwrap() == RegistryAuth::Anonymous);
}

#[test]
fn the_environment_comes_first_and_is_whole() {
    let both = |name: &str| match name {
        USERNAME => Some("bot".to_owned()),
        PASSWORD => Some("hidden too".to_owned()),
        _ => None,
    };
    let found = find("ghcr.io", both, Some(CONFIG.as_bytes())).unwrap();
    assert!(found == basic("bot", "hidden too"));
    for missing in [USERNAME, PASSWORD] {
        let one = |name: &str| both(name).filter(|_| name != missing);
        let error = find("ghcr.io", one, None).err().unwrap().to_string();
        assert!(error.contains(missing) && error.contains("both or neither"), "{error}");
        assert!(!error.contains("hidden"), "{error}");
    }
}

#[rstest]
#[case("token.example.com", CONFIG, "identity token")]
#[case("broken.example.com", CONFIG, "entry for broken.example.com")]
#[case("helped.example.com", CONFIG, "helper")]
#[case("ghcr.io", "hidden", "cannot be read")]
fn what_cannot_be_used_is_an_error_without_secrets(#[case] host: &str, #[case] config: &str, #[case] expected: &str) {
    let error = find(host, none, Some(config.as_bytes())).err().unwrap().to_string();
    assert!(error.contains(expected) && error.contains("docker login"), "{error}");
    assert!(!error.contains("hidden"), "{error}");
}

#[test]
fn docker_says_where_its_file_is() {
    let home = |name: &str| (name == "HOME").then(|| "/home/a".to_owned());
    assert_eq!(docker_config(home), Some("/home/a/.docker/config.json".into()));
    let folder = |name: &str| match name {
        "DOCKER_CONFIG" => Some("/run/d".to_owned()),
        name => home(name),
    };
    assert_eq!(docker_config(folder), Some("/run/d/config.json".into()));
    assert_eq!(docker_config(none), None);
}
