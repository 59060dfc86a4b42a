//! Objects by namespace and name, and groups of them.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::live::Cached;

/// An object that is found by its name, which is not stored a second time.
#[derive(Debug)]
struct ByName<F>(Arc<Cached<F>>);

impl<F> Borrow<str> for ByName<F> {
    fn borrow(&self) -> &str {
        self.0.name()
    }
}

impl<F> PartialEq for ByName<F> {
    fn eq(&self, other: &Self) -> bool {
        self.0.name() == other.0.name()
    }
}

impl<F> Eq for ByName<F> {}

impl<F> PartialOrd for ByName<F> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<F> Ord for ByName<F> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.name().cmp(other.0.name())
    }
}

/// Objects of one kind, sorted by namespace and name.
#[derive(Debug)]
pub(super) struct Places<F> {
    /// No set is empty.
    namespaces: BTreeMap<Box<str>, BTreeSet<ByName<F>>>,
    len: usize,
}

impl<F> Default for Places<F> {
    fn default() -> Self {
        Places {
            namespaces: BTreeMap::new(),
            len: 0,
        }
    }
}

impl<F> Places<F> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// The object at a place.
    pub fn get(&self, namespace: &str, name: &str) -> Option<&Arc<Cached<F>>> {
        self.namespaces.get(namespace)?.get(name).map(|object| &object.0)
    }

    /// Puts an object at its place, and returns what was there.
    pub fn put(&mut self, object: Arc<Cached<F>>) -> Option<Arc<Cached<F>>> {
        if !self.namespaces.contains_key(object.namespace()) {
            self.namespaces.insert(object.namespace().into(), BTreeSet::new());
        }
        let names = self.namespaces.get_mut(object.namespace())?;
        let before = names.replace(ByName(object));
        self.len += usize::from(before.is_none());
        before.map(|object| object.0)
    }

    /// Takes the object away that is at a place.
    pub fn remove(&mut self, namespace: &str, name: &str) -> Option<Arc<Cached<F>>> {
        let names = self.namespaces.get_mut(namespace)?;
        let before = names.take(name)?;
        if names.is_empty() {
            self.namespaces.remove(namespace);
        }
        self.len -= 1;
        Some(before.0)
    }

    /// Every object, sorted by namespace and name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Cached<F>>> {
        self.namespaces.values().flatten().map(|object| &object.0)
    }
}

/// Objects of one kind by what they belong to.
#[derive(Debug)]
pub(super) struct Groups<G, F>(BTreeMap<G, Places<F>>);

impl<G, F> Default for Groups<G, F> {
    fn default() -> Self {
        Groups(BTreeMap::new())
    }
}

impl<G: Ord, F> Groups<G, F> {
    /// Puts an object into a group.
    pub fn put(&mut self, group: G, object: Arc<Cached<F>>) {
        self.0.entry(group).or_default().put(object);
    }

    /// Takes an object out of a group.
    pub fn remove(&mut self, group: &G, object: &Cached<F>) {
        if let Some(members) = self.0.get_mut(group) {
            members.remove(object.namespace(), object.name());
            if members.len() == 0 {
                self.0.remove(group);
            }
        }
    }

    /// The members of a group, sorted by namespace and name.
    pub fn of(&self, group: &G) -> impl Iterator<Item = &Arc<Cached<F>>> {
        self.0.get(group).into_iter().flat_map(Places::iter)
    }
}
