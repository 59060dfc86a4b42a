//! Ports: free ones for the processes, and those on which a process listens.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener};
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result, ensure};

/// Below the ports that Linux gives to outgoing connections (from 32768), so that none of those is in the way.
const FIRST: u32 = 20_000;
const COUNT: u32 = 12_000;

/// How many ports were handed out or found taken. Each is handed out once in a run, hence no race between processes that
/// start together.
static TRIED: AtomicU32 = AtomicU32::new(0);

/// A port on which nothing listens.
///
/// # Errors
/// There is none left in the range.
pub fn free_port() -> Result<u16> {
    // Two runs at a time begin at different places.
    let start = std::process::id().wrapping_mul(307) % COUNT;
    loop {
        let tried = TRIED.fetch_add(1, Ordering::Relaxed);
        ensure!(tried < COUNT, "no free port between {FIRST} and {}", FIRST + COUNT - 1);
        let port = u16::try_from(FIRST + (start + tried) % COUNT)?;
        if TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).is_ok() {
            return Ok(port);
        }
    }
}

/// The ports on which any of these processes listens, each with its addresses.
///
/// # Errors
/// `/proc/net/tcp` cannot be read.
pub fn listening(pids: &[i32]) -> Result<BTreeMap<u16, BTreeSet<IpAddr>>> {
    let owned: BTreeSet<u64> = pids.iter().flat_map(|pid| socket_inodes(*pid)).collect();
    let mut tables = fs::read_to_string("/proc/net/tcp").context("/proc/net/tcp")?;
    // Absent where the kernel has no IPv6.
    tables.push_str(&fs::read_to_string("/proc/net/tcp6").unwrap_or_default());
    let mut ports: BTreeMap<u16, BTreeSet<IpAddr>> = BTreeMap::new();
    for listener in tables.lines().filter_map(listener) {
        if owned.contains(&listener.inode) {
            ports.entry(listener.port).or_default().insert(listener.address);
        }
    }
    Ok(ports)
}

/// The inodes of a process's open sockets; none where the process is gone.
fn socket_inodes(pid: i32) -> Vec<u64> {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/fd")) else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| fs::read_link(entry.ok()?.path()).ok())
        .filter_map(|target| {
            let inode = target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?;
            inode.parse().ok()
        })
        .collect()
}

#[derive(Debug, PartialEq, Eq)]
struct Listener {
    address: IpAddr,
    port: u16,
    inode: u64,
}

/// A line of `/proc/net/tcp` or `/proc/net/tcp6`, if it is about a socket that listens (state 0A).
fn listener(line: &str) -> Option<Listener> {
    let mut words = line.split_ascii_whitespace();
    let (address, port) = words.nth(1)?.split_once(':')?;
    if words.nth(1)? != "0A" {
        return None;
    }
    Some(Listener {
        address: address_of(address)?,
        port: u16::from_str_radix(port, 16).ok()?,
        inode: words.nth(5)?.parse().ok()?,
    })
}

/// Words of 32 bits in the byte order of this machine, as the kernel prints addresses.
fn address_of(hex: &str) -> Option<IpAddr> {
    let mut bytes = Vec::with_capacity(16);
    for start in (0..hex.len()).step_by(8) {
        let word = u32::from_str_radix(hex.get(start..start + 8)?, 16).ok()?;
        bytes.extend(word.to_ne_bytes());
    }
    if let Ok(v4) = <[u8; 4]>::try_from(bytes.as_slice()) {
        return Some(Ipv4Addr::from(v4).into());
    }
    let v6 = Ipv6Addr::from(<[u8; 16]>::try_from(bytes.as_slice()).ok()?);
    Some(v6.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTENS: &str =
        "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0 100 0";
    const CONNECTED: &str =
        "   1: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000     0        0 4712 1 0 20 4";
    const LISTENS_V6: &str = "   0: 00000000000000000000000001000000:0050 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4713 1 0 100 0";

    #[cfg(target_endian = "little")]
    #[test]
    fn reads_the_tables_of_the_kernel() {
        let read = listener(LISTENS).unwrap();
        assert_eq!(
            (read.address.to_string(), read.port, read.inode),
            ("127.0.0.1".into(), 8080, 4711)
        );
        assert_eq!(listener(CONNECTED), None);
        let read = listener(LISTENS_V6).unwrap();
        assert_eq!(
            (read.address.to_string(), read.port, read.inode),
            ("::1".into(), 80, 4713)
        );
    }

    #[test]
    fn other_lines_are_no_listeners() {
        assert_eq!(
            listener("  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid"),
            None
        );
        assert_eq!(listener(""), None);
        assert_eq!(listener("0: zz:1F90 0 0A 0 0 0 0 0 1"), None);
        assert_eq!(address_of("0100007"), None);
        assert_eq!(address_of(""), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn finds_our_own_listener() {
        let port = free_port().unwrap();
        let own = [i32::try_from(std::process::id()).unwrap()];
        assert!(!listening(&own).unwrap().contains_key(&port));
        let _listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
        let found = listening(&own).unwrap();
        assert_eq!(found.get(&port), Some(&BTreeSet::from([IpAddr::from([127, 0, 0, 1])])));
    }
}
