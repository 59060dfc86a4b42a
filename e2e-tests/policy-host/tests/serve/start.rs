//! Starting, certificates, stopping.

use std::io::{Read, Write};
use std::net::TcpStream;

use rstest::rstest;
use serde_json::{Value, json};

use crate::common::{policy_host, scratch, text, write};
use crate::https;
use crate::server::{Server, folder, modules, policy};

#[rstest]
#[case::settings(
    policy("p", json!({"settings": "too loud"}), json!({})),
    "0.json: ClusterAdmissionPolicy p: Policy settings are invalid: too loud"
)]
#[case::settings_trap(
    policy("p", json!({"settings": {"trap": true}}), json!({})),
    "Policy settings are invalid: Error invoking settings validation callback: "
)]
#[case::settings_no_map(policy("p", json!([1]), json!({})), "spec.settings must be a map, found a list")]
#[case::no_module(policy("p", json!({}), json!({"module": null})), "ClusterAdmissionPolicy p: spec: missing field `module`")]
#[case::other_module(policy("p", json!({}), json!({"module": "registry://x/other:v1"})), "other.wasm")]
#[case::nameless_module(policy("p", json!({}), json!({"module": "registry://x/:v1"})), "does not name a module")]
#[case::misspelt(policy("p", json!({}), json!({"mutatng": true})), "unknown field `mutatng`")]
#[case::mode(policy("p", json!({}), json!({"mode": "audit"})), "unknown variant `audit`, expected `protect` or `monitor`")]
#[case::no_rules(policy("p", json!({}), json!({"rules": []})), "spec.rules must not be empty")]
#[case::time_out(policy("p", json!({}), json!({"timeoutSeconds": 31})), "spec.timeoutSeconds must be from 2 to 30, found 31")]
#[case::evaluation(policy("p", json!({}), json!({"timeoutEvalSeconds": 1})), "spec.timeoutEvalSeconds must be from 2 to 30, found 1")]
#[case::longer_evaluation(
    policy("p", json!({}), json!({"timeoutEvalSeconds": 11})),
    "spec.timeoutEvalSeconds is 11, more than the 10 of spec.timeoutSeconds"
)]
#[case::namespaced(
    json!({"apiVersion": "policies.kubewarden.io/v1", "kind": "AdmissionPolicy", "metadata": {"name": "p"}, "spec": {}}),
    "0.json: AdmissionPolicy p: only ClusterAdmissionPolicies are served here"
)]
#[case::none(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "p"}}), "no ClusterAdmissionPolicy (policies.kubewarden.io) in ")]
fn refuses_to_start(#[case] manifest: Value, #[case] expected: &str) {
    let name = format!(
        "refused-{}",
        expected.replace(|c: char| !c.is_ascii_alphanumeric(), "-")
    );
    let dir = folder(&name, &[manifest]);
    let manifests = dir.join("manifests");
    policy_host([
        "serve",
        "-p",
        text(&manifests),
        "--policy-dir",
        text(modules()),
        "--listen",
        "127.0.0.1:0",
    ])
    .fails_with(expected);
}

#[test]
fn two_policies_of_one_name_are_refused_and_folders_below_are_read_only_when_asked_for() {
    let dir = folder("twice", &[policy("p", json!({}), json!({}))]);
    let manifests = dir.join("manifests");
    std::fs::create_dir(manifests.join("below")).unwrap();
    write(
        &manifests.join("below"),
        "other.json",
        policy("p", json!({}), json!({})).to_string(),
    );
    let args = ["-p", text(&manifests), "--policy-dir", text(modules())];
    let server = Server::start(&dir, args);
    assert_eq!(server.ready["policies"].as_array().unwrap().len(), 1);
    policy_host(["serve"].into_iter().chain(args).chain(["-R"]))
        .fails_with("below/other.json; name only one of the files");
}

#[test]
fn a_bare_module_is_refused() {
    let dir = folder("bare", &[policy("p", json!({}), json!({}))]);
    std::fs::copy(crate::common::guest(), dir.join("test-guest.wasm")).unwrap();
    let manifests = dir.join("manifests");
    policy_host(["serve", "-p", text(&manifests), "--policy-dir", text(&dir)])
        .fails_with("test-guest.wasm: the module carries no Kubewarden metadata; annotate it first");
}

#[test]
fn shows_a_certificate_of_its_own_authority() {
    let ca = scratch("serve-ca").join("ca.crt");
    let policies = [policy("accept", json!({}), json!({}))];
    let server = Server::of(
        "certificate",
        &policies,
        &["--ca-out", text(&ca), "--host", "policies.example.com"],
    );
    let authority = std::fs::read_to_string(&ca).unwrap();
    assert_eq!(authority, server.authority());
    assert!(authority.starts_with("-----BEGIN CERTIFICATE-----") && !authority.contains("PRIVATE"));

    // Another run has another authority.
    let other = Server::of("certificate-other", &policies, &[]);
    let error = https::request(server.address(), &other.authority(), ("GET", "/readiness"), None, b"").unwrap_err();
    assert!(error.contains("invalid peer certificate"), "{error}");
    // Who does not speak TLS gets no answer, and keeps nobody else from one.
    let mut silent = TcpStream::connect(server.address()).unwrap();
    let mut plain = TcpStream::connect(server.address()).unwrap();
    plain.write_all(b"GET /readiness HTTP/1.1\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let _ = plain.read_to_end(&mut answer);
    assert!(!answer.starts_with(b"HTTP"), "{answer:?}");
    assert_eq!(server.review("/validate/accept")["allowed"], true);
    silent.write_all(b"x").unwrap();
}

#[test]
fn shows_the_certificate_that_it_is_given() {
    let dir = scratch("serve-given-files");
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let cert = write(&dir, "tls.crt", made.cert.pem());
    let key = write(&dir, "tls.key", made.signing_key.serialize_pem());
    let policies = [policy("accept", json!({}), json!({}))];
    let server = Server::of("given", &policies, &["--cert", text(&cert), "--key", text(&key)]);
    assert_eq!(server.ready["caBundle"], Value::Null);
    let get = ("GET", "/readiness");
    assert_eq!(
        https::request(server.address(), &made.cert.pem(), get, None, b"")
            .unwrap()
            .status,
        200
    );

    let manifests = folder("given-wrong", &policies).join("manifests");
    let other = rcgen::KeyPair::generate().unwrap();
    let other = write(&dir, "other.key", other.serialize_pem());
    for (cert, key, expected) in [
        (&cert, &other, "cannot use the certificate and its key"),
        (&cert, &cert, "tls.crt: expected a private key in PEM"),
        (&key, &key, "tls.key: holds no certificate in PEM"),
        (&dir.join("none"), &key, "cannot read "),
    ] {
        let args = [
            "serve",
            "-p",
            text(&manifests),
            "--policy-dir",
            text(modules()),
            "--listen",
            "127.0.0.1:0",
        ];
        policy_host(args.into_iter().chain(["--cert", text(cert), "--key", text(key)])).fails_with(expected);
    }
}

#[test]
fn a_taken_address_is_an_error() {
    let policies = [policy("accept", json!({}), json!({}))];
    let server = Server::of("taken", &policies, &[]);
    let address = server.address().to_string();
    let manifests = folder("taken-again", &policies).join("manifests");
    policy_host([
        "serve",
        "-p",
        text(&manifests),
        "--policy-dir",
        text(modules()),
        "--listen",
        &address,
    ])
    .fails_with(&format!("cannot listen on {address}: "));
}

#[cfg(unix)]
#[test]
fn ends_in_good_order() {
    let server = Server::of("stop", &[policy("accept", json!({}), json!({}))], &[]);
    assert_eq!(server.review("/validate/accept")["allowed"], true);
    let (status, log) = server.terminate();
    assert!(status.success(), "{status:?} {log}");
    assert!(!log.contains("Error"), "{log}");
}
