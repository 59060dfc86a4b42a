//! The way to the Kubernetes API.

use std::time::Duration;

use anyhow::{Context, Result};
use http::HeaderValue;
use http::header::USER_AGENT;
use kube::client::ClientBuilder;
use kube::{Client, Config};

use super::metrics::Metrics;

/// Longest silence on a connection. kube's watches end by themselves before it, so only a connection that died without a
/// word lasts this long.
const SILENCE: Duration = Duration::from_secs(295);

/// A client, and the namespace that belongs to its configuration: that of the Pod, or of the kubeconfig. No request is
/// made.
///
/// # Errors
/// The configuration cannot be used: an unreadable certificate, a proxy of an unknown kind.
pub fn connect(mut config: Config, metrics: &Metrics) -> Result<(Client, String)> {
    // With several features of rustls compiled in there is no default. An error says that one was chosen before.
    let _ = rustls::crypto::ring::default_provider().install_default();
    config.read_timeout = Some(SILENCE);
    // Retries hidden in the client would hold up an object, and a leader, for minutes. Whoever asks knows better.
    config.default_retry = false;
    let agent = HeaderValue::from_static(concat!("lmcache-controller/", env!("CARGO_PKG_VERSION")));
    config.headers.push((USER_AGENT, agent));
    let namespace = config.default_namespace.clone();
    let client = ClientBuilder::try_from(config)
        .context("cannot use the configuration of the Kubernetes client")?
        .with_layer(&metrics.count_requests())
        .build();
    Ok((client, namespace))
}
