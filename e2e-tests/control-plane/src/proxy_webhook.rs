//! A mutating webhook of somebody else: it puts a proxy in front of a Pod's containers, as a service mesh does.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use axum::extract::State;
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};

use crate::ControlPlane;
use crate::setup::OF_TESTS;
use crate::webhook_server::{WebhookServer, allowed};

/// The name of the container that it adds.
pub const PROXY: &str = "istio-proxy";
/// The annotation by which a Pod says that the container shall have another name.
pub const NAME: &str = "e2e.lmcache.ai/proxy-name";

/// The Pods that it was asked about, in the order of the requests.
type Asked = Arc<Mutex<Vec<Value>>>;

/// The webhook. It answers, on a thread of its own, until this process ends.
#[derive(Debug)]
pub struct ProxyWebhook {
    server: WebhookServer,
    asked: Asked,
}

impl ProxyWebhook {
    /// Starts it. Nothing calls it before a [`ProxyWebhook::configuration`] is in the cluster.
    ///
    /// # Errors
    /// It cannot listen.
    pub fn start(plane: &ControlPlane) -> Result<ProxyWebhook> {
        let asked = Asked::default();
        let router = Router::new().route("/", post(review)).with_state(Arc::clone(&asked));
        let server = WebhookServer::start(plane, "proxy-webhook", router)?;
        Ok(ProxyWebhook { server, asked })
    }

    /// What registers it for the Pods of some namespaces. The name decides when the API server calls it; `reinvocation` is
    /// `Never` or `IfNeeded`.
    pub fn configuration(&self, name: &str, namespaces: &[&str], reinvocation: &str) -> Value {
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": name, "labels": {(OF_TESTS): "true"}},
            "webhooks": [{
                "name": "proxy.mesh.example.com",
                "clientConfig": self.server.client_config("/"),
                "rules": [{
                    "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"],
                }],
                "namespaceSelector": {"matchExpressions": [
                    {"key": "kubernetes.io/metadata.name", "operator": "In", "values": namespaces},
                ]},
                "failurePolicy": "Ignore", "sideEffects": "None", "admissionReviewVersions": ["v1"],
                "reinvocationPolicy": reinvocation,
            }],
        })
    }

    /// A Pod as it was each time it was asked about it.
    pub fn asked(&self, namespace: &str, name: &str) -> Vec<Value> {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let is = |pod: &&Value, key: &str, value: &str| {
            let found = pod.pointer(&format!("/metadata/{key}"));
            found.and_then(Value::as_str) == Some(value)
        };
        let about = |pod: &&Value| is(pod, "namespace", namespace) && is(pod, "name", name);
        asked.iter().filter(about).cloned().collect()
    }
}

/// The container as the webhook adds it.
pub fn proxy(name: &str) -> Value {
    json!({
        "name": name, "image": "registry.example.com/mesh/proxy:1.27",
        "args": ["proxy", "sidecar"],
        "env": [{"name": "PYTHONPATH", "value": "/mesh"}],
        "ports": [{"name": "http-envoy", "containerPort": 15090}],
    })
}

async fn review(State(asked): State<Asked>, Json(review): Json<Value>) -> Json<Value> {
    let pod = review.pointer("/request/object").unwrap_or(&Value::Null);
    asked.lock().unwrap_or_else(PoisonError::into_inner).push(pod.clone());
    let annotations = pod.pointer("/metadata/annotations");
    let own = annotations.and_then(|annotations| annotations.get(NAME)?.as_str());
    let proxy = proxy(own.unwrap_or(PROXY));
    let containers = pod.pointer("/spec/containers").and_then(Value::as_array);
    let containers = containers.map(Vec::as_slice);
    let is_there = containers
        .unwrap_or_default()
        .iter()
        .any(|container| container.get("name") == proxy.get("name"));
    // Asked a second time, it has nothing to add.
    let addition = json!({"op": "add", "path": "/spec/containers/0", "value": proxy});
    let patch = if is_there { vec![] } else { vec![addition] };
    Json(allowed(&review, &patch))
}
