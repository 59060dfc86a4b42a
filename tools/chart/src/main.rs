//! The command behind `make generate`, `make dist` and `make deploy`.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, Result};
use chart::{dist, generate, repository};
use clap::{Parser, Subcommand};

/// The manifests of this repository as a Helm chart, and as single files.
#[derive(Debug, Parser)]
struct Cli {
    #[command(subcommand)]
    command: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Write deploy/chart/files, the table of values in deploy/chart/README.md, and dist
    Generate,
    /// Print CRDs, namespace, rights and the controller
    Install {
        /// The controller's image, in the place of the one in deploy/controller/deployment.yaml
        #[arg(long, value_name = "IMAGE")]
        image: Option<String>,
    },
    /// Print the same without the CRDs and the roles for people
    Controller {
        /// The controller's image, likewise
        #[arg(long, value_name = "IMAGE")]
        image: Option<String>,
    },
    /// Print the policies and their rights
    Policies {
        /// Where their modules are, without `registry://`
        #[arg(long, value_name = "REGISTRY/PATH")]
        registry: Option<String>,
    },
}

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nothing is left to be done where stderr is closed.
            let _ = writeln!(std::io::stderr(), "chart: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(action: Action) -> Result<()> {
    let root = repository();
    let deploy = root.join("deploy");
    let text = match action {
        Action::Generate => return generate(&root),
        Action::Install { image } => dist::install(&deploy, image.as_deref())?,
        Action::Controller { image } => dist::controller(&deploy, image.as_deref())?,
        Action::Policies { registry } => dist::policies(&deploy, registry.as_deref())?,
    };
    std::io::stdout()
        .write_all(text.as_bytes())
        .context("cannot write to stdout")
}
