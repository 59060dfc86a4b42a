//! `policy-host serve`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use base64::Engine as _;
use serde_json::json;
use tokio::runtime::Runtime;

use super::stdout::ResultStream;
use super::{to_stderr, write_all};
use crate::document;
use crate::host::{ClusterDir, HostCapabilities, KubeCluster, NoCluster, kube_client};
use crate::serve::{Certificates, Log, Options, Policies, Server, read_manifests};

/// How long after the last answer what still blocks is waited for.
const FAREWELL: Duration = Duration::from_secs(1);

/// Serve the policies of ClusterAdmissionPolicy manifests as an admission webhook, for tests and development. In
/// production run Kubewarden.
///
/// POST an AdmissionReview to /validate/NAME, or to /audit/NAME for the bare decision. NAME is kw.cap.<name>,
/// clusterwide-<name> or just the name of the manifest. When it listens, it prints one line of JSON: url, caBundle (base64)
/// and the policies. Everything else goes to stderr. It ends on SIGINT and SIGTERM.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Manifests: a file, or the files of a folder. Can be given several times.
    #[arg(short, long, value_name = "DIR_OR_FILE", required = true)]
    policies: Vec<PathBuf>,
    /// Also read the folders below.
    #[arg(short = 'R', long)]
    recursive: bool,
    /// The folder with the annotated modules, <name>.wasm.
    #[arg(long, value_name = "DIR", default_value = "target/policies")]
    policy_dir: PathBuf,
    /// Where to listen; port 0 is any free one.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8443")]
    listen: SocketAddr,
    /// The certificate chain, PEM. Without it, an authority and a certificate for the loopback addresses are made.
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,
    /// The key of the certificate, PEM.
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,
    /// A further name or address for the certificate that is made.
    #[arg(long, value_name = "NAME", conflicts_with = "cert")]
    host: Vec<String>,
    /// Write the authority of the certificate that is made to this file, PEM.
    #[arg(long, value_name = "FILE", conflicts_with = "cert")]
    ca_out: Option<PathBuf>,
    /// Look up with the rights of this kubeconfig. None is used unasked: without it, and without --cluster-dir, every
    /// look-up fails.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig; by default the current one.
    #[arg(long, value_name = "NAME", requires = "kubeconfig")]
    context: Option<String>,
    /// Answer look-ups from manifests: a file, or a folder.
    #[arg(long, value_name = "DIR_OR_FILE", conflicts_with = "kubeconfig")]
    cluster_dir: Option<PathBuf>,
    /// Delay every look-up by this many milliseconds.
    #[arg(long, value_name = "N", default_value_t = 0)]
    host_call_delay_ms: u64,
    /// How many requests are evaluated at a time; by default the number of processors.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    workers: Option<u16>,
    /// How many seconds an evaluation may take where the manifest has no timeoutEvalSeconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..))]
    policy_timeout: u32,
    /// The namespace in which Kubewarden would run: requests from it are admitted unseen.
    #[arg(long, value_name = "NAME", default_value = "kubewarden")]
    kubewarden_namespace: String,
    /// Compile the policies anew.
    #[arg(long)]
    disable_wasmtime_cache: bool,
}

pub(super) fn run(args: &Args, verbose: bool) -> Result<ExitCode> {
    let mut result = ResultStream::claim()?;
    let log: Log = Arc::new(to_stderr);
    let manifests = read_manifests(&args.policies, args.recursive)?;
    let certificates = certificates(args)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    let options = Options {
        modules: args.policy_dir.clone(),
        host: host(args, &runtime)?,
        host_call_delay: Duration::from_millis(args.host_call_delay_ms),
        evaluation_seconds: args.policy_timeout,
        kubewarden_namespace: args.kubewarden_namespace.clone(),
        cache: !args.disable_wasmtime_cache,
        log: Arc::clone(&log),
        verbose,
    };
    let policies = Policies::load(manifests, &options)?;
    let described = policies.describe();
    let workers = args.workers.map_or_else(processors, usize::from);
    let served = runtime.block_on(async {
        // Before anybody is told that it listens: a signal from then on ends it in good order.
        let stop = stop_signal()?;
        let server = Server::bind(policies, &certificates, args.listen, workers, log).await?;
        let ready = json!({
            "url": format!("https://{}", server.address()),
            "caBundle": certificates.authority().map(|pem| base64::engine::general_purpose::STANDARD.encode(pem)),
            "policies": described,
        });
        write_all(&mut result, &format!("{ready}\n"))?;
        server.run(stop).await
    });
    runtime.shutdown_timeout(FAREWELL);
    served.map(|()| ExitCode::SUCCESS)
}

fn certificates(args: &Args) -> Result<Certificates> {
    let certificates = match (&args.cert, &args.key) {
        (Some(certificate), Some(key)) => Certificates::read(certificate, key)?,
        _ => Certificates::generate(&args.host)?,
    };
    if let (Some(path), Some(authority)) = (&args.ca_out, certificates.authority()) {
        document::write_file(path, authority.as_bytes())?;
    }
    Ok(certificates)
}

fn host(args: &Args, runtime: &Runtime) -> Result<Arc<dyn HostCapabilities>> {
    Ok(match (&args.kubeconfig, &args.cluster_dir) {
        (Some(path), _) => {
            let client = runtime.block_on(kube_client(path, args.context.as_deref()))?;
            Arc::new(KubeCluster::new(client, runtime.handle().clone()))
        }
        (None, Some(path)) => Arc::new(ClusterDir::load(path)?),
        (None, None) => Arc::new(NoCluster),
    })
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(unix)]
fn stop_signal() -> Result<impl Future<Output = ()> + Send + 'static> {
    use tokio::signal::unix::{SignalKind, signal};

    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for SIGINT")?;
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

#[cfg(windows)]
fn stop_signal() -> Result<impl Future<Output = ()> + Send + 'static> {
    Ok(async {
        // Without a console there is nothing to wait for.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    })
}
