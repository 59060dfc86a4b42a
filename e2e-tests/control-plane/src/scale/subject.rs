//! The controllers that are measured.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::Options;
use crate::{Cluster, ControlPlane, Controller, Identity, ports};

/// A controller of our kinds.
#[derive(Clone, Debug)]
pub(super) enum Subject {
    /// lmcache-controller, as `LMCACHE_CONTROLLER` names it, with the rights that it has in a cluster.
    Ours,
    /// A Go operator.
    Rival {
        program: PathBuf,
        /// Files with its CRDs.
        kinds: Vec<PathBuf>,
    },
}

impl Subject {
    /// Those that are asked for.
    pub(super) fn all(options: &Options) -> Result<Vec<Subject>> {
        let mut subjects = Vec::new();
        if !options.rival_only {
            for variable in ["LMCACHE_CONTROLLER", "POLICY_HOST"] {
                // What a debug build costs says nothing.
                ensure!(
                    std::env::var_os(variable).is_some_and(|value| !value.is_empty()),
                    "{variable} names no program; `make bench-scale` builds the release builds and names them"
                );
            }
            subjects.push(Subject::Ours);
        }
        if let Some(program) = &options.rival {
            let program = program.canonicalize();
            let program = program.context("--rival does not name a program")?;
            let mut kinds = Vec::new();
            if let Some(folder) = &options.rival_crds {
                let entries = fs::read_dir(folder.canonicalize().context("--rival-crds does not name a folder")?)?;
                for entry in entries {
                    kinds.push(entry?.path());
                }
                kinds.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
                ensure!(
                    !kinds.is_empty(),
                    "--rival-crds: no .yaml file is in {}",
                    folder.display()
                );
            }
            subjects.push(Subject::Rival { program, kinds });
        }
        Ok(subjects)
    }

    /// What it is called in the figures.
    pub(super) fn name(&self) -> String {
        match self {
            Subject::Ours => "lmcache-controller".to_owned(),
            Subject::Rival { program, .. } => {
                let name = program.file_name().unwrap_or(program.as_os_str());
                name.to_string_lossy().into_owned()
            }
        }
    }

    pub(super) fn is_ours(&self) -> bool {
        matches!(self, Subject::Ours)
    }

    /// Puts its kinds in the place of ours, and grants what it may need beyond our roles.
    pub(super) async fn prepare(&self, admin: &Cluster) -> Result<()> {
        let Subject::Rival { kinds, .. } = self else {
            return Ok(());
        };
        for file in kinds {
            let file = file.to_str().context("--rival-crds: the path is no UTF-8")?;
            admin.apply_file(file, "").await?;
        }
        // The same user as ours, so that requests are counted and authorized alike.
        let binding = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
            "metadata": {"name": "rival"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": Identity::Controller.user()}],
        });
        admin.apply(&binding).await?;
        Ok(())
    }

    /// Starts it and waits until it says that it is ready.
    pub(super) async fn start(&self, plane: &ControlPlane, name: &str) -> Result<Controller> {
        let program = match self {
            Subject::Ours => return Controller::start(plane, name, &[]).await,
            Subject::Rival { program, .. } => program,
        };
        let probes = ports::free()?;
        let mut command = Command::new(program);
        command
            .env("KUBECONFIG", plane.kubeconfig(Identity::Controller))
            .env("ENABLE_WEBHOOKS", "false")
            .arg(format!("--health-probe-bind-address=127.0.0.1:{probes}"));
        Controller::run(plane, name, &command, probes, 0).await
    }
}
