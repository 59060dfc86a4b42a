//! The HTTP servers: probes and metrics.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, Result};
use axum::Router;
use axum::extract::State;
use axum::response::IntoResponse;
use axum::routing::get;
use http::StatusCode;
use http::header::CONTENT_TYPE;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::health::Health;
use super::metrics::{self, Metrics};
use super::stop::Stop;

/// How long connections may stay open when the server ends.
const LINGER: Duration = Duration::from_secs(1);

/// Where a server listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bind {
    /// Nowhere.
    Off,
    /// At this port of every address, of IPv4 and IPv6.
    Everywhere(u16),
    /// There.
    At(SocketAddr),
}

impl FromStr for Bind {
    type Err = String;

    /// Reads `0`, `:port`, `address:port` or `[address]:port`.
    fn from_str(text: &str) -> Result<Self, String> {
        if text == "0" {
            return Ok(Bind::Off);
        }
        let everywhere = text
            .strip_prefix(':')
            .map(|port| port.parse().map(Bind::Everywhere).ok());
        everywhere
            .unwrap_or_else(|| text.parse().map(Bind::At).ok())
            .ok_or_else(|| format!("{text:?} is none of :8080, 127.0.0.1:8080, [::1]:8080 and 0 (off)"))
    }
}

impl fmt::Display for Bind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bind::Off => f.write_str("0"),
            Bind::Everywhere(port) => write!(f, ":{port}"),
            Bind::At(address) => address.fmt(f),
        }
    }
}

impl Bind {
    /// Begins to listen; `None` where it is switched off. `flag` is where the address came from.
    ///
    /// # Errors
    /// The address is taken, not of this machine, or not allowed.
    pub async fn listen(self, flag: &str) -> Result<Option<TcpListener>> {
        let listener = match self {
            Bind::Off => return Ok(None),
            Bind::At(address) => TcpListener::bind(address).await,
            // Linux takes IPv4 on it as well. A kernel without IPv6 does not know the address.
            Bind::Everywhere(port) => match TcpListener::bind((Ipv6Addr::UNSPECIFIED, port)).await {
                Ok(listener) => Ok(listener),
                Err(_) => TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).await,
            },
        };
        listener
            .map(Some)
            .with_context(|| format!("cannot listen on {self} (choose another with {flag}, 0 for none)"))
    }
}

/// `/healthz` and `/readyz`: 200, or 503 with the reason as text.
pub fn probes(health: Health) -> Router {
    let alive = |State(health): State<Health>| async move { probe(health.alive()) };
    let ready = |State(health): State<Health>| async move { probe(health.ready()) };
    Router::new()
        .route("/healthz", get(alive))
        .route("/readyz", get(ready))
        .with_state(health)
}

fn probe(result: Result<(), String>) -> (StatusCode, String) {
    match result {
        Ok(()) => (StatusCode::OK, "ok\n".to_owned()),
        Err(why) => (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")),
    }
}

/// `/metrics`.
pub fn metrics(metrics: Metrics) -> Router {
    let text = |State(metrics): State<Metrics>| async move {
        match metrics.text() {
            Ok(text) => ([(CONTENT_TYPE, metrics::CONTENT_TYPE)], text).into_response(),
            Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into_response(),
        }
    };
    Router::new().route("/metrics", get(text)).with_state(metrics)
}

/// Serves until the end is asked for, and then for at most a second more.
pub fn serve(listener: TcpListener, router: Router, stop: Stop) -> JoinHandle<()> {
    tokio::spawn(async move {
        let ends = stop.clone();
        let serving = axum::serve(listener, router)
            .with_graceful_shutdown(async move { ends.requested().await })
            .into_future();
        let overdue = async {
            stop.requested().await;
            tokio::time::sleep(LINGER).await;
        };
        tokio::select! {
            result = serving => {
                if let Err(error) = result {
                    tracing::error!(%error, "an HTTP server ended");
                }
            }
            () = overdue => {}
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_go_writes_them_and_as_rust_does() {
        for (text, bind) in [
            ("0", Bind::Off),
            (":8080", Bind::Everywhere(8080)),
            ("0.0.0.0:8081", Bind::At("0.0.0.0:8081".parse().unwrap())),
            ("[::1]:1", Bind::At("[::1]:1".parse().unwrap())),
        ] {
            assert_eq!(text.parse(), Ok(bind));
            assert_eq!(bind.to_string(), text);
        }
        for text in ["", "8080", ":", ":http", ":65536", "localhost:80", "1.2.3.4"] {
            let error = text.parse::<Bind>().unwrap_err();
            assert!(error.contains("0 (off)"), "{error}");
        }
    }

    #[tokio::test]
    async fn a_taken_address_is_named_with_its_flag() {
        let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let bind = Bind::At(taken.local_addr().unwrap());
        let error = format!("{:#}", bind.listen("--metrics-bind-address").await.unwrap_err());
        assert!(error.contains(&format!("cannot listen on {bind}")), "{error}");
        assert!(
            error.contains("--metrics-bind-address") && error.contains("in use"),
            "{error}"
        );
    }

    #[tokio::test]
    async fn every_address_takes_ipv4() {
        let listener = Bind::Everywhere(0).listen("--x").await.unwrap().unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::net::TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    }
}
