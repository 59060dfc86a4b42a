//! The control plane: starting, disturbing and ending it.

use std::collections::BTreeMap;
use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use kube::Client;
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use rustix::process::Signal;

use crate::audit::Tail;
use crate::certificates::{Authority, Pair, token_key};
use crate::cluster::Cluster;
use crate::given;
use crate::identity::{self, Identity};
use crate::ports;
use crate::process::{Folder, Process};
use crate::programs::{Program, Programs};
use crate::{Audit, wait_until};

/// How long a program may take to be ready: seconds on an idle machine, more beside a compiler.
const START: Duration = Duration::from_secs(120);

const AUDIT_POLICY: &str = r#"{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
 "rules": [{"level": "Metadata"}]}"#;
const KWOK_STAGES: &str = include_str!("../stages.yaml");

/// A running control plane. Everything that belongs to it ends with it.
pub struct ControlPlane {
    // The order matters: processes end before their folder is removed.
    running: Mutex<BTreeMap<Program, Process>>,
    programs: Programs,
    pub(crate) ports: Ports,
    server: String,
    authority: Authority,
    folder: Folder,
    is_given: bool,
}

/// All 0 where the cluster was given.
#[derive(Default)]
pub(crate) struct Ports {
    pub etcd: u16,
    pub peer: u16,
    pub api: u16,
    pub controller_manager: u16,
    pub scheduler: u16,
}

impl ControlPlane {
    /// Starts every program and waits until all are ready: about 6 seconds on an idle machine.
    ///
    /// # Errors
    /// A program ended or was not ready in time; the end of its log says why.
    pub async fn start(programs: Programs) -> Result<ControlPlane> {
        let folder = Folder::new()?;
        let ports = Ports {
            etcd: ports::free()?,
            peer: ports::free()?,
            api: ports::free()?,
            controller_manager: ports::free()?,
            scheduler: ports::free()?,
        };
        let plane = ControlPlane {
            running: Mutex::default(),
            programs,
            server: format!("https://127.0.0.1:{}", ports.api),
            ports,
            authority: Authority::new()?,
            folder,
            is_given: false,
        };
        plane.write_files()?;
        for program in Program::ALL {
            plane.run(program)?;
            // The others ask the API server as soon as they start.
            if matches!(program, Program::Etcd | Program::ApiServer) {
                plane.ready(program).await?;
            }
        }
        for program in Program::ALL {
            plane.ready(program).await?;
        }
        Ok(plane)
    }

    /// Takes a cluster that runs already, removes what earlier tests left in it, and starts a kwok for it. Its other
    /// programs cannot be disturbed, and its audit log cannot be read.
    ///
    /// # Errors
    /// The kubeconfig is not usable, or the cluster does not answer.
    pub async fn attach(kubeconfig: &Kubeconfig, programs: Programs) -> Result<ControlPlane> {
        let folder = Folder::new()?;
        given::write(folder.path(), kubeconfig)?;
        let plane = ControlPlane {
            running: Mutex::default(),
            programs,
            ports: Ports::default(),
            server: given::server(kubeconfig)?,
            authority: Authority::new()?,
            folder,
            is_given: true,
        };
        let stages = plane.file("stages.yaml");
        fs::write(&stages, KWOK_STAGES).with_context(|| format!("cannot write {}", stages.display()))?;
        let admin = plane.cluster(Identity::Admin).await?;
        admin.ready().await?;
        // Before the nodes of earlier tests go, it ends what is on them.
        plane.run(Program::Kwok)?;
        given::clean(&admin).await?;
        Ok(plane)
    }

    fn write_files(&self) -> Result<()> {
        let write = |name: &str, text: &str| {
            let path = self.file(name);
            fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
        };
        write("ca.crt", self.authority.certificate())?;
        let pair = self
            .authority
            .server(&["127.0.0.1", "localhost", "kubernetes.default.svc"])?;
        write("api.crt", &pair.certificate)?;
        write("api.key", &pair.key)?;
        token_key(&self.file("tokens.key"), &self.file("tokens.pub"))?;
        write("audit.yaml", AUDIT_POLICY)?;
        write("stages.yaml", KWOK_STAGES)?;
        identity::write(
            self.folder(),
            &self.file("tokens.csv"),
            self.server(),
            &self.file("ca.crt"),
        )
    }

    /// Its data folder: logs, kubeconfigs, the audit log.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Where the API server is.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// Whether it was there before: see [`ControlPlane::attach`].
    pub fn is_given(&self) -> bool {
        self.is_given
    }

    /// The path of a kubeconfig.
    pub fn kubeconfig(&self, identity: Identity) -> PathBuf {
        identity.kubeconfig(self.folder())
    }

    /// A client. It belongs to the runtime that made it, so each test makes its own.
    ///
    /// # Errors
    /// The kubeconfig is unusable, which would be a fault of ours.
    pub async fn client(&self, identity: Identity) -> Result<Client> {
        // With several features of rustls compiled in there is no default. An error says that one was chosen before.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let kubeconfig = Kubeconfig::read_from(self.kubeconfig(identity))?;
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
        Client::try_from(config).context("cannot make a client")
    }

    /// What a user sees of it, and may do.
    ///
    /// # Errors
    /// See [`ControlPlane::client`].
    pub async fn cluster(&self, identity: Identity) -> Result<Cluster> {
        Ok(Cluster::new(self.client(identity).await?))
    }

    /// By which name or address the API server finds a webhook on this machine, and where that listens.
    pub(crate) fn webhook_address(&self) -> (String, Ipv4Addr) {
        if self.is_given {
            given::webhook_address()
        } else {
            given::loopback()
        }
    }

    /// The authority's certificate as PEM: what a `caBundle` holds, before base64.
    pub fn authority(&self) -> &str {
        self.authority.certificate()
    }

    /// A certificate for a webhook under these names and addresses.
    ///
    /// # Errors
    /// A name is no DNS name or address.
    pub fn certificate(&self, names: &[&str]) -> Result<Pair> {
        self.authority.server(names)
    }

    /// The requests so far.
    ///
    /// # Errors
    /// The log cannot be read; that of a given cluster never.
    pub fn audit(&self) -> Result<Audit> {
        ensure!(!self.is_given, "the audit log of a given cluster is not known here");
        Audit::read(&self.file("audit.log"))
    }

    /// Kills a program with SIGKILL and does not start it again.
    pub fn kill(&self, program: Program) {
        // Dropping kills.
        self.running().remove(&program);
    }

    /// Halts a program: its connections stay open and nothing is answered.
    ///
    /// # Errors
    /// It does not run.
    pub fn pause(&self, program: Program) -> Result<()> {
        self.signal(program, Signal::STOP)
    }

    /// Lets a halted program go on.
    ///
    /// # Errors
    /// It does not run.
    pub fn resume(&self, program: Program) -> Result<()> {
        self.signal(program, Signal::CONT)
    }

    /// Ends a program if it runs, starts it and waits until it is ready. Ports and data stay.
    ///
    /// # Errors
    /// It ended, or was not ready in time.
    pub async fn restart(&self, program: Program) -> Result<()> {
        let old = self.running().remove(&program);
        if let Some(old) = old {
            old.stop()?;
        }
        self.run(program)?;
        self.ready(program).await
    }

    /// The number of a program's process, to look at in /proc; `None` where it does not run.
    pub fn id(&self, program: Program) -> Option<u32> {
        self.running().get(&program).map(Process::id)
    }

    /// The audit log, to be read piece by piece.
    pub fn audit_log(&self) -> Tail {
        Tail::new(&self.file("audit.log"))
    }

    /// The end of a program's log.
    pub fn tail(&self, program: Program) -> String {
        let running = self.running();
        running
            .get(&program)
            .map_or_else(|| "(does not run)".to_owned(), Process::tail)
    }

    fn signal(&self, program: Program, signal: Signal) -> Result<()> {
        let running = self.running();
        let process = running
            .get(&program)
            .with_context(|| format!("{} does not run", program.name()))?;
        process.signal(signal)
    }

    fn running(&self) -> MutexGuard<'_, BTreeMap<Program, Process>> {
        // A test that panicked did so between calls: the map is whole.
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, program: Program) -> Result<()> {
        let mut command = Command::new(self.programs.path(program)?);
        command.args(self.arguments(program));
        let process = Process::start(self.folder(), program.name(), &command)?;
        self.running().insert(program, process);
        Ok(())
    }

    async fn ready(&self, program: Program) -> Result<()> {
        let what = format!("{} is ready", program.name());
        let waiting = wait_until(&what, START, async || {
            self.check(program)?;
            match program {
                Program::Etcd => ports::open(self.ports.etcd),
                Program::ControllerManager => ports::open(self.ports.controller_manager),
                Program::Scheduler => ports::open(self.ports.scheduler),
                Program::ApiServer => self.cluster(Identity::Admin).await?.ready().await,
                // It serves nothing. Whoever makes a node sees whether kwok cares for it.
                Program::Kwok => Ok(()),
            }
        });
        tokio::select! {
            ready = waiting => ready.with_context(|| format!("the end of the log:\n{}", self.tail(program))),
            // Not to wait two minutes for a program that is gone.
            ended = self.ended(program) => Err(ended),
        }
    }

    fn check(&self, program: Program) -> Result<()> {
        match self.running().get_mut(&program) {
            Some(process) => process.check(),
            None => bail!("{} does not run", program.name()),
        }
    }

    async fn ended(&self, program: Program) -> anyhow::Error {
        loop {
            if let Err(error) = self.check(program) {
                return error;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }
}
