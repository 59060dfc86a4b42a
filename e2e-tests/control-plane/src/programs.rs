//! The programs of a control plane, and where they are.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::go::{self, ETCD, KUBERNETES, KWOK, Module};

/// A program of the control plane, in the order in which they start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Program {
    /// The store.
    Etcd,
    /// The API server.
    ApiServer,
    /// DaemonSets, Deployments, garbage collection, endpoints and the rest.
    ControllerManager,
    /// Finds nodes for Pods.
    Scheduler,
    /// Plays nodes and kubelets.
    Kwok,
}

impl Program {
    /// All of them.
    pub const ALL: [Program; 5] = [
        Program::Etcd,
        Program::ApiServer,
        Program::ControllerManager,
        Program::Scheduler,
        Program::Kwok,
    ];

    /// The name of its file.
    pub fn name(self) -> &'static str {
        match self {
            Program::Etcd => "etcd",
            Program::ApiServer => "kube-apiserver",
            Program::ControllerManager => "kube-controller-manager",
            Program::Scheduler => "kube-scheduler",
            Program::Kwok => "kwok",
        }
    }

    fn module(self) -> Module {
        match self {
            Program::Etcd => ETCD,
            Program::ApiServer | Program::ControllerManager | Program::Scheduler => KUBERNETES,
            Program::Kwok => KWOK,
        }
    }
}

/// Where the programs are.
#[derive(Clone, Debug)]
pub struct Programs(BTreeMap<Program, PathBuf>);

impl Programs {
    /// Takes each program from the folder that `KUBEBUILDER_ASSETS` names, if it is there, and builds the others.
    ///
    /// # Errors
    /// `KUBEBUILDER_ASSETS` names no folder; or a program is not there and cannot be built.
    pub fn find() -> Result<Programs> {
        let assets = assets()?;
        let mut found = BTreeMap::new();
        for program in Program::ALL {
            let path = match asset(assets.as_deref(), program) {
                Some(path) => path,
                None => program.module().build(&mut say)?.join(program.name()),
            };
            found.insert(program, path);
        }
        Ok(Programs(found))
    }

    /// Whether [`Programs::find`] has what it needs, without building.
    ///
    /// # Errors
    /// What is missing, in one line.
    pub fn check() -> Result<()> {
        let assets = assets()?;
        let missing: Vec<&str> = Program::ALL
            .into_iter()
            .filter(|program| asset(assets.as_deref(), *program).is_none())
            .map(Program::name)
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        let missing = missing.join(", ");
        go::toolchain()
            .with_context(|| format!("KUBEBUILDER_ASSETS does not bring {missing}, and they cannot be built"))?;
        Ok(())
    }

    /// The path of a program.
    ///
    /// # Errors
    /// Never for what [`Programs::find`] returned.
    pub(crate) fn path(&self, program: Program) -> Result<&Path> {
        let path = self.0.get(&program);
        Ok(path.with_context(|| format!("{} was not found", program.name()))?)
    }
}

/// Tells of something that takes its time.
pub(crate) fn say(line: &str) {
    // Nothing is lost where stderr is closed.
    let _ = writeln!(io::stderr(), "control-plane: {line}");
}

pub(crate) fn assets() -> Result<Option<PathBuf>> {
    match std::env::var_os("KUBEBUILDER_ASSETS").filter(|value| !value.is_empty()) {
        None => Ok(None),
        Some(folder) => match PathBuf::from(folder).canonicalize() {
            Ok(folder) if folder.is_dir() => Ok(Some(folder)),
            Ok(path) => bail!("KUBEBUILDER_ASSETS: {} is no folder", path.display()),
            Err(error) => bail!("KUBEBUILDER_ASSETS: {error}"),
        },
    }
}

fn asset(assets: Option<&Path>, program: Program) -> Option<PathBuf> {
    let path = assets?.join(program.name());
    path.is_file().then_some(path)
}
