//! The controller as a process.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::process::{Command, Output};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rustix::process::Signal;

use crate::binaries;
use crate::process::Process;
use crate::{ControlPlane, Identity, ports, wait_until};

/// How long it may take to be ready.
const START: Duration = Duration::from_secs(60);

/// `lmcache-controller run` against a control plane, with the rights of its service account and no others. Killed when
/// dropped.
#[derive(Debug)]
pub struct Controller {
    process: Process,
    probes: u16,
    metrics: u16,
}

impl Controller {
    /// Starts it under a name and waits until it is ready. With leader election it is that as well while another leads.
    ///
    /// # Errors
    /// It cannot be built, ends, or is not ready in time.
    pub async fn start(plane: &ControlPlane, name: &str, args: &[&str]) -> Result<Controller> {
        let (probes, metrics) = (ports::free()?, ports::free()?);
        let mut command = Command::new(binaries::find("lmcache-controller", "LMCACHE_CONTROLLER")?);
        command
            .env("KUBECONFIG", plane.kubeconfig(Identity::Controller))
            .args(["run", "--log-format=text", "--identity", name])
            .args(["--metrics-bind-address", &format!("127.0.0.1:{metrics}")])
            .args(["--health-probe-bind-address", &format!("127.0.0.1:{probes}")])
            .args(args);
        Controller::run(plane, name, &command, probes, metrics).await
    }

    /// Runs another command of the program as a user, to its end: what it printed, and its exit code.
    ///
    /// # Errors
    /// It cannot be built or started.
    pub fn command(plane: &ControlPlane, identity: Identity, args: &[&str]) -> Result<Output> {
        let mut command = Command::new(binaries::find("lmcache-controller", "LMCACHE_CONTROLLER")?);
        command.env("KUBECONFIG", plane.kubeconfig(identity)).args(args);
        command.output().context("cannot run lmcache-controller")
    }

    /// Starts a program that answers `/readyz` on the port `probes`, as controllers do, and waits until it is ready.
    pub(crate) async fn run(
        plane: &ControlPlane,
        name: &str,
        command: &Command,
        probes: u16,
        metrics: u16,
    ) -> Result<Controller> {
        let process = Process::start(plane.folder(), name, command)?;
        let mut controller = Controller {
            process,
            probes,
            metrics,
        };
        wait_until("the controller is ready", START, async || {
            controller.process.check()?;
            controller.ready()
        })
        .await
        .with_context(|| controller.process.tail())?;
        Ok(controller)
    }

    /// Whether it says that it is ready.
    ///
    /// # Errors
    /// It is not.
    pub fn ready(&self) -> Result<()> {
        let answer = get(self.probes, "/readyz")?;
        ensure!(
            answer.starts_with("HTTP/1.1 200 ") || answer.starts_with("HTTP/1.0 200 "),
            "/readyz: {answer}"
        );
        Ok(())
    }

    /// The port on which it serves its metrics.
    pub fn metrics_port(&self) -> u16 {
        self.metrics
    }

    /// Its metrics in Prometheus' text format.
    ///
    /// # Errors
    /// It does not answer.
    pub fn metrics(&self) -> Result<String> {
        get(self.metrics, "/metrics")
    }

    /// Everything that it logged.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn log(&self) -> Result<String> {
        self.process.log()
    }

    /// Fails with the end of its log if it has ended.
    ///
    /// # Errors
    /// It has ended.
    pub fn check(&mut self) -> Result<()> {
        self.process.check()
    }

    /// Its process, to look at in /proc.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Ends it with SIGTERM.
    ///
    /// # Errors
    /// The operating system does not say whether it ended.
    pub fn stop(self) -> Result<()> {
        self.process.stop()
    }

    /// Kills it: no time to give anything back.
    pub fn kill(self) {
        drop(self);
    }

    /// Halts it.
    ///
    /// # Errors
    /// It has ended.
    pub fn pause(&self) -> Result<()> {
        self.process.signal(Signal::STOP)
    }

    /// Lets it go on.
    ///
    /// # Errors
    /// It has ended.
    pub fn resume(&self) -> Result<()> {
        self.process.signal(Signal::CONT)
    }
}

/// Head and body of the answer to a GET on the loopback interface.
fn get(port: u16, path: &str) -> Result<String> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let limit = Duration::from_secs(5);
    let mut stream =
        TcpStream::connect_timeout(&address, limit).with_context(|| format!("nothing listens on {address}"))?;
    stream.set_read_timeout(Some(limit))?;
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}
