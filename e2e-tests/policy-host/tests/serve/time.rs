//! Limits of time, and places.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::common::{get, pod_request, warnings};
use crate::server::{Server, policy};

const INTERRUPTED: &str =
    "internal server error: Guest call failure: guest code interrupted, execution deadline exceeded";

fn assert_interrupted(response: &Value) {
    assert_eq!(response["allowed"], false, "{response}");
    assert_eq!(response["status"], json!({"message": INTERRUPTED, "code": 500}));
}

/// A look-up in a cluster that is not there.
fn asking() -> Value {
    json!({"calls": [get("v1", "Namespace", "a", None)]})
}

#[test]
fn an_evaluation_without_end_is_a_refusal() {
    let policies = [
        policy("server-limit", json!({"do": "loop"}), json!({})),
        policy("own-limit", json!({"do": "loop"}), json!({"timeoutEvalSeconds": 4})),
        policy("accept", json!({}), json!({"timeoutEvalSeconds": 2})),
    ];
    let server = Server::of("loop", &policies, &["--policy-timeout", "2", "--workers", "3"]);
    // A limit of N seconds ends after N - 1 to N of them; a busy machine may be later, but never earlier.
    let started = Instant::now();
    assert_interrupted(&server.review("/validate/server-limit"));
    assert!(started.elapsed() >= Duration::from_secs(1), "{:?}", started.elapsed());
    let started = Instant::now();
    assert_interrupted(&server.review("/validate/own-limit"));
    assert!(started.elapsed() >= Duration::from_secs(3), "{:?}", started.elapsed());
    // The clock has run on since the limit of this one began, and the next instance is a new one.
    assert_eq!(server.review("/validate/accept")["allowed"], true);
}

#[test]
fn a_slow_look_up_is_a_refusal_once_it_is_back() {
    let granted = json!({"contextAwareResources": [{"apiVersion": "v1", "kind": "Namespace"}]});
    let with_limit = |seconds: u32| {
        let mut spec = granted.clone();
        spec["timeoutEvalSeconds"] = json!(seconds);
        spec
    };
    let policies = [
        policy("short", asking(), with_limit(2)),
        policy("long", asking(), with_limit(10)),
    ];
    let server = Server::of("slow", &policies, &["--host-call-delay-ms", "2500"]);
    let started = Instant::now();
    assert_interrupted(&server.review("/validate/short"));
    assert!(
        started.elapsed() >= Duration::from_millis(2500),
        "the look-up itself is not interrupted"
    );
    let answered = server.review("/validate/long");
    assert_eq!(answered["allowed"], true);
    assert!(warnings(&answered)[0].ends_with("kube::Client was not initialized properly"));
}

#[test]
fn a_waiting_evaluation_holds_its_place() {
    let granted = json!({"contextAwareResources": [{"apiVersion": "v1", "kind": "Namespace"}]});
    let policies = [policy("asks", asking(), granted)];
    let args = ["--host-call-delay-ms", "600", "--workers", "1"];
    let server = Server::of("places", &policies, &args);
    let started = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| assert_eq!(server.review_of("/validate/asks", &pod_request())["allowed"], true));
        }
    });
    assert!(
        started.elapsed() >= Duration::from_millis(1800),
        "{:?}",
        started.elapsed()
    );
}
