//! TLS connections for axum.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::serve::Listener;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::Log;

/// A client that connects and says nothing is dropped.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// After an error of the socket itself, such as too many open files.
const PAUSE: Duration = Duration::from_millis(200);

/// Hands on connections whose handshake is done. A slow handshake keeps nobody else waiting.
pub(super) struct TlsListener {
    connections: mpsc::Receiver<(TlsStream<TcpStream>, SocketAddr)>,
    address: SocketAddr,
}

impl TlsListener {
    /// Accepts until the listener is dropped.
    pub(super) fn start(tcp: TcpListener, tls: Arc<rustls::ServerConfig>, log: Log, address: SocketAddr) -> Self {
        let (sender, connections) = mpsc::channel(64);
        let acceptor = TlsAcceptor::from(tls);
        tokio::spawn(async move {
            loop {
                let accepted = tokio::select! {
                    () = sender.closed() => break,
                    accepted = tcp.accept() => accepted,
                };
                match accepted {
                    Ok((stream, peer)) => {
                        tokio::spawn(shake_hands(
                            acceptor.clone(),
                            stream,
                            peer,
                            sender.clone(),
                            Arc::clone(&log),
                        ));
                    }
                    Err(error) => {
                        log(&format!("cannot accept a connection: {error}"));
                        tokio::time::sleep(PAUSE).await;
                    }
                }
            }
        });
        Self { connections, address }
    }
}

async fn shake_hands(
    acceptor: TlsAcceptor,
    stream: TcpStream,
    peer: SocketAddr,
    sender: mpsc::Sender<(TlsStream<TcpStream>, SocketAddr)>,
    log: Log,
) {
    // Answers are small and waited for.
    let _ = stream.set_nodelay(true);
    match tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await {
        // A receiver that is gone has stopped serving.
        Ok(Ok(stream)) => drop(sender.send((stream, peer)).await),
        Ok(Err(error)) => log(&format!("TLS handshake with {peer} failed: {error}")),
        Err(_) => log(&format!(
            "TLS handshake with {peer} took more than {} s",
            HANDSHAKE.as_secs()
        )),
    }
}

impl Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        match self.connections.recv().await {
            Some(connection) => connection,
            // The accepting task is gone, which only the end of the runtime brings about.
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> std::io::Result<Self::Addr> {
        Ok(self.address)
    }
}
