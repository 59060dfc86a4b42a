//! A Kubernetes control plane on this machine, for people.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Parser, Subcommand};
use control_plane::{Cluster, ControlPlane, Identity, Programs, Tool, given};
use kube::Client;
use kube::config::{Config, KubeConfigOptions};
use rustix::process::{Pid, Signal, kill_process};
use tokio::signal::unix::{SignalKind, signal};

/// A real Kubernetes control plane on the loopback interface: etcd, kube-apiserver, kube-controller-manager, kube-scheduler,
/// and kwok, which plays nodes.
#[derive(Debug, Parser)]
struct Cli {
    #[command(subcommand)]
    command: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Build the programs, once; Go 1.26 or newer. Those that the folder KUBEBUILDER_ASSETS has are not built
    Build,
    /// Say in one line whether this machine can run the end-to-end tests
    Check,
    /// Start a control plane with the CRDs, the roles and GPU nodes, and run it until Ctrl-C or `control-plane down`
    Up {
        /// Nodes with 8 GPUs
        #[arg(long, value_name = "NUMBER", default_value = "3")]
        nodes: u16,
    },
    /// Stop the control plane that `control-plane up` started
    Down,
    /// Delete what tests with E2E_CLUSTER left in the cluster of the kubeconfig: webhooks, namespaces, nodes
    Clean,
}

#[tokio::main]
async fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Action::Build => build(),
        Action::Check => say(&match Programs::check() {
            Ok(()) => "control-plane: `make e2e` runs the end-to-end tests".to_owned(),
            Err(why) => format!("control-plane: end-to-end tests are skipped: {why:#}"),
        }),
        Action::Up { nodes } => up(nodes).await,
        Action::Down => down(),
        Action::Clean => clean().await,
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nothing is left to be done where stderr is closed.
            let _ = writeln!(io::stderr(), "control-plane: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn build() -> Result<()> {
    Programs::find()?;
    Tool::ALL.iter().try_for_each(|tool| tool.find().map(drop))
}

fn say(text: &str) -> Result<()> {
    writeln!(io::stdout(), "{text}").context("cannot write to stdout")
}

/// Holds the number of the process that runs `up`, which locks it.
fn state() -> Result<PathBuf> {
    let folder = control_plane::cache()?;
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder.join("up"))
}

fn open() -> Result<(File, PathBuf)> {
    let path = state()?;
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .open(&path);
    Ok((file.with_context(|| format!("cannot write {}", path.display()))?, path))
}

async fn up(nodes: u16) -> Result<()> {
    let (mut file, path) = open()?;
    if let Err(error) = file.try_lock() {
        match error {
            TryLockError::WouldBlock => bail!("one is up already; `control-plane down` stops it"),
            TryLockError::Error(error) => bail!("cannot lock {}: {error}", path.display()),
        }
    }
    file.set_len(0)?;
    write!(file, "{}", std::process::id())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let plane = tokio::select! {
        plane = begin(nodes) => plane?,
        // What was started ends with its folder's watchdog.
        _ = interrupt.recv() => return Ok(()),
        _ = terminate.recv() => return Ok(()),
    };
    say(&format!(
        "export KUBECONFIG={}",
        plane.kubeconfig(Identity::Admin).display()
    ))?;
    say("# runs until Ctrl-C, or `control-plane down` elsewhere")?;
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    drop(plane);
    Ok(())
}

async fn begin(nodes: u16) -> Result<ControlPlane> {
    let programs = tokio::task::spawn_blocking(Programs::find).await??;
    let plane = ControlPlane::start(programs).await?;
    let cluster = plane.cluster(Identity::Admin).await?;
    cluster.install().await?;
    cluster.runtime_class().await?;
    for number in 0..nodes {
        cluster.gpu_node(&format!("gpu-{number}"), &[]).await?;
    }
    Ok(plane)
}

async fn clean() -> Result<()> {
    // An error says that one was chosen before.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(given::kubeconfig()?, &options).await?;
    given::clean(&Cluster::new(Client::try_from(config)?)).await
}

fn down() -> Result<()> {
    let (mut file, path) = open()?;
    match file.try_lock() {
        Ok(()) => return say("none is up"),
        Err(TryLockError::WouldBlock) => {}
        Err(TryLockError::Error(error)) => bail!("cannot lock {}: {error}", path.display()),
    }
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    // The lock says that the process lives, so that the number is its own.
    let id = text.trim().parse().ok().and_then(Pid::from_raw);
    let id = id.with_context(|| format!("{} holds no process number", path.display()))?;
    kill_process(id, Signal::TERM).context("cannot stop it")?;
    file.lock().with_context(|| format!("cannot lock {}", path.display()))
}
