//! What was found in the cluster, as data.

use std::collections::BTreeSet;

use jiff::Timestamp;
use policy_kit::cluster::{Cluster, Lookup, Query};
use serde_json::Value;

/// Objects as the API server returned them, each with its `kind` and `apiVersion`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// When it was taken.
    pub taken: Timestamp,
    /// The objects. Secrets are never among them.
    pub objects: Vec<Value>,
    /// Kinds that the API server does not serve.
    pub absent: BTreeSet<String>,
}

impl Snapshot {
    /// The objects of a kind.
    pub fn of<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        self.objects.iter().filter(move |object| text(object, "/kind") == kind)
    }

    /// An object; the namespace is empty for those that are in none.
    pub fn get(&self, kind: &str, namespace: &str, name: &str) -> Option<&Value> {
        let is = |object: &&Value| {
            text(object, "/kind") == kind
                && text(object, "/metadata/name") == name
                && text(object, "/metadata/namespace") == namespace
        };
        self.objects.iter().find(is)
    }

    /// Whether the API server serves a kind.
    pub fn serves(&self, kind: &str) -> bool {
        !self.absent.contains(kind)
    }
}

/// Policies look up what they need as in the cluster itself.
impl Cluster for Snapshot {
    fn get(&self, query: &Query<'_>) -> Lookup {
        if !self.serves(query.kind) {
            return Lookup::NotServed;
        }
        let found = Snapshot::get(self, query.kind, query.namespace.unwrap_or_default(), query.name);
        found.map_or(Lookup::NotFound, |object| Lookup::Found(object.clone()))
    }
}

/// The text at a pointer, empty where there is none.
pub(super) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The number at a pointer.
pub(super) fn number(object: &Value, pointer: &str) -> Option<i64> {
    object.pointer(pointer).and_then(Value::as_i64)
}

/// The list at a pointer, empty where there is none.
pub(super) fn items<'a>(object: &'a Value, pointer: &str) -> impl Iterator<Item = &'a Value> {
    object.pointer(pointer).and_then(Value::as_array).into_iter().flatten()
}

/// A label of an object, empty where there is none.
pub(super) fn label<'a>(object: &'a Value, key: &str) -> &'a str {
    entry(object, "/metadata/labels", key)
}

/// An annotation of an object, likewise.
pub(super) fn annotation<'a>(object: &'a Value, key: &str) -> &'a str {
    entry(object, "/metadata/annotations", key)
}

fn entry<'a>(object: &'a Value, pointer: &str, key: &str) -> &'a str {
    let entries = object.pointer(pointer);
    let found = entries.and_then(|entries| entries.get(key));
    found.and_then(Value::as_str).unwrap_or_default()
}

/// `namespace/name`, or the name alone.
pub(super) fn place(object: &Value) -> String {
    let (namespace, name) = (text(object, "/metadata/namespace"), text(object, "/metadata/name"));
    if namespace.is_empty() {
        name.to_owned()
    } else {
        format!("{namespace}/{name}")
    }
}
