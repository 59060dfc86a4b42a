//! What stands before a registry on the internet: TLS, and a login by HTTP Basic. Behind it is the registry.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use anyhow::{Context, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use control_plane::Registry;
use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

const REFUSAL: &[u8] = b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"test\"\r\n\
    Content-Length: 0\r\nConnection: close\r\n\r\n";

/// Serves until the process ends, which is that of the test.
pub struct Front {
    port: u16,
    authority: PathBuf,
}

impl Front {
    pub fn start(registry: &Registry, user: &str, password: &str) -> Result<Front> {
        let key = KeyPair::generate()?;
        let certificate = CertificateParams::new(vec!["0.0.0.0".to_owned()])?.self_signed(&key)?;
        let authority = registry.folder().join("authority.pem");
        fs::write(&authority, certificate.pem())?;
        let chain = vec![CertificateDer::from(certificate.der().to_vec())];
        let key = PrivateKeyDer::try_from(key.serialize_der()).map_err(anyhow::Error::msg)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(chain, key)?;
        let config = Arc::new(config);
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let port = listener.local_addr()?.port();
        let login = STANDARD.encode(format!("{user}:{password}"));
        let login = format!("authorization: basic {login}").to_lowercase();
        let behind = registry.port();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (config, login) = (Arc::clone(&config), login.clone());
                // A client that goes away is no matter.
                thread::spawn(move || serve(stream, config, &login, behind));
            }
        });
        Ok(Front { port, authority })
    }

    /// To a client this is no loopback address; to Linux it is.
    pub fn address(&self) -> String {
        format!("0.0.0.0:{}", self.port)
    }

    pub fn authority(&self) -> &Path {
        &self.authority
    }
}

/// One request a connection, which both sides are told to close.
fn serve(stream: TcpStream, config: Arc<ServerConfig>, login: &str, behind: u16) -> Result<()> {
    let mut client = StreamOwned::new(ServerConnection::new(config)?, stream);
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        client.read_exact(&mut byte)?;
        head.extend(byte);
    }
    let head = String::from_utf8(head)?;
    let length = |line: &str| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok();
    let mut body = vec![0; head.lines().find_map(length).unwrap_or(0)];
    client.read_exact(&mut body)?;
    if head.lines().any(|line| line.to_lowercase() == login) {
        let (first, rest) = head.split_once("\r\n").context("no request")?;
        let mut registry = TcpStream::connect(("127.0.0.1", behind))?;
        registry.write_all(format!("{first}\r\nConnection: close\r\n{rest}").as_bytes())?;
        registry.write_all(&body)?;
        io::copy(&mut registry, &mut client)?;
    } else {
        client.write_all(REFUSAL)?;
    }
    client.conn.send_close_notify();
    client.flush()?;
    Ok(())
}
