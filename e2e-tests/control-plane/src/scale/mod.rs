//! How the controller and the policies bear size: engines by the thousand on simulated nodes, with a fresh control plane
//! for each run, and figures from the API server's audit log and from /proc.
//!
//! Another controller of the same kinds can be measured in the same way, beside ours: times depend on the machine and on
//! what else it does, so only figures of one day and one machine compare.

mod clients;
mod figures;
mod histogram;
mod ledger;
mod load;
mod running;
mod session;
mod subject;
mod table;
mod usage;

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};

use crate::Programs;
use figures::{Machine, Report};
use load::Load;
use session::Session;
use subject::Subject;

/// What is measured, and how the figures come out.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// How many engines, one run after the other
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', default_value = "1,100,1000")]
    pub sizes: Vec<usize>,
    /// What to run for each size. `webhook` comes after `pods`, in the same control plane
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = "no-pods,pods,webhook"
    )]
    pub scenarios: Vec<Scenario>,
    /// Simulated GPU nodes; each four are a pool
    #[arg(long, value_name = "NUMBER", default_value = "200", value_parser = clap::value_parser!(u16).range(4..=2000))]
    pub nodes: u16,
    /// How long to count requests when nothing is left to be done
    #[arg(long, value_name = "SECONDS", default_value = "60")]
    pub window: u32,
    /// How long to wait at most until a controller has nothing left to do
    #[arg(long, value_name = "SECONDS", default_value = "900")]
    pub limit: u32,
    /// Pods that are created in a minute, evenly spaced, in the scenario `webhook`
    #[arg(long, value_name = "NUMBER", default_value = "500", value_parser = clap::value_parser!(u16).range(1..=6000))]
    pub pods_per_minute: u16,
    /// Another controller of the same kinds to measure beside ours: a Go operator, which is run with cluster-admin rights,
    /// `ENABLE_WEBHOOKS=false` and `--health-probe-bind-address`, everything else by default. Not in the scenario `webhook`
    #[arg(long, value_name = "PROGRAM")]
    pub rival: Option<PathBuf>,
    /// The folder with the CRDs of that controller, which then are used instead of ours
    #[arg(long, value_name = "FOLDER", requires = "rival")]
    pub rival_crds: Option<PathBuf>,
    /// Measure that controller alone
    #[arg(long, requires = "rival")]
    pub rival_only: bool,
    /// What is printed: Markdown tables, or JSON
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub output: Output,
    /// A file for the figures as JSON, written anew after each run
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// A situation to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Scenario {
    /// Engines that no node matches: the controller works, and little else.
    NoPods,
    /// Engines with four servers each.
    Pods,
    /// Pods that opt in are created, through the policies.
    Webhook,
}

/// How figures are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// Markdown tables.
    Text,
    /// The whole report.
    Json,
}

/// Measures, says on stderr how it gets on, and prints the figures.
///
/// # Errors
/// A program is missing, or a run failed; the figures of the others are printed all the same.
pub async fn run(options: &Options) -> Result<()> {
    ensure!(
        !options.sizes.contains(&0) && !options.sizes.is_empty(),
        "--sizes: numbers of engines from 1 on are expected"
    );
    let subjects = Subject::all(options)?;
    let programs = tokio::task::spawn_blocking(Programs::find).await??;
    let mut report = Report::new(Machine::this(options));
    for &engines in &options.sizes {
        for load in loads(options, engines) {
            for subject in &subjects {
                say(&format!("{load}, {}", subject.name()));
                match measure(&programs, subject, load, options, &mut report).await {
                    Ok(()) => {}
                    Err(error) => {
                        let failure = format!("{load}, {}: {error:#}", subject.name());
                        say(&failure);
                        report.failures.push(failure);
                    }
                }
                keep(options, &report)?;
            }
        }
    }
    let text = match options.output {
        Output::Text => table::report(&report),
        Output::Json => serde_json::to_string_pretty(&report)?,
    };
    writeln!(io::stdout(), "{text}").context("cannot write to stdout")?;
    ensure!(report.failures.is_empty(), "{}", report.failures.join("\n"));
    Ok(())
}

fn loads(options: &Options, engines: usize) -> Vec<Load> {
    let wants = |scenario| options.scenarios.contains(&scenario);
    let load = |with_pods| Load {
        engines,
        nodes: usize::from(options.nodes),
        with_pods,
    };
    let mut loads = Vec::new();
    if wants(Scenario::NoPods) {
        loads.push(load(false));
    }
    if wants(Scenario::Pods) || wants(Scenario::Webhook) {
        loads.push(load(true));
    }
    loads
}

async fn measure(
    programs: &Programs,
    subject: &Subject,
    load: Load,
    options: &Options,
    report: &mut Report,
) -> Result<()> {
    let mut session = Session::start(programs.clone(), subject, load).await?;
    let limit = Duration::from_secs(options.limit.into());
    let window = Duration::from_secs(options.window.into());
    let mut run = session.converge(limit, window).await?;
    if run.quiet {
        run.restart = Some(session.restart(subject, limit).await?);
    }
    if load.with_pods && subject.is_ours() && options.scenarios.contains(&Scenario::Webhook) {
        say(&format!("{load}, Pods through the webhook"));
        run.clients = Some(clients::measure(&mut session, options.pods_per_minute).await?);
    }
    run.load_after = usage::load_average()?;
    report.kubernetes = session.version().await?;
    report.runs.push(run);
    Ok(())
}

fn keep(options: &Options, report: &Report) -> Result<()> {
    let Some(path) = &options.out else { return Ok(()) };
    fs::write(path, serde_json::to_string_pretty(report)?).with_context(|| format!("cannot write {}", path.display()))
}

fn say(text: &str) {
    // Nobody has to look on.
    let _ = writeln!(io::stderr(), "scale: {text}");
}
