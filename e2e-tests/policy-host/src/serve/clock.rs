//! The clock by which evaluations are interrupted.

use std::time::Duration;

use anyhow::{Context, Result};
use wasmtime_provider::wasmtime::Engine;

/// policy-server's clock ticks once a second, so a limit of N seconds ends an evaluation after N - 1 to N.
const TICK: Duration = Duration::from_secs(1);

/// An engine whose clock runs as long as any of its policies lives.
pub(super) fn ticking_engine(cache: bool) -> Result<Engine> {
    let engine = crate::policy::engine(cache, true)?;
    let weak = engine.weak();
    std::thread::Builder::new()
        .name("evaluation clock".to_owned())
        .spawn(move || {
            loop {
                std::thread::sleep(TICK);
                match weak.upgrade() {
                    Some(engine) => engine.increment_epoch(),
                    None => break,
                }
            }
        })
        .context("cannot start the evaluation clock")?;
    Ok(engine)
}
