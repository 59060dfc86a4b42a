//! Whether a live object is exactly what an apply would leave.

use lmcache_api::quantity::Quantity;
use serde_json::{Map, Value};

use super::lists;

/// Whether an apply of `wanted` would change neither `live` nor what the controller owns of it. `owned` is `fieldsV1` of
/// its last apply.
///
/// Field by field: what is wanted has to be owned and to have the wanted value, and what is owned has to be wanted. Where
/// the API server takes a value as one (`owned` goes no deeper), nothing more may be in it either.
pub(super) fn is_settled(owned: &Value, wanted: &Value, live: &Value) -> bool {
    let Some(owned) = owned.as_object() else {
        return false;
    };
    // The names are in the address of a request, and never owned.
    let is_named = |name: &str| matches!(name, "apiVersion" | "kind" | "metadata");
    let members = without(wanted, is_named);
    let metadata = without(wanted.get("metadata").unwrap_or(&Value::Null), |name| {
        matches!(name, "name" | "namespace")
    });
    let mut rest = owned.clone();
    let owned_metadata = rest.remove("f:metadata").unwrap_or_default();
    let live_metadata = live.get("metadata").unwrap_or(&Value::Null);
    let owned_metadata = owned_metadata.as_object().cloned().unwrap_or_default();
    all_settled("", &rest, &members, live) && all_settled("", &owned_metadata, &metadata, live_metadata)
}

/// The same of the specification alone.
pub(super) fn has_settled_spec(owned: &Value, wanted: &Value, live: &Value) -> bool {
    match (owned.get("f:spec"), wanted.get("spec"), live.get("spec")) {
        (Some(owned), Some(wanted), Some(live)) => node("spec", owned, wanted, live),
        _ => false,
    }
}

fn without(object: &Value, is_left_out: impl Fn(&str) -> bool) -> Map<String, Value> {
    let members = object.as_object().into_iter().flatten();
    let kept = members.filter(|(name, _)| !is_left_out(name));
    kept.map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn node(field: &str, owned: &Value, wanted: &Value, live: &Value) -> bool {
    let below = owned.as_object().filter(|owned| owned.keys().any(|step| step != "."));
    match (below, wanted) {
        (Some(owned), Value::Object(wanted)) => all_settled(field, owned, wanted, live),
        (Some(owned), Value::Array(wanted)) => items(field, owned, wanted, live),
        (Some(_), _) => false,
        // What is owned, `false` and not there is one of the values that the API server does not store.
        (None, _) => is_same(field, wanted, live) || (*wanted == Value::Bool(false) && live.is_null()),
    }
}

fn all_settled(field: &str, owned: &Map<String, Value>, wanted: &Map<String, Value>, live: &Value) -> bool {
    let is_wanted = |step: &String| match step.split_once(':') {
        Some(("f", name)) => wanted.contains_key(name),
        _ => step == ".",
    };
    owned.keys().all(is_wanted)
        && wanted
            .iter()
            .all(|(name, wanted)| match owned.get(&format!("f:{name}")) {
                Some(owned) => {
                    let field = if is_amount(field) { field } else { name };
                    node(field, owned, wanted, live.get(name).unwrap_or(&Value::Null))
                }
                None => false,
            })
}

/// Items with keys (`k:`), and sets (`v:`).
fn items(field: &str, owned: &Map<String, Value>, wanted: &[Value], live: &Value) -> bool {
    let live = live.as_array().map(Vec::as_slice).unwrap_or_default();
    let keys = lists::keys(field);
    let owned: Vec<_> = owned.iter().filter(|(step, _)| *step != ".").collect();
    let mut places = Vec::new();
    let all = wanted.len() == owned.len()
        && wanted.iter().all(|wanted| {
            let is_its = |step: &str| match step.split_once(':') {
                Some(("k", key)) => {
                    let key: Map<String, Value> = serde_json::from_str(key).unwrap_or_default();
                    let names: Vec<&str> = key.keys().map(String::as_str).collect();
                    lists::key_of(&names, wanted).is_some_and(|own| own == key)
                }
                Some(("v", value)) => serde_json::from_str::<Value>(value).is_ok_and(|value| value == *wanted),
                _ => false,
            };
            let Some((_, below)) = owned.iter().find(|(step, _)| is_its(step)) else {
                return false;
            };
            let key = lists::key_of(keys, wanted);
            let place = live.iter().position(|live| match &key {
                Some(key) => lists::key_of(keys, live).is_some_and(|live| live == *key),
                None => live == wanted,
            });
            places.extend(place);
            let found = place.and_then(|place| live.get(place));
            found.is_some_and(|live| wanted.is_object() && item(below, wanted, live) || live == wanted)
        });
    // Init containers run in their order, and a variable can use those before it.
    all && (!matches!(field, "env" | "initContainers") || places.is_sorted())
}

/// Members of an item; a key that was left to its default is owned and not wanted.
fn item(owned: &Value, wanted: &Value, live: &Value) -> bool {
    let (Some(owned), Some(members)) = (owned.as_object(), wanted.as_object()) else {
        return false;
    };
    let mut owned = owned.clone();
    if !members.contains_key("protocol") {
        owned.remove("f:protocol");
    }
    if owned.keys().all(|step| step == ".") && members.is_empty() {
        return true;
    }
    all_settled("", &owned, members, live)
}

/// Whether two values are the same to Kubernetes, which does not keep empty values apart from absent ones.
fn is_same(field: &str, wanted: &Value, live: &Value) -> bool {
    match (wanted, live) {
        (Value::Object(wanted), Value::Object(live)) => {
            let mut names: Vec<&String> = wanted.keys().chain(live.keys()).collect();
            names.sort_unstable();
            names.dedup();
            let member = |of: &Map<String, Value>, name: &str| of.get(name).cloned().unwrap_or_default();
            names.into_iter().all(|name| {
                // The API server fills it in, inside a value that it takes as one.
                let is_filled_in = field == "fieldRef" && name == "apiVersion" && !wanted.contains_key(name);
                let field = if is_amount(field) { field } else { name };
                is_filled_in || is_same(field, &member(wanted, name), &member(live, name))
            })
        }
        (Value::Array(wanted), Value::Array(live)) => {
            let mut pairs = wanted.iter().zip(live);
            wanted.len() == live.len() && pairs.all(|(wanted, live)| is_same("", wanted, live))
        }
        _ if wanted == live => true,
        _ if is_amount(field) => is_same_amount(wanted, live),
        _ => is_empty(wanted) && is_empty(live),
    }
}

/// Fields that hold amounts, or whose members do.
pub(super) fn is_amount(field: &str) -> bool {
    matches!(field, "limits" | "requests" | "sizeLimit" | "divisor" | "storage")
}

/// `500m` and `0.5`, `2Gi` and `2048Mi`, `1` and `"1"`.
pub(super) fn is_same_amount(wanted: &Value, live: &Value) -> bool {
    amount(wanted).is_some_and(|wanted| amount(live) == Some(wanted))
}

fn amount(value: &Value) -> Option<Quantity> {
    match value {
        Value::String(text) => text.parse().ok(),
        Value::Number(number) => number.to_string().parse().ok(),
        _ => None,
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.values().all(is_empty),
        Value::Bool(_) | Value::Number(_) => false,
    }
}
