//! `policy-host annotate`.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow, bail};

use crate::host::undeclared_and_unused;
use crate::metadata::{Metadata, SECTION, remove_custom_section, replace_custom_section};
use crate::{Policy, document};

/// Check metadata and write it into a policy.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The policy.
    #[arg(value_name = "WASM")]
    wasm: PathBuf,
    /// The metadata.yml.
    #[arg(short, long, value_name = "FILE")]
    metadata_path: PathBuf,
    /// A README in Markdown, kept as usage information.
    #[arg(short, long, value_name = "FILE")]
    usage_path: Option<PathBuf>,
    /// The annotated policy.
    #[arg(short, long, value_name = "FILE")]
    output_path: PathBuf,
}

pub(super) fn run(args: &Args) -> Result<ExitCode> {
    let mut metadata = Metadata::from_file(&args.metadata_path)?;
    let wasm = std::fs::read(&args.wasm).map_err(|e| anyhow!("cannot read policy {}: {e}", args.wasm.display()))?;
    // A broken section is about to be replaced and must not stand in the way.
    let bare = remove_custom_section(&wasm, SECTION).with_context(|| args.wasm.display().to_string())?;
    let policy = Policy::compile(&bare, true).with_context(|| args.wasm.display().to_string())?;
    let protocol = policy
        .protocol_version()
        .with_context(|| args.wasm.display().to_string())?;
    if protocol != "v1" {
        bail!(
            "{}: protocol version is '{protocol}', expected 'v1'",
            args.wasm.display()
        );
    }
    metadata.protocol_version = Some(protocol);
    let declared = metadata.host_capabilities.as_deref().unwrap_or_default();
    for hint in undeclared_and_unused(&bare, declared) {
        eprintln!("Warning: {hint}");
    }
    let this = format!("policy-host {}", env!("CARGO_PKG_VERSION"));
    metadata.annotations.insert("io.kubewarden.kwctl".to_owned(), this);
    if let Some(path) = &args.usage_path {
        let usage = document::read_text(path)?;
        metadata
            .annotations
            .insert("io.kubewarden.policy.usage".to_owned(), usage);
    }
    let annotated = replace_custom_section(&bare, SECTION, &serde_json::to_vec(&metadata)?)?;
    document::write_file(&args.output_path, &annotated)?;
    Ok(ExitCode::SUCCESS)
}
