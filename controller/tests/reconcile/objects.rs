//! Objects of the tests, and where they are stored.

use lmcache_api::Kind;
use lmcache_controller::live::{Child, Custom, Key};
use serde_json::{Value, json};

use crate::api::{Id, NAMESPACE};

/// Where an object is stored.
pub fn id_of(object: &Value) -> Id {
    let kind = object["kind"].as_str().unwrap();
    let text = |name: &str| object["metadata"][name].as_str().unwrap_or(NAMESPACE).to_owned();
    (format!("{}s", kind.to_lowercase()), text("namespace"), text("name"))
}

/// Where an object of the tests' namespace is stored.
pub fn id(plural: &str, name: &str) -> Id {
    (plural.to_owned(), NAMESPACE.to_owned(), name.to_owned())
}

pub fn custom_id(key: &Key) -> Id {
    (key.kind.plural().to_owned(), key.namespace.clone(), key.name.clone())
}

/// The key of a custom resource.
pub fn key_of(object: &Value) -> Key {
    Custom::read(object.clone()).key().unwrap()
}

/// The live objects as the controller sees them.
pub fn child(object: &Value) -> Child {
    Child::read(object.clone())
}

/// A custom resource of the tests' namespace.
pub fn custom(kind: Kind, name: &str, spec: Value) -> Value {
    json!({
        "apiVersion": "lmcache.lmcache.ai/v1alpha1",
        "kind": kind.as_str(),
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": spec,
    })
}

/// The engine `kv` with these members of `spec`.
pub fn engine(spec: Value) -> Value {
    let mut all = json!({"l1": {"sizeGB": 60}, "image": {"tag": "v0.5.6"}});
    all.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    custom(Kind::LMCacheEngine, "kv", all)
}

/// The CacheBlend engine `kv`.
pub fn cacheblend(spec: Value) -> Value {
    let mut all = engine(spec);
    all["kind"] = json!("CacheBlendEngine");
    all["spec"]["injection"] = json!({"payloadImage": {"repository": "registry.example/payload", "tag": "v1"}});
    all
}

/// A coordinator of this name.
pub fn coordinator(name: &str, spec: Value) -> Value {
    custom(Kind::LMCacheCoordinator, name, spec)
}

/// The key of the engine `kv`.
pub fn kv() -> Key {
    Key::new(Kind::LMCacheEngine, NAMESPACE, "kv")
}
