//! The objects of one watch, and which news about them is news.
//!
//! News come in three ways: events of the watch, lists after the watch was cut off, and the API server's answers to what the
//! controller itself wrote. They overtake each other, so their resource versions are compared. The versions of one kind
//! grow with every change of any object.

use std::collections::BTreeSet;
use std::sync::Arc;

use kube::runtime::watcher::Event;

use super::places::Places;
use crate::live::{Cached, NamespacedName};

/// What became of one object.
#[derive(Debug)]
pub(super) struct Change<F> {
    /// What was held before.
    pub old: Option<Arc<Cached<F>>>,
    /// What is held now.
    pub new: Option<Arc<Cached<F>>>,
}

/// A list that is being read.
#[derive(Debug)]
struct Listing<F> {
    listed: Places<F>,
    /// What the controller wrote in the meantime: newer than the list, maybe.
    written: BTreeSet<NamespacedName>,
}

/// The objects of one watch.
#[derive(Debug)]
pub(super) struct Table<F> {
    held: Places<F>,
    listing: Option<Listing<F>>,
    is_synced: bool,
    /// The highest version that the watch delivered since it began to list.
    newest: u64,
}

impl<F> Default for Table<F> {
    fn default() -> Self {
        Table {
            held: Places::default(),
            listing: None,
            is_synced: false,
            newest: 0,
        }
    }
}

impl<F> Table<F> {
    /// Whether everything was listed once.
    pub fn is_synced(&self) -> bool {
        self.is_synced
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.held.len()
    }

    /// The object of a name.
    pub fn get(&self, namespace: &str, name: &str) -> Option<&Arc<Cached<F>>> {
        self.held.get(namespace, name)
    }

    /// Every object, sorted by namespace and name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Cached<F>>> {
        self.held.iter()
    }

    /// Takes an event of the watch.
    pub fn take(&mut self, event: Event<Cached<F>>) -> Vec<Change<F>> {
        match event {
            Event::Init => {
                self.listing = Some(Listing {
                    listed: Places::default(),
                    written: BTreeSet::new(),
                });
                self.newest = 0;
                Vec::new()
            }
            Event::InitApply(object) => self.listed(object).into_iter().collect(),
            Event::InitDone => self.end_list(),
            Event::Apply(object) => self.applied(object).into_iter().collect(),
            Event::Delete(object) => self.deleted(&object).into_iter().collect(),
        }
    }

    /// A list counts whatever its versions say: in a cluster that was restored from a backup they are lower than before.
    /// Only what was written after the list began can be newer than it.
    fn listed(&mut self, object: Cached<F>) -> Option<Change<F>> {
        self.saw(&object);
        let held = self.held.get(object.namespace(), object.name());
        let was_written = self.listing.as_ref().is_some_and(|listing| {
            let place = NamespacedName::new(object.namespace(), object.name());
            listing.written.contains(&place)
        });
        match held {
            Some(held) if is_same(held, &object) || (was_written && is_older(&object, held)) => {
                let held = Arc::clone(held);
                self.mark_listed(&held);
                None
            }
            _ => Some(self.put(object)),
        }
    }

    fn applied(&mut self, object: Cached<F>) -> Option<Change<F>> {
        self.saw(&object);
        match self.held.get(object.namespace(), object.name()) {
            Some(held) if is_same(held, &object) || is_older(&object, held) => None,
            _ => Some(self.put(object)),
        }
    }

    /// The version of a deleted object is that of its deletion.
    fn deleted(&mut self, object: &Cached<F>) -> Option<Change<F>> {
        self.saw(object);
        match self.held.get(object.namespace(), object.name()) {
            // The deletion of a predecessor, or an answer was quicker: the object is back already.
            Some(held) if is_older(object, held) => None,
            _ => self.remove(object.namespace(), object.name()),
        }
    }

    /// What was not listed is gone.
    fn end_list(&mut self) -> Vec<Change<F>> {
        self.is_synced = true;
        let Some(Listing { listed, .. }) = self.listing.take() else {
            return Vec::new();
        };
        let is_gone = |held: &&Arc<Cached<F>>| listed.get(held.namespace(), held.name()).is_none();
        let gone: Vec<Arc<Cached<F>>> = self.held.iter().filter(is_gone).map(Arc::clone).collect();
        let removed = gone
            .iter()
            .filter_map(|gone| self.remove(gone.namespace(), gone.name()));
        removed.collect()
    }

    /// Takes the API server's answer to a write of ours, unless the watch is further already.
    pub fn wrote(&mut self, answer: Cached<F>) -> Option<Change<F>> {
        match self.held.get(answer.namespace(), answer.name()) {
            Some(held) if is_same(held, &answer) || is_older(&answer, held) => return None,
            // It was deleted again.
            None if version(&answer).is_some_and(|version| version <= self.newest) => return None,
            _ => {}
        }
        let place = NamespacedName::new(answer.namespace(), answer.name());
        let change = self.replace(answer);
        if let Some(listing) = &mut self.listing {
            listing.written.insert(place);
        }
        Some(change)
    }

    /// The object of this name was deleted by us.
    pub fn was_deleted(&mut self, namespace: &str, name: &str) -> Option<Change<F>> {
        self.remove(namespace, name)
    }

    fn saw(&mut self, object: &Cached<F>) {
        self.newest = self.newest.max(version(object).unwrap_or_default());
    }

    fn put(&mut self, object: Cached<F>) -> Change<F> {
        let change = self.replace(object);
        if let Some(new) = &change.new {
            self.mark_listed(new);
        }
        change
    }

    fn mark_listed(&mut self, object: &Arc<Cached<F>>) {
        if let Some(listing) = &mut self.listing {
            listing.listed.put(Arc::clone(object));
        }
    }

    fn replace(&mut self, object: Cached<F>) -> Change<F> {
        let new = Arc::new(object);
        Change {
            old: self.held.put(Arc::clone(&new)),
            new: Some(new),
        }
    }

    fn remove(&mut self, namespace: &str, name: &str) -> Option<Change<F>> {
        let old = self.held.remove(namespace, name)?;
        Some(Change {
            old: Some(old),
            new: None,
        })
    }
}

/// The version as a number. Clients must not read more into it than its order, and only where it is one.
fn version<F>(object: &Cached<F>) -> Option<u64> {
    object.resource_version().parse().ok()
}

/// Whether the first is surely from before the second.
pub(super) fn is_older<F>(object: &Cached<F>, than: &Cached<F>) -> bool {
    matches!((version(object), version(than)), (Some(version), Some(than)) if version < than)
}

/// Whether both are the same state of the same object.
pub(super) fn is_same<F>(one: &Cached<F>, other: &Cached<F>) -> bool {
    !one.resource_version().is_empty() && one.resource_version() == other.resource_version() && one.uid() == other.uid()
}
