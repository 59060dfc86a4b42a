//! Custom resources of ours.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use lmcache_api::{GROUP, Kind, VERSION};
use serde_json::Value;

use super::json::{items, number, some_text, text};
use super::{Cached, Facts, Key, NamespacedName};

/// An LMCacheEngine, CacheBlendEngine or LMCacheCoordinator as it is stored.
pub type Custom = Cached<CustomFacts>;

/// A custom resource of which its name and namespace are kept, and nothing else: what kube's runtime looks up to know that
/// it still exists.
pub type CustomName = Cached<NothingElse>;

/// What is kept of a custom resource beside its name, where that is all.
#[derive(Clone, Debug)]
pub struct NothingElse;

impl Facts for NothingElse {
    type Type = Kind;

    fn resource(of: &Kind) -> (&'static str, &'static str, &'static str, &'static str) {
        CustomFacts::resource(of)
    }

    fn read(_: Value) -> Self {
        NothingElse
    }
}

/// What is kept of a custom resource.
#[derive(Clone, Debug)]
pub struct CustomFacts {
    /// Its kind; `None` for one that is not of ours, which no watch delivers.
    pub kind: Option<Kind>,
    /// The whole object without `metadata.managedFields`, as JSON.
    json: Arc<str>,
    /// `metadata.generation`.
    pub generation: i64,
    /// `metadata.creationTimestamp`, RFC 3339.
    pub created: String,
    /// Whether its deletion was asked for.
    pub is_being_deleted: bool,
    /// The coordinator in its namespace that it refers to by name and not by URL.
    pub coordinator: Option<String>,
    /// The Secret with the Redis login that it names.
    pub login: Option<NamespacedName>,
    /// The Secret with the key of its encrypted second tier.
    pub master_key: Option<NamespacedName>,
    /// Whether it asks for a ServiceMonitor.
    pub wants_monitor: bool,
    /// Whether it has finalizers.
    pub has_finalizers: bool,
    /// Whether its status tells what was found in a pass, of whatever generation.
    pub has_status: bool,
}

impl Facts for CustomFacts {
    type Type = Kind;

    fn resource(of: &Kind) -> (&'static str, &'static str, &'static str, &'static str) {
        (GROUP, VERSION, of.as_str(), of.plural())
    }

    fn read(mut object: Value) -> Self {
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("managedFields");
        }
        let namespace = text(&object, "/metadata/namespace").to_owned();
        let secret = |pointer: &str, of: Option<String>| {
            let namespace = of.unwrap_or_else(|| namespace.clone());
            some_text(&object, pointer).map(|name| NamespacedName { namespace, name })
        };
        let login = "/spec/l2Backend/resp/authSecretRef";
        CustomFacts {
            kind: text(&object, "/kind").parse().ok(),
            generation: number(&object, "/metadata/generation"),
            created: text(&object, "/metadata/creationTimestamp").to_owned(),
            is_being_deleted: some_text(&object, "/metadata/deletionTimestamp").is_some(),
            coordinator: some_text(&object, "/spec/coordinator/ref/name")
                .filter(|_| text(&object, "/spec/coordinator/url").is_empty()),
            login: secret(
                &format!("{login}/name"),
                some_text(&object, &format!("{login}/namespace")),
            ),
            master_key: secret("/spec/l2Backend/serde/aesgcm/masterKeySecretRef/name", None),
            wants_monitor: object.pointer("/spec/prometheus/serviceMonitor/enabled") == Some(&Value::Bool(true)),
            has_finalizers: items(&object, "/metadata/finalizers").next().is_some(),
            has_status: object.pointer("/status/observedGeneration").is_some(),
            json: object.to_string().into(),
        }
    }
}

impl Custom {
    /// Its name and namespace.
    pub fn to_name(&self) -> CustomName {
        let meta = ObjectMeta {
            name: self.meta.name.clone(),
            namespace: self.meta.namespace.clone(),
            ..ObjectMeta::default()
        };
        let facts = NothingElse;
        Cached { meta, facts }
    }

    /// The object, without `metadata.managedFields`.
    pub fn value(&self) -> Value {
        serde_json::from_str(&self.facts.json).unwrap_or_default()
    }

    /// How it is called here; `None` for an object of another kind.
    pub fn key(&self) -> Option<Key> {
        let kind = self.facts.kind?;
        Some(Key::new(kind, self.namespace(), self.name()))
    }

    /// The Secrets that it names.
    pub fn secrets(&self) -> impl Iterator<Item = &NamespacedName> {
        self.facts.login.iter().chain(&self.facts.master_key)
    }
}
