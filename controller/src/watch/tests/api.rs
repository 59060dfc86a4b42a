//! An API server that lists what it is told to, and keeps watches open.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::pin::pin;
use std::sync::{Arc, Mutex};

use axum::body::{Body, Bytes};
use futures::channel::mpsc;
use http::{Request, Response};
use kube::Client;
use serde_json::{Value, json};
use tower_test::mock;

type Line = Result<Bytes, Infallible>;

/// What is answered to lists of one path.
enum List {
    Items { version: u64, items: Vec<Value> },
    Refused(u16),
}

#[derive(Default)]
struct State {
    lists: BTreeMap<String, List>,
    watches: BTreeMap<String, Vec<mpsc::UnboundedSender<Line>>>,
    asked: Vec<String>,
}

/// The server. A path stands for what is listed: the request's, and with a field selector `?` and the name in it.
#[derive(Clone, Default)]
pub struct Api(Arc<Mutex<State>>);

impl Api {
    /// A server without any object, and a client of it.
    pub fn start() -> (Self, Client) {
        let (service, handle) = mock::pair::<Request<kube::client::Body>, Response<Body>>();
        let api = Api::default();
        let server = api.clone();
        tokio::spawn(async move {
            let mut handle = pin!(handle);
            while let Some((request, send)) = handle.next_request().await {
                send.send_response(server.answer(&request));
            }
        });
        (api, Client::new(service, "default"))
    }

    /// From now on a list of this path has these items.
    pub fn list(&self, path: &str, version: u64, items: Vec<Value>) {
        let list = List::Items { version, items };
        self.0.lock().unwrap().lists.insert(path.to_owned(), list);
    }

    /// From now on requests of this path are refused.
    pub fn refuse(&self, path: &str, code: u16) {
        self.0
            .lock()
            .unwrap()
            .lists
            .insert(path.to_owned(), List::Refused(code));
    }

    /// Sends an event to the watches of a path.
    pub fn event(&self, path: &str, event: &str, object: &Value) {
        let line = format!("{}\n", json!({"type": event, "object": object}));
        let state = self.0.lock().unwrap();
        let open = state.watches[path].iter().filter(|watch| !watch.is_closed());
        let sent = open.map(|watch| watch.unbounded_send(Ok(line.clone().into())).unwrap());
        assert_ne!(sent.count(), 0, "nobody watches {path}");
    }

    /// Ends the watches of a path, as the API server does every few minutes.
    pub fn close(&self, path: &str) {
        self.0.lock().unwrap().watches.remove(path);
    }

    /// Whether somebody still reads the watch of a path.
    pub fn is_watched(&self, path: &str) -> bool {
        let state = self.0.lock().unwrap();
        state
            .watches
            .get(path)
            .into_iter()
            .flatten()
            .any(|watch| !watch.is_closed())
    }

    /// The requests so far, as paths with queries.
    pub fn asked(&self) -> Vec<String> {
        self.0.lock().unwrap().asked.clone()
    }

    /// Those of a path.
    pub fn asked_of(&self, path: &str) -> Vec<String> {
        let mut asked = self.asked();
        asked.retain(|target| path_of(target) == path);
        asked
    }

    fn answer(&self, request: &Request<kube::client::Body>) -> Response<Body> {
        let target = request.uri().path_and_query().unwrap().as_str();
        assert_eq!(request.method(), "GET", "{target}");
        let path = path_of(target);
        let mut state = self.0.lock().unwrap();
        state.asked.push(target.to_owned());
        let (version, items) = match state.lists.get(&path) {
            Some(List::Refused(code)) => {
                let status = json!({
                    "kind": "Status", "status": "Failure", "message": "refused", "reason": "Refused", "code": code,
                });
                return Response::builder()
                    .status(*code)
                    .body(Body::from(status.to_string()))
                    .unwrap();
            }
            Some(List::Items { version, items }) => (*version, items.as_slice()),
            None => (1, [].as_slice()),
        };
        if target.contains("watch=true") {
            let (sender, lines) = mpsc::unbounded::<Line>();
            state.watches.entry(path).or_default().push(sender);
            return Response::new(Body::from_stream(lines));
        }
        let list = json!({"kind": "List", "metadata": {"resourceVersion": version.to_string()}, "items": items});
        Response::new(Body::from(list.to_string()))
    }
}

fn path_of(target: &str) -> String {
    let (path, query) = target.split_once('?').unwrap();
    let name = query
        .split('&')
        .find_map(|pair| pair.strip_prefix("fieldSelector=metadata.name%3D"));
    name.map_or_else(|| path.to_owned(), |name| format!("{path}?{name}"))
}
