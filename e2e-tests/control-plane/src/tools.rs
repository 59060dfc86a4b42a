//! Programs beside the control plane.

use std::path::PathBuf;

use anyhow::Result;

use crate::go::{HELM, KUBERNETES, Module, PROMETHEUS};
use crate::programs::{assets, say};

/// A program that some tests need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// Installs charts.
    Helm,
    /// Kubernetes' own.
    Kubectl,
    /// Scrapes metrics and evaluates rules.
    Prometheus,
    /// Checks rules and runs their unit tests.
    Promtool,
}

impl Tool {
    /// All of them.
    pub const ALL: [Tool; 4] = [Tool::Helm, Tool::Kubectl, Tool::Prometheus, Tool::Promtool];

    /// The name of its file.
    pub fn name(self) -> &'static str {
        match self {
            Tool::Helm => "helm",
            Tool::Kubectl => "kubectl",
            Tool::Prometheus => "prometheus",
            Tool::Promtool => "promtool",
        }
    }

    fn module(self) -> Module {
        match self {
            Tool::Helm => HELM,
            Tool::Kubectl => KUBERNETES,
            Tool::Prometheus | Tool::Promtool => PROMETHEUS,
        }
    }

    /// Takes it from the folder that `KUBEBUILDER_ASSETS` names, if it is there, or builds it.
    ///
    /// # Errors
    /// `KUBEBUILDER_ASSETS` names no folder; or it is not there and cannot be built.
    pub fn find(self) -> Result<PathBuf> {
        if let Some(path) = assets()?.map(|folder| folder.join(self.name()))
            && path.is_file()
        {
            return Ok(path);
        }
        Ok(self.module().build(&mut say)?.join(self.name()))
    }
}
