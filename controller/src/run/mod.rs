//! `run`: the process of the controller in a cluster.
//!
//! ```text
//! arguments -> logs, servers, client -> leader election -> work ... stop -> release of the Lease -> exit
//! ```
//!
//! Everything here is about the process; what it does for custom resources begins in `work`.

mod args;
mod client;
pub mod health;
mod identity;
mod lead;
pub mod leader;
pub mod logs;
pub mod metrics;
pub mod server;
pub mod stop;
mod work;

use std::io::Write as _;
use std::process::ExitCode;
use std::thread::available_parallelism;

use anyhow::{Context as _, Result};
use kube::{Client, Config};
use lmcache_api::IpcMode;
use tokio::task::JoinHandle;

pub use args::Args;

use crate::rbac::LEASE;
use health::Health;
use leader::Elector;
use leader::decide::Timing;
use metrics::Metrics;
use stop::Stop;

/// What the work has at hand. Clones are the same.
#[derive(Clone)]
pub struct Context {
    /// The Kubernetes API. It does not try again by itself, and a request may take as long as the API likes.
    pub client: Client,
    /// What is counted.
    pub metrics: Metrics,
    /// What the probes are told: the work sets [`health::Phase::Working`] once it knows the cluster.
    pub health: Health,
    /// What the installation decides.
    pub settings: Settings,
}

/// What the installation decides.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The IPC mode of engines that say nothing about it.
    pub ipc_default: IpcMode,
    /// The DNS suffix of the cluster's Services.
    pub cluster_domain: String,
    /// How many objects of one kind are reconciled at a time, at most.
    pub concurrency: u16,
    /// Name of this process, as the holder of the Lease and the reporter of Events.
    pub identity: String,
}

/// The command: runs until it is told to end. Faults are logged, since nobody reads anything else of a Pod.
pub fn command(args: &Args) -> ExitCode {
    match run(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!(error = format!("{error:#}"), "ends with an error");
            // Where logs are switched off, this is still told.
            if !tracing::enabled!(tracing::Level::ERROR) {
                let _ = writeln!(std::io::stderr(), "Error: {error:#}");
            }
            ExitCode::FAILURE
        }
    }
}

/// Runs the controller until SIGTERM or SIGINT.
///
/// # Errors
/// What makes it impossible to start or go on, the loss of the Lease included: only a new process knows for sure that
/// nothing of the old one still writes.
pub fn run(args: &Args) -> Result<()> {
    logs::install(args.log_format, &args.log_level)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(workers())
        .enable_all()
        .build()
        .context("cannot start the threads of the process")?;
    let result = runtime.block_on(process(args));
    // Nothing that still runs is waited for: it may write, and the Lease may be another's by now.
    runtime.shutdown_background();
    result
}

/// GPU nodes have a hundred cores and more, and a Pod without a limit sees them all. Each thread costs memory.
fn workers() -> usize {
    available_parallelism().map_or(2, |cores| cores.get().clamp(2, 4))
}

async fn process(args: &Args) -> Result<()> {
    let (trigger, stop) = stop::channel();
    let signals = stop::signals().context("cannot listen for signals")?;
    tokio::spawn(async move {
        let signal = signals.await;
        tracing::info!(signal, "stops");
        trigger.request();
    });
    let metrics = Metrics::new();
    let health = Health::new();
    let (servers_trigger, servers_stop) = stop::channel();
    let servers = serve(args, &metrics, &health, &servers_stop).await?;
    let config = Config::infer()
        .await
        .context("neither a kubeconfig (KUBECONFIG, ~/.kube/config) nor the service account of a Pod can be used")?;
    let (client, namespace) = client::connect(config, &metrics)?;
    let settings = Settings {
        ipc_default: args.ipc_default,
        cluster_domain: args.cluster_domain.clone(),
        concurrency: args.concurrency,
        identity: args.identity.clone().unwrap_or_else(identity::generate),
    };
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        identity = settings.identity,
        leader_elect = args.leader_elect,
        ipc_default = %settings.ipc_default,
        cluster_domain = settings.cluster_domain,
        "starts"
    );
    let elector = args.leader_elect.then(|| {
        let namespace = args.lease_namespace.as_ref().unwrap_or(&namespace);
        Elector::new(client.clone(), namespace, LEASE, &settings.identity, Timing::DEFAULT)
    });
    let context = Context {
        client,
        metrics,
        health,
        settings,
    };
    let result = lead::lead(context, elector, &stop, work::work).await;
    servers_trigger.request();
    if result.is_ok() {
        for server in servers {
            let _ = server.await;
        }
    }
    result
}

/// Starts the servers. They come first: probes are answered, and taken ports found out, before anything else happens.
async fn serve(args: &Args, metrics: &Metrics, health: &Health, stop: &Stop) -> Result<Vec<JoinHandle<()>>> {
    let probes = args
        .health_probe_bind_address
        .listen("--health-probe-bind-address")
        .await?;
    let scrapes = args.metrics_bind_address.listen("--metrics-bind-address").await?;
    let probes = probes.map(|listener| server::serve(listener, server::probes(health.clone()), stop.clone()));
    let scrapes = scrapes.map(|listener| server::serve(listener, server::metrics(metrics.clone()), stop.clone()));
    Ok(probes.into_iter().chain(scrapes).collect())
}
