//! Merging an applied object into a stored one.

use serde_json::{Map, Value};

use super::schema::{Place, Shape, key_of};

/// `live` with everything that `applied` says.
pub fn merge(kind: &str, live: &Value, applied: &Value) -> Value {
    merged(Place::root(kind), Some(live), applied)
}

fn merged(place: Place<'_>, live: Option<&Value>, applied: &Value) -> Value {
    match (place.shape(applied), live, applied) {
        (Shape::Members, Some(Value::Object(live)), Value::Object(applied)) => {
            let mut all = live.clone();
            for (name, value) in applied {
                all.insert(name.clone(), merged(place.member(name), live.get(name), value));
            }
            Value::Object(all)
        }
        (Shape::Items(keys), Some(Value::Array(live)), Value::Array(applied)) => {
            Value::Array(items(place.item(), keys, live, applied))
        }
        _ => applied.clone(),
    }
}

/// Items that are applied come in the order in which they are applied; the others stay where they are between them.
fn items(place: Place<'_>, keys: &[&str], live: &[Value], applied: &[Value]) -> Vec<Value> {
    let is_in = |items: &[Value], item: &Value| items.iter().any(|other| key_of(keys, other) == key_of(keys, item));
    let is_same = |one: &Value, other: &Value| key_of(keys, one) == key_of(keys, other);
    let mut all = Vec::new();
    let mut rest = live;
    for (at, item) in applied.iter().enumerate() {
        let next = applied[at..].iter().find(|item| is_in(live, item));
        while let [first, others @ ..] = rest {
            if is_same(first, item) {
                rest = others;
                break;
            }
            if !is_in(applied, first) {
                all.push(first.clone());
            } else if next.is_some_and(|next| is_same(next, first)) {
                // Its turn comes.
                break;
            }
            rest = others;
        }
        let own = live.iter().find(|other| is_same(other, item));
        all.push(merged(place, own, item));
    }
    all.extend(rest.iter().filter(|item| !is_in(applied, item)).cloned());
    all
}

/// The first list with keys in which an item stands twice, as the API server names it.
pub fn duplicate(kind: &str, object: &Value) -> Option<String> {
    find_duplicate("", Place::root(kind), object)
}

fn find_duplicate(path: &str, place: Place<'_>, value: &Value) -> Option<String> {
    match (place.shape(value), value) {
        (Shape::Members, Value::Object(members)) => members
            .iter()
            .find_map(|(name, member)| find_duplicate(&format!("{path}.{name}"), place.member(name), member)),
        (Shape::Items(keys), Value::Array(items)) => {
            let all: Vec<Map<String, Value>> = items.iter().map(|item| key_of(keys, item)).collect();
            let twice = (1..all.len()).find(|end| all[..*end].contains(&all[*end]));
            if let Some(twice) = twice {
                let key = Value::Object(all[twice].clone());
                return Some(format!("{path}: duplicate entries for key {key}"));
            }
            items
                .iter()
                .find_map(|item| find_duplicate(&format!("{path}[]"), place.item(), item))
        }
        _ => None,
    }
}
