//! The control plane: starting, disturbing and ending it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use kube::Client;
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use rustix::process::Signal;

use crate::certificates::{Authority, Pair, token_key};
use crate::cluster::Cluster;
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
    ports: Ports,
    authority: Authority,
    folder: Folder,
}

struct Ports {
    etcd: u16,
    peer: u16,
    api: u16,
    controller_manager: u16,
    scheduler: u16,
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
        let authority = Authority::new()?;
        let plane = ControlPlane {
            running: Mutex::default(),
            programs,
            ports,
            authority,
            folder,
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
            &self.server(),
            &self.file("ca.crt"),
        )
    }

    /// Its data folder: logs, kubeconfigs, the audit log.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Where the API server is.
    pub fn server(&self) -> String {
        format!("https://127.0.0.1:{}", self.ports.api)
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
    /// The log cannot be read.
    pub fn audit(&self) -> Result<Audit> {
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

    fn file(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    fn arguments(&self, program: Program) -> Vec<String> {
        let Ports {
            etcd,
            peer,
            api,
            controller_manager,
            scheduler,
        } = self.ports;
        let file = |name: &str| self.file(name).display().to_string();
        let kubeconfig = |identity| self.kubeconfig(identity).display().to_string();
        match program {
            Program::Etcd => vec![
                format!("--data-dir={}", file("etcd")),
                format!("--listen-client-urls=http://127.0.0.1:{etcd}"),
                format!("--advertise-client-urls=http://127.0.0.1:{etcd}"),
                format!("--listen-peer-urls=http://127.0.0.1:{peer}"),
                format!("--initial-advertise-peer-urls=http://127.0.0.1:{peer}"),
                format!("--initial-cluster=default=http://127.0.0.1:{peer}"),
                // The data live as long as the test.
                "--unsafe-no-fsync".to_owned(),
            ],
            Program::ApiServer => vec![
                format!("--etcd-servers=http://127.0.0.1:{etcd}"),
                "--bind-address=127.0.0.1".to_owned(),
                format!("--secure-port={api}"),
                format!("--tls-cert-file={}", file("api.crt")),
                format!("--tls-private-key-file={}", file("api.key")),
                format!("--cert-dir={}", file("certificates")),
                "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
                format!("--service-account-signing-key-file={}", file("tokens.key")),
                format!("--service-account-key-file={}", file("tokens.pub")),
                format!("--token-auth-file={}", file("tokens.csv")),
                "--authorization-mode=RBAC".to_owned(),
                "--service-cluster-ip-range=10.96.0.0/16".to_owned(),
                // Else Pods are refused until the service account of a new namespace is there.
                "--disable-admission-plugins=ServiceAccount".to_owned(),
                "--allow-privileged=true".to_owned(),
                format!("--audit-policy-file={}", file("audit.yaml")),
                format!("--audit-log-path={}", file("audit.log")),
                // Megabytes before a new file is begun: never.
                "--audit-log-maxsize=100000".to_owned(),
            ],
            Program::ControllerManager => vec![
                format!("--kubeconfig={}", kubeconfig(Identity::ControllerManager)),
                format!("--service-account-private-key-file={}", file("tokens.key")),
                format!("--root-ca-file={}", file("ca.crt")),
                "--use-service-account-credentials=false".to_owned(),
                "--bind-address=127.0.0.1".to_owned(),
                format!("--secure-port={controller_manager}"),
                format!("--cert-dir={}", file("certificates")),
                "--leader-elect=false".to_owned(),
            ],
            Program::Scheduler => vec![
                format!("--kubeconfig={}", kubeconfig(Identity::Scheduler)),
                "--bind-address=127.0.0.1".to_owned(),
                format!("--secure-port={scheduler}"),
                format!("--cert-dir={}", file("certificates")),
                "--leader-elect=false".to_owned(),
            ],
            Program::Kwok => vec![
                format!("--kubeconfig={}", kubeconfig(Identity::Kwok)),
                format!("--config={}", file("stages.yaml")),
                "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake".to_owned(),
                "--node-lease-duration-seconds=40".to_owned(),
            ],
        }
    }
}
