//! `policy-host webhooks`.

use std::path::Path;

use policy_host::document;
use policy_host::fixture::UPDATE_ENV;
use serde_json::{Value, json};

use crate::api_server::{ApiServer, status};
use crate::common::{policy_host, scratch, text, write};
use crate::server::{folder, policy};

const URL: [&str; 2] = ["--url", "https://127.0.0.1:8443"];

fn webhooks(manifests: &Path, args: &[&str]) -> (Vec<Value>, String) {
    let fixed = ["webhooks", "--policies", text(manifests)];
    let done = policy_host(fixed.into_iter().chain(args.iter().copied()));
    assert_eq!(done.code, 0, "{done:?}");
    (document::parse_all(&done.stdout).unwrap(), done.stderr)
}

/// The whole text for the manifests that users install. `UPDATE_FIXTURES=1` writes it anew.
#[test]
fn of_the_manifests_of_deploy() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (name, folder) in [("deploy", ""), ("deploy-separate", "separate")] {
        let golden = here.join("tests/data/webhooks").join(format!("{name}.yaml"));
        let manifests = here.join("../../deploy/policies").join(folder);
        let done = policy_host(["webhooks", "--policies", text(&manifests)].into_iter().chain(URL));
        assert_eq!((done.code, done.stderr.as_str()), (0, ""));
        if std::env::var(UPDATE_ENV).is_ok_and(|value| value == "1") {
            std::fs::create_dir_all(golden.parent().unwrap()).unwrap();
            std::fs::write(&golden, &done.stdout).unwrap();
        }
        let expected = std::fs::read_to_string(&golden).unwrap();
        assert_eq!(
            done.stdout, expected,
            "{name}: run with {UPDATE_ENV}=1 and read the difference"
        );
    }
}

#[test]
fn names_and_order_are_those_of_kubewarden() {
    let validating = json!({"mutating": false});
    let dir = folder(
        "webhooks-order",
        &[
            policy("b-validates", json!({}), validating.clone()),
            policy("c-mutates", json!({}), json!({})),
            policy("a-validates", json!({}), validating),
            policy("b-mutates", json!({}), json!({})),
        ],
    );
    let manifests = dir.join("manifests");
    let names = |args: &[&str]| -> Vec<String> {
        let (found, _) = webhooks(&manifests, args);
        found
            .iter()
            .map(|found| {
                let name = found["metadata"]["name"].as_str().unwrap();
                let webhook = &found["webhooks"][0];
                assert_eq!(found["webhooks"].as_array().unwrap().len(), 1);
                assert_eq!(webhook["name"], format!("{name}.kubewarden.admission"));
                assert_eq!(
                    webhook["clientConfig"],
                    json!({"url": format!("https://127.0.0.1:8443/validate/{name}")})
                );
                format!("{} {name}", found["kind"].as_str().unwrap())
            })
            .collect()
    };
    assert_eq!(
        names(&URL),
        [
            "MutatingWebhookConfiguration kw.cap.b-mutates",
            "MutatingWebhookConfiguration kw.cap.c-mutates",
            "ValidatingWebhookConfiguration kw.cap.a-validates",
            "ValidatingWebhookConfiguration kw.cap.b-validates",
        ]
    );
    let legacy = ["--url", "https://127.0.0.1:8443/", "--naming", "legacy"];
    assert_eq!(names(&legacy)[0], "MutatingWebhookConfiguration clusterwide-b-mutates");
}

#[test]
fn what_a_manifest_leaves_out_is_left_to_defaults() {
    let policies = [policy(
        "bare",
        json!({}),
        json!({"timeoutSeconds": null, "policyServer": null}),
    )];
    let dir = folder("webhooks-bare", &policies);
    let ca = write(
        &dir,
        "ca.crt",
        rcgen::generate_simple_self_signed(["x".to_owned()]).unwrap().cert.pem(),
    );
    let (found, _) = webhooks(
        &dir.join("manifests"),
        &["--url", "https://policies:1", "--ca-bundle", text(&ca)],
    );
    use base64::Engine as _;
    let bundle = base64::engine::general_purpose::STANDARD.encode(std::fs::read(&ca).unwrap());
    assert_eq!(
        found,
        [json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "MutatingWebhookConfiguration",
            "metadata": {
                "name": "kw.cap.bare",
                "labels": {"app.kubernetes.io/part-of": "kubewarden", "kubewardenPolicyScope": "cluster"},
                "annotations": {"kubewardenPolicyName": "bare", "kubewardenPolicyNamespace": ""},
            },
            "webhooks": [{
                "name": "kw.cap.bare.kubewarden.admission",
                "clientConfig": {"url": "https://policies:1/validate/kw.cap.bare", "caBundle": bundle},
                "rules": policies[0]["spec"]["rules"],
                "namespaceSelector": {"matchExpressions": [
                    {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kubewarden"]},
                ]},
                "sideEffects": "None",
                "timeoutSeconds": 10,
                "admissionReviewVersions": ["v1"],
            }],
        })]
    );
}

#[test]
fn namespace_selectors_lose_what_kubewarden_drops() {
    let selector = json!({
        "matchLabels": {"a": "b"},
        "matchExpressions": [{"key": "env", "operator": "In", "values": ["prod"]}],
    });
    let policies = [
        policy("outside", json!({}), json!({"namespaceSelector": selector})),
        policy(
            "within",
            json!({}),
            json!({
                "namespaceSelector": selector, "allowInsideAdmissionControllerNamespace": true,
            }),
        ),
        policy(
            "within-all",
            json!({}),
            json!({"allowInsideAdmissionControllerNamespace": true}),
        ),
    ];
    let dir = folder("webhooks-selector", &policies);
    let args = [&URL[..], &["--kubewarden-namespace", "kw"]].concat();
    let (found, stderr) = webhooks(&dir.join("manifests"), &args);
    assert_eq!(
        found[0]["webhooks"][0]["namespaceSelector"],
        json!({"matchExpressions": [
            {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kw"]},
            {"key": "env", "operator": "In", "values": ["prod"]},
        ]})
    );
    assert_eq!(found[1]["webhooks"][0]["namespaceSelector"], selector);
    assert_eq!(found[2]["webhooks"][0].get("namespaceSelector"), None);
    let expected = "ClusterAdmissionPolicy outside: Kubewarden drops spec.namespaceSelector.matchLabels";
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(stderr.contains(expected), "{stderr}");
}

#[test]
fn applies_and_deletes_through_a_kubeconfig() {
    let gone = status(404, "NotFound", "gone");
    let done = json!({"apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Success"});
    let mutating = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/kw.cap.b";
    let validating = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/kw.cap.a";
    let api = ApiServer::start(vec![
        (
            "PATCH /apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/kw.cap.b",
            200,
            json!({
                "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
                "metadata": {"name": "kw.cap.b"},
            }),
        ),
        (
            "PATCH /apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/kw.cap.a",
            200,
            json!({
                "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
                "metadata": {"name": "kw.cap.a"},
            }),
        ),
        (
            "DELETE /apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/kw.cap.b",
            404,
            gone,
        ),
        (
            "DELETE /apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/kw.cap.a",
            200,
            done,
        ),
    ]);
    let dir = folder(
        "webhooks-apply",
        &[
            policy("a", json!({}), json!({"mutating": false})),
            policy("b", json!({}), json!({})),
        ],
    );
    let (manifests, kubeconfig) = (dir.join("manifests"), api.kubeconfig(&dir));
    let (printed, _) = webhooks(&manifests, &URL);
    let run = |change: &str| {
        let fixed = [
            "webhooks",
            "-p",
            text(&manifests),
            change,
            "--kubeconfig",
            text(&kubeconfig),
            "--context",
            "here",
        ];
        policy_host(fixed.into_iter().chain(URL))
    };
    let applied = run("--apply");
    assert_eq!(
        (applied.code, applied.stdout.as_str()),
        (
            0,
            "MutatingWebhookConfiguration kw.cap.b applied\nValidatingWebhookConfiguration kw.cap.a applied\n"
        ),
        "{applied:?}"
    );
    let deleted = run("--delete");
    assert_eq!((deleted.code, deleted.stderr.as_str()), (0, ""), "{deleted:?}");
    let asked = api.asked();
    let paths: Vec<String> = asked
        .iter()
        .map(|asked| format!("{} {}", asked.method, asked.path.split('?').next().unwrap()))
        .collect();
    assert_eq!(
        paths,
        [
            // Whose are those that are there?
            format!("GET {mutating}"),
            format!("GET {validating}"),
            format!("PATCH {mutating}"),
            format!("PATCH {validating}"),
            format!("GET {mutating}"),
            format!("GET {validating}"),
            format!("DELETE {mutating}"),
            format!("DELETE {validating}"),
        ]
    );
    assert!(
        asked[2].path.contains("fieldManager=policy-host") && asked[2].path.contains("force=true"),
        "{asked:?}"
    );
    assert_eq!([&asked[2].body, &asked[3].body], [&printed[0], &printed[1]]);
}

#[test]
fn kubewardens_own_configurations_are_left_alone() {
    let theirs = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": "kw.cap.b"},
        "webhooks": [{"name": "kw.cap.b.kubewarden.admission", "clientConfig": {"service": {"name": "policy-server-default"}}}],
    });
    let path = "GET /apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/kw.cap.b";
    let api = ApiServer::start(vec![(path, 200, theirs)]);
    let policies = ["a", "b"].map(|name| policy(name, json!({}), json!({})));
    let dir = folder("webhooks-kubewarden", &policies);
    let (manifests, kubeconfig) = (dir.join("manifests"), api.kubeconfig(&dir));
    for change in ["--apply", "--delete"] {
        let args = [
            "webhooks",
            "-p",
            text(&manifests),
            change,
            "--kubeconfig",
            text(&kubeconfig),
            "--context",
            "here",
        ];
        policy_host(args.into_iter().chain(URL)).fails_with("kw.cap.b leads to a Service: it is Kubewarden's own");
    }
    assert!(
        api.asked().iter().all(|asked| asked.method == "GET"),
        "{:?}",
        api.asked()
    );
}

#[test]
fn a_refusal_of_the_api_server_is_an_error() {
    let api = ApiServer::start(vec![(
        "PATCH /apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/kw.cap.a",
        403,
        status(403, "Forbidden", "not you"),
    )]);
    let dir = folder("webhooks-forbidden", &[policy("a", json!({}), json!({}))]);
    let (manifests, kubeconfig) = (dir.join("manifests"), api.kubeconfig(&dir));
    let args = [
        "webhooks",
        "-p",
        text(&manifests),
        "--apply",
        "--kubeconfig",
        text(&kubeconfig),
        "--context",
        "here",
    ];
    policy_host(args.into_iter().chain(URL)).fails_with("cannot apply kw.cap.a: ");
}

#[test]
fn urls_and_bundles_that_no_api_server_takes() {
    let dir = folder("webhooks-url", &[policy("a", json!({}), json!({}))]);
    let manifests = dir.join("manifests");
    let key = write(
        &scratch("webhooks-ca"),
        "key.pem",
        rcgen::KeyPair::generate().unwrap().serialize_pem(),
    );
    for url in [
        "http://127.0.0.1:1",
        "https://",
        "https://a/b",
        "https://a?b",
        "https://u@a",
        "127.0.0.1",
    ] {
        policy_host(["webhooks", "-p", text(&manifests), "--url", url])
            .fails_with("the URL of the webhook must be https://HOST[:PORT], found '");
    }
    policy_host(
        ["webhooks", "-p", text(&manifests), "--ca-bundle", text(&key)]
            .into_iter()
            .chain(URL),
    )
    .fails_with("key.pem: holds no certificate in PEM");
}
