//! Everything that a pass looks at.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use lmcache_api::IpcMode;

use crate::live::{Child, ChildKind, ClientPod, Custom, Key, SecretSource, ServerPod};

/// What holds for the whole installation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The IPC mode of engines that say nothing about it.
    pub ipc_default: IpcMode,
    /// The DNS suffix of the cluster's Services.
    pub cluster_domain: String,
}

/// A child by name; its namespace is that of the custom resource.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChildName {
    /// Its kind.
    pub kind: ChildKind,
    /// Its name.
    pub name: String,
}

impl ChildName {
    /// The child of this kind and name.
    pub fn new(kind: ChildKind, name: impl Into<String>) -> Self {
        ChildName {
            kind,
            name: name.into(),
        }
    }
}

impl fmt::Display for ChildName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind.as_str(), self.name)
    }
}

/// Another custom resource of the same name and namespace but another kind: their children would be the same objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rival {
    /// Which one.
    pub key: Key,
    /// Its uid.
    pub uid: String,
    /// When it was made, RFC 3339.
    pub created: String,
}

/// Something that may be named, and may be there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sought<T> {
    /// Nothing is named.
    NotNamed,
    /// It is not known yet: its watch has just begun. A pass follows when it is.
    Unknown,
    /// It does not exist.
    Missing,
    /// The controller may not read it.
    Forbidden,
    /// Here it is.
    Found(T),
}

/// Whether the API server has ServiceMonitors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Monitors {
    /// Not known yet. A pass follows when it is.
    #[default]
    Unknown,
    /// The kind is there, and watched.
    Served,
    /// The kind is not installed.
    NotServed,
    /// The controller may not list them.
    Forbidden,
}

/// Everything that a pass looks at, at one moment.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// The custom resource.
    pub custom: Arc<Custom>,
    /// Those of other kinds that have its name, unless they are being deleted.
    pub rivals: Vec<Rival>,
    /// Objects of its namespace that are watched (they have the operator's labels) and have the name of one of its children
    /// or are controlled by it. An object that is not in here may exist all the same, as somebody else's.
    pub children: BTreeMap<ChildName, Arc<Child>>,
    /// The coordinator that it refers to, `None` where it names none or that does not exist.
    pub coordinator: Option<Arc<Custom>>,
    /// The Secret with the Redis login.
    pub login: Sought<Arc<SecretSource>>,
    /// The Secret with the key of the encrypted second tier.
    pub master_key: Sought<Arc<SecretSource>>,
    /// Pods with its name in their labels, sorted by node and name. Whether they are its own their controller tells.
    pub servers: Vec<Arc<ServerPod>>,
    /// Pods that opted in to it, sorted by namespace and name. Empty for a coordinator.
    pub clients: Vec<Arc<ClientPod>>,
    /// Whether there are ServiceMonitors.
    pub monitors: Monitors,
}
