//! A plain API server: what it has is a list of paths and answers, and it remembers what it was asked.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::common::write;

/// One request.
#[derive(Clone, Debug)]
pub struct Asked {
    pub method: String,
    /// With the query.
    pub path: String,
    pub authorization: String,
    pub body: Value,
}

pub struct ApiServer {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    /// Serves until it is dropped.
    _runtime: Runtime,
}

impl ApiServer {
    /// Answers `METHOD path` (without the query) from this list, and everything else with 404.
    pub fn start(answers: Vec<(&'static str, u16, Value)>) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let memory = Arc::clone(&asked);
        let router = Router::new().fallback(move |method: Method, uri: Uri, headers: HeaderMap, body: Bytes| {
            let header = headers
                .get("authorization")
                .map(|value| value.to_str().unwrap().to_owned());
            memory.lock().unwrap().push(Asked {
                method: method.to_string(),
                path: uri.to_string(),
                authorization: header.unwrap_or_default(),
                body: serde_json::from_slice(&body).unwrap_or(Value::Null),
            });
            let wanted = format!("{method} {}", uri.path());
            let (status, answer) = answers.iter().find(|(path, ..)| *path == wanted).map_or_else(
                || (404, status(404, "NotFound", "not found")),
                |(_, status, answer)| (*status, answer.clone()),
            );
            async move { (StatusCode::from_u16(status).unwrap(), axum::Json(answer)) }
        });
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        runtime.spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self {
            address,
            asked,
            _runtime: runtime,
        }
    }

    /// What it was asked so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// How often this was asked, as `METHOD path`.
    pub fn count(&self, wanted: &str) -> usize {
        let asked = self.asked();
        asked
            .iter()
            .filter(|asked| format!("{} {}", asked.method, asked.path) == wanted)
            .count()
    }

    /// A kubeconfig for it, in the folder.
    pub fn kubeconfig(&self, dir: &Path) -> PathBuf {
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "none",
            "clusters": [{"name": "here", "cluster": {"server": format!("http://{}", self.address)}}],
            "users": [{"name": "policies", "user": {"token": "of-the-policies"}}],
            "contexts": [
                {"name": "none", "context": {"cluster": "here", "user": ""}},
                {"name": "here", "context": {"cluster": "here", "user": "policies"}},
            ],
        });
        write(dir, "kubeconfig", config.to_string())
    }
}

/// A failure as the API server writes it.
pub fn status(code: u16, reason: &str, message: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "code": code,
    })
}
