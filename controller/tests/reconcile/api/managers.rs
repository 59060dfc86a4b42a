//! `metadata.managedFields`.

use serde_json::{Value, json};

use super::fields::{FieldSet, at};
use super::schema::{Place, Shape, key_of};

/// An entry.
#[derive(Clone, Debug, PartialEq)]
pub struct Manager {
    pub name: String,
    /// `Apply` or `Update`.
    pub operation: String,
    /// Empty for the object itself.
    pub subresource: String,
    pub fields: FieldSet,
}

impl Manager {
    pub fn new(name: &str, operation: &str) -> Self {
        Manager {
            name: name.to_owned(),
            operation: operation.to_owned(),
            subresource: String::new(),
            fields: FieldSet::default(),
        }
    }

    pub fn is(&self, name: &str, operation: &str) -> bool {
        self.name == name && self.operation == operation && self.subresource.is_empty()
    }
}

/// The entries of an object.
pub fn read(object: &Value) -> Vec<Manager> {
    let entries = object.pointer("/metadata/managedFields").and_then(Value::as_array);
    let text = |entry: &Value, name: &str| entry[name].as_str().unwrap_or_default().to_owned();
    let manager = |entry: &Value| Manager {
        name: text(entry, "manager"),
        operation: text(entry, "operation"),
        subresource: text(entry, "subresource"),
        fields: FieldSet::read(&entry["fieldsV1"]),
    };
    entries.into_iter().flatten().map(manager).collect()
}

/// Writes entries to an object. Those that own nothing go.
pub fn write(object: &mut Value, managers: &[Manager]) {
    let api_version = object["apiVersion"].clone();
    let entry = |manager: &Manager| {
        let mut entry = json!({
            "manager": manager.name,
            "operation": manager.operation,
            "apiVersion": api_version,
            "time": "2026-11-30T00:00:00Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": manager.fields.write(),
        });
        if !manager.subresource.is_empty() {
            entry["subresource"] = json!(manager.subresource);
        }
        entry
    };
    let entries = managers.iter().filter(|manager| !manager.fields.is_empty());
    object["metadata"]["managedFields"] = entries.map(entry).collect();
}

/// Books a write that is no apply: what is new or different becomes the writer's, what is gone nobody's.
pub fn updated(managers: &mut Vec<Manager>, writer: Manager, before: &Value, after: &Value) {
    let kind = after["kind"].as_str().unwrap_or_default();
    let mut changed = FieldSet::default();
    difference(Place::root(kind), &mut Vec::new(), Some(before), after, &mut changed);
    let old = FieldSet::of(kind, before);
    let gone: Vec<_> = old.iter().filter(|path| at(after, path).is_none()).collect();
    let place = managers.iter().position(|manager| {
        (&manager.name, &manager.operation, &manager.subresource)
            == (&writer.name, &writer.operation, &writer.subresource)
    });
    let place = place.unwrap_or_else(|| {
        managers.push(writer);
        managers.len() - 1
    });
    for (number, manager) in managers.iter_mut().enumerate() {
        for path in &gone {
            manager.fields.remove_below(path);
        }
        for path in changed.iter() {
            if number == place {
                manager.fields.insert(path.clone());
            } else if !is_item(path) {
                manager.fields.remove(path);
            }
        }
    }
}

/// Items are nobody's alone: whoever changes what is in one leaves the item to the others.
pub fn is_item(path: &[String]) -> bool {
    path.last().is_some_and(|step| step.starts_with("k:"))
}

fn difference(place: Place<'_>, path: &mut Vec<String>, before: Option<&Value>, after: &Value, changed: &mut FieldSet) {
    let all = FieldSet::of_part(place, path, after);
    match (place.shape(after), before, after) {
        (Shape::Members, Some(before @ Value::Object(_)), Value::Object(members)) => {
            for (name, member) in members {
                path.push(format!("f:{name}"));
                difference(place.member(name), path, before.get(name), member, changed);
                path.pop();
            }
        }
        (Shape::Items(keys), Some(Value::Array(before)), Value::Array(items)) => {
            for item in items {
                let old = before.iter().find(|old| key_of(keys, old) == key_of(keys, item));
                path.push(super::fields::step(keys, item));
                if old.is_none() {
                    changed.insert(path.clone());
                }
                difference(place.item(), path, old, item, changed);
                path.pop();
            }
        }
        _ if before == Some(after) => {}
        _ => all.iter().for_each(|path| changed.insert(path.clone())),
    }
}
