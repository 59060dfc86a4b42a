//! `policy-host scaffold`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow};
use serde_json::{Map, Value};

use super::stdout::ResultStream;
use super::{to_stderr, to_stdout, write_all};
use crate::document;
use crate::metadata::{
    ManifestOptions, Metadata, PolicyKind, artifacthub_package, check_timestamp, manifest, timestamp_now,
};
use crate::page::render;

#[derive(Debug, clap::Subcommand)]
pub(super) enum Args {
    /// Print the custom resource that installs a policy.
    Manifest(ManifestArgs),
    /// Write the artifacthub-pkg.yml of a policy.
    Artifacthub(ArtifacthubArgs),
    /// Write a page of documentation from cases. (Not in kwctl.)
    Page(PageArgs),
}

#[derive(Debug, clap::Args)]
pub(super) struct ManifestArgs {
    /// The annotated policy.
    #[arg(value_name = "WASM")]
    wasm: PathBuf,
    /// Kind of the resource.
    #[arg(short = 't', long = "type", value_name = "KIND")]
    kind: Kind,
    /// Settings of the policy, YAML or JSON.
    #[arg(short, long, value_name = "FILE")]
    settings_path: Option<PathBuf>,
    /// Settings of the policy as JSON; ignored when --settings-path is given.
    #[arg(long, value_name = "JSON")]
    settings_json: Option<String>,
    /// Name of the resource, by default the policy's title.
    #[arg(long)]
    title: Option<String>,
    /// Where policy-server finds the policy, by default its ociUrl and version, else this file. (Not in kwctl.)
    #[arg(long, value_name = "URI")]
    module: Option<String>,
    /// Grant the policy the kinds that it reads.
    #[arg(long)]
    allow_context_aware: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
#[value(rename_all = "PascalCase")]
enum Kind {
    ClusterAdmissionPolicy,
    AdmissionPolicy,
}

#[derive(Debug, clap::Args)]
pub(super) struct ArtifacthubArgs {
    /// The metadata.yml.
    #[arg(short, long, value_name = "FILE", default_value = "metadata.yml")]
    metadata_path: PathBuf,
    /// The questions-ui.yml.
    #[arg(short, long, value_name = "FILE")]
    questions_path: Option<PathBuf>,
    /// The package; `-` is stdout.
    #[arg(short, long, value_name = "FILE", default_value = "artifacthub-pkg.yml")]
    output: PathBuf,
    /// Time of creation in RFC 3339, by default now. (Not in kwctl.)
    #[arg(long, value_name = "TIME")]
    created_at: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(super) struct PageArgs {
    /// Title, texts and cases of the page; the format is described in policy-host's README.
    #[arg(value_name = "INPUT.yaml")]
    input: PathBuf,
    /// The folder of the policies, `<policy>.wasm`.
    #[arg(long, value_name = "DIR", default_value = "target/policies")]
    policy_dir: PathBuf,
    /// The page; `-` is stdout.
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
}

pub(super) fn run(args: &Args) -> Result<ExitCode> {
    match args {
        Args::Manifest(args) => scaffold_manifest(args)?,
        Args::Artifacthub(args) => scaffold_artifacthub(args)?,
        Args::Page(args) => scaffold_page(args)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn scaffold_manifest(args: &ManifestArgs) -> Result<()> {
    let name = args.wasm.display();
    let wasm = std::fs::read(&args.wasm).map_err(|e| anyhow!("cannot read policy {name}: {e}"))?;
    let metadata = Metadata::from_wasm(&wasm)
        .with_context(|| name.to_string())?
        .ok_or_else(|| anyhow!("{name}: carries no Kubewarden metadata; annotate it first"))?;
    let settings = match (&args.settings_path, &args.settings_json) {
        (Some(path), _) => {
            document::parse_settings(&document::read_text(path)?).with_context(|| path.display().to_string())?
        }
        (None, Some(json)) => document::parse_settings(json).context("--settings-json")?,
        (None, None) => Value::Object(Map::new()),
    };
    let options = ManifestOptions {
        kind: match args.kind {
            Kind::ClusterAdmissionPolicy => PolicyKind::ClusterAdmissionPolicy,
            Kind::AdmissionPolicy => PolicyKind::AdmissionPolicy,
        },
        module: match &args.module {
            Some(module) => module.clone(),
            None => module_uri(&metadata, &args.wasm)?,
        },
        settings,
        title: args.title.clone(),
        allow_context_aware: args.allow_context_aware,
    };
    let yaml = manifest(&metadata, &options).with_context(|| name.to_string())?;
    if !metadata.context_aware_resources.is_empty() && !args.allow_context_aware {
        to_stderr(
            "warning: the policy reads from the cluster; without --allow-context-aware the manifest grants it nothing",
        );
    }
    to_stdout(&yaml)
}

fn module_uri(metadata: &Metadata, wasm: &Path) -> Result<String> {
    let annotation = |key: &str| metadata.annotation(&format!("io.kubewarden.policy.{key}"));
    match (annotation("ociUrl"), annotation("version")) {
        (Some(url), Some(version)) => {
            let scheme = if url.contains("://") { "" } else { "registry://" };
            Ok(format!("{scheme}{url}:v{version}"))
        }
        _ => {
            let path = std::path::absolute(wasm).map_err(|e| anyhow!("{}: {e}", wasm.display()))?;
            Ok(format!("file://{}", path.display()))
        }
    }
}

fn scaffold_artifacthub(args: &ArtifacthubArgs) -> Result<()> {
    let metadata = Metadata::from_file(&args.metadata_path)?;
    let questions = match &args.questions_path {
        Some(path) => Some(document::read_text(path)?),
        None => None,
    };
    let created_at = match &args.created_at {
        Some(time) => {
            check_timestamp(time).context("--created-at")?;
            time.clone()
        }
        None => timestamp_now(),
    };
    let package = artifacthub_package(&metadata, questions.as_deref(), &created_at)
        .with_context(|| args.metadata_path.display().to_string())?;
    if args.output == Path::new("-") {
        return to_stdout(&package);
    }
    document::write_file(&args.output, package.as_bytes())
}

fn scaffold_page(args: &PageArgs) -> Result<()> {
    let mut out = ResultStream::claim()?;
    let page = render(&args.input, &args.policy_dir)?;
    if args.output == Path::new("-") {
        return write_all(&mut out, &page);
    }
    document::write_file(&args.output, page.as_bytes())
}
