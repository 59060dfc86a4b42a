//! Probes and metrics over a socket.

use std::net::SocketAddr;
use std::time::Duration;

use lmcache_controller::run::health::{Health, Phase};
use lmcache_controller::run::metrics::Metrics;
use lmcache_controller::run::server::{self, Bind};
use lmcache_controller::run::stop;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// What a GET is answered: head and body.
pub async fn get(address: SocketAddr, path: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

async fn status(address: SocketAddr, path: &str) -> (String, String) {
    let (head, body) = get(address, path).await;
    (head.split(' ').nth(1).unwrap().to_owned(), body)
}

#[tokio::test]
async fn probes_follow_the_health() {
    let listener = Bind::At("127.0.0.1:0".parse().unwrap())
        .listen("--x")
        .await
        .unwrap()
        .unwrap();
    let address = listener.local_addr().unwrap();
    let health = Health::new();
    let (trigger, stop) = stop::channel();
    let server = server::serve(listener, server::probes(health.clone()), stop);
    let answer = |status: &str, body: &str| (status.to_owned(), body.to_owned());

    assert_eq!(status(address, "/healthz").await, answer("200", "ok\n"));
    assert_eq!(
        status(address, "/readyz").await,
        answer("503", "waits for the Kubernetes API\n")
    );
    health.set(Phase::Standby);
    assert_eq!(status(address, "/readyz").await, answer("200", "ok\n"));
    health.set(Phase::Syncing);
    assert_eq!(status(address, "/readyz").await, answer("503", "reads the cluster\n"));
    health.set(Phase::Working);
    assert_eq!(status(address, "/readyz").await, answer("200", "ok\n"));
    drop(health.part("watches"));
    let ended = answer("503", "watches: ended although nobody asked it to\n");
    assert_eq!(status(address, "/healthz").await, ended);
    assert_eq!(status(address, "/readyz").await, ended);
    assert_eq!(status(address, "/metrics").await.0, "404");

    // A connection that stays open does not hold up the end.
    let _open = TcpStream::connect(address).await.unwrap();
    trigger.request();
    timeout(Duration::from_secs(5), server).await.unwrap().unwrap();
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn metrics_say_what_they_are() {
    let listener = Bind::At("127.0.0.1:0".parse().unwrap())
        .listen("--x")
        .await
        .unwrap()
        .unwrap();
    let address = listener.local_addr().unwrap();
    let (_trigger, stop) = stop::channel();
    let metrics = Metrics::new();
    server::serve(listener, server::metrics(metrics.clone()), stop);
    metrics.leader(true);
    let (head, body) = get(address, "/metrics").await;
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    let kind = "content-type: application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert!(head.to_ascii_lowercase().contains(kind), "{head}");
    assert!(body.contains("lmcache_controller_leader 1\n"), "{body}");
    assert!(body.ends_with("# EOF\n"), "{body}");
}

#[tokio::test]
async fn zero_is_off() {
    assert!(Bind::Off.listen("--x").await.unwrap().is_none());
}
