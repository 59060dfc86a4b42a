//! Rendered containers as real processes of the released servers.
//!
//! `lmcache` of the newest known release is installed whole from PyPI, once; older releases run in its environment. Each
//! sample under `deploy/samples` and a set of engines and coordinators of several releases are judged by the policy's
//! code, rendered by the controller's, started on loopback ports, and asked for everything that we say of the release:
//! ports, paths, metrics, registration, what a wrong password looks like, how they end.
//!
//! The rendered container is what is started, but for: the path of the program, ports, the size of the first tier, the
//! address of Redis, folders, and the values of Secrets.

mod answers;
mod arguments;
mod container;
mod host;
mod http;
mod installed;
mod process;
mod redis;
mod rendered;
mod report;
mod run;
mod sandbox;
mod scenario;
mod sockets;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use clap::Parser;

use crate::installed::Outcome;
use crate::run::Totals;
use crate::sandbox::Sandbox;
use crate::scenario::{Scenario, list, samples};

/// Starts rendered containers as real processes of the released servers and checks what they offer.
///
/// Skipped where Python is missing or less than 12 GB are free; REQUIRE_SERVER=1 makes that a failure.
#[derive(Debug, Parser)]
struct Cli {
    /// Run every release that has the command, not only a selection, and everything with each
    #[arg(long)]
    all_releases: bool,
    /// Run only scenarios with this text in their title, such as "0.5.6", "sample", "resp"
    #[arg(long, value_name = "TEXT")]
    only: Vec<String>,
    /// Print the titles of the scenarios and start nothing
    #[arg(long)]
    list: bool,
    /// Scenarios that run side by side; one more than there are cores unless given
    #[arg(long, value_name = "NUMBER")]
    jobs: Option<usize>,
    /// How processes are set apart; the most that this host grants unless given
    #[arg(long, value_enum)]
    sandbox: Option<Sandbox>,
}

fn main() -> ExitCode {
    match check(&Cli::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            // Nothing is left to be done where stderr is closed.
            let _ = writeln!(io::stderr(), "server-processes: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Whether everything is as expected, or may be skipped.
fn check(cli: &Cli) -> Result<bool> {
    let scenarios = scenarios(cli)?;
    if cli.list {
        for scenario in &scenarios {
            say(&scenario.title())?;
        }
        return Ok(true);
    }
    let required = std::env::var_os("REQUIRE_SERVER").is_some_and(|value| !value.is_empty());
    let skipped = |why: &str| -> Result<bool> {
        say(&format!("server-processes: skipped, {why}"))?;
        Ok(!required)
    };
    if !cfg!(target_os = "linux") {
        return skipped("LMCache's packages and /proc are those of Linux");
    }
    let mut releases: Vec<_> = scenarios.iter().map(|scenario| scenario.release).collect();
    releases.sort();
    releases.dedup();
    let begun = Instant::now();
    let installed = match installed::install(&releases, &mut |text| {
        let _ = say(text);
    })? {
        Outcome::Ready(installed) => installed,
        Outcome::Lacking(why) => return skipped(&why),
    };
    let install = begun.elapsed().as_secs();

    let logs = logs()?;
    let sandbox = cli.sandbox.unwrap_or_else(Sandbox::best);
    let workers = cli.jobs.unwrap_or(thread::available_parallelism()?.get() + 1).max(1);
    say(&format!(
        "{} scenarios, {workers} at a time; {}",
        scenarios.len(),
        sandbox.describe()
    ))?;
    say(&format!(
        "servers: {}\nlogs:    {}\n",
        installed.root().display(),
        logs.display()
    ))?;
    let begun = Instant::now();
    let totals = run::run(&scenarios, &installed, sandbox, &logs, workers, &mut |text| say(text))?;
    let Totals {
        scenarios,
        processes,
        passed,
        failed,
        skipped,
        left_out,
        failures,
    } = totals;
    for title in &failures {
        say(&format!("FAILED  {title}"))?;
    }
    say(&format!(
        "{scenarios} scenarios, {processes} processes of LMCache, {passed} checks passed, {failed} failed, \
         {skipped} skipped, {left_out} not possible here; \
         {} s, before that {install} s to install",
        begun.elapsed().as_secs()
    ))?;
    Ok(failed == 0 && (skipped == 0 || !required))
}

fn scenarios(cli: &Cli) -> Result<Vec<Scenario>> {
    let releases = if cli.all_releases { list::all() } else { list::usual() };
    let mut scenarios: Vec<Scenario> = releases
        .into_iter()
        .rev()
        .flat_map(|release| list::of(release, cli.all_releases))
        .collect();
    for sample in samples::all(&root().join("deploy/samples"))? {
        scenarios.push(list::of_sample(sample)?);
    }
    let wanted = |scenario: &Scenario| cli.only.iter().any(|text| scenario.title().contains(text.as_str()));
    scenarios.retain(|scenario| cli.only.is_empty() || wanted(scenario));
    ensure!(
        !scenarios.is_empty(),
        "no scenario has {:?} in its title, see --list",
        cli.only
    );
    Ok(scenarios)
}

/// An empty folder for what the processes print.
fn logs() -> Result<PathBuf> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let logs = std::path::absolute(target)?.join("server-processes");
    if logs.exists() {
        fs::remove_dir_all(&logs).with_context(|| format!("cannot empty {}", logs.display()))?;
    }
    fs::create_dir_all(&logs).with_context(|| format!("cannot make {}", logs.display()))?;
    Ok(logs)
}

fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.join("../..").canonicalize().unwrap_or_else(|_| own.join("../.."))
}

fn say(text: &str) -> Result<()> {
    writeln!(io::stdout(), "{text}").context("cannot print")
}
