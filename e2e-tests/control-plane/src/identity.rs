//! The users of a control plane. Each has a token of its own.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::ports::random;

/// A user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Identity {
    /// May do everything.
    Admin,
    /// The service account of `deploy/controller`: may do what `deploy/rbac/controller.yaml` says.
    Controller,
    /// The service account of the PolicyServer: may do what `deploy/policies/rbac.yaml` says.
    PolicyServer,
    /// A person without any right, until a test grants one.
    Viewer,
    /// kube-controller-manager.
    ControllerManager,
    /// kube-scheduler.
    Scheduler,
    /// kwok.
    Kwok,
}

impl Identity {
    /// All of them.
    pub const ALL: [Identity; 7] = [
        Identity::Admin,
        Identity::Controller,
        Identity::PolicyServer,
        Identity::Viewer,
        Identity::ControllerManager,
        Identity::Scheduler,
        Identity::Kwok,
    ];

    /// The name that RBAC and the audit log know.
    pub fn user(self) -> &'static str {
        match self {
            Identity::Admin => "admin",
            Identity::Controller => "system:serviceaccount:lmcache-system:lmcache-controller",
            Identity::PolicyServer => "system:serviceaccount:kubewarden:policy-server",
            Identity::Viewer => "viewer",
            Identity::ControllerManager => "system:kube-controller-manager",
            Identity::Scheduler => "system:kube-scheduler",
            Identity::Kwok => "kwok",
        }
    }

    /// Its groups, with commas between. The API server adds `system:authenticated`.
    fn groups(self) -> &'static str {
        match self {
            Identity::Controller => "system:serviceaccounts,system:serviceaccounts:lmcache-system",
            Identity::PolicyServer => "system:serviceaccounts,system:serviceaccounts:kubewarden",
            Identity::Viewer => "people",
            // The programs of the control plane: their rights are not what is tested.
            Identity::Admin | Identity::ControllerManager | Identity::Scheduler | Identity::Kwok => "system:masters",
        }
    }

    /// The groups as which an administrator has to act to have its rights and no others; `None` for those that are
    /// administrators themselves.
    pub(crate) fn impersonated(self) -> Option<Vec<String>> {
        match self {
            Identity::Admin | Identity::ControllerManager | Identity::Scheduler | Identity::Kwok => None,
            Identity::Controller | Identity::PolicyServer | Identity::Viewer => {
                let groups = self.groups().split(',').chain(["system:authenticated"]);
                Some(groups.map(str::to_owned).collect())
            }
        }
    }

    /// The namespace that its kubeconfig names: where a service account lives.
    pub(crate) fn namespace(self) -> &'static str {
        match self {
            Identity::Controller => "lmcache-system",
            Identity::PolicyServer => "kubewarden",
            _ => "default",
        }
    }

    fn file(self) -> &'static str {
        match self {
            Identity::Admin => "admin",
            Identity::Controller => "controller",
            Identity::PolicyServer => "policy-server",
            Identity::Viewer => "viewer",
            Identity::ControllerManager => "controller-manager",
            Identity::Scheduler => "scheduler",
            Identity::Kwok => "kwok",
        }
    }

    /// Where its kubeconfig is in a data folder.
    pub(crate) fn kubeconfig(self, folder: &Path) -> PathBuf {
        folder.join(format!("{}.kubeconfig", self.file()))
    }
}

/// Writes the token file of the API server and a kubeconfig for each identity.
///
/// # Errors
/// A file cannot be written.
pub(crate) fn write(folder: &Path, tokens: &Path, server: &str, authority: &Path) -> Result<()> {
    let mut lines = String::new();
    for identity in Identity::ALL {
        let token = random()?;
        let (user, groups) = (identity.user(), identity.groups());
        lines.push_str(&format!("{token},{user},{user},\"{groups}\"\n"));
        let kubeconfig = serde_json::json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "control-plane", "cluster": {"server": server, "certificate-authority": authority}}],
            "users": [{"name": identity.file(), "user": {"token": token}}],
            "contexts": [{"name": identity.file(), "context": {
                "cluster": "control-plane", "user": identity.file(), "namespace": identity.namespace(),
            }}],
            "current-context": identity.file(),
        });
        let path = identity.kubeconfig(folder);
        fs::write(&path, kubeconfig.to_string()).with_context(|| format!("cannot write {}", path.display()))?;
    }
    fs::write(tokens, lines).with_context(|| format!("cannot write {}", tokens.display()))
}
