//! Children, and whose they are.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kube::runtime::watcher::Event;
use lmcache_api::Kind;

use super::table::{Change, Table};
use crate::live::{Child, ChildFacts, ChildKind, Key, Texts};
use crate::plan::ChildName;

/// The children of an engine, by the end of their names.
const OF_ENGINES: &[(ChildKind, &str)] = &[
    (ChildKind::Secret, "-resp-auth"),
    (ChildKind::ConfigMap, "-connection"),
    (ChildKind::Service, ""),
    (ChildKind::Service, "-metrics"),
    (ChildKind::DaemonSet, ""),
    (ChildKind::ServiceMonitor, ""),
];
const OF_COORDINATORS: &[(ChildKind, &str)] = &[
    (ChildKind::Service, ""),
    (ChildKind::Service, "-metrics"),
    (ChildKind::Deployment, ""),
    (ChildKind::ServiceMonitor, ""),
];

const fn children_of(kind: Kind) -> &'static [(ChildKind, &'static str)] {
    match kind {
        Kind::LMCacheEngine | Kind::CacheBlendEngine => OF_ENGINES,
        Kind::LMCacheCoordinator => OF_COORDINATORS,
    }
}

/// Objects with the operator's labels, of every kind of child.
#[derive(Debug, Default)]
pub(super) struct Children {
    tables: BTreeMap<ChildKind, Table<ChildFacts>>,
    /// By the uid of their controller.
    controlled: BTreeMap<Box<str>, Vec<(ChildKind, Arc<Child>)>>,
    /// By their uid, what was found to change nothing.
    settled: BTreeMap<Box<str>, u64>,
    /// Uids of those whose answer to a write of ours held changes of others too, which no pass has seen.
    unseen: BTreeSet<Box<str>>,
    texts: Texts,
}

impl Children {
    /// Whether every kind was listed once. ServiceMonitors do not count: not every cluster has them.
    pub fn is_synced(&self) -> bool {
        let mut always = ChildKind::ALL
            .into_iter()
            .filter(|kind| *kind != ChildKind::ServiceMonitor);
        always.all(|kind| self.tables.get(&kind).is_some_and(Table::is_synced))
    }

    pub fn len(&self, kind: ChildKind) -> usize {
        self.tables.get(&kind).map(Table::len).unwrap_or_default()
    }

    pub fn get(&self, kind: ChildKind, namespace: &str, name: &str) -> Option<&Arc<Child>> {
        self.tables.get(&kind)?.get(namespace, name)
    }

    pub fn of_kind(&self, kind: ChildKind) -> impl Iterator<Item = &Arc<Child>> {
        self.tables.get(&kind).into_iter().flat_map(Table::iter)
    }

    /// Those that have the name of a child of this custom resource, or that it controls.
    pub fn of(&self, key: &Key, uid: &str) -> BTreeMap<ChildName, Arc<Child>> {
        let named = children_of(key.kind).iter().filter_map(|(kind, end)| {
            let child = self.get(*kind, &key.namespace, &format!("{}{end}", key.name))?;
            Some((*kind, child))
        });
        let controlled = self.controlled.get(uid).into_iter().flatten();
        let controlled = controlled.filter(|(_, child)| child.namespace() == key.namespace);
        let controlled = controlled.map(|(kind, child)| (*kind, child));
        let all = named.chain(controlled);
        all.map(|(kind, child)| (ChildName::new(kind, child.name()), Arc::clone(child)))
            .collect()
    }

    /// Takes an event; returns the custom resources that have something new to see, whether they exist or not.
    pub fn take(&mut self, kind: ChildKind, mut event: Event<Child>) -> Vec<Key> {
        if let Event::Apply(child) | Event::InitApply(child) = &mut event {
            child.share(&mut self.texts);
        }
        let mut news = match &event {
            Event::Apply(child) | Event::InitApply(child) if self.unseen.remove(child.uid()) => owners(kind, child),
            _ => Vec::new(),
        };
        for change in self.tables.entry(kind).or_default().take(event) {
            let children = change.old.iter().chain(&change.new);
            news.extend(children.flat_map(|child| owners(kind, child)));
            self.note(kind, &change);
        }
        news
    }

    pub fn wrote(&mut self, kind: ChildKind, mut answer: Child) {
        answer.share(&mut self.texts);
        let held = self.get(kind, answer.namespace(), answer.name());
        let is_mixed = held.is_some_and(|held| !is_ours_alone(held, &answer));
        let uid = answer.uid().to_owned();
        let change = self.tables.entry(kind).or_default().wrote(answer);
        if is_mixed && change.is_some() {
            self.unseen.insert(uid.into());
        }
        self.note_if(kind, change);
    }

    pub fn was_deleted(&mut self, kind: ChildKind, namespace: &str, name: &str) {
        let change = self.tables.entry(kind).or_default().was_deleted(namespace, name);
        self.note_if(kind, change);
    }

    /// Forgets a kind that is no longer watched.
    pub fn forget(&mut self, kind: ChildKind) {
        let table = self.tables.remove(&kind).unwrap_or_default();
        for child in table.iter() {
            let change = Change {
                old: Some(Arc::clone(child)),
                new: None,
            };
            self.note(kind, &change);
        }
    }

    pub fn remember(&mut self, child: &ChildName, namespace: &str, uid: &str, fingerprint: u64) {
        let held = self.get(child.kind, namespace, &child.name);
        if held.is_some_and(|held| !uid.is_empty() && held.uid() == uid) {
            self.settled.insert(uid.into(), fingerprint);
        }
    }

    pub fn is_remembered(&self, child: &ChildName, namespace: &str, uid: &str, fingerprint: u64) -> bool {
        let held = self.get(child.kind, namespace, &child.name);
        held.is_some_and(|held| held.uid() == uid) && self.settled.get(uid) == Some(&fingerprint)
    }

    fn note_if(&mut self, kind: ChildKind, change: Option<Change<ChildFacts>>) {
        if let Some(change) = change {
            self.note(kind, &change);
        }
    }

    fn note(&mut self, kind: ChildKind, Change { old, new }: &Change<ChildFacts>) {
        if let Some(old) = old {
            old.release(&mut self.texts);
            self.uncontrol(old);
            if new.as_ref().is_none_or(|new| new.uid() != old.uid()) {
                self.settled.remove(old.uid());
                self.unseen.remove(old.uid());
            }
        }
        if let Some(new) = new
            && let Some(uid) = controller_uid(new)
        {
            let controlled = self.controlled.entry(uid.into()).or_default();
            controlled.push((kind, Arc::clone(new)));
        }
    }

    fn uncontrol(&mut self, child: &Arc<Child>) {
        let Some(uid) = controller_uid(child) else {
            return;
        };
        if let Some(controlled) = self.controlled.get_mut(uid) {
            controlled.retain(|(_, other)| !Arc::ptr_eq(other, child));
            if controlled.is_empty() {
                self.controlled.remove(uid);
            }
        }
    }
}

fn controller_uid(child: &Child) -> Option<&str> {
    let controller = child.facts.controller.as_ref()?;
    Some(controller.uid.as_str()).filter(|uid| !uid.is_empty())
}

/// Custom resources that look at a child, whether they exist or not: its controller, the one that its labels name, and those
/// whose child would have its name.
pub(super) fn owners(kind: ChildKind, child: &Child) -> Vec<Key> {
    let key = |owner: Kind, name: &str| Key::new(owner, child.namespace(), name);
    let controller = child.facts.controller.as_ref();
    let controller = controller.and_then(|controller| Some(key(controller.kind.parse().ok()?, &controller.name)));
    let instance = child.facts.instance.as_deref();
    let labelled = instance.map(|name| Kind::ALL.map(|owner| key(owner, name)));
    let named = Kind::ALL.into_iter().flat_map(|owner| {
        let ends = children_of(owner).iter().filter(|(of, _)| *of == kind);
        let names = ends.filter_map(|(_, end)| child.name().strip_suffix(end));
        names.map(move |name| key(owner, name))
    });
    let owners = controller.into_iter().chain(labelled.into_iter().flatten());
    owners.chain(named).collect()
}

/// Whether an answer differs from what is held in nothing that others write and a pass looks at: a request to delete it, and
/// the progress of a workload. What others changed in the fields that were applied is overwritten.
fn is_ours_alone(held: &Child, answer: &Child) -> bool {
    let others = |child: &Child| {
        let facts = &child.facts;
        let progress = facts.workload.as_ref().map(|workload| {
            // In a Deployment this number is of the specification, which the controller writes.
            let desired = (facts.kind != Some(ChildKind::Deployment)).then_some(workload.desired);
            (workload.observed_generation, workload.ready, workload.updated, desired)
        });
        (facts.is_being_deleted, progress)
    };
    others(held) == others(answer)
}
