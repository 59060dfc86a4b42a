//! The command line. Commands are functions that return what is to be printed; only this module prints.

use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};

use crate::{adopt, crds, flags, rbac, reference, render, run};

/// Runs LMCache's custom resources in a cluster, and shows offline what they become, what the controller needs, and what
/// LMCache's releases can do.
#[derive(Debug, Parser)]
#[command(name = "lmcache-controller", version, max_term_width = 120)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Reconcile the custom resources of a cluster, until SIGTERM or SIGINT.
    ///
    /// Finds the cluster as kubectl does (KUBECONFIG, ~/.kube/config), in a Pod by its service account. Logs go to stderr.
    /// Exit code 0 after a signal, 1 on an error, of which the loss of the Lease is one: start it again.
    Run(run::Args),
    /// Print the objects that engines and coordinators become, without a cluster.
    ///
    /// Prints the children of every LMCacheEngine, CacheBlendEngine and LMCacheCoordinator in the files as YAML, sorted by
    /// namespace and name, as the controller applies them (without owner references). `spec.coordinator.ref` is looked up
    /// in the files; a coordinator that is in none of them is assumed to be on its default port, with a warning. The copy
    /// of a Redis login (`<name>-resp-auth`) is printed where the Secret that it is made from is in the files. To see what a
    /// takeover from the Go operator would change, compare with what `--legacy` prints.
    ///
    /// Warnings and faults go to stderr, one a line: file, object, field, and what to do. With any fault nothing is
    /// printed, and the exit code is 1.
    Render(render::Args),
    /// Look at a cluster that the Go operator runs, and say what a takeover would meet.
    ///
    /// Reads and never writes; Secrets are not even read. Finds the cluster as kubectl does (KUBECONFIG, ~/.kube/config), in a
    /// Pod by its service account. Says what runs, whose webhooks and CRDs there are, what becomes of every engine, and what
    /// of every workload that asks for wiring, and which step of docs/migrate-from-go-operator.md comes next. Values of
    /// variables, Secrets and arguments are not shown.
    ///
    /// Exit code 0: nothing is in the way; 1: something has to be done first; 2: it could not look, and stderr says which right
    /// is missing. `lmcache-controller rbac --adopt` prints a role with what it needs.
    Adopt(adopt::Args),
    /// Print the CustomResourceDefinitions.
    Crds(crds::Args),
    /// Print what the controller may do in a cluster, or roles for people.
    Rbac(rbac::Args),
    /// Print the page with every metric, condition, Event and skip reason.
    Reference,
    /// Show which flags `lmcache server` and `lmcache coordinator` take, release by release.
    Flags(flags::Args),
}

/// What a command has to say.
#[derive(Debug, Default)]
struct Answer {
    /// For stdout.
    text: String,
    /// For stderr, one a line.
    warnings: Vec<String>,
    /// Likewise; with any of them the command failed.
    errors: Vec<String>,
}

impl From<String> for Answer {
    fn from(text: String) -> Self {
        Answer {
            text,
            ..Answer::default()
        }
    }
}

impl From<render::Report> for Answer {
    fn from(report: render::Report) -> Self {
        Answer {
            text: report.yaml(),
            warnings: report.warnings,
            errors: report.faults,
        }
    }
}

/// Parses the arguments and runs the command. Errors are lines on stderr and exit code 1; arguments that cannot be
/// understood end in clap's message and exit code 2.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match cli.command {
        Command::Run(args) => return run::command(&args),
        Command::Adopt(args) => return adopt::command(&args),
        Command::Render(args) => render::run(&args, &mut std::io::stdin()).map(Answer::from),
        Command::Crds(args) => crds::run(&args).map(Answer::from),
        Command::Rbac(args) => rbac::run(&args).map(Answer::from),
        Command::Reference => Ok(reference::run().into()),
        Command::Flags(args) => flags::run(&args).map(Answer::from),
    };
    match result.and_then(|answer| say(&answer)) {
        Ok(code) => code,
        Err(error) => {
            to_stderr("Error", &format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Prints an answer. Warnings come first: what is printed last is what is looked at.
fn say(answer: &Answer) -> Result<ExitCode> {
    for warning in &answer.warnings {
        to_stderr("Warning", warning);
    }
    for error in &answer.errors {
        to_stderr("Error", error);
    }
    print(&answer.text)?;
    Ok(if answer.errors.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn to_stderr(what: &str, text: &str) {
    // Nothing can be done about a closed stderr.
    let _ = writeln!(std::io::stderr(), "{what}: {text}");
}

/// Prints a result. A reader that went away (`| head`) is no error.
fn print(text: &str) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error).context("cannot write the result"),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
