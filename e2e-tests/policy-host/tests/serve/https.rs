//! An HTTPS client that trusts one authority.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::Value;

/// An answer: the status, and the body as JSON (null when it is none).
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub body: Value,
}

/// One request on a connection of its own. The error is that of the connection or of TLS.
pub fn request(
    address: SocketAddr,
    authority: &str,
    (method, path): (&str, &str),
    content_type: Option<&str>,
    body: &[u8],
) -> Result<Answer, String> {
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_slice(authority.as_bytes()).unwrap())
        .unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let tcp = TcpStream::connect(address).map_err(|e| e.to_string())?;
    tcp.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let connection = ClientConnection::new(Arc::new(config), ServerName::from(address.ip())).unwrap();
    let mut stream = StreamOwned::new(connection, tcp);
    let content_type = content_type.map_or_else(String::new, |kind| format!("Content-Type: {kind}\r\n"));
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{content_type}Content-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).map_err(|e| e.to_string())?;
    stream.write_all(body).map_err(|e| e.to_string())?;
    stream.flush().map_err(|e| e.to_string())?;
    let (head, body) = read_answer(&mut stream)?;
    Ok(Answer {
        status: head.split(' ').nth(1).unwrap().parse().unwrap(),
        body: serde_json::from_str(&body).unwrap_or(Value::Null),
    })
}

/// Head and body, whose length the head says.
fn read_answer(stream: &mut impl Read) -> Result<(String, String), String> {
    let mut answer = Vec::new();
    let mut part = [0_u8; 4096];
    loop {
        let text = String::from_utf8_lossy(&answer);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length")
                    .then(|| value.trim().parse::<usize>().unwrap())
            });
            let length = length.unwrap_or(0);
            if body.len() >= length {
                return Ok((head.to_owned(), body.to_owned()));
            }
        }
        match stream.read(&mut part).map_err(|e| e.to_string())? {
            0 => return Err("the connection ended before the answer".to_owned()),
            read => answer.extend_from_slice(&part[..read]),
        }
    }
}
