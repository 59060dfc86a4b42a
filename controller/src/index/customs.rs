//! Custom resources, and what they refer to.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kube::runtime::watcher::Event;
use lmcache_api::Kind;
use serde_json::Value;

use super::Wake;
use super::reverse::Reverse;
use super::table::{Change, Table};
use crate::live::{Custom, CustomFacts, Key, NamespacedName};

/// Custom resources of every kind.
#[derive(Debug, Default)]
pub(super) struct Customs {
    tables: BTreeMap<Kind, Table<CustomFacts>>,
    /// Engines by the coordinator that they refer to.
    coordinators: Reverse,
    /// Custom resources by the Secrets that they name.
    secrets: Reverse,
    /// Those that ask for a ServiceMonitor.
    monitored: BTreeSet<Key>,
}

impl Customs {
    pub fn is_synced(&self) -> bool {
        Kind::ALL
            .iter()
            .all(|kind| self.tables.get(kind).is_some_and(Table::is_synced))
    }

    pub fn len(&self, kind: Kind) -> usize {
        self.tables.get(&kind).map(Table::len).unwrap_or_default()
    }

    pub fn get(&self, key: &Key) -> Option<&Arc<Custom>> {
        self.tables.get(&key.kind)?.get(&key.namespace, &key.name)
    }

    pub fn keys(&self) -> impl Iterator<Item = Key> {
        let tables = self.tables.iter();
        tables.flat_map(|(kind, table)| table.iter().map(|custom| key_of(*kind, custom)))
    }

    /// The keys of this name, of whatever kind, that exist.
    pub fn named(&self, namespace: &str, name: &str) -> impl Iterator<Item = Key> {
        let keys = Kind::ALL.into_iter().map(move |kind| Key::new(kind, namespace, name));
        keys.filter(|key| self.get(key).is_some())
    }

    /// Those of other kinds that have its name, unless they are being deleted.
    pub fn rivals(&self, key: &Key) -> impl Iterator<Item = (Key, &Arc<Custom>)> {
        let others = Kind::ALL.into_iter().filter(|kind| *kind != key.kind);
        let others = others.map(|kind| Key::new(kind, key.namespace.as_str(), key.name.as_str()));
        let others = others.filter_map(|other| self.get(&other).map(|custom| (other, custom)));
        others.filter(|(_, custom)| !custom.facts.is_being_deleted)
    }

    /// Who names a Secret.
    pub fn that_name(&self, secret: &NamespacedName) -> impl Iterator<Item = &Key> {
        self.secrets.of(secret)
    }

    /// Every Secret that is named.
    pub fn secrets(&self) -> impl Iterator<Item = &NamespacedName> {
        self.secrets.named()
    }

    /// Those that ask for a ServiceMonitor.
    pub fn monitored(&self) -> &BTreeSet<Key> {
        &self.monitored
    }

    pub fn take(&mut self, kind: Kind, event: Event<Custom>, wake: &mut Wake) {
        for change in self.tables.entry(kind).or_default().take(event) {
            self.note(kind, &change, wake);
        }
    }

    /// Takes the API server's answer to a write to the status. Where more than the status is new, it is left for the watch to
    /// deliver: nobody would be woken by it here.
    pub fn wrote(&mut self, kind: Kind, answer: Custom) {
        let held = self.get(&key_of(kind, &answer));
        let is_ours_alone =
            held.is_some_and(|held| held.uid() == answer.uid() && differ_in_status_alone(held, &answer));
        if !is_ours_alone {
            return;
        }
        if let Some(change) = self.tables.entry(kind).or_default().wrote(answer) {
            self.note(kind, &change, &mut Wake::new());
        }
    }

    fn note(&mut self, kind: Kind, Change { old, new }: &Change<CustomFacts>, wake: &mut Wake) {
        let (old, new) = (old.as_deref(), new.as_deref());
        let Some(any) = new.or(old) else {
            return;
        };
        let key = key_of(kind, any);
        if let Some(old) = old {
            self.unlink(&key, old);
        }
        if let Some(new) = new {
            self.link(&key, new);
        }
        wake.insert(key.clone());
        if old.map(as_rival) != new.map(as_rival) {
            wake.extend(self.named(&key.namespace, &key.name));
        }
        if kind == Kind::LMCacheCoordinator && old.map(as_coordinator) != new.map(as_coordinator) {
            let coordinator = NamespacedName::new(key.namespace, key.name);
            wake.extend(self.coordinators.of(&coordinator).cloned());
        }
    }

    fn link(&mut self, key: &Key, custom: &Custom) {
        if let Some(coordinator) = coordinator_of(custom) {
            self.coordinators.add(coordinator, key);
        }
        for secret in custom.secrets() {
            self.secrets.add(secret.clone(), key);
        }
        if custom.facts.wants_monitor {
            self.monitored.insert(key.clone());
        }
    }

    fn unlink(&mut self, key: &Key, custom: &Custom) {
        if let Some(coordinator) = coordinator_of(custom) {
            self.coordinators.remove(&coordinator, key);
        }
        for secret in custom.secrets() {
            self.secrets.remove(secret, key);
        }
        self.monitored.remove(key);
    }
}

fn key_of(kind: Kind, custom: &Custom) -> Key {
    Key::new(kind, custom.namespace(), custom.name())
}

fn coordinator_of(custom: &Custom) -> Option<NamespacedName> {
    let name = custom.facts.coordinator.as_deref()?;
    Some(NamespacedName::new(custom.namespace(), name))
}

/// What others of its name see of it.
fn as_rival(custom: &Custom) -> (&str, &str, bool) {
    let facts = &custom.facts;
    (custom.uid(), &facts.created, facts.is_being_deleted)
}

/// What engines see of their coordinator: its specification, which the generation counts.
fn as_coordinator(custom: &Custom) -> (&str, i64, bool) {
    let facts = &custom.facts;
    (custom.uid(), facts.generation, facts.is_being_deleted)
}

fn differ_in_status_alone(one: &Custom, other: &Custom) -> bool {
    let rest = |custom: &Custom| {
        let mut value = custom.value();
        if let Some(object) = value.as_object_mut() {
            object.remove("status");
        }
        if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("resourceVersion");
        }
        value
    };
    rest(one) == rest(other)
}
