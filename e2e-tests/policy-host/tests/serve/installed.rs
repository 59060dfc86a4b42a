//! The compiled policies of this repository, as the manifests in `deploy/policies` install them. `make build` makes them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use json_patch::Patch;
use policy_host::fixture::{Case, compare, load, load_all};
use policy_host::metadata::Metadata;
use policy_host::serve::{Certificates, Options, Policies, Server as Webhook, read_manifests};
use policy_host::{AdmissionResponse, Status};
use serde_json::{Value, json};

use crate::common::{scratch, text, write};
use crate::https;
use crate::server::Server;

/// Cases of each policy. One server is started for each.
const CASES: usize = 8;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The annotated modules: in `$POLICIES_DIR`, else in `target/policies`.
fn modules() -> PathBuf {
    std::env::var_os("POLICIES_DIR").map_or_else(|| root().join("target/policies"), PathBuf::from)
}

/// The manifest that gives a module what its metadata asks for.
fn manifest(module: &str, settings: &Value) -> Value {
    let wasm = std::fs::read(modules().join(format!("{module}.wasm"))).expect("run `make build` first");
    let metadata = Metadata::from_wasm(&wasm).unwrap().unwrap();
    json!({
        "apiVersion": "policies.kubewarden.io/v1",
        "kind": "ClusterAdmissionPolicy",
        "metadata": {"name": "case"},
        "spec": {
            "module": format!("registry://ghcr.io/lmcache-kubewarden/policies/{module}:v0.1.0"),
            "settings": settings,
            "mutating": metadata.mutating,
            "rules": metadata.rules,
            "contextAwareResources": metadata.context_aware_resources,
            "timeoutEvalSeconds": 10,
        },
    })
}

fn review(case: &Case) -> String {
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": case.request.value()}).to_string()
}

/// What the API server reads from a response.
fn read(response: &Value) -> AdmissionResponse {
    let patch = response.get("patch").map(|patch| {
        assert_eq!(response["patchType"], "JSONPatch");
        let bytes = base64::engine::general_purpose::STANDARD
            .decode(patch.as_str().unwrap())
            .unwrap();
        serde_json::from_slice::<Patch>(&bytes).unwrap()
    });
    AdmissionResponse {
        uid: response["uid"].as_str().unwrap().to_owned(),
        allowed: response["allowed"].as_bool().unwrap(),
        patch,
        status: response.get("status").map(|status| Status {
            message: status["message"].as_str().map(str::to_owned),
            code: status["code"].as_u64().map(|code| u16::try_from(code).unwrap()),
        }),
        audit_annotations: serde_json::from_value(response["auditAnnotations"].clone()).unwrap(),
        warnings: serde_json::from_value(response["warnings"].clone()).unwrap(),
    }
}

/// Serves one policy with the cluster of the case, in this process.
fn answer(runtime: &tokio::runtime::Runtime, module: &str, case: &Case, dir: &Path) -> AdmissionResponse {
    let file = write(dir, "manifest.json", manifest(module, &case.settings).to_string());
    let options = Options {
        modules: modules(),
        host: Arc::new(case.cluster.clone()),
        host_call_delay: Duration::ZERO,
        evaluation_seconds: 10,
        kubewarden_namespace: "kubewarden".to_owned(),
        cache: true,
        log: Arc::new(|_| {}),
        verbose: false,
    };
    let policies = Policies::load(read_manifests(&[file], false).unwrap(), &options).unwrap();
    let certificates = Certificates::generate(&[]).unwrap();
    let address = "127.0.0.1:0".parse().unwrap();
    let server = runtime
        .block_on(Webhook::bind(policies, &certificates, address, 2, Arc::new(|_| {})))
        .unwrap();
    let address = server.address();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let running = runtime.spawn(server.run(async move { drop(stopped.await) }));
    let post = ("POST", "/validate/kw.cap.case");
    let authority = certificates.authority().unwrap();
    let answer = https::request(
        address,
        authority,
        post,
        Some("application/json"),
        review(case).as_bytes(),
    )
    .unwrap();
    stop.send(()).unwrap();
    runtime.block_on(running).unwrap().unwrap();
    assert_eq!(answer.status, 200, "{answer:?}");
    read(&answer.body["response"])
}

#[test]
fn fixtures_are_answered_over_the_socket_as_they_are_without_it() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let dir = scratch("serve-fixtures");
    let policies = [
        "engine-validation",
        "connection-injection",
        "payload-staging",
        "cacheblend-injection",
        "pod-injection",
        "injection-guard",
        "workload-preflight",
    ];
    let (mut refused, mut changed) = (0, 0);
    for policy in policies {
        let cases = load_all(root().join("fixtures").join(policy)).unwrap();
        // Spread over all of them, so that refusals, changes and look-ups that fail are among them.
        for case in cases.iter().step_by(cases.len().div_ceil(CASES)) {
            let response = answer(&runtime, policy, case, &dir);
            compare(&case.expected, &response, None)
                .unwrap_or_else(|differences| panic!("{}: {}\n{differences}", case.dir.display(), case.expected.about));
            refused += usize::from(!response.allowed);
            changed += usize::from(response.patch.is_some());
        }
    }
    assert!(
        refused > 3 && changed > 3,
        "{refused} refused, {changed} changed: choose other cases"
    );
}

#[test]
fn the_manifests_of_deploy_are_served() {
    let (root, modules) = (root(), modules());
    let fixtures = root.join("fixtures");
    let case = load(fixtures.join("pod-injection/after-payload-staging")).unwrap();
    let cluster = case.dir.join("cluster.yaml");
    for folder in ["", "by-annotation", "separate"] {
        let dir = scratch(&format!("serve-deploy-{folder}"));
        let manifests = root.join("deploy/policies").join(folder);
        let args = [
            "-p",
            text(&manifests),
            "--policy-dir",
            text(&modules),
            "--cluster-dir",
            text(&cluster),
        ];
        let server = Server::start(&dir, args);
        for policy in server.ready["policies"].as_array().unwrap() {
            let name = policy["name"].as_str().unwrap();
            if name.contains("engine-validation") {
                continue;
            }
            // Nobody opted in: nothing to do and nothing to say, whoever asks.
            let mut request = case.request.value().clone();
            request["object"]["metadata"] = json!({"name": "web", "namespace": request["namespace"]});
            let response = server.review_of(&format!("/validate/kw.cap.{name}"), &request);
            assert_eq!(
                (&response["allowed"], response.get("patch")),
                (&json!(true), None),
                "{name}: {response}"
            );
        }
    }
    let dir = scratch("serve-deploy-wired");
    let manifests = root.join("deploy/policies");
    let args = [
        "-p",
        text(&manifests),
        "--policy-dir",
        text(&modules),
        "--cluster-dir",
        text(&cluster),
    ];
    let server = Server::start(&dir, args);
    let names: Vec<&str> = server.ready["policies"]
        .as_array()
        .unwrap()
        .iter()
        .map(|policy| policy["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "cacheblend-pod-injection",
            "cacheblend-wiring-audit",
            "lmcache-engine-validation",
            "lmcache-guard",
            "lmcache-pod-injection",
            "lmcache-wiring-audit",
            "lmcache-workload-preflight",
        ]
    );
    let response = read(&server.review_of("/validate/kw.cap.lmcache-pod-injection", case.request.value()));
    compare(&case.expected, &response, None).unwrap();
}
