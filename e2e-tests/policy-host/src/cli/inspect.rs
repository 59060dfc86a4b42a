//! `policy-host inspect`.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow};

use super::to_stdout;
use crate::metadata::{Metadata, describe, sizes};

/// Show the metadata of a policy and its size.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The policy.
    #[arg(value_name = "WASM")]
    wasm: PathBuf,
    /// Print the metadata alone, in this format.
    #[arg(short, long)]
    output: Option<Format>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Format {
    Yaml,
    Json,
}

pub(super) fn run(args: &Args) -> Result<ExitCode> {
    let name = args.wasm.display();
    let wasm = std::fs::read(&args.wasm).map_err(|e| anyhow!("cannot read policy {name}: {e}"))?;
    let metadata = Metadata::from_wasm(&wasm).with_context(|| name.to_string())?;
    let missing = || anyhow!("{name}: carries no Kubewarden metadata; annotate it first");
    let text = match args.output {
        None => describe(metadata.as_ref(), &sizes(&wasm)?),
        Some(Format::Yaml) => yaml_serde::to_string(&metadata.ok_or_else(missing)?)?,
        Some(Format::Json) => serde_json::to_string_pretty(&metadata.ok_or_else(missing)?)? + "\n",
    };
    to_stdout(&text)?;
    Ok(ExitCode::SUCCESS)
}
