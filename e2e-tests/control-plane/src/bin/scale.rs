//! Measures the controller and the policies with many engines on simulated nodes: `make bench-scale`, docs/performance.md.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;
use control_plane::scale;

/// Measures the controller and the policies with many engines on simulated nodes, a fresh control plane for each run.
///
/// LMCACHE_CONTROLLER and POLICY_HOST name the release builds. `make bench-scale SCALE_ARGS=...` sees to that.
#[derive(Debug, Parser)]
struct Cli {
    #[command(flatten)]
    options: scale::Options,
}

#[tokio::main]
async fn main() -> ExitCode {
    match scale::run(&Cli::parse().options).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nothing is left to be done where stderr is closed.
            let _ = writeln!(io::stderr(), "scale: {error:#}");
            ExitCode::FAILURE
        }
    }
}
