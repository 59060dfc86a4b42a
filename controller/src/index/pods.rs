//! Pods, and whose they are.

use std::sync::Arc;

use kube::runtime::watcher::Event;
use lmcache_api::Kind;

use super::places::Groups;
use super::table::{Change, Table, is_older};
use crate::live::{Cached, ClientPod, ClientPodFacts, Key, NamespacedName, ServerPod, ServerPodFacts};

/// Which of the two watches of clients: a Pod with both labels comes through both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ClientWatch {
    /// Pods with the label `lmcache.ai/lmcache-inject: "true"`.
    LMCache,
    /// Pods with the label `lmcache.ai/cacheblend-inject: "true"`.
    CacheBlend,
}

impl ClientWatch {
    /// Both.
    pub const ALL: [ClientWatch; 2] = [ClientWatch::LMCache, ClientWatch::CacheBlend];
}

/// Pods of servers.
#[derive(Debug, Default)]
pub(super) struct Servers {
    table: Table<ServerPodFacts>,
    by_instance: Groups<NamespacedName, ServerPodFacts>,
}

impl Servers {
    pub fn is_synced(&self) -> bool {
        self.table.is_synced()
    }

    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// The Pods with this name in their labels, sorted by node and name.
    pub fn of(&self, instance: &NamespacedName) -> Vec<Arc<ServerPod>> {
        let mut servers: Vec<_> = self.by_instance.of(instance).cloned().collect();
        servers.sort_by(|one, other| one.facts.node.cmp(&other.facts.node));
        servers
    }

    /// Takes an event; returns the names that have something new to see.
    pub fn take(&mut self, event: Event<ServerPod>) -> Vec<NamespacedName> {
        let mut news = Vec::new();
        for Change { old, new } in self.table.take(event) {
            if let Some(old) = &old {
                self.by_instance.remove(&instance_of(old), old);
            }
            if let Some(new) = &new {
                self.by_instance.put(instance_of(new), Arc::clone(new));
            }
            if differ(old.as_deref(), new.as_deref()) {
                news.extend(old.iter().chain(&new).map(|pod| instance_of(pod)));
            }
        }
        news
    }
}

fn instance_of(pod: &ServerPod) -> NamespacedName {
    NamespacedName::new(pod.namespace(), pod.facts.instance.as_str())
}

/// Pods that opted in.
#[derive(Debug, Default)]
pub(super) struct Clients {
    lmcache: Table<ClientPodFacts>,
    cacheblend: Table<ClientPodFacts>,
    by_engine: Groups<Key, ClientPodFacts>,
}

impl Clients {
    pub fn is_synced(&self) -> bool {
        self.lmcache.is_synced() && self.cacheblend.is_synced()
    }

    /// How many came through each watch.
    pub fn len(&self, watch: ClientWatch) -> usize {
        match watch {
            ClientWatch::LMCache => self.lmcache.len(),
            ClientWatch::CacheBlend => self.cacheblend.len(),
        }
    }

    /// The Pods that opted in to an engine, sorted by namespace and name.
    pub fn of(&self, engine: &Key) -> Vec<Arc<ClientPod>> {
        self.by_engine.of(engine).cloned().collect()
    }

    /// Takes an event; returns the engines that have something new to see.
    pub fn take(&mut self, watch: ClientWatch, event: Event<ClientPod>) -> Vec<Key> {
        let (table, other) = match watch {
            ClientWatch::LMCache => (&mut self.lmcache, &self.cacheblend),
            ClientWatch::CacheBlend => (&mut self.cacheblend, &self.lmcache),
        };
        let mut news = Vec::new();
        for Change { old, new } in table.take(event) {
            let Some(pod) = new.as_ref().or(old.as_ref()) else {
                continue;
            };
            let twin = other.get(pod.namespace(), pod.name());
            let (old, new) = (newest(old.as_ref(), twin), newest(new.as_ref(), twin));
            if let Some(old) = old
                && let Some(engine) = engine_of(old)
            {
                self.by_engine.remove(&engine, old);
            }
            if let Some(new) = new
                && let Some(engine) = engine_of(new)
            {
                self.by_engine.put(engine, Arc::clone(new));
            }
            if differ(old.map(Arc::as_ref), new.map(Arc::as_ref)) {
                news.extend(old.into_iter().chain(new).filter_map(|pod| engine_of(pod)));
            }
        }
        news
    }
}

/// What is known of a Pod: the watches do not deliver a change at the same time.
fn newest<'a>(one: Option<&'a Arc<ClientPod>>, twin: Option<&'a Arc<ClientPod>>) -> Option<&'a Arc<ClientPod>> {
    match (one, twin) {
        (Some(one), Some(twin)) if is_older(one, twin) => Some(twin),
        (one, twin) => one.or(twin),
    }
}

/// The engine that a Pod opted in to, read as at admission: `name` or `namespace/name`, white space around the parts does not
/// count, and an empty namespace is the Pod's own.
fn engine_of(pod: &ClientPod) -> Option<Key> {
    let reference = pod.facts.engine.as_str();
    let (namespace, name) = reference.split_once('/').unwrap_or(("", reference));
    let (namespace, name) = (namespace.trim(), name.trim());
    let namespace = if namespace.is_empty() {
        pod.namespace()
    } else {
        namespace
    };
    let is_engine = pod.facts.kind != Kind::LMCacheCoordinator && !name.is_empty();
    is_engine.then(|| Key::new(pod.facts.kind, namespace, name))
}

/// Whether a pass sees a difference.
fn differ<F: PartialEq>(old: Option<&Cached<F>>, new: Option<&Cached<F>>) -> bool {
    match (old, new) {
        (Some(old), Some(new)) => old.uid() != new.uid() || old.facts != new.facts,
        (old, new) => old.is_some() || new.is_some(),
    }
}
