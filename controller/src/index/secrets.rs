//! Secrets that custom resources name. Each has a watch of its own.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube::runtime::watcher::Event;

use super::table::{Table, is_same};
use crate::live::{NamespacedName, SecretSource, SecretSourceFacts};
use crate::plan::Sought;

/// What the watch of one Secret said.
#[derive(Debug, Default)]
struct Watched {
    table: Table<SecretSourceFacts>,
    is_forbidden: bool,
}

impl Watched {
    fn sought(&self, name: &NamespacedName) -> Sought<Arc<SecretSource>> {
        match self.table.get(&name.namespace, &name.name) {
            _ if self.is_forbidden => Sought::Forbidden,
            Some(secret) => Sought::Found(Arc::clone(secret)),
            None if self.table.is_synced() => Sought::Missing,
            None => Sought::Unknown,
        }
    }
}

/// Secrets by name.
#[derive(Debug, Default)]
pub(super) struct Secrets(BTreeMap<NamespacedName, Watched>);

impl Secrets {
    /// How many were found.
    pub fn len(&self) -> usize {
        self.0.values().map(|watched| watched.table.len()).sum()
    }

    /// What is known of a Secret.
    pub fn sought(&self, name: Option<&NamespacedName>) -> Sought<Arc<SecretSource>> {
        let Some(name) = name else {
            return Sought::NotNamed;
        };
        self.0.get(name).map_or(Sought::Unknown, |watched| watched.sought(name))
    }

    /// Takes an event; returns whether there is something new to see.
    pub fn take(&mut self, name: &NamespacedName, event: Event<SecretSource>) -> bool {
        let held = self
            .0
            .get(name)
            .and_then(|watched| watched.table.get(&name.namespace, &name.name))
            .cloned();
        let event = event.modify(|secret| {
            if let Some(held) = &held {
                secret.remember_change(held);
            }
        });
        self.change(name, |watched| {
            // That a list begins says nothing yet: it may be refused again.
            if !matches!(event, Event::Init) {
                watched.is_forbidden = false;
            }
            watched.table.take(event);
        })
    }

    /// The API server refused the watch.
    pub fn forbidden(&mut self, name: &NamespacedName) -> bool {
        self.change(name, |watched| watched.is_forbidden = true)
    }

    /// The watch has ended: nothing is known any more.
    pub fn unwatched(&mut self, name: &NamespacedName) {
        self.0.remove(name);
    }

    fn change(&mut self, name: &NamespacedName, change: impl FnOnce(&mut Watched)) -> bool {
        let before = self.sought(Some(name));
        change(self.0.entry(name.clone()).or_default());
        match (before, self.sought(Some(name))) {
            (Sought::Found(old), Sought::Found(new)) => !is_same(&old, &new),
            (old, new) => std::mem::discriminant(&old) != std::mem::discriminant(&new),
        }
    }
}
