//! An admission webhook in the role of Kubewarden's policy-server: it reads ClusterAdmissionPolicy manifests, serves their
//! policies over HTTPS, and writes the webhook configurations that Kubewarden's controller would write for them.
//!
//! A development tool, for tests against a real API server. In production run Kubewarden.

mod apply;
mod clock;
mod http;
mod listener;
mod manifest;
mod policies;
mod review;
mod tls;
mod webhooks;

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context, Result};
use tokio::net::TcpListener;

pub use apply::{apply, delete};
pub use manifest::{Manifest, Mode, Spec, read_manifests};
pub use policies::{Options, Policies};
pub use tls::{Certificates, read_ca_bundle};
pub use webhooks::{Naming, Target, configurations, dropped};

use listener::TlsListener;

/// Receives one line about what happens, without a line end.
pub type Log = Arc<dyn Fn(&str) + Send + Sync>;

/// A webhook that listens, but does not answer yet.
pub struct Server {
    listener: TlsListener,
    router: axum::Router,
    address: SocketAddr,
}

impl Server {
    /// Takes the address; port 0 is any free one. At most `workers` requests are evaluated at a time, and the others
    /// wait: a policy that waits for the API server holds its place, as in policy-server.
    ///
    /// # Errors
    /// The address is taken or not of this machine, or the certificate does not fit the key.
    pub async fn bind(
        policies: Policies,
        certificates: &Certificates,
        address: SocketAddr,
        workers: usize,
        log: Log,
    ) -> Result<Self> {
        let tls = certificates.server_config()?;
        let tcp = TcpListener::bind(address)
            .await
            .with_context(|| format!("cannot listen on {address}"))?;
        let address = tcp.local_addr().context("cannot read the address")?;
        Ok(Self {
            listener: TlsListener::start(tcp, tls, Arc::clone(&log), address),
            router: http::router(policies, workers, log),
            address,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until `stop` is there, and then ends what is under way.
    ///
    /// # Errors
    /// The socket fails.
    pub async fn run(self, stop: impl Future<Output = ()> + Send + 'static) -> Result<()> {
        axum::serve(self.listener, self.router)
            .with_graceful_shutdown(stop)
            .await
            .context("the webhook failed")
    }
}
