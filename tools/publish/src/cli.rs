//! The command `publish`: the only place that reads and writes files.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};
use clap::{Args, Parser, Subcommand};

use crate::artifact::sha256;
use crate::digests::Digests;
use crate::files::{artifacts, entries, read, read_text, remove_layouts, write};
use crate::pin::pin;
use crate::push::{Options, push};
use crate::target::Target;
use crate::{credentials, layout, sbom};

/// Packages and publishes the policies.
#[derive(Debug, Parser)]
#[command(name = "publish", version, max_term_width = 120)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Write an OCI image layout for each policy, and the digests of all into digests.yaml
    Package(PackageArgs),
    /// Push the policies to a registry, as `kwctl push` does; prints each one's reference by digest
    #[command(after_help = PUSH_HELP)]
    Push(PushArgs),
    /// Write manifests anew, with digests in the place of the policies' tags
    Pin(PinArgs),
    /// Write the SBOM of a policy from that of cargo-sbom
    Sbom(SbomArgs),
}

const PUSH_HELP: &str = "Credentials: REGISTRY_USERNAME and REGISTRY_PASSWORD (or a token in its place), else docker's \
    config.json with its credential helpers (`docker login`), else none. Plain HTTP is spoken to loopback addresses, and \
    elsewhere only with --plain-http.";

#[derive(Debug, Args)]
struct PackageArgs {
    /// The folder of the annotated policies, `<policy>.wasm`
    #[arg(long, value_name = "DIR", default_value = "target/policies")]
    policies: PathBuf,
    /// The folder that gets `<policy>/` and `digests.yaml`; layouts that are in it go
    #[arg(short, long, value_name = "DIR", default_value = "target/oci")]
    output: PathBuf,
}

#[derive(Debug, Args)]
struct PushArgs {
    /// Host and path, as ghcr.io/acme/policies; each policy is a repository below
    #[arg(value_name = "REGISTRY")]
    registry: String,
    /// The folder of the annotated policies, `<policy>.wasm`
    #[arg(long, value_name = "DIR", default_value = "target/policies")]
    policies: PathBuf,
    /// One tag for all, by default `v` and each policy's version
    #[arg(long)]
    tag: Option<String>,
    /// Move a tag that names another artifact
    #[arg(long)]
    move_tag: bool,
    /// Speak plain HTTP to a registry that is not on this machine
    #[arg(long)]
    plain_http: bool,
}

#[derive(Debug, Args)]
struct PinArgs {
    /// Manifests, or folders of them
    #[arg(value_name = "PATH", required = true)]
    manifests: Vec<PathBuf>,
    /// The digests, as `publish package` writes them
    #[arg(long, value_name = "FILE", default_value = "target/oci/digests.yaml")]
    digests: PathBuf,
    /// Host and path that the policies were pushed to, by default those in the manifests
    #[arg(long, value_name = "REGISTRY")]
    registry: Option<String>,
    /// The folder that gets them
    #[arg(short, long, value_name = "DIR", default_value = "target/pinned")]
    output: PathBuf,
}

#[derive(Debug, Args)]
struct SbomArgs {
    /// The module, `<policy>.wasm`
    #[arg(value_name = "WASM")]
    module: PathBuf,
    /// What `cargo sbom --cargo-package <policy>` printed
    #[arg(long, value_name = "FILE")]
    document: PathBuf,
    /// What `cargo tree -p <policy> --prefix none --format {p}` printed for the module's target
    #[arg(long, value_name = "FILE")]
    crates: PathBuf,
    /// The time of the document in RFC 3339 with Z, by default that of cargo-sbom's run
    #[arg(long, value_name = "TIME")]
    created: Option<String>,
    /// The SBOM
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

/// Parses the arguments and runs the command. Errors are one line on stderr and exit code 1.
pub fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Package(args) => package(&args),
        Command::Push(args) => run_push(&args),
        Command::Pin(args) => run_pin(&args),
        Command::Sbom(args) => run_sbom(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nothing is left to be done where stderr is closed.
            let _ = writeln!(io::stderr(), "publish: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn say(line: &str) -> Result<()> {
    writeln!(io::stdout(), "{line}").context("cannot write to stdout")
}

fn package(args: &PackageArgs) -> Result<()> {
    let artifacts = artifacts(&args.policies)?;
    remove_layouts(&args.output)?;
    for artifact in &artifacts {
        let folder = args.output.join(&artifact.name);
        for (path, bytes) in layout::files(artifact) {
            write(&folder.join(path), &bytes)?;
        }
        say(&format!(
            "{:<24} {} {}",
            artifact.name,
            artifact.digest(),
            folder.display()
        ))?;
    }
    let digests = args.output.join("digests.yaml");
    write(&digests, Digests::of(&artifacts).to_yaml().as_bytes())
}

fn run_push(args: &PushArgs) -> Result<()> {
    let target = Target::parse(&args.registry)?;
    let artifacts = artifacts(&args.policies)?;
    // An empty variable is none.
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let config = match credentials::docker_config(variable) {
        Some(path) if path.exists() => Some(read(&path)?),
        _ => None,
    };
    let auth = credentials::find(target.host(), variable, config.as_deref())?;
    let options = Options {
        target: &target,
        tag: args.tag.as_deref(),
        move_tag: args.move_tag,
        protocol: target.protocol(args.plain_http),
        auth: &auth,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .context("cannot start a runtime")?;
    runtime.block_on(push(&artifacts, &options, say))
}

fn run_pin(args: &PinArgs) -> Result<()> {
    let digests = Digests::parse(&read_text(&args.digests)?).with_context(|| args.digests.display().to_string())?;
    let target = args.registry.as_deref().map(Target::parse).transpose()?;
    let mut pinned = Vec::new();
    for path in &args.manifests {
        let name = path.file_name().map(PathBuf::from);
        let name = name.with_context(|| format!("{}: no file or folder by its name", path.display()))?;
        for (path, place) in yaml_files(path, if path.is_dir() { PathBuf::new() } else { name })? {
            let (text, count) =
                pin(&read_text(&path)?, &digests, target.as_ref()).with_context(|| path.display().to_string())?;
            pinned.push((place, text, count));
        }
    }
    let count: usize = pinned.iter().map(|(_, _, count)| count).sum();
    ensure!(count > 0, "no `module:` of a policy in any of these manifests");
    let stale = stale(&args.output, &pinned)?;
    ensure!(
        stale.is_empty(),
        "{} holds manifests that are none of these, and whoever applies the folder would apply them too: {}. Remove them, \
         or name another folder with --output",
        args.output.display(),
        stale.join(", ")
    );
    for (place, text, _) in &pinned {
        write(&args.output.join(place), text.as_bytes())?;
    }
    let folder = args.output.display();
    say(&format!(
        "{count} policies pinned in {} files of {folder}",
        pinned.len()
    ))
}

/// The manifests below a folder that are not about to be written.
fn stale(folder: &Path, pinned: &[(PathBuf, String, usize)]) -> Result<Vec<String>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut places = yaml_files(folder, PathBuf::new())?;
    places.retain(|(_, place)| pinned.iter().all(|(written, _, _)| written != place));
    let names = places.into_iter().map(|(_, place)| place.display().to_string());
    Ok(names.collect())
}

/// The YAML files at or below a path, each with its place below the output.
fn yaml_files(path: &Path, place: PathBuf) -> Result<Vec<(PathBuf, PathBuf)>> {
    if !path.is_dir() {
        return Ok(vec![(path.to_owned(), place)]);
    }
    let mut files = Vec::new();
    for entry in entries(path)? {
        let Some(name) = entry.file_name() else { continue };
        let place = place.join(name);
        if entry.is_dir() || matches!(entry.extension().and_then(|text| text.to_str()), Some("yaml" | "yml")) {
            files.extend(yaml_files(&entry, place)?);
        }
    }
    Ok(files)
}

fn run_sbom(args: &SbomArgs) -> Result<()> {
    let wasm = read(&args.module)?;
    let Some(name) = args.module.file_stem().and_then(|name| name.to_str()) else {
        bail!("{}: expected <policy>.wasm", args.module.display());
    };
    let document = serde_json::from_slice(&read(&args.document)?);
    let document = document.with_context(|| format!("{}: no JSON", args.document.display()))?;
    let crates = sbom::crates(&read_text(&args.crates)?).with_context(|| args.crates.display().to_string())?;
    let module = sbom::Module {
        name: name.to_owned(),
        sha256: sha256(&wasm).trim_start_matches("sha256:").to_owned(),
        repository: env!("CARGO_PKG_REPOSITORY").to_owned(),
    };
    let document = sbom::cut(document, &crates, &module, args.created.as_deref())
        .with_context(|| args.document.display().to_string())?;
    let mut text = serde_json::to_string_pretty(&document)?;
    text.push('\n');
    write(&args.output, text.as_bytes())?;
    say(&format!(
        "{:<24} {} crates: {}",
        name,
        crates.len(),
        args.output.display()
    ))
}
