//! A mutating webhook of somebody else: it puts a proxy in front of a Pod's containers, as a service mesh does.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use anyhow::{Context, Result};
use axum::extract::State;
use axum::routing::post;
use axum::serve::Listener;
use axum::{Json, Router};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::ControlPlane;
use crate::setup::OF_TESTS;

/// The name of the container that it adds.
pub const PROXY: &str = "istio-proxy";
/// The annotation by which a Pod says that the container shall have another name.
pub const NAME: &str = "e2e.lmcache.ai/proxy-name";

/// The Pods that it was asked about, in the order of the requests.
type Asked = Arc<Mutex<Vec<Value>>>;

/// The webhook. It answers, on a thread of its own, until this process ends.
#[derive(Debug)]
pub struct ProxyWebhook {
    url: String,
    authority: String,
    asked: Asked,
}

impl ProxyWebhook {
    /// Starts it. Nothing calls it before a [`ProxyWebhook::configuration`] is in the cluster.
    ///
    /// # Errors
    /// It cannot listen.
    pub fn start(plane: &ControlPlane) -> Result<ProxyWebhook> {
        let (host, listen) = plane.webhook_address();
        let pair = plane.certificate(&[&host])?;
        let certificate = CertificateDer::from_pem_slice(pair.certificate.as_bytes()).context("no certificate")?;
        let key = PrivateKeyDer::from_pem_slice(pair.key.as_bytes()).context("no key")?;
        let tls = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)?;
        let socket = std::net::TcpListener::bind((listen, 0)).context("cannot listen")?;
        socket.set_nonblocking(true)?;
        let port = socket.local_addr()?.port();
        let asked = Asked::default();
        let router = Router::new().route("/", post(review)).with_state(Arc::clone(&asked));
        // A runtime of its own: those of tests end with the test that began them.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        thread::Builder::new().name("proxy-webhook".to_owned()).spawn(move || {
            runtime.block_on(async move {
                let listener = Tls {
                    tcp: TcpListener::from_std(socket)?,
                    acceptor: TlsAcceptor::from(Arc::new(tls)),
                };
                axum::serve(listener, router).await
            })
        })?;
        Ok(ProxyWebhook {
            url: format!("https://{host}:{port}/"),
            authority: plane.authority().to_owned(),
            asked,
        })
    }

    /// What registers it for the Pods of some namespaces. The name decides when the API server calls it; `reinvocation` is
    /// `Never` or `IfNeeded`.
    pub fn configuration(&self, name: &str, namespaces: &[&str], reinvocation: &str) -> Value {
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": name, "labels": {(OF_TESTS): "true"}},
            "webhooks": [{
                "name": "proxy.mesh.example.com",
                "clientConfig": {"url": self.url, "caBundle": STANDARD.encode(&self.authority)},
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
    let mut response = json!({"uid": review.pointer("/request/uid"), "allowed": true});
    // Asked a second time, it has nothing to add.
    if !is_there && let Some(response) = response.as_object_mut() {
        let patch = json!([{"op": "add", "path": "/spec/containers/0", "value": proxy}]);
        response.insert("patchType".to_owned(), "JSONPatch".into());
        response.insert("patch".to_owned(), STANDARD.encode(patch.to_string()).into());
    }
    Json(json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}))
}

/// Connections whose handshake is done. The API server is the only client and keeps them, so one after another will do.
struct Tls {
    tcp: TcpListener,
    acceptor: TlsAcceptor,
}

impl Listener for Tls {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let (stream, peer) = Listener::accept(&mut self.tcp).await;
            if let Ok(stream) = self.acceptor.accept(stream).await {
                return (stream, peer);
            }
        }
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.tcp.local_addr()
    }
}
