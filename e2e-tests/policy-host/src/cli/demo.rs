//! `policy-host demo`.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;

use super::stdout::ResultStream;
use super::{to_stderr, write_all};
use crate::demo::{self, ColorChoice, Paint};

/// Run the steps of DIR/demo.yaml and report. Exit code 1 when the `expect` of a step does not hold.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The folder with demo.yaml.
    dir: PathBuf,
    /// Look for the policies here, by the file names that demo.yaml gives.
    #[arg(long, value_name = "DIR")]
    policy_dir: Option<PathBuf>,
    /// When to use colours.
    #[arg(long, value_enum, default_value_t)]
    color: ColorChoice,
}

pub(super) fn run(args: &Args, no_color: bool) -> Result<ExitCode> {
    let choice = if no_color { ColorChoice::Never } else { args.color };
    let paint = Paint::new(choice, &std::io::stdout());
    let mut out = ResultStream::claim()?;
    // Written whole at the end of each run, so that a failing step still shows what came before it.
    let mut report = Vec::new();
    let outcome = demo::run(&args.dir, args.policy_dir.as_deref(), paint, &mut report);
    write_all(&mut out, &String::from_utf8_lossy(&report))?;
    match outcome? {
        0 => Ok(ExitCode::SUCCESS),
        failures => {
            to_stderr(&format!("Error: {failures} step(s) did not go as expected"));
            Ok(ExitCode::FAILURE)
        }
    }
}
