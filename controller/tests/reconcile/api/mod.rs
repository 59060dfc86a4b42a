//! An API server in memory. It does what Kubernetes does, as far as the controller relies on it, and notes every request.

mod answer;
mod call;
mod defaults;
pub mod fields;
pub mod managers;
mod merge;
mod schema;
mod store;

use std::sync::{Arc, Mutex, MutexGuard};

use http::{Request, Response};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tower_test::mock::SendResponse;

pub use call::{Call, Verb};
pub use store::{Change, Id, Store};

/// The namespace in which tests work.
pub const NAMESPACE: &str = "inference";

/// What happens to a request instead of what it asks for, or before.
pub enum Answer {
    /// Refused with this code and message.
    Refuse(u16, &'static str),
    /// Refused with 429 and this `retryAfterSeconds`.
    RetryAfter(u32),
    /// Nothing is done, and no answer comes.
    Hang,
    /// It is done, and no answer comes.
    Swallow,
    /// Somebody else is faster; then it is answered as usual.
    After(Box<dyn FnMut(&mut Store) + Send>),
}

/// What is to happen to the next requests of a kind.
struct Plan {
    /// The beginning of a request as [`Call`] writes it.
    request: String,
    times: usize,
    answer: Answer,
}

#[derive(Default)]
pub struct State {
    pub store: Store,
    calls: Vec<Call>,
    plans: Vec<Plan>,
    /// What no test wants: requests that the controller must not make.
    faults: Vec<String>,
    /// Dropping one would be an answer.
    unanswered: Vec<SendResponse<Response<Body>>>,
}

/// Clones are the same.
#[derive(Clone, Default)]
pub struct ApiServer(Arc<Mutex<State>>);

impl ApiServer {
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// A client of it.
    pub fn client(&self) -> Client {
        let (service, mut handle) = tower_test::mock::pair::<Request<Body>, Response<Body>>();
        let server = self.clone();
        tokio::spawn(async move {
            while let Some((request, send)) = handle.next_request().await {
                let (head, body) = request.into_parts();
                let body = body.collect_bytes().await.unwrap();
                let mut state = server.state();
                match Call::read(&head, &body) {
                    Ok(call) => match state.answer(call) {
                        Some(answer) => send.send_response(answer),
                        None => state.unanswered.push(send),
                    },
                    Err(fault) => {
                        state.faults.push(fault.clone());
                        send.send_response(response(500, &status(500, &fault, None)));
                    }
                }
            }
        });
        Client::new(service, NAMESPACE)
    }

    /// The next requests (`times` of them) that begin like this are answered so.
    pub fn plan(&self, request: &str, times: usize, answer: Answer) {
        self.state().plans.push(Plan {
            request: request.to_owned(),
            times,
            answer,
        });
    }

    /// Everything is answered as usual again.
    pub fn forget_plans(&self) {
        self.state().plans.clear();
    }

    /// The requests since the last call.
    pub fn calls(&self) -> Vec<Call> {
        let mut state = self.state();
        assert_eq!(state.faults, Vec::<String>::new());
        std::mem::take(&mut state.calls)
    }
}

impl State {
    /// `None` is no answer.
    fn answer(&mut self, call: Call) -> Option<Response<Body>> {
        self.calls.push(call.clone());
        let written = call.to_string();
        let mut plans = self.plans.iter_mut();
        let plan = plans.find(|plan| plan.times > 0 && written.starts_with(&plan.request));
        let mut is_answered = true;
        if let Some(plan) = plan {
            plan.times -= 1;
            match &mut plan.answer {
                Answer::Refuse(code, message) => return Some(response(*code, &status(*code, message, None))),
                Answer::RetryAfter(seconds) => {
                    return Some(response(429, &status(429, "too many requests", Some(*seconds))));
                }
                Answer::Hang => return None,
                Answer::Swallow => is_answered = false,
                Answer::After(act) => act(&mut self.store),
            }
        }
        let answer = match answer::serve(&mut self.store, &call) {
            Ok(object) => response(200, &object),
            Err((code, message)) => response(code, &status(code, &message, None)),
        };
        is_answered.then_some(answer)
    }
}

fn response(code: u16, body: &Value) -> Response<Body> {
    let body = Body::from(serde_json::to_vec(body).unwrap());
    Response::builder().status(code).body(body).unwrap()
}

fn status(code: u16, message: &str, retry_after: Option<u32>) -> Value {
    let reason = match code {
        404 => "NotFound",
        409 => "Conflict",
        422 => "Invalid",
        429 => "TooManyRequests",
        _ => "InternalError",
    };
    let mut status = json!({
        "apiVersion": "v1", "kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message,
    });
    if let Some(seconds) = retry_after {
        status["details"] = json!({"retryAfterSeconds": seconds});
    }
    status
}
