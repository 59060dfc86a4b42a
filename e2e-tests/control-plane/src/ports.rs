//! Free ports on the loopback interface.

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail};

/// Below the ports that Linux gives to outgoing connections (from 32768), so that none of those is in the way when a
/// program is started anew on its port.
const FIRST: u32 = 20_000;
const COUNT: u32 = 12_000;

/// How many ports this process handed out or found taken: each is handed out once.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// A port on which nothing listens. Several processes that ask at one time begin at different places.
///
/// # Errors
/// All are taken.
pub(crate) fn free() -> Result<u16> {
    let begin = u64::from(std::process::id()).wrapping_mul(7919);
    for _ in 0..COUNT {
        let step = u64::from(NEXT.fetch_add(1, Ordering::Relaxed));
        let port = u64::from(FIRST) + (begin + step) % u64::from(COUNT);
        if let Ok(port) = u16::try_from(port)
            && TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
        {
            return Ok(port);
        }
    }
    bail!("no free port from {FIRST} on, of {COUNT}");
}

/// Whether something listens on a port.
///
/// # Errors
/// Nothing does.
pub(crate) fn open(port: u16) -> Result<()> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    TcpStream::connect_timeout(&address, Duration::from_secs(1))
        .with_context(|| format!("nothing listens on {address}"))?;
    Ok(())
}

/// Something that no other call and no other user of this machine can guess, in hexadecimal digits.
///
/// # Errors
/// The operating system has no random numbers.
pub(crate) fn random() -> Result<String> {
    use std::io::Read;
    let mut bytes = [0u8; 16];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    #[test]
    fn no_port_is_handed_out_twice() -> anyhow::Result<()> {
        let ports: BTreeSet<u16> = (0..50).map(|_| super::free()).collect::<Result<_, _>>()?;
        assert_eq!(ports.len(), 50);
        assert!(ports.iter().all(|port| (20_000..32_000).contains(port)));
        Ok(())
    }
}
