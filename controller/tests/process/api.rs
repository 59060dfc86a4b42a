//! An API server that knows Leases and nothing else, and can be made to fail.

use std::sync::{Arc, Mutex, MutexGuard};

use http::{Request, Response};
use kube::Client;
use kube::client::Body;
use lmcache_controller::rbac::{Call, LEASE, allows};
use serde_json::{Value, json};
use tower_test::mock::Mock;

pub const NAMESPACE: &str = "lmcache-system";

/// How a request is answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mood {
    #[default]
    Works,
    /// Does nothing and answers with this code.
    Refuses(u16),
    /// Does nothing and never answers.
    Hangs,
    /// Does what is asked and never answers.
    Swallows,
}

#[derive(Clone, Default)]
pub struct Leases(Arc<Mutex<State>>);

#[derive(Default)]
pub struct State {
    pub lease: Option<Value>,
    pub mood: Mood,
    /// Verbs of the requests so far.
    pub calls: Vec<&'static str>,
    version: u64,
}

impl State {
    /// Writes as somebody else.
    pub fn put(&mut self, spec: Value) {
        self.version += 1;
        let metadata = json!({
            "name": LEASE, "namespace": NAMESPACE, "uid": "1", "resourceVersion": self.version.to_string(),
        });
        let lease = json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec,
        });
        self.lease = Some(lease);
    }

    /// Writes as a holder that is alive.
    pub fn hold(&mut self, holder: &str) {
        let renewed = format!("2020-01-01T00:00:00.{:06}Z", self.version);
        self.put(
            json!({"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": renewed, "leaseTransitions": 3}),
        );
    }

    pub fn spec(&self, field: &str) -> Value {
        self.lease
            .as_ref()
            .map_or(Value::Null, |lease| lease["spec"][field].clone())
    }

    fn serve(&mut self, call: &Call, body: &[u8]) -> (u16, Value) {
        let found = self.lease.clone();
        let sent = || serde_json::from_slice::<Value>(body).unwrap();
        match (call.verb, found) {
            ("get", Some(lease)) => (200, lease),
            ("get" | "update", None) => failure(404, "NotFound"),
            ("create", Some(_)) => failure(409, "AlreadyExists"),
            ("create", None) => {
                let sent = sent();
                assert_eq!(sent["metadata"]["name"], LEASE);
                self.put(sent["spec"].clone());
                (201, self.lease.clone().unwrap())
            }
            ("update", Some(lease)) => {
                let sent = sent();
                let version = &sent["metadata"]["resourceVersion"];
                assert!(
                    version.is_string(),
                    "an update without a version would always succeed: {sent}"
                );
                if *version != lease["metadata"]["resourceVersion"] {
                    return failure(409, "Conflict");
                }
                self.put(sent["spec"].clone());
                (200, self.lease.clone().unwrap())
            }
            (verb, _) => panic!("{verb} of a Lease"),
        }
    }
}

fn failure(code: u16, reason: &str) -> (u16, Value) {
    let status = json!({
        "apiVersion": "v1", "kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": "as told",
    });
    (code, status)
}

impl Leases {
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// Answers a request; `None` is no answer. Every request has to be one that the controller's roles allow.
    pub fn answer(&self, method: &str, target: &str, body: &[u8], mood: Mood) -> Option<(u16, Value)> {
        let call = Call::read(method, target).unwrap();
        assert!(allows(&call, NAMESPACE), "{call:?}");
        let mut state = self.state();
        state.calls.push(call.verb);
        match mood {
            Mood::Works => Some(state.serve(&call, body)),
            Mood::Refuses(code) => Some(failure(code, "Refused")),
            Mood::Hangs => None,
            Mood::Swallows => {
                state.serve(&call, body);
                None
            }
        }
    }

    /// A client of it, in the mood of the state.
    pub fn client(&self) -> Client {
        let leases = self.clone();
        client(move |method, target, body| {
            let leases = leases.clone();
            async move {
                let mood = leases.state().mood;
                leases.answer(&method, &target, &body, mood)
            }
        })
    }
}

/// A client whose requests (method, target, body) get the answers (code, body) that `serve` gives, `None` being none.
pub fn client<F>(serve: impl Fn(String, String, Vec<u8>) -> F + Clone + Send + 'static) -> Client
where
    F: Future<Output = Option<(u16, Value)>> + Send + 'static,
{
    Client::new(service(serve), NAMESPACE)
}

/// What is below such a client.
pub fn service<F>(
    serve: impl Fn(String, String, Vec<u8>) -> F + Clone + Send + 'static,
) -> Mock<Request<Body>, Response<Body>>
where
    F: Future<Output = Option<(u16, Value)>> + Send + 'static,
{
    let (service, mut handle) = tower_test::mock::pair::<Request<Body>, Response<Body>>();
    tokio::spawn(async move {
        while let Some((request, send)) = handle.next_request().await {
            let serve = serve.clone();
            tokio::spawn(async move {
                let (head, body) = request.into_parts();
                let body = body.collect_bytes().await.unwrap().to_vec();
                match serve(head.method.to_string(), head.uri.to_string(), body).await {
                    Some((code, body)) => {
                        let body = Body::from(serde_json::to_vec(&body).unwrap());
                        send.send_response(Response::builder().status(code).body(body).unwrap());
                    }
                    None => {
                        // Dropping the sender would be an answer.
                        std::future::pending::<()>().await;
                        drop(send);
                    }
                }
            });
        }
    });
    service
}
