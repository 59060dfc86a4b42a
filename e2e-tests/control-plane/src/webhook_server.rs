//! A webhook of a test: HTTPS on a thread of its own.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result};
use axum::Router;
use axum::serve::Listener;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::ControlPlane;

/// The server. It answers until it is stopped, or this process ends.
#[derive(Debug)]
pub(crate) struct WebhookServer {
    url: String,
    authority: String,
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

impl WebhookServer {
    /// Starts it on a port of its own.
    ///
    /// # Errors
    /// It cannot listen.
    pub(crate) fn start(plane: &ControlPlane, name: &str, router: Router) -> Result<WebhookServer> {
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
        let (stop, stopped) = oneshot::channel::<()>();
        // A runtime of its own: those of tests end with the test that began them.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let thread = thread::Builder::new().name(name.to_owned()).spawn(move || {
            runtime.block_on(async move {
                let Ok(tcp) = TcpListener::from_std(socket) else { return };
                let acceptor = TlsAcceptor::from(Arc::new(tls));
                tokio::select! {
                    _ = axum::serve(Tls { tcp, acceptor }, router) => {}
                    // Only a word stops it: that nobody holds the handle any more does not.
                    () = told(stopped) => {}
                }
            });
            // What is left of connections ends with the runtime.
        })?;
        Ok(WebhookServer {
            url: format!("https://{host}:{port}"),
            authority: plane.authority().to_owned(),
            stop,
            thread,
        })
    }

    /// The `clientConfig` of a webhook that it serves under a path, which begins with a slash.
    pub(crate) fn client_config(&self, path: &str) -> Value {
        json!({"url": format!("{}{path}", self.url), "caBundle": STANDARD.encode(&self.authority)})
    }

    /// Ends it: nothing listens any more, and open connections are closed.
    pub(crate) fn stop(self) {
        // It may have ended by itself, which is as good.
        let _ = self.stop.send(());
        let _ = self.thread.join();
    }
}

async fn told(stopped: oneshot::Receiver<()>) {
    if stopped.await.is_err() {
        std::future::pending::<()>().await;
    }
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

/// An answer that lets the request through, with this JSON patch unless it is empty.
pub(crate) fn allowed(review: &Value, patch: &[Value]) -> Value {
    let mut response = json!({"uid": review.pointer("/request/uid"), "allowed": true});
    if let Some(response) = response.as_object_mut()
        && !patch.is_empty()
    {
        response.insert("patchType".to_owned(), "JSONPatch".into());
        let patch = Value::from(patch.to_vec()).to_string();
        response.insert("patch".to_owned(), STANDARD.encode(patch).into());
    }
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})
}
