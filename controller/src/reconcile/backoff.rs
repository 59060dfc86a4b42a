//! How long to wait before a pass that failed is tried again.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::live::Key;

/// The first delay. It doubles with each failure in a row, up to [`LONGEST`].
const FIRST: Duration = Duration::from_secs(1);
/// The longest delay.
const LONGEST: Duration = Duration::from_secs(300);

/// Failures in a row, for each custom resource.
#[derive(Debug, Default)]
pub struct Backoff(Mutex<HashMap<Key, u32>>);

impl Backoff {
    /// None so far.
    pub fn new() -> Self {
        Backoff::default()
    }

    /// Counts a failure, and says how long to wait: the doubled delay, or what the API server asked for if that is more.
    /// Up to a quarter is added, by the name, so that not everything that failed together comes back together.
    pub fn failed(&self, key: &Key, asked: Option<Duration>) -> Duration {
        let mut failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = failures.entry(key.clone()).or_default();
        let delay = FIRST.saturating_mul(1 << (*count).min(16)).min(LONGEST);
        *count = count.saturating_add(1);
        let delay = asked.map_or(delay, |asked| asked.max(delay));
        delay + delay.mul_f64(spread(key) / 4.0)
    }

    /// A pass went well, or the object is gone.
    pub fn succeeded(&self, key: &Key) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }
}

/// Between 0 and 1, always the same for the same name.
fn spread(key: &Key) -> f64 {
    let sum = key.namespace.bytes().chain(key.name.bytes());
    let hash = sum.fold(7_u32, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into()));
    f64::from(hash % 1000) / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use lmcache_api::Kind;

    fn key(name: &str) -> Key {
        Key::new(Kind::LMCacheEngine, "team-a", name)
    }

    #[test]
    fn delays_double_up_to_a_limit_and_start_anew_after_success() {
        let backoff = Backoff::new();
        let delays: Vec<u64> = (0..12).map(|_| backoff.failed(&key("a"), None).as_secs()).collect();
        let without_spread = [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300];
        for (delay, least) in delays.iter().zip(without_spread) {
            assert!((least..=least + least / 4 + 1).contains(delay), "{delays:?}");
        }
        backoff.succeeded(&key("a"));
        assert!(backoff.failed(&key("a"), None) < Duration::from_secs(2));
    }

    #[test]
    fn what_the_api_server_asks_for_is_waited_for() {
        let backoff = Backoff::new();
        assert!(backoff.failed(&key("a"), Some(Duration::from_secs(40))) >= Duration::from_secs(40));
        assert!(
            backoff.failed(&key("b"), None) < Duration::from_secs(2),
            "objects do not share delays"
        );
    }
}
