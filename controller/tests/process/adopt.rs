//! `adopt --check` against an API server on a socket: exit codes, what it asks for, and that it writes nothing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::{Method, StatusCode};
use lmcache_controller::adopt::RIGHTS;
use lmcache_controller::rbac::{Call, permits};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// A cluster: its objects, what may not be read, and what was asked.
#[derive(Clone, Default)]
struct Api(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    objects: Vec<Value>,
    /// Plurals whose every request is refused.
    forbidden: BTreeSet<&'static str>,
    /// Plurals that are answered with a fault of the server.
    broken: BTreeSet<&'static str>,
    asked: Vec<(Method, String)>,
}

const PLURALS: [(&str, &str); 7] = [
    ("Pod", "pods"),
    ("ClusterAdmissionPolicy", "clusteradmissionpolicies"),
    ("LMCacheEngine", "lmcacheengines"),
    ("ConfigMap", "configmaps"),
    ("Service", "services"),
    ("DaemonSet", "daemonsets"),
    ("Deployment", "deployments"),
];
/// As many objects as this server puts into a page, whatever is asked for.
const PAGE: usize = 2;

impl Inner {
    fn answer(&self, method: &Method, target: &str) -> (u16, Value) {
        let status = |code: u16| {
            let status = json!({
                "apiVersion": "v1", "kind": "Status", "status": "Failure", "code": code, "message": "as told", "reason": "",
            });
            (code, status)
        };
        assert_eq!(method, Method::GET, "{target}");
        let call = Call::read(method.as_str(), target).unwrap();
        assert!(permits(RIGHTS, &call, ""), "{call:?}");
        assert_ne!(call.resource, "secrets");
        if self.forbidden.contains(call.resource.as_str()) {
            return status(403);
        }
        if self.broken.contains(call.resource.as_str()) {
            return status(500);
        }
        let kind = PLURALS
            .iter()
            .find(|(_, plural)| *plural == call.resource)
            .map_or("", |(kind, _)| kind);
        let mut objects = self.objects.iter().filter(|object| object["kind"] == kind);
        // Kinds that not every cluster has.
        let is_optional = matches!(
            call.resource.as_str(),
            "servicemonitors" | "leaderworkersets" | "clusteradmissionpolicies"
        );
        if is_optional && objects.clone().next().is_none() {
            return status(404);
        }
        if let Some(name) = &call.name {
            let found = objects.find(|object| object["metadata"]["name"] == name.as_str());
            return found.map_or_else(|| status(404), |object| (200, object.clone()));
        }
        let (_, query) = target.split_once('?').unwrap();
        let selected = query.split('&').find_map(|pair| pair.strip_prefix("labelSelector="));
        let selected = selected.unwrap_or_default().replace("%2F", "/").replace("%3D", "=");
        let selects = |object: &&Value| {
            // Of other kinds every object here has the label that is asked for.
            let mut pairs = selected.split(',').filter_map(|pair| pair.split_once('='));
            kind != "Pod" || pairs.all(|(key, value)| object["metadata"]["labels"][key] == value)
        };
        let all: Vec<Value> = objects
            .filter(selects)
            .cloned()
            .map(|mut object| {
                // As Kubernetes' own lists have them.
                let members = object.as_object_mut().unwrap();
                members.remove("kind");
                members.remove("apiVersion");
                object
            })
            .collect();
        let start = query.split('&').find_map(|pair| pair.strip_prefix("continue=at%3D"));
        let start: usize = start.map_or(0, |start| start.parse().unwrap());
        let page: Vec<Value> = all.iter().skip(start).take(PAGE).cloned().collect();
        let mut metadata = json!({"resourceVersion": "1"});
        if start + PAGE < all.len() {
            metadata["continue"] = json!(format!("at={}", start + PAGE));
        }
        (
            200,
            json!({"apiVersion": "v1", "kind": "List", "metadata": metadata, "items": page}),
        )
    }
}

async fn answer(State(api): State<Api>, request: Request) -> Response {
    let (method, target) = (request.method().clone(), request.uri().to_string());
    let mut inner = api.0.lock().unwrap();
    let (code, body) = inner.answer(&method, &target);
    inner.asked.push((method, target));
    let code = StatusCode::from_u16(code).unwrap();
    (code, Body::from(body.to_string())).into_response()
}

impl Api {
    fn of(objects: Vec<Value>) -> Api {
        Api(Arc::new(Mutex::new(Inner {
            objects,
            ..Inner::default()
        })))
    }

    async fn check(&self, args: &[&str]) -> Output {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().fallback(answer).with_state(self.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        let kubeconfig = std::env::temp_dir().join(format!("adopt-{}-{}.yaml", std::process::id(), address.port()));
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: here\nusers: [{{name: me, user: {{}}}}]\n\
             clusters: [{{name: here, cluster: {{server: 'http://{address}'}}}}]\n\
             contexts: [{{name: here, context: {{cluster: here, user: me}}}}]\n"
        );
        std::fs::write(&kubeconfig, text).unwrap();
        let mut command = adopt(&kubeconfig);
        command.args(args);
        let output = tokio::task::spawn_blocking(move || command.output().unwrap())
            .await
            .unwrap();
        std::fs::remove_file(kubeconfig).unwrap();
        output
    }
}

fn adopt(kubeconfig: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lmcache-controller"));
    command.env_clear().env("KUBECONFIG", kubeconfig).arg("adopt");
    command
}

/// An engine of the Go operator with its children, and somebody else's objects.
fn cluster(replicas: u64) -> Vec<Value> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../fixtures/go-operator/july/stored/minimal.yaml");
    let text = std::fs::read_to_string(path).unwrap();
    let recording = yaml_serde::Deserializer::from_str(&text).next().unwrap();
    let recording = Value::deserialize(recording).unwrap();
    let mut objects = recording["children"].as_array().unwrap().clone();
    objects.push(recording["custom"].clone());
    for number in 0..5 {
        objects.push(json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": format!("other-{number}"), "namespace": "default"},
        }));
    }
    // Behind the first page.
    objects.push(json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "lmcache-operator-controller-manager", "namespace": "lmcache-operator-system"},
        "spec": {"replicas": replicas, "template": {"spec": {"containers": [
            {"name": "manager", "image": "lmcache/lmcache-operator:v0.5.2"},
        ]}}},
    }));
    objects
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[tokio::test]
async fn something_in_the_way_is_1_and_nothing_is_0() {
    let running = Api::of(cluster(1)).check(&["--check"]).await;
    assert_eq!(running.status.code(), Some(1), "{running:?}");
    let report = text(&running.stdout);
    assert!(report.contains("[go-operator-runs]"), "{report}");
    assert!(report.contains("LMCacheEngine inference/minimal"), "{report}");
    assert!(running.stderr.is_empty(), "{running:?}");

    let stopped = Api::of(cluster(0)).check(&["--check", "-o", "json"]).await;
    assert_eq!(stopped.status.code(), Some(0), "{stopped:?}");
    let report: Value = serde_json::from_slice(&stopped.stdout).unwrap();
    assert_eq!(report["clear"], true);
    assert_eq!(report["engines"][0]["servers"], "kept");
    assert_eq!(report["engines"][0]["ofTheGoOperator"], 4);
    assert_eq!(report["goOperator"][0]["replicas"], 0);
}

#[tokio::test]
async fn it_asks_for_what_its_role_allows_and_for_nothing_else() {
    let api = Api::of(cluster(1));
    api.check(&["--check"]).await;
    let asked = api.0.lock().unwrap().asked.clone();
    // Every right is of use: those that only what is found asks for are seen on a real control plane.
    let calls: Vec<Call> = asked
        .iter()
        .map(|(method, target)| Call::read(method.as_str(), target).unwrap())
        .collect();
    for right in RIGHTS {
        for resource in right.resources {
            if *resource == "namespaces" {
                continue;
            }
            let is_asked = calls
                .iter()
                .any(|call| call.group == right.group && call.resource == *resource);
            assert!(is_asked, "{resource}");
        }
    }
    // Six Deployments on pages of two.
    let lists = asked
        .iter()
        .filter(|(_, target)| target.starts_with("/apis/apps/v1/deployments?"));
    assert_eq!(lists.count(), 3, "{asked:#?}");
    let selected = |what: &str| asked.iter().any(|(_, target)| target.ends_with(what));
    assert!(
        selected("/configmaps?limit=500&labelSelector=app.kubernetes.io%2Fmanaged-by%3Dlmcache-operator"),
        "{asked:#?}"
    );
    assert!(
        selected("/pods?limit=500&labelSelector=lmcache.ai%2Flmcache-inject%3Dtrue"),
        "{asked:#?}"
    );
}

/// Pods are selected by the labels of the Deployment that makes them, whatever those are, and looked through one by one where
/// the annotation is enough to ask.
#[tokio::test]
async fn pods_are_found_by_what_is_known_of_them() {
    let pod = |name: &str, labels: Value, annotations: Value| {
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "team-a", "labels": labels, "annotations": annotations},
            "spec": {"containers": [{"name": "vllm", "image": "vllm/vllm-openai:v0.24.0"}]},
            "status": {"phase": "Running"},
        })
    };
    let asks = json!({"lmcache.ai/lmcache-engine": "kv"});
    let by_annotation = pod("annotated", json!({}), asks.clone());
    let mut objects = cluster(0);
    objects.extend([pod("other", json!({}), json!({})), by_annotation]);

    let deployment = objects
        .iter_mut()
        .find(|object| object["metadata"]["namespace"] == "lmcache-operator-system");
    deployment.unwrap()["spec"]["selector"] = json!({"matchLabels": {"app": "cache", "tier": "control"}});
    let mut ending = pod(
        "cache-0",
        json!({"app": "cache", "tier": "control", "pod-template-hash": "5b"}),
        json!({}),
    );
    ending["metadata"]["namespace"] = json!("lmcache-operator-system");
    ending["metadata"]["deletionTimestamp"] = json!("2026-11-29T11:59:50Z");
    ending["metadata"]["ownerReferences"] =
        json!([{"kind": "ReplicaSet", "name": "lmcache-operator-controller-manager-5b", "controller": true}]);
    ending["spec"]["containers"][0]["image"] = json!("lmcache/lmcache-operator:v0.5.2");
    objects.push(ending);

    let api = Api::of(objects.clone());
    let output = api.check(&["--check", "-o", "json"]).await;
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["goOperator"][0]["ending"], json!(["cache-0"]), "{report:#}");
    assert_eq!(report["goOperator"][0]["pods"], 1);
    let first = |report: &Value| -> Vec<String> {
        let findings = report["findings"].as_array().unwrap().iter();
        let first = findings.filter(|finding| finding["level"] == "first");
        first
            .map(|finding| finding["code"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(first(&report), ["go-operator-runs"]);
    let asked = api.0.lock().unwrap().asked.clone();
    let mut pods = asked.iter().filter(|(_, target)| target.contains("/pods?"));
    assert!(pods.all(|(_, target)| target.contains("labelSelector=")), "{asked:#?}");

    objects.push(json!({
        "apiVersion": "policies.kubewarden.io/v1", "kind": "ClusterAdmissionPolicy",
        "metadata": {"name": "lmcache-pod-injection"}, "spec": {"settings": {"optIn": "Annotation"}},
    }));
    let output = Api::of(objects).check(&["--check", "-o", "json"]).await;
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["goOperator"][0]["pods"], 1);
    assert_eq!(first(&report), ["go-operator-runs", "pods-unwired"]);
}

#[tokio::test]
async fn missing_rights_are_all_named() {
    let api = Api::of(cluster(1));
    api.0.lock().unwrap().forbidden = ["lmcacheengines", "deployments", "customresourcedefinitions"].into();
    let output = api.check(&["--check"]).await;
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(output.stdout.is_empty());
    let error = text(&output.stderr);
    for right in [
        "list lmcacheengines.lmcache.lmcache.ai",
        "list deployments.apps",
        "get customresourcedefinitions.apiextensions.k8s.io",
        "lmcache-controller rbac --adopt | kubectl apply -f -",
    ] {
        assert!(error.contains(right), "{error}");
    }
    assert!(!error.contains("list pods"), "{error}");
}

#[tokio::test]
async fn a_server_that_fails_is_2_with_what_it_said() {
    let api = Api::of(cluster(1));
    api.0.lock().unwrap().broken = ["daemonsets"].into();
    let output = api.check(&["--check"]).await;
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let error = text(&output.stderr);
    assert!(
        error.contains("/apis/apps/v1/daemonsets") && error.contains("500: as told"),
        "{error}"
    );

    let nowhere = adopt(Path::new("/does/not/exist")).arg("--check").output().unwrap();
    assert_eq!(nowhere.status.code(), Some(2));
    assert!(text(&nowhere.stderr).contains("no way to a cluster"), "{nowhere:?}");
}

#[test]
fn it_only_looks_and_says_so() {
    let kubeconfig = Path::new("/does/not/exist");
    let bare = adopt(kubeconfig).output().unwrap();
    assert_eq!(bare.status.code(), Some(2));
    assert!(text(&bare.stderr).contains("--check"), "{bare:?}");
    let help = adopt(kubeconfig).arg("--help").output().unwrap();
    assert!(help.status.success());
    let help = text(&help.stdout);
    for part in [
        "Reads and never writes",
        "Exit code 0: nothing is in the way; 1: something has to be done first; 2: it could not look",
        "rbac --adopt",
        "--output <FORMAT>",
        "--ipc-default <MODE>",
        "--cluster-domain <DOMAIN>",
    ] {
        assert!(help.contains(part), "{part:?} in\n{help}");
    }
    for (args, expected) in [
        (["--check", "--output=yaml"], "text"),
        (["--check", "--ipc-default=hostipc"], "HostIPC, HostShm, Isolated"),
        (["--check", "--cluster-domain=A b"], "lower-case"),
    ] {
        let output = adopt(kubeconfig).args(args).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(text(&output.stderr).contains(expected), "{output:?}");
    }
}

/// What it reads is not what the controller may do.
#[test]
fn the_role_reads_and_the_controllers_did_not_grow() {
    for right in RIGHTS {
        assert!(
            right.verbs.iter().all(|verb| matches!(*verb, "get" | "list")),
            "{right:?}"
        );
        assert!(!right.resources.contains(&"secrets"), "{right:?}");
        assert!(right.why.len() > 20, "{right:?}");
    }
    let output = Command::new(env!("CARGO_BIN_EXE_lmcache-controller"))
        .arg("rbac")
        .output()
        .unwrap();
    for resource in [
        "webhookconfigurations",
        "customresourcedefinitions",
        "clusteradmissionpolicies",
        "cronjobs",
    ] {
        assert!(!text(&output.stdout).contains(resource), "{resource}");
    }
}
