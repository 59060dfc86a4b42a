//! Lists whose items have keys.
//!
//! The API server merges them item by item; every other list it takes as one value.

use serde_json::{Map, Value};

/// The members by which items of a list are told apart; empty for a list that is one value.
///
/// These are the list-map keys of the Kubernetes types that children are made of.
pub(super) fn keys(field: &str) -> &'static [&'static str] {
    match field {
        "containers"
        | "initContainers"
        | "ephemeralContainers"
        | "volumes"
        | "env"
        | "imagePullSecrets"
        | "claims"
        | "resourceClaims" => &["name"],
        "volumeMounts" => &["mountPath"],
        "volumeDevices" => &["devicePath"],
        "ownerReferences" => &["uid"],
        "hostAliases" => &["ip"],
        "topologySpreadConstraints" => &["topologyKey", "whenUnsatisfiable"],
        // A container's; a Service's have `port`, see `key_of`.
        "ports" => &["containerPort", "port", "protocol"],
        _ => &[],
    }
}

/// The key of an item: those of the members that it has, with the protocol that Kubernetes fills in. `None` for what
/// cannot be an item of such a list.
pub(super) fn key_of(keys: &[&str], item: &Value) -> Option<Map<String, Value>> {
    let item = item.as_object()?;
    let mut key = Map::new();
    for name in keys {
        match item.get(*name) {
            Some(value) => drop(key.insert((*name).to_owned(), value.clone())),
            None if *name == "protocol" => drop(key.insert("protocol".to_owned(), Value::from("TCP"))),
            None => {}
        }
    }
    (!key.is_empty()).then_some(key)
}

/// The item with this key.
pub(super) fn find<'a>(keys: &[&str], items: &'a [Value], key: &Map<String, Value>) -> Option<&'a Value> {
    items.iter().find(|item| {
        let found = key_of(keys, item);
        // A server's key may leave the protocol to its default.
        found.is_some_and(|found| key.iter().all(|(name, value)| found.get(name) == Some(value)))
    })
}

/// Whether the API server can merge an object: no list with keys has two items of one key.
pub(super) fn is_expressible(value: &Value) -> bool {
    match value {
        Value::Object(members) => members.iter().all(|(name, member)| {
            let unique = match (keys(name), member) {
                ([], _) => true,
                (keys, Value::Array(items)) => {
                    let all: Vec<_> = items.iter().map(|item| key_of(keys, item)).collect();
                    all.iter()
                        .enumerate()
                        .all(|(at, key)| !all.iter().take(at).any(|other| other == key))
                }
                _ => true,
            };
            unique && is_expressible(member)
        }),
        Value::Array(items) => items.iter().all(is_expressible),
        _ => true,
    }
}
