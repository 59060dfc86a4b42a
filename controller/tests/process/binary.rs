//! The command itself, against an API server on a socket.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use lmcache_controller::rbac::{Call, allows};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::time::{sleep, timeout};

use crate::api::{Leases, NAMESPACE};
use crate::endpoints::get;
use crate::help::command;

async fn answer(State(leases): State<Leases>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let body = to_bytes(body, 1_000_000).await.unwrap();
    let (method, target) = (head.method.as_str(), head.uri.to_string());
    let answer = if head.uri.path().contains("/leases") {
        let mood = leases.state().mood;
        leases.answer(method, &target, &body, mood)
    } else {
        empty_cluster(method, &target)
    };
    let Some((code, answer)) = answer else {
        return std::future::pending().await;
    };
    let code = StatusCode::from_u16(code).unwrap();
    (code, Body::from(answer.to_string())).into_response()
}

/// Nothing is there, and nothing happens; ServiceMonitors are no kind that is served. What the roles do not allow is
/// refused, and with that a list the process never gets to know the cluster.
fn empty_cluster(method: &str, target: &str) -> Option<(u16, Value)> {
    let status = |code: u16| json!({"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": code});
    match Call::read(method, target) {
        Some(call) if !allows(&call, NAMESPACE) => Some((403, status(403))),
        Some(call) if call.group != "monitoring.coreos.com" => match call.verb {
            "list" => {
                let metadata = json!({"resourceVersion": "1"});
                Some((
                    200,
                    json!({"apiVersion": "v1", "kind": "List", "metadata": metadata, "items": []}),
                ))
            }
            "watch" => None,
            verb => panic!("{verb} in an empty cluster: {target}"),
        },
        _ => Some((404, status(404))),
    }
}

/// A running command. Killed when the test ends.
struct Running {
    child: Option<Child>,
    kubeconfig: PathBuf,
    probes: SocketAddr,
}

impl Running {
    async fn start(leases: &Leases, name: &str, args: &[&str]) -> Running {
        let api = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = format!("http://{}", api.local_addr().unwrap());
        let router = Router::new().fallback(answer).with_state(leases.clone());
        tokio::spawn(async move { axum::serve(api, router).await.unwrap() });
        let kubeconfig = std::env::temp_dir().join(format!("lmcache-controller-{}-{name}.yaml", std::process::id()));
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: here\nclusters: [{{name: here, cluster: {{server: '{server}'}}}}]\n\
             users: [{{name: me, user: {{}}}}]\n\
             contexts: [{{name: here, context: {{cluster: here, user: me, namespace: {NAMESPACE}}}}}]\n"
        );
        std::fs::write(&kubeconfig, text).unwrap();
        let probes = free_address().await;
        let child = command()
            .env("KUBECONFIG", &kubeconfig)
            .env("POD_NAME", name)
            .args([
                "--metrics-bind-address=0",
                "--health-probe-bind-address",
                &probes.to_string(),
            ])
            .args(args)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Running {
            child: Some(child),
            kubeconfig,
            probes,
        }
    }

    async fn ready(&self) -> String {
        let ready = async {
            loop {
                if tokio::net::TcpStream::connect(self.probes).await.is_ok() {
                    let (head, body) = get(self.probes, "/readyz").await;
                    if head.contains(" 200 ") {
                        return body;
                    }
                }
                sleep(Duration::from_millis(50)).await;
            }
        };
        timeout(Duration::from_secs(20), ready).await.unwrap()
    }

    fn signal(&self, signal: &str) {
        let id = self.child.as_ref().unwrap().id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    }

    /// Waits for the end.
    async fn output(mut self) -> Output {
        let child = self.child.take().unwrap();
        let waiting = tokio::task::spawn_blocking(move || child.wait_with_output().unwrap());
        timeout(Duration::from_secs(20), waiting).await.unwrap().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = std::fs::remove_file(&self.kubeconfig);
    }
}

async fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap()
}

/// Every line of the log is JSON; their messages.
fn messages(output: &Output) -> Vec<String> {
    let text = String::from_utf8(output.stderr.clone()).unwrap();
    let lines = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap_or_else(|_| panic!("{text}")));
    lines
        .map(|line| line["message"].as_str().unwrap_or_default().to_owned())
        .collect()
}

#[rstest::rstest]
#[case::sigterm("-TERM", "a")]
#[case::sigint("-INT", "b")]
#[tokio::test]
async fn a_signal_ends_it_with_the_lease_given_back(#[case] signal: &str, #[case] name: &str) {
    let leases = Leases::default();
    let running = Running::start(&leases, name, &["--leader-elect"]).await;
    running.ready().await;
    assert_eq!(leases.state().spec("holderIdentity"), name);
    assert_eq!(leases.state().calls[..2], ["get", "create"]);
    running.signal(signal);
    let output = running.output().await;
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(leases.state().spec("holderIdentity"), "");
    let messages = messages(&output);
    let of_ours = ["starts", "leads", "stops", "gave the Lease back"];
    let said: Vec<&str> = messages
        .iter()
        .map(String::as_str)
        .filter(|message| of_ours.contains(message))
        .collect();
    assert_eq!(said, of_ours, "{messages:?}");
}

#[tokio::test]
async fn a_standby_is_ready_and_ends_without_touching_the_lease() {
    let leases = Leases::default();
    leases.state().hold("other");
    let before = leases.state().lease.clone();
    let running = Running::start(&leases, "c", &["--leader-elect=true"]).await;
    running.ready().await;
    running.signal("-TERM");
    let output = running.output().await;
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(leases.state().lease, before);
    assert!(leases.state().calls.iter().all(|call| *call == "get"));
}

#[tokio::test]
async fn the_loss_of_the_lease_ends_it_with_an_error() {
    let leases = Leases::default();
    let running = Running::start(&leases, "d", &["--leader-elect"]).await;
    running.ready().await;
    leases.state().hold("other");
    let output = running.output().await;
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert_eq!(leases.state().spec("holderIdentity"), "other");
    let log = String::from_utf8(output.stderr).unwrap();
    assert!(
        log.contains("is no longer the leader") && log.contains("other"),
        "{log}"
    );
}

#[tokio::test]
async fn without_election_no_lease_is_asked_for() {
    let leases = Leases::default();
    let running = Running::start(&leases, "e", &[]).await;
    assert_eq!(running.ready().await, "ok\n");
    running.signal("-TERM");
    let output = running.output().await;
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(!leases.state().calls.contains(&"create"));
}

#[tokio::test]
async fn what_is_missing_or_taken_is_named() {
    let nowhere = command()
        .args(["--metrics-bind-address=0", "--health-probe-bind-address=0"])
        .output()
        .unwrap();
    assert_eq!(nowhere.status.code(), Some(1));
    let log = String::from_utf8(nowhere.stderr).unwrap();
    assert!(log.contains("KUBECONFIG") && log.contains("service account"), "{log}");

    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = command()
        .args([
            "--log-format=text",
            "--health-probe-bind-address=0",
            "--metrics-bind-address",
            &address,
        ])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let log = String::from_utf8(output.stderr).unwrap();
    let expected = format!("cannot listen on {address} (choose another with --metrics-bind-address");
    assert!(log.contains(&expected), "{log}");
}
