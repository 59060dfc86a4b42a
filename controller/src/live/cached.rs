//! An object of the API, cut down while it is read.

use std::borrow::Cow;
use std::fmt::Debug;
use std::hash::Hash;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube::core::DynamicResourceScope;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// What is kept of an object.
pub trait Facts: Clone + Debug + Send + Sync + 'static {
    /// Tells kinds apart where one type stands for several.
    type Type: Clone + Debug + Eq + Hash + Send + Sync + Unpin + 'static;

    /// Group, version, kind and plural of the objects.
    fn resource(of: &Self::Type) -> (&'static str, &'static str, &'static str, &'static str);

    /// Reads an object. Never fails: what is not there, or not as expected, counts as absent.
    fn read(object: Value) -> Self;
}

/// An object of the API with what is kept of it. Can be watched, read and patched through `kube::Api`.
#[derive(Clone, Debug)]
pub struct Cached<F> {
    /// Name, namespace, uid and resource version; nothing else.
    pub meta: ObjectMeta,
    /// The rest.
    pub facts: F,
}

impl<F: Facts> Cached<F> {
    /// Cuts an object down.
    pub fn read(object: Value) -> Self {
        let text = |name: &str| {
            let text = object.get("metadata").and_then(|metadata| metadata.get(name));
            text.and_then(Value::as_str).map(str::to_owned)
        };
        let meta = ObjectMeta {
            name: text("name"),
            namespace: text("namespace"),
            uid: text("uid"),
            resource_version: text("resourceVersion"),
            ..ObjectMeta::default()
        };
        Cached {
            meta,
            facts: F::read(object),
        }
    }
}

impl<F> Cached<F> {
    /// The name; empty where the object has none.
    pub fn name(&self) -> &str {
        self.meta.name.as_deref().unwrap_or_default()
    }

    /// The namespace; empty where the object has none.
    pub fn namespace(&self) -> &str {
        self.meta.namespace.as_deref().unwrap_or_default()
    }

    /// The uid; empty where the object has none.
    pub fn uid(&self) -> &str {
        self.meta.uid.as_deref().unwrap_or_default()
    }

    /// The resource version; empty where the object has none.
    pub fn resource_version(&self) -> &str {
        self.meta.resource_version.as_deref().unwrap_or_default()
    }
}

impl<'de, F: Facts> Deserialize<'de> for Cached<F> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Self::read)
    }
}

impl<F: Facts> Resource for Cached<F> {
    type DynamicType = F::Type;
    type Scope = DynamicResourceScope;

    fn kind(of: &F::Type) -> Cow<'_, str> {
        F::resource(of).2.into()
    }

    fn group(of: &F::Type) -> Cow<'_, str> {
        F::resource(of).0.into()
    }

    fn version(of: &F::Type) -> Cow<'_, str> {
        F::resource(of).1.into()
    }

    fn plural(of: &F::Type) -> Cow<'_, str> {
        F::resource(of).3.into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.meta
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.meta
    }
}
