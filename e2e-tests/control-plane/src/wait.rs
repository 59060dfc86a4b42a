//! Waiting with a limit, and with a message that says what was seen last.

use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use tokio::time::sleep;

/// Long enough for a request, short enough for a test.
const PAUSE: Duration = Duration::from_millis(100);

/// Tries until it succeeds. What fails is "not yet"; the last failure is told when the limit has passed.
///
/// # Errors
/// The condition did not hold within `limit`.
pub async fn wait_until<T>(what: &str, limit: Duration, mut condition: impl AsyncFnMut() -> Result<T>) -> Result<T> {
    let start = Instant::now();
    loop {
        let seen = match tokio::time::timeout(limit, condition()).await {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(seen)) => seen,
            Err(_) => anyhow!("no answer at all"),
        };
        if start.elapsed() >= limit {
            return Err(anyhow!("{what}: not within {limit:?}; last seen: {seen:#}"));
        }
        sleep(PAUSE).await;
    }
}

#[cfg(test)]
mod tests {
    use anyhow::ensure;

    use super::*;

    #[tokio::test]
    async fn tries_again_and_tells_what_was_seen_last() {
        let mut tries = 0;
        let third = wait_until("third", Duration::from_secs(5), async || {
            tries += 1;
            ensure!(tries == 3, "try {tries}");
            Ok(tries)
        })
        .await;
        assert!(matches!(third, Ok(3)));
        let never = wait_until("a Pod", Duration::from_millis(1), async || -> Result<()> {
            Err(anyhow!("2 of 3 ready"))
        })
        .await;
        let text = never.map_or_else(|error| error.to_string(), |()| String::new());
        assert_eq!(text, "a Pod: not within 1ms; last seen: 2 of 3 ready");
    }
}
