//! Any sequence of changes, lists, late events and writes: in the end the index is what it would be if it had been filled
//! from the final state at once, and nothing changed without a pass being asked for.

mod world;

use std::collections::VecDeque;

use proptest::prelude::*;

use self::world::{CHILDREN, NAMES, NAMESPACES, Place, Store, What, World, delivers, every_watch};
use super::*;
use crate::plan::Sought;

/// Something that happens. Numbers vary what is written.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Somebody creates or changes an object.
    Put(Place, u8),
    /// Somebody deletes an object.
    Remove(Place),
    /// The controller writes a child, or the status of a custom resource.
    Write(Place, u8),
    /// The controller deletes a child.
    Delete(Place),
    /// A watch delivers its next event.
    Deliver(What),
    /// A watch was cut off and lists.
    List(What),
    /// ServiceMonitors are watched, or not.
    Monitors(bool),
}

fn stores() -> impl Strategy<Value = Store> {
    prop_oneof![
        3 => prop::sample::select(&Kind::ALL[..]).prop_map(Store::Custom),
        3 => prop::sample::select(&CHILDREN[..]).prop_map(Store::Child),
        1 => Just(Store::Server),
        2 => Just(Store::Client),
        1 => Just(Store::Secret),
    ]
}

fn places() -> impl Strategy<Value = Place> {
    let (namespaces, names) = (prop::sample::select(&NAMESPACES[..]), prop::sample::select(&NAMES[..]));
    (stores(), namespaces, names)
}

fn steps() -> impl Strategy<Value = Step> {
    let whats = || prop::sample::select(every_watch());
    prop_oneof![
        6 => (places(), any::<u8>()).prop_map(|(place, variant)| Step::Put(place, variant)),
        2 => places().prop_map(Step::Remove),
        4 => (places(), any::<u8>()).prop_map(|(place, variant)| Step::Write(place, variant)),
        1 => places().prop_map(Step::Delete),
        8 => whats().prop_map(Step::Deliver),
        1 => whats().prop_map(Step::List),
        1 => any::<bool>().prop_map(Step::Monitors),
    ]
}

fn read<F: Facts>(event: Event<Value>) -> Event<Cached<F>> {
    match event {
        Event::Init => Event::Init,
        Event::InitApply(object) => Event::InitApply(Cached::read(object)),
        Event::InitDone => Event::InitDone,
        Event::Apply(object) => Event::Apply(Cached::read(object)),
        Event::Delete(object) => Event::Delete(Cached::read(object)),
    }
}

fn feed(index: &mut Index, what: What, event: Event<Value>) -> Wake {
    match what {
        What::Custom(kind) => index.custom(kind, read(event)),
        What::Child(kind) => index.child(kind, read(event)),
        What::Server => index.server_pod(read(event)),
        What::Client(watch) => index.client_pod(watch, read(event)),
        What::Secret(namespace, name) => index.secret(&NamespacedName::new(namespace, name), read(event)),
    }
}

/// What a pass sees, without what its own writes change.
#[derive(Clone, Debug, PartialEq)]
struct Seen {
    /// Everything but children.
    rest: Value,
    /// Uid and progress.
    children: BTreeMap<String, Value>,
}

fn see(index: &Index, key: &Key) -> Option<Seen> {
    let inputs = index.inputs(key)?;
    let of_secret = |secret: &Sought<Arc<SecretSource>>| match secret {
        Sought::Found(secret) => json!([secret.uid(), secret.value()]),
        other => json!(format!("{other:?}")),
    };
    let spec = inputs.custom.value()["spec"].clone();
    let has_monitor = inputs
        .children
        .keys()
        .any(|child| child.kind == ChildKind::ServiceMonitor);
    let cares = inputs.custom.facts.wants_monitor || has_monitor;
    let rest = json!({
        "custom": [inputs.custom.uid(), spec],
        "rivals": format!("{:?}", inputs.rivals),
        "coordinator": inputs.coordinator.map(|coordinator| json!([coordinator.uid(), coordinator.value()["spec"]])),
        "secrets": [of_secret(&inputs.login), of_secret(&inputs.master_key)],
        "servers": inputs.servers.iter().map(|pod| format!("{} {:?}", pod.uid(), pod.facts)).collect::<Vec<_>>(),
        "clients": inputs.clients.iter().map(|pod| format!("{} {:?}", pod.uid(), pod.facts)).collect::<Vec<_>>(),
        "monitors": cares.then(|| format!("{:?}", inputs.monitors)),
    });
    let children = inputs.children.iter().map(|(name, child)| {
        let ready = child.facts.workload.as_ref().map(|workload| workload.ready);
        (name.to_string(), json!([child.uid(), ready]))
    });
    Some(Seen {
        rest,
        children: children.collect(),
    })
}

struct Run {
    world: World,
    index: Index,
    coming: BTreeMap<What, VecDeque<Event<Value>>>,
    has_monitors: bool,
    /// What the last pass over each custom resource saw.
    seen: BTreeMap<Key, Seen>,
}

impl Run {
    fn new() -> Self {
        let coming = every_watch()
            .into_iter()
            .map(|what| (what, World::default().list(what).into()));
        Run {
            world: World::default(),
            index: Index::new(),
            coming: coming.collect(),
            has_monitors: true,
            seen: BTreeMap::new(),
        }
    }

    fn is_watched(&self, what: What) -> bool {
        self.has_monitors || what != What::Child(ChildKind::ServiceMonitor)
    }

    fn publish(&mut self, place: Place, before: Option<&Value>, now: Option<&Value>, last: &Value) {
        for what in every_watch()
            .into_iter()
            .filter(|what| self.is_watched(*what))
            .collect::<Vec<_>>()
        {
            let delivers = |object: &&Value| delivers(what, place, object);
            let event = match (before.filter(delivers), now.filter(delivers)) {
                (None, None) => continue,
                (_, Some(now)) => Event::Apply(now.clone()),
                (Some(_), None) => Event::Delete(last.clone()),
            };
            self.coming.entry(what).or_default().push_back(event);
        }
    }

    fn put(&mut self, place: Place, variant: u8, by_controller: bool) -> Value {
        let before = self.world.objects.get(&place).cloned();
        let now = self.world.write(place, variant, by_controller);
        self.publish(place, before.as_ref(), Some(&now), &now);
        now
    }

    fn remove(&mut self, place: Place) -> bool {
        let before = self.world.objects.get(&place).cloned();
        let Some(last) = self.world.remove(place) else {
            return false;
        };
        self.publish(place, before.as_ref(), None, &last);
        true
    }

    fn woken(&mut self, wake: Wake) {
        for key in wake {
            if let Some(now) = see(&self.index, &key) {
                self.seen.insert(key, now);
            }
        }
        self.seen.retain(|key, _| self.index.get(key).is_some());
    }

    fn deliver(&mut self, what: What) -> bool {
        let Some(event) = self.coming.get_mut(&what).and_then(VecDeque::pop_front) else {
            return false;
        };
        let is_listed = matches!(event, Event::InitDone) && what == What::Child(ChildKind::ServiceMonitor);
        let mut wake = feed(&mut self.index, what, event);
        if is_listed {
            wake.extend(self.index.monitors(Monitors::Served));
        }
        self.woken(wake);
        true
    }

    /// The passes that wrote or deleted a child know it.
    fn wrote(&mut self, child: &ChildName, namespace: &str, is_change: bool) {
        for (key, seen) in self.seen.iter_mut().filter(|(key, _)| key.namespace == namespace) {
            let now = see(&self.index, key).unwrap_or_else(|| seen.clone());
            let name = child.to_string();
            match now.children.get(&name) {
                // What others changed must still be told.
                Some(_) if is_change => {}
                Some(now) => drop(seen.children.insert(name, now.clone())),
                None => drop(seen.children.remove(&name)),
            }
            if child.kind == ChildKind::ServiceMonitor {
                seen.rest["monitors"] = now.rest["monitors"].clone();
            }
        }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Put(place, variant) => drop(self.put(place, variant, false)),
            Step::Remove(place) => drop(self.remove(place)),
            Step::Write(place @ (Store::Child(kind), namespace, name), variant) => {
                let child = ChildName::new(kind, name);
                if self.is_watched(What::Child(kind)) {
                    let held = self.index.find_child(&child, namespace);
                    let answer = Child::read(self.put(place, variant, true));
                    let is_change = held.is_some_and(|held| held.uid() == answer.uid());
                    self.index.wrote_child(answer);
                    self.wrote(&child, namespace, is_change);
                }
            }
            Step::Write(place @ (Store::Custom(_), _, _), variant) => {
                if self.world.objects.contains_key(&place) {
                    let answer = self.put(place, variant, true);
                    self.index.wrote_custom(Custom::read(answer));
                }
            }
            Step::Delete(place @ (Store::Child(kind), namespace, name)) => {
                if self.remove(place) {
                    self.index.deleted_child(kind, namespace, name);
                    self.wrote(&ChildName::new(kind, name), namespace, false);
                }
            }
            Step::Write(..) | Step::Delete(_) => {}
            Step::Deliver(what) => drop(self.deliver(what)),
            Step::List(what) if self.is_watched(what) => drop(self.coming.insert(what, self.world.list(what).into())),
            Step::List(_) => {}
            Step::Monitors(true) if !self.has_monitors => {
                let what = What::Child(ChildKind::ServiceMonitor);
                self.has_monitors = true;
                self.coming.insert(what, self.world.list(what).into());
            }
            Step::Monitors(false) => {
                self.has_monitors = false;
                self.coming.remove(&What::Child(ChildKind::ServiceMonitor));
                let wake = self.index.monitors(Monitors::NotServed);
                self.woken(wake);
            }
            Step::Monitors(true) => {}
        }
    }

    /// The index that has heard of nothing but the final state.
    fn anew(&self) -> Index {
        let mut index = Index::new();
        for what in every_watch().into_iter().filter(|what| self.is_watched(*what)) {
            for event in self.world.list(what) {
                feed(&mut index, what, event);
            }
        }
        let monitors = if self.has_monitors {
            Monitors::Served
        } else {
            Monitors::NotServed
        };
        index.monitors(monitors);
        index
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_way_does_not_matter_and_nothing_is_missed(steps in prop::collection::vec(steps(), 0..120)) {
        let mut run = Run::new();
        for step in steps {
            run.step(step);
        }
        for what in every_watch() {
            while run.deliver(what) {}
        }
        let (index, anew) = (&run.index, run.anew());
        prop_assert_eq!(index.keys().collect::<Vec<_>>(), anew.keys().collect::<Vec<_>>());
        for key in anew.keys() {
            let all = |index: &Index| format!("{:#?}", index.inputs(&key));
            prop_assert_eq!(all(index), all(&anew));
            prop_assert_eq!(run.seen.get(&key).cloned(), see(index, &key), "{} was not woken", key);
        }
        prop_assert_eq!(index.named_secrets(), anew.named_secrets());
        prop_assert_eq!(index.wants_monitors(), anew.wants_monitors());
        prop_assert_eq!(index.counts(), anew.counts());
    }
}
