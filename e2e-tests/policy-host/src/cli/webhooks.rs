//! `policy-host webhooks`.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use serde_json::Value;

use super::{to_stderr, to_stdout};
use crate::host::kube_client;
use crate::serve::{Naming, Target, apply, configurations, delete, dropped, read_ca_bundle, read_manifests};

/// Print, apply or delete the webhook configurations that Kubewarden's controller would write for ClusterAdmissionPolicy
/// manifests, for tests and development. In production run Kubewarden.
///
/// The mutating ones come first, each sorted by name: the order in which the API server calls them.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Manifests: a file, or the files of a folder. Can be given several times.
    #[arg(short, long, value_name = "DIR_OR_FILE", required = true)]
    policies: Vec<PathBuf>,
    /// Also read the folders below.
    #[arg(short = 'R', long)]
    recursive: bool,
    /// Where the API server reaches `policy-host serve`.
    #[arg(long, value_name = "https://HOST:PORT")]
    url: String,
    /// The authorities that the API server shall trust, PEM: what `serve --ca-out` wrote.
    #[arg(long, value_name = "FILE")]
    ca_bundle: Option<PathBuf>,
    /// How names are made: current is kw.cap.<name> (Kubewarden 1.37.2 and newer), legacy is clusterwide-<name>.
    #[arg(long, value_enum, default_value_t = NamingArg::Current)]
    naming: NamingArg,
    /// The namespace in which Kubewarden would run, which policies leave alone.
    #[arg(long, value_name = "NAME", default_value = "kubewarden")]
    kubewarden_namespace: String,
    /// Apply them instead.
    #[arg(long, requires = "kubeconfig", conflicts_with = "delete")]
    apply: bool,
    /// Delete them instead.
    #[arg(long, requires = "kubeconfig")]
    delete: bool,
    /// The cluster for --apply and --delete. None is used unasked.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig; by default the current one.
    #[arg(long, value_name = "NAME", requires = "kubeconfig")]
    context: Option<String>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum NamingArg {
    Current,
    Legacy,
}

pub(super) fn run(args: &Args) -> Result<ExitCode> {
    let manifests = read_manifests(&args.policies, args.recursive)?;
    let ca_bundle = args.ca_bundle.as_deref().map(read_ca_bundle).transpose()?;
    let naming = match args.naming {
        NamingArg::Current => Naming::Current,
        NamingArg::Legacy => Naming::Legacy,
    };
    let target = Target::new(&args.url, ca_bundle.as_deref(), naming, &args.kubewarden_namespace)?;
    for warning in dropped(&manifests) {
        to_stderr(&format!("warning: {warning}"));
    }
    let configurations = configurations(&manifests, &target);
    if !args.apply && !args.delete {
        for configuration in &configurations {
            to_stdout(&format!("---\n{}", yaml_serde::to_string(configuration)?))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    runtime.block_on(change(args, &configurations))?;
    let done = if args.apply { "applied" } else { "deleted" };
    for configuration in &configurations {
        let text = |pointer: &str| {
            configuration
                .pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        to_stdout(&format!("{} {} {done}\n", text("/kind"), text("/metadata/name")))?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn change(args: &Args, configurations: &[Value]) -> Result<()> {
    // The command line asks for one with both.
    let kubeconfig = args.kubeconfig.as_deref().context("--kubeconfig is missing")?;
    let client = kube_client(kubeconfig, args.context.as_deref()).await?;
    if args.apply {
        apply(&client, configurations).await
    } else {
        delete(&client, configurations).await
    }
}
