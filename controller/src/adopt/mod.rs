//! `adopt --check`: what a takeover from the Go operator would meet in a cluster.
//!
//! ```text
//! look (the only requests, all of them reads) -> Snapshot -> Report -> text or JSON
//! ```
//!
//! Everything behind the snapshot is a pure function. Engines are judged by the controller's own plan and Pods by the code of
//! the policies, so that what is said here is what will happen.

mod asking;
mod brought_back;
mod crds;
mod engines;
mod finding;
mod installer;
mod look;
mod operator_findings;
mod operator_pods;
mod operators;
mod removal;
mod report;
mod rights;
mod served;
mod serving;
mod settings;
mod snapshot;
mod steps;
mod text;
mod webhook_findings;
mod webhooks;
mod wiring;
mod workloads;

#[cfg(test)]
mod tests;

use std::io::Write as _;
use std::process::ExitCode;

use lmcache_api::IpcMode;
use lmcache_api::names::check_subdomain;

pub use finding::{Finding, Level, codes};
pub use look::Blind;
pub use report::Report;
pub use rights::{RIGHTS, ROLE};
pub use settings::Options;
pub use snapshot::Snapshot;
pub use steps::STEPS;

/// Exit code: something has to be done first.
const IN_THE_WAY: u8 = 1;
/// Exit code: it could not be looked.
const BLIND: u8 = 2;

/// Options of the command.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only look. There is nothing else that this command does: the takeover itself begins when `run` starts.
    #[arg(long, required = true)]
    check: bool,
    /// How the report is printed.
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t = Output::Text)]
    output: Output,
    /// How engines that say nothing about it share memory with their clients: HostIPC, HostShm or Isolated, as controller and
    /// policies will be told. By default what the installed policies say, else HostIPC.
    #[arg(long, value_name = "MODE")]
    ipc_default: Option<IpcMode>,
    /// DNS suffix of the cluster's Services. By default what the installed policies say, else cluster.local.
    #[arg(long, value_name = "DOMAIN", value_parser = domain)]
    cluster_domain: Option<String>,
}

/// A form of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Output {
    /// For people.
    Text,
    /// For programs.
    Json,
}

fn domain(text: &str) -> Result<String, String> {
    check_subdomain(text).map(|()| text.to_owned())
}

/// The command. Everything that it has to say is printed; the exit code says the rest.
pub fn command(args: &Args) -> ExitCode {
    let options = Options {
        ipc_default: args.ipc_default,
        cluster_domain: args.cluster_domain.clone(),
    };
    let report = match snapshot() {
        Ok(snapshot) => Report::new(&snapshot, &options),
        Err(blind) => return failed(&explain(&blind)),
    };
    let text = match args.output {
        Output::Text => report.to_string(),
        Output::Json => match serde_json::to_string_pretty(&report) {
            Ok(json) => format!("{json}\n"),
            Err(error) => return failed(&format!("the report is no JSON: {error}")),
        },
    };
    // A reader that went away (`| head`) is no error, and nobody is there to be told another one.
    let mut stdout = std::io::stdout().lock();
    let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    if report.clear {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(IN_THE_WAY)
    }
}

fn snapshot() -> Result<Snapshot, Blind> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Blind::Failed(error.to_string()))?;
    runtime.block_on(async { look::look(look::client().await?).await })
}

/// What could not be looked at, and what to do.
fn explain(blind: &Blind) -> String {
    match blind {
        Blind::Failed(why) => format!("could not look: {why}"),
        Blind::Rights(missing) => {
            let missing: Vec<&str> = missing.iter().map(String::as_str).collect();
            format!(
                "could not look, in all namespaces these rights are missing: {}. ClusterRole {ROLE} has them and no others: \
                 lmcache-controller rbac --adopt | kubectl apply -f - && kubectl create clusterrolebinding {ROLE} \
                 --clusterrole={ROLE} --user=YOU",
                missing.join(", ")
            )
        }
    }
}

fn failed(text: &str) -> ExitCode {
    // Nothing can be done about a closed stderr.
    let _ = writeln!(std::io::stderr(), "Error: {text}");
    ExitCode::from(BLIND)
}
