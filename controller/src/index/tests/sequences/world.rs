//! What is stored, and what is watched of it.

use std::collections::BTreeMap;

use kube::runtime::watcher::Event;
use lmcache_api::Kind;
use serde_json::{Value, json};

use super::super::login;
use crate::index::ClientWatch;
use crate::live::ChildKind;

pub const NAMESPACES: [&str; 2] = ["east", "west"];
/// Names of custom resources, Pods and Secrets, of which some are those of children of others.
pub const NAMES: [&str; 4] = ["x", "y", "x-metrics", "x-connection"];
pub const CHILDREN: [ChildKind; 4] = [
    ChildKind::ConfigMap,
    ChildKind::Service,
    ChildKind::DaemonSet,
    ChildKind::ServiceMonitor,
];

/// What is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    Custom(Kind),
    Child(ChildKind),
    Server,
    Client(ClientWatch),
    Secret(&'static str, &'static str),
}

/// What is stored. A Pod of a client is stored once, and comes through its watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Store {
    Custom(Kind),
    Child(ChildKind),
    Server,
    Client,
    Secret,
}

pub type Place = (Store, &'static str, &'static str);

pub fn every_watch() -> Vec<What> {
    let mut all: Vec<What> = Kind::ALL.map(What::Custom).into();
    all.extend(CHILDREN.map(What::Child));
    all.push(What::Server);
    all.extend(ClientWatch::ALL.map(What::Client));
    all.extend(
        NAMESPACES
            .into_iter()
            .flat_map(|namespace| NAMES.map(|name| What::Secret(namespace, name))),
    );
    all
}

/// The API server.
#[derive(Default)]
pub struct World {
    pub version: u64,
    pub objects: BTreeMap<Place, Value>,
}

impl World {
    /// The object after a change. What is not its writer's stays: progress is not the controller's, a specification is.
    pub fn write(&mut self, place: Place, variant: u8, by_controller: bool) -> Value {
        self.version += 1;
        let (store, namespace, name) = place;
        let before = self.objects.get(&place);
        let uid = before.map_or_else(
            || json!(format!("{store:?}-{name}-{}", self.version)),
            |object| object["metadata"]["uid"].clone(),
        );
        let metadata = json!({
            "namespace": namespace, "name": name, "uid": uid, "resourceVersion": self.version.to_string(),
        });
        let bit = |bit: u8| variant >> bit & 1 == 1;
        let mut object = match (store, before) {
            (Store::Custom(_), Some(before)) if by_controller => before.clone(),
            (Store::Custom(kind), _) => {
                let mut spec = if bit(0) { login("x") } else { json!({}) };
                if bit(1) {
                    spec["coordinator"] = json!({"ref": {"name": if bit(2) { "x" } else { "y" }}});
                }
                spec["prometheus"] = json!({"serviceMonitor": {"enabled": bit(3)}});
                json!({"kind": kind.as_str(), "spec": spec})
            }
            (Store::Child(kind), _) => {
                let owner = [Kind::LMCacheEngine, Kind::LMCacheCoordinator][usize::from(bit(0))];
                let uid = self.uid((Store::Custom(owner), namespace, "x"));
                let owner = json!([{"kind": owner.as_str(), "name": "x", "uid": uid, "controller": true}]);
                json!({"kind": kind.as_str(), "metadata": {"ownerReferences": if bit(1) { owner } else { json!([]) }}})
            }
            (Store::Server, _) => {
                let labels = json!({"app.kubernetes.io/instance": NAMES[usize::from(variant & 1)]});
                json!({"metadata": {"labels": labels}, "spec": {"nodeName": if bit(1) { "n" } else { "m" }}})
            }
            (Store::Client, _) => {
                let engine = ["x", "y", "east/x", "west/x"][usize::from(variant & 3)];
                json!({"metadata": {
                    "labels": {
                        "lmcache.ai/lmcache-inject": if bit(2) { "true" } else { "false" },
                        "lmcache.ai/cacheblend-inject": if bit(3) { "true" } else { "false" },
                    },
                    "annotations": {"lmcache.ai/lmcache-engine": engine, "lmcache.ai/cacheblend-engine": engine},
                }})
            }
            (Store::Secret, _) => json!({"data": {"password": variant.to_string()}}),
        };
        let progress = before
            .filter(|_| by_controller)
            .and_then(|before| before["status"]["numberReady"].as_u64());
        object["status"] = json!({"numberReady": progress.unwrap_or(u64::from(variant >> 4)), "version": self.version});
        let generation = if by_controller && matches!(store, Store::Custom(_)) {
            object["metadata"]["generation"].clone()
        } else {
            json!(self.version)
        };
        let object_metadata = object.as_object_mut().unwrap().entry("metadata").or_insert(json!({}));
        let all = object_metadata.as_object_mut().unwrap();
        all.extend(metadata.as_object().unwrap().clone());
        all.insert("generation".to_owned(), generation);
        self.objects.insert(place, object.clone());
        object
    }

    fn uid(&self, place: Place) -> Value {
        self.objects
            .get(&place)
            .map_or(json!("nobody"), |object| object["metadata"]["uid"].clone())
    }

    /// The object as its deletion shows it.
    pub fn remove(&mut self, place: Place) -> Option<Value> {
        let mut object = self.objects.remove(&place)?;
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        Some(object)
    }

    pub fn list(&self, what: What) -> Vec<Event<Value>> {
        let objects = self
            .objects
            .iter()
            .filter(|(place, object)| delivers(what, **place, object));
        let objects = objects.map(|(_, object)| Event::InitApply(object.clone()));
        [Event::Init]
            .into_iter()
            .chain(objects)
            .chain([Event::InitDone])
            .collect()
    }
}

/// Whether an object comes through a watch.
pub fn delivers(what: What, (store, namespace, name): Place, object: &Value) -> bool {
    let opted_in = |key: &str| object["metadata"]["labels"][key] == "true";
    match (what, store) {
        (What::Custom(kind), Store::Custom(of)) => kind == of,
        (What::Child(kind), Store::Child(of)) => kind == of,
        (What::Server, Store::Server) => true,
        (What::Client(ClientWatch::LMCache), Store::Client) => opted_in("lmcache.ai/lmcache-inject"),
        (What::Client(ClientWatch::CacheBlend), Store::Client) => opted_in("lmcache.ai/cacheblend-inject"),
        (What::Secret(of, secret), Store::Secret) => (of, secret) == (namespace, name),
        _ => false,
    }
}
