//! Measures the controller and the policies on a control plane: `make bench-scale`.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Parser;
use control_plane::Programs;
use control_plane::scale::{Engines, Pods, Quantiles, Run, Subject};
use serde::Serialize;

/// Runs engines by the hundred on simulated nodes, and Pods through the policies. Every size has a fresh control plane.
///
/// First engines that no node fits, which shows what the subject and the API server do alone; then the same number with
/// servers, and with Pods that opt in. LMCACHE_CONTROLLER and POLICY_HOST name the release builds.
#[derive(Debug, Parser)]
struct Cli {
    /// How many engines, one run for each number.
    #[arg(long, value_delimiter = ',', default_value = "1,100,1000")]
    engines: Vec<usize>,
    /// How many nodes with GPUs.
    #[arg(long, default_value_t = 200)]
    nodes: usize,
    /// How many nodes each engine has servers on.
    #[arg(long, default_value_t = 4)]
    servers: usize,
    /// How many Pods a minute are made; 0 for none.
    #[arg(long, default_value_t = 500)]
    pods: u32,
    /// How long a settled subject is watched, in seconds.
    #[arg(long, default_value_t = 60)]
    settled: u64,
    /// When to give up waiting, in seconds.
    #[arg(long, default_value_t = 600)]
    limit: u64,
    /// Leave out the runs without servers.
    #[arg(long)]
    without_bare: bool,
    /// Leave out the runs with servers, and so the Pods.
    #[arg(long)]
    only_bare: bool,
    /// Measure another operator for the same kinds, the Go operator for example, in the place of ours.
    #[arg(long, value_name = "PROGRAM", requires = "rival_crds")]
    rival: Option<PathBuf>,
    /// The folder with its CRDs.
    #[arg(long, value_name = "FOLDER")]
    rival_crds: Option<PathBuf>,
    /// Also write what was measured to a file, as JSON.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Default, Serialize)]
struct Measured {
    runs: Vec<Run>,
    pods: Vec<Pods>,
}

#[tokio::main]
async fn main() -> ExitCode {
    match measure(&Cli::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nothing is left to be done where stderr is closed.
            let _ = writeln!(io::stderr(), "scale: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn measure(cli: &Cli) -> Result<()> {
    let programs = tokio::task::spawn_blocking(Programs::find).await??;
    let subject = match (&cli.rival, &cli.rival_crds) {
        (Some(program), Some(crds)) => Subject::Rival {
            program: absolute(program)?,
            crds: absolute(crds)?,
        },
        _ => Subject::Ours,
    };
    let mut measured = Measured::default();
    for count in &cli.engines {
        for servers in [0, cli.servers] {
            if servers == 0 && cli.without_bare || servers > 0 && cli.only_bare {
                continue;
            }
            let engines = Engines {
                count: *count,
                nodes: cli.nodes,
                servers,
                settled: Duration::from_secs(cli.settled),
                limit: Duration::from_secs(cli.limit),
            };
            let (run, plane, _running) = engines.run(programs.clone(), &subject).await?;
            say(&described(&run))?;
            measured.runs.push(run);
            if servers > 0 && cli.pods > 0 && matches!(subject, Subject::Ours) {
                let pods = Pods::measure(&plane, *count, cli.pods).await?;
                say(&described_pods(&pods))?;
                measured.pods.push(pods);
            }
        }
    }
    if let Some(path) = &cli.out {
        let text = serde_json::to_string_pretty(&measured)?;
        std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

fn absolute(path: &std::path::Path) -> Result<PathBuf> {
    let found = path.canonicalize();
    found.with_context(|| format!("cannot find {}", path.display()))
}

fn described(run: &Run) -> String {
    let seconds = |time: Option<f64>| time.map_or("not within the limit".to_owned(), |time| format!("{time:.1} s"));
    let mut lines = vec![
        format!("{} engines with {} servers each", run.engines, run.servers),
        format!("  made within                     {:.1} s", run.created),
        format!("  children and first status       {}", seconds(run.reconciled)),
    ];
    if run.servers > 0 {
        lines.push(format!("  all Running                     {}", seconds(run.running)));
    }
    lines.extend([
        format!("  last write                      {}", seconds(run.last_write)),
        format!(
            "  requests                        {} ({:.2} for each engine)",
            run.requests_in_all, run.requests_per_engine
        ),
    ]);
    for (what, count) in &run.requests {
        lines.push(format!("    {what:<30}{count}"));
    }
    lines.extend([
        format!(
            "  settled, a minute               {:.1} requests, {:.1} writes",
            run.settled_requests_per_minute, run.settled_writes_per_minute
        ),
        format!(
            "  another process                 {} requests, {} writes",
            run.restart_requests, run.restart_writes
        ),
        format!(
            "  memory                          {:.1} MiB, at most {:.1}; idle {:.1}",
            run.usage.rss_mib, run.usage.peak_mib, run.idle.rss_mib
        ),
        format!(
            "  processor                       {:.1} s; API server {:.1} s",
            run.usage.cpu_seconds, run.api_server_cpu_seconds
        ),
    ]);
    lines.join("\n")
}

fn described_pods(pods: &Pods) -> String {
    let line = |what: &str, quantiles: &Quantiles| {
        format!(
            "  {what:<32}median {:.1} ms, p99 {:.1} ms, longest {:.1} ms",
            quantiles.median_ms, quantiles.p99_ms, quantiles.longest_ms
        )
    };
    [
        format!("{} Pods a minute, {} engines", pods.per_minute, pods.engines),
        line("ordinary", &pods.ordinary),
        line("opted in", &pods.opted_in),
    ]
    .join("\n")
}

fn say(text: &str) -> Result<()> {
    writeln!(io::stdout(), "{text}\n").context("cannot write to stdout")
}
