//! Programs beside the control plane: what publishes, signs and lints.

use std::path::PathBuf;

use anyhow::Result;

use crate::go::{ACTIONLINT, COSIGN, CRANE, Module};
use crate::programs::{assets, say};

/// A program that a test of a release needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// Pushes and pulls OCI artifacts, and serves them as a registry.
    Crane,
    /// Signs them and verifies signatures.
    Cosign,
    /// Checks GitHub workflows.
    Actionlint,
}

impl Tool {
    /// All of them.
    pub const ALL: [Tool; 3] = [Tool::Crane, Tool::Cosign, Tool::Actionlint];

    /// The name of its file.
    pub fn name(self) -> &'static str {
        match self {
            Tool::Crane => "crane",
            Tool::Cosign => "cosign",
            Tool::Actionlint => "actionlint",
        }
    }

    fn module(self) -> Module {
        match self {
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
