//! Who names an object.

use std::collections::{BTreeMap, BTreeSet};

use crate::live::{Key, NamespacedName};

/// Custom resources by an object that they name.
#[derive(Debug, Default)]
pub(super) struct Reverse(BTreeMap<NamespacedName, BTreeSet<Key>>);

impl Reverse {
    /// `key` names `object`.
    pub fn add(&mut self, object: NamespacedName, key: &Key) {
        self.0.entry(object).or_default().insert(key.clone());
    }

    /// `key` no longer names `object`.
    pub fn remove(&mut self, object: &NamespacedName, key: &Key) {
        if let Some(keys) = self.0.get_mut(object) {
            keys.remove(key);
            if keys.is_empty() {
                self.0.remove(object);
            }
        }
    }

    /// Those that name `object`.
    pub fn of(&self, object: &NamespacedName) -> impl Iterator<Item = &Key> {
        self.0.get(object).into_iter().flatten()
    }

    /// Every object that is named.
    pub fn named(&self) -> impl Iterator<Item = &NamespacedName> {
        self.0.keys()
    }
}
