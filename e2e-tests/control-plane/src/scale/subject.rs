//! What is measured: our controller, or another operator for the same kinds.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::process::Process;
use crate::{Cluster, ControlPlane, Controller, Identity, ports, wait_until};

/// How long it may take to be ready.
const START: Duration = Duration::from_secs(60);

/// A program that reconciles engines.
#[derive(Clone, Debug)]
pub enum Subject {
    /// The controller of this repository, with the rights of `deploy/rbac`.
    Ours,
    /// The Go operator, or one that takes the same flags, as an administrator and without its webhooks.
    Rival {
        /// Its program.
        program: PathBuf,
        /// The folder with its CRDs.
        crds: PathBuf,
    },
}

/// A subject that runs; killed when dropped.
pub(super) enum Running {
    Ours(Controller),
    Rival(Process),
}

impl Subject {
    /// The user that the audit log knows.
    pub fn user(&self) -> &'static str {
        match self {
            Subject::Ours => Identity::Controller.user(),
            Subject::Rival { .. } => Identity::Rival.user(),
        }
    }

    /// Installs the kinds, roles and what else engines need.
    pub(super) async fn install(&self, admin: &Cluster) -> Result<()> {
        admin.install().await?;
        admin.runtime_class().await?;
        let Subject::Rival { crds, .. } = self else {
            return Ok(());
        };
        for entry in fs::read_dir(crds).with_context(|| format!("cannot read {}", crds.display()))? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "yaml") {
                // In the place of ours, which have the same names.
                admin.apply_file(&path.display().to_string(), "").await?;
            }
        }
        Ok(())
    }

    /// Starts it under a name that is not used yet and waits until it is ready.
    pub(super) async fn start(&self, plane: &ControlPlane, name: &str) -> Result<Running> {
        match self {
            Subject::Ours => Ok(Running::Ours(Controller::start(plane, name, &[]).await?)),
            Subject::Rival { program, .. } => {
                let port = ports::free()?;
                let mut command = Command::new(program);
                command
                    .env("KUBECONFIG", plane.kubeconfig(Identity::Rival))
                    .env("ENABLE_WEBHOOKS", "false")
                    .args(["--health-probe-bind-address", &format!("127.0.0.1:{port}")]);
                let mut process = Process::start(plane.folder(), name, &command)?;
                wait_until("the rival is ready", START, async || {
                    process.check()?;
                    ports::open(port)
                })
                .await?;
                Ok(Running::Rival(process))
            }
        }
    }
}

impl Running {
    pub(super) fn id(&self) -> u32 {
        match self {
            Running::Ours(controller) => controller.id(),
            Running::Rival(process) => process.id(),
        }
    }

    pub(super) fn check(&mut self) -> Result<()> {
        match self {
            Running::Ours(controller) => controller.check(),
            Running::Rival(process) => process.check(),
        }
    }

    pub(super) fn stop(self) -> Result<()> {
        match self {
            Running::Ours(controller) => controller.stop(),
            Running::Rival(process) => process.stop(),
        }
    }
}
