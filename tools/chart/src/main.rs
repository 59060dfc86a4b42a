//! The command behind `make generate`, `make dist` and `make deploy`.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use chart::dist::{self, Modules};
use chart::{generate, repository};
use clap::{Parser, Subcommand};

/// The manifests of this repository as a Helm chart, and as single files.
#[derive(Debug, Parser)]
struct Cli {
    #[command(subcommand)]
    command: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Write what is generated in deploy/chart: the copies of the manifests, and the table of values
    Generate,
    /// Print CRDs, namespace, rights and the controller
    Install {
        /// The controller's image, in the place of the one in deploy/controller/deployment.yaml
        #[arg(long, value_name = "IMAGE")]
        image: Option<String>,
    },
    /// Print the same without the CRDs
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
        /// The tag of all modules
        #[arg(long)]
        tag: Option<String>,
        /// The digest of a module, which wins over the tag; once for each
        #[arg(long = "digest", value_name = "MODULE=sha256:...", value_parser = pair)]
        digests: Vec<(String, String)>,
    },
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (name, digest) = text.split_once('=').ok_or("expected MODULE=sha256:...")?;
    Ok((name.to_owned(), digest.to_owned()))
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
        Action::Policies { registry, tag, digests } => {
            let count = digests.len();
            let digests: BTreeMap<String, String> = digests.into_iter().collect();
            ensure!(digests.len() == count, "a module has two digests");
            dist::policies(&deploy, &Modules { registry, tag, digests })?
        }
    };
    std::io::stdout().write_all(text.as_bytes()).context("cannot write to stdout")
}
