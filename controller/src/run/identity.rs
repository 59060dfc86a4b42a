//! A name for a process that was given none.

use std::hash::{BuildHasher, Hasher, RandomState};

/// Longest part of the host name that is kept: with the digits it stays below the 128 characters of an Event's
/// `reportingInstance`.
const HOST: usize = 100;

/// The host name and 16 random hexadecimal digits. Two processes on one machine must not take each other for themselves,
/// nor a restarted one for the one before it.
pub fn generate() -> String {
    let host = std::env::var("HOSTNAME")
        .ok()
        .filter(|name| !name.is_empty())
        .or_else(|| std::fs::read_to_string("/proc/sys/kernel/hostname").ok())
        .unwrap_or_default();
    // The keys of the standard library's hash maps are the random numbers that it gives out.
    let random = RandomState::new().build_hasher().finish();
    name(&host, random)
}

fn name(host: &str, random: u64) -> String {
    let host: String = host.trim().chars().filter(char::is_ascii_graphic).take(HOST).collect();
    let host = if host.is_empty() { "lmcache-controller" } else { &host };
    format!("{host}_{random:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_and_differ() {
        assert_eq!(name("node-1\n", 10), "node-1_000000000000000a");
        assert_eq!(name(" ", 10), "lmcache-controller_000000000000000a");
        assert!(name(&"x".repeat(500), u64::MAX).len() <= 128);
        assert_ne!(generate(), generate());
    }
}
