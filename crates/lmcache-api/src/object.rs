//! Custom resources as far as they could be read.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::decode::typed::Typed;
use crate::{CacheBlendEngineSpec, Kind, LMCacheCoordinatorSpec, LMCacheEngineSpec};

/// What is read of `metadata`. Members of the wrong type count as absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectMeta {
    /// Name; `None` while the API server still has to make one from `generate_name`.
    pub name: Option<String>,
    /// Prefix of a name to be made.
    pub generate_name: Option<String>,
    /// Namespace.
    pub namespace: Option<String>,
    /// Identity of the object, never reused.
    pub uid: Option<String>,
    /// Labels; entries that are not strings are left out.
    pub labels: Option<BTreeMap<String, String>>,
    /// Annotations; entries that are not strings are left out.
    pub annotations: Option<BTreeMap<String, String>>,
    /// When deletion was asked for, RFC 3339.
    pub deletion_timestamp: Option<String>,
    /// Counts the changes of `spec`.
    pub generation: Option<i64>,
    /// Finalizers; entries that are not strings are left out.
    pub finalizers: Vec<String>,
}

impl ObjectMeta {
    /// Reads the `metadata` of any JSON.
    pub(crate) fn read(object: &Value) -> Self {
        let metadata = object.get("metadata");
        let member = |name: &str| metadata.and_then(|metadata| metadata.get(name));
        let text = |name: &str| member(name).and_then(Value::as_str).map(str::to_owned);
        let strings = |name: &str| member(name).and_then(Typed::typed);
        ObjectMeta {
            name: text("name"),
            generate_name: text("generateName"),
            namespace: text("namespace"),
            uid: text("uid"),
            labels: strings("labels"),
            annotations: strings("annotations"),
            deletion_timestamp: text("deletionTimestamp"),
            generation: member("generation").and_then(Value::as_i64),
            finalizers: member("finalizers")
                .and_then(Value::as_array)
                .map(|items| items.iter().filter_map(Value::as_str).map(str::to_owned).collect())
                .unwrap_or_default(),
        }
    }
}

/// A custom resource without its status.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Object<S> {
    /// Name, namespace, labels, ...
    pub metadata: ObjectMeta,
    /// What is asked for.
    pub spec: S,
}

/// A custom resource of any kind of the group.
#[derive(Clone, Debug, PartialEq)]
pub enum AnyObject {
    /// An LMCacheEngine.
    LMCacheEngine(Object<LMCacheEngineSpec>),
    /// A CacheBlendEngine.
    CacheBlendEngine(Object<CacheBlendEngineSpec>),
    /// An LMCacheCoordinator.
    LMCacheCoordinator(Object<LMCacheCoordinatorSpec>),
}

impl AnyObject {
    /// The kind.
    pub fn kind(&self) -> Kind {
        match self {
            AnyObject::LMCacheEngine(_) => Kind::LMCacheEngine,
            AnyObject::CacheBlendEngine(_) => Kind::CacheBlendEngine,
            AnyObject::LMCacheCoordinator(_) => Kind::LMCacheCoordinator,
        }
    }

    /// The metadata.
    pub fn metadata(&self) -> &ObjectMeta {
        match self {
            AnyObject::LMCacheEngine(object) => &object.metadata,
            AnyObject::CacheBlendEngine(object) => &object.metadata,
            AnyObject::LMCacheCoordinator(object) => &object.metadata,
        }
    }

    /// The engine, if it is one of either kind.
    pub fn engine(&self) -> Option<&dyn crate::EngineSpec> {
        match self {
            AnyObject::LMCacheEngine(object) => Some(&object.spec),
            AnyObject::CacheBlendEngine(object) => Some(&object.spec),
            AnyObject::LMCacheCoordinator(_) => None,
        }
    }

    /// Fills in what the Go operator's `SetDefaults` fills in. Never writes to a cluster.
    pub fn set_defaults(&mut self) {
        match self {
            AnyObject::LMCacheEngine(object) => object.spec.set_defaults(),
            AnyObject::CacheBlendEngine(object) => object.spec.set_defaults(),
            AnyObject::LMCacheCoordinator(object) => object.spec.set_defaults(),
        }
    }
}
