//! What is in the cluster, by the custom resource that it concerns.
//!
//! A state machine without I/O: events of watches go in, keys of custom resources come out whose pass has something new to
//! see ([`Wake`]), and [`Index::inputs`] gathers what a pass looks at, without a request and in time that does not grow with
//! the cluster.
//!
//! | What changes | Who is woken |
//! |---|---|
//! | a custom resource | itself; those of other kinds that have its name, when it comes, goes, or is to be deleted |
//! | a coordinator's specification | the engines of its namespace that refer to it |
//! | a Secret | those that name it |
//! | a child, or another object with the operator's labels | its controller, the one that its labels name, and those whose child would have its name |
//! | what is kept of a server's Pod | those that its labels name |
//! | what is kept of a client's Pod | the engine that it opted in to; when the annotation changed, the old and the new one |
//! | whether there are ServiceMonitors | those that ask for one or have one |
//!
//! Woken is only who exists, or is gone since. What was seen before wakes nobody: an event of the resource version that is held, which is how
//! the controller's own writes come back, or of an older one.

mod children;
mod customs;
mod places;
mod pods;
mod queue;
mod reverse;
mod secrets;
mod shared;
mod table;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kube::runtime::watcher::Event;
use lmcache_api::Kind;

use self::children::{Children, owners};
use self::customs::Customs;
pub use self::pods::ClientWatch;
use self::pods::{Clients, Servers};
pub use self::queue::Queue;
use self::secrets::Secrets;
pub(crate) use self::shared::Demand;
pub use self::shared::Shared;
use crate::live::{Child, ChildKind, ClientPod, Custom, Key, NamespacedName, SecretSource, ServerPod};
use crate::plan::{ChildName, Inputs, Monitors, Rival};

/// Custom resources whose pass has something new to see, and such as are gone.
pub type Wake = BTreeSet<Key>;

/// How many objects are held.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Custom resources.
    pub customs: BTreeMap<Kind, usize>,
    /// Children, and other objects with the operator's labels.
    pub children: BTreeMap<ChildKind, usize>,
    /// Pods of servers.
    pub server_pods: usize,
    /// Pods that opted in, by the watch that delivered them.
    pub client_pods: BTreeMap<ClientWatch, usize>,
    /// Secrets that are named and exist.
    pub secrets: usize,
}

/// What is in the cluster, as far as watches told.
#[derive(Debug, Default)]
pub struct Index {
    customs: Customs,
    children: Children,
    servers: Servers,
    clients: Clients,
    secrets: Secrets,
    monitors: Monitors,
}

impl Index {
    /// Knows nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes an event of the watch of a kind of custom resource.
    pub fn custom(&mut self, kind: Kind, event: Event<Custom>) -> Wake {
        let mut wake = Wake::new();
        self.customs.take(kind, event, &mut wake);
        wake
    }

    /// Takes an event of the watch of a kind of child.
    pub fn child(&mut self, kind: ChildKind, event: Event<Child>) -> Wake {
        let owners = self.children.take(kind, event);
        self.existing(owners)
    }

    /// Takes an event of the watch of servers' Pods.
    pub fn server_pod(&mut self, event: Event<ServerPod>) -> Wake {
        let mut wake = Wake::new();
        for instance in self.servers.take(event) {
            wake.extend(self.customs.named(&instance.namespace, &instance.name));
        }
        wake
    }

    /// Takes an event of one of the watches of clients' Pods.
    pub fn client_pod(&mut self, watch: ClientWatch, event: Event<ClientPod>) -> Wake {
        let engines = self.clients.take(watch, event);
        self.existing(engines)
    }

    /// Takes an event of the watch of a named Secret.
    pub fn secret(&mut self, name: &NamespacedName, event: Event<SecretSource>) -> Wake {
        let is_news = self.secrets.take(name, event);
        self.that_name(name, is_news)
    }

    /// The API server does not let the controller watch a named Secret.
    pub fn secret_forbidden(&mut self, name: &NamespacedName) -> Wake {
        let is_news = self.secrets.forbidden(name);
        self.that_name(name, is_news)
    }

    /// The watch of a Secret has ended, because nobody named it any more. Should it be named again, it is unknown until a
    /// new watch tells.
    pub fn secret_unwatched(&mut self, name: &NamespacedName) {
        self.secrets.unwatched(name);
    }

    /// Whether there are ServiceMonitors. Where there are none, or they are not watched, nothing is known of them.
    pub fn monitors(&mut self, monitors: Monitors) -> Wake {
        let kind = ChildKind::ServiceMonitor;
        let (is_news, is_known) = (self.monitors != monitors, monitors == Monitors::Served);
        self.monitors = monitors;
        let mut wake = Wake::new();
        if is_news || !is_known {
            let held = self.children.of_kind(kind);
            wake = self.existing(held.flat_map(|monitor| owners(kind, monitor)));
        }
        if is_news {
            wake.extend(self.customs.monitored().iter().cloned());
        }
        // Also if that is no news: a list may have been cut off.
        if !is_known {
            self.children.forget(kind);
        }
        wake
    }

    /// Takes the API server's answer to a write of ours, so that a pass that follows at once sees it. Its echo wakes nobody,
    /// unless the answer holds changes of others too.
    pub fn wrote_child(&mut self, answer: Child) {
        if let Some(kind) = answer.facts.kind {
            self.children.wrote(kind, answer);
        }
    }

    /// Likewise, after a child was deleted. Where a finalizer holds it up, the watch brings it back.
    pub fn deleted_child(&mut self, kind: ChildKind, namespace: &str, name: &str) {
        self.children.was_deleted(kind, namespace, name);
    }

    /// Likewise, after a write to the status of a custom resource. An answer in which more than the status is new is left for
    /// the watch to deliver.
    pub fn wrote_custom(&mut self, answer: Custom) {
        if let Some(kind) = answer.facts.kind {
            self.customs.wrote(kind, answer);
        }
    }

    /// Remembers that what `fingerprint` stands for was applied onto the child of this uid, and that the API server changed
    /// nothing. Forgotten when the child goes; not kept for a child that is not held.
    pub fn remember(&mut self, child: &ChildName, namespace: &str, uid: &str, fingerprint: u64) {
        self.children.remember(child, namespace, uid, fingerprint);
    }

    /// Whether it is remembered, as the last of that child.
    pub fn is_remembered(&self, child: &ChildName, namespace: &str, uid: &str, fingerprint: u64) -> bool {
        self.children.is_remembered(child, namespace, uid, fingerprint)
    }

    /// Everything that a pass over a custom resource looks at; `None` where there is no such custom resource.
    pub fn inputs(&self, key: &Key) -> Option<Inputs> {
        let custom = self.customs.get(key)?;
        let rivals = self.customs.rivals(key).map(|(key, rival)| Rival {
            key,
            uid: rival.uid().to_owned(),
            created: rival.facts.created.clone(),
        });
        let coordinator = custom.facts.coordinator.as_deref().and_then(|name| {
            let coordinator = Key::new(Kind::LMCacheCoordinator, key.namespace.as_str(), name);
            self.customs.get(&coordinator).cloned()
        });
        Some(Inputs {
            custom: Arc::clone(custom),
            rivals: rivals.collect(),
            children: self.children.of(key, custom.uid()),
            coordinator,
            login: self.secrets.sought(custom.facts.login.as_ref()),
            master_key: self.secrets.sought(custom.facts.master_key.as_ref()),
            servers: self
                .servers
                .of(&NamespacedName::new(key.namespace.as_str(), key.name.as_str())),
            clients: self.clients.of(key),
            monitors: self.monitors,
        })
    }

    /// A custom resource.
    pub fn get(&self, key: &Key) -> Option<&Arc<Custom>> {
        self.customs.get(key)
    }

    /// A child, or another object of its name that has the operator's labels.
    pub fn find_child(&self, child: &ChildName, namespace: &str) -> Option<Arc<Child>> {
        self.children.get(child.kind, namespace, &child.name).cloned()
    }

    /// Whether there are ServiceMonitors, as far as is known.
    pub fn has_monitors(&self) -> Monitors {
        self.monitors
    }

    /// Every custom resource.
    pub fn keys(&self) -> impl Iterator<Item = Key> {
        self.customs.keys()
    }

    /// The Secrets that are to be watched.
    pub fn named_secrets(&self) -> BTreeSet<NamespacedName> {
        self.customs.secrets().cloned().collect()
    }

    /// Whether a custom resource asks for a ServiceMonitor.
    pub fn wants_monitors(&self) -> bool {
        !self.customs.monitored().is_empty()
    }

    /// Whether everything was listed once that every cluster has: all but ServiceMonitors and named Secrets, of which
    /// [`Inputs`] says whether they are known.
    pub fn is_synced(&self) -> bool {
        self.customs.is_synced() && self.children.is_synced() && self.servers.is_synced() && self.clients.is_synced()
    }

    /// How much there is.
    pub fn counts(&self) -> Counts {
        Counts {
            customs: Kind::ALL.map(|kind| (kind, self.customs.len(kind))).into(),
            children: ChildKind::ALL.map(|kind| (kind, self.children.len(kind))).into(),
            server_pods: self.servers.len(),
            client_pods: ClientWatch::ALL.map(|watch| (watch, self.clients.len(watch))).into(),
            secrets: self.secrets.len(),
        }
    }

    fn existing(&self, keys: impl IntoIterator<Item = Key>) -> Wake {
        let keys = keys.into_iter();
        keys.filter(|key| self.customs.get(key).is_some()).collect()
    }

    fn that_name(&self, secret: &NamespacedName, is_news: bool) -> Wake {
        let keys = is_news.then(|| self.customs.that_name(secret));
        keys.into_iter().flatten().cloned().collect()
    }
}
