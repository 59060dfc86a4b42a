//! Programs beside the control plane.

use std::path::PathBuf;

use anyhow::Result;

use crate::go::{ACTIONLINT, COSIGN, CRANE, HELM, KUBERNETES, Module, PROMETHEUS};
use crate::programs::{assets, say};

/// A program that some tests need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// Checks GitHub workflows.
    Actionlint,
    /// Signs OCI artifacts and verifies signatures.
    Cosign,
    /// Pushes and pulls OCI artifacts, and serves them as a registry.
    Crane,
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
    pub const ALL: [Tool; 7] = [
        Tool::Actionlint,
        Tool::Cosign,
        Tool::Crane,
        Tool::Helm,
        Tool::Kubectl,
        Tool::Prometheus,
        Tool::Promtool,
    ];

    /// The name of its file.
    pub fn name(self) -> &'static str {
        match self {
            Tool::Helm => "helm",
            Tool::Kubectl => "kubectl",
            Tool::Prometheus => "prometheus",
            Tool::Promtool => "promtool",
            Tool::Crane => "crane",
            Tool::Cosign => "cosign",
            Tool::Actionlint => "actionlint",
        }
    }

    fn module(self) -> Module {
        match self {
            Tool::Helm => HELM,
            Tool::Kubectl => KUBERNETES,
            Tool::Prometheus | Tool::Promtool => PROMETHEUS,
            Tool::Crane => CRANE,
            Tool::Cosign => COSIGN,
            Tool::Actionlint => ACTIONLINT,
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
