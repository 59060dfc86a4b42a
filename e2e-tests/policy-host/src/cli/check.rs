//! `policy-host check`.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;

use super::stdout::ResultStream;
use super::{to_stderr, write_all};
use crate::check::{Modules, check_manifests, counted};
use crate::demo::{ColorChoice, Paint};

/// Check the manifests of policies below DIR against the modules that they name. Exit code 1 when one has a fault.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A folder, or one file.
    dir: PathBuf,
    /// The folder of the annotated modules: `<last segment of spec.module>.wasm`.
    #[arg(long, value_name = "DIR", default_value = "target/policies")]
    policy_dir: PathBuf,
    /// Let manifests pass whose module is not in that folder.
    #[arg(long)]
    allow_unknown_modules: bool,
}

pub(super) fn run(args: &Args) -> Result<ExitCode> {
    let mut out = ResultStream::claim()?;
    let modules = Modules::new(&args.policy_dir, args.allow_unknown_modules);
    let verdicts = check_manifests(&args.dir, &modules)?;
    // Names in manifests are other people's text.
    let paint = Paint::new(ColorChoice::Never, &std::io::stdout());
    let report: String = verdicts
        .iter()
        .flat_map(|verdict| {
            let text = verdict.to_string();
            text.lines().map(|line| paint.plain(line) + "\n").collect::<Vec<_>>()
        })
        .collect();
    write_all(&mut out, &report)?;
    let faults: usize = verdicts.iter().map(|verdict| verdict.faults.len()).sum();
    if faults == 0 {
        return Ok(ExitCode::SUCCESS);
    }
    let faulty = verdicts.iter().filter(|verdict| !verdict.faults.is_empty()).count();
    let faults = counted(faults, "fault");
    to_stderr(&format!(
        "Error: {faults} in {faulty} of {}",
        counted(verdicts.len(), "manifest")
    ));
    Ok(ExitCode::FAILURE)
}
