//! Stored objects, and what requests do to them.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::defaults::{fill_in, give_addresses, keep_metadata};
use super::fields::{FieldSet, at, remove_at};
use super::managers::{self, Manager, is_item};
use super::merge::{duplicate, merge};

/// Plural, namespace, name.
pub type Id = (String, String, String);

/// A request that is refused: status code and message.
pub type Refusal = (u16, String);

/// What a watch reports.
#[derive(Clone, Debug)]
pub enum Change {
    Written(Value),
    Deleted(Value),
}

pub struct Store {
    objects: BTreeMap<Id, Value>,
    /// Plurals of kinds that are not served.
    pub not_served: Vec<&'static str>,
    /// Whether an apply for a version is refused where there is no object. Kubernetes creates one.
    pub wants_versions_to_exist: bool,
    /// What has happened since it was last taken.
    pub changes: Vec<Change>,
    version: u64,
}

impl Default for Store {
    fn default() -> Self {
        Store {
            objects: BTreeMap::new(),
            not_served: Vec::new(),
            wants_versions_to_exist: false,
            changes: Vec::new(),
            // As in etcd, an empty store has a version already: no object gets this one.
            version: 1,
        }
    }
}

impl Store {
    pub fn get(&self, id: &Id) -> Result<&Value, Refusal> {
        self.objects
            .get(id)
            .ok_or_else(|| (404, format!("{} {:?} not found", id.0, id.2)))
    }

    pub fn all(&self) -> impl Iterator<Item = &Value> {
        self.objects.values()
    }

    /// Stores an object as it stands, for instance a recorded one.
    pub fn put(&mut self, id: Id, object: Value) {
        let version = object["metadata"]["resourceVersion"]
            .as_str()
            .map(|text| text.parse().unwrap());
        self.version = self.version.max(version.unwrap_or(0));
        self.changes.push(Change::Written(object.clone()));
        self.objects.insert(id, object);
    }

    /// Creates an object, as `kubectl create` does.
    pub fn create(&mut self, id: Id, mut object: Value, manager: &str) -> Result<Value, Refusal> {
        if self.objects.contains_key(&id) {
            return Err((409, format!("{} {:?} already exists", id.0, id.2)));
        }
        fill_in(&mut object, None);
        let mut all = Vec::new();
        managers::updated(&mut all, Manager::new(manager, "Update"), &json!({}), &object);
        Ok(self.store_new(id, object, &all))
    }

    /// Changes an object, as a client does that reads and writes it. `subresource` is `status` or empty.
    pub fn edit(
        &mut self,
        id: &Id,
        manager: &str,
        subresource: &str,
        change: impl FnOnce(&mut Value),
    ) -> Result<Value, Refusal> {
        let old = self.get(id)?.clone();
        let mut object = old.clone();
        change(&mut object);
        // Who changes managedFields says who owns what.
        let mut all = managers::read(&object);
        if subresource == "status" {
            let status = object["status"].take();
            object = old.clone();
            object["status"] = status;
        } else if !old["status"].is_null() {
            object["status"] = old["status"].clone();
        }
        fill_in(&mut object, Some(&old));
        let writer = Manager {
            subresource: subresource.to_owned(),
            ..Manager::new(manager, "Update")
        };
        managers::updated(&mut all, writer, &old, &object);
        self.store(id, &old, object, &all)
    }

    /// Server-side apply.
    pub fn apply(&mut self, id: Id, applied: &Value, manager: &str, force: bool) -> Result<Value, Refusal> {
        let kind = applied["kind"].as_str().unwrap_or_default();
        if let Some(duplicate) = duplicate(kind, applied) {
            return Err((500, format!("failed to create typed patch object: {duplicate}")));
        }
        let uid = &applied["metadata"]["uid"];
        let version = &applied["metadata"]["resourceVersion"];
        let is_modified = || {
            let message = "the object has been modified; please apply your changes to the latest version";
            (409, message.to_owned())
        };
        let Some(old) = self.objects.get(&id).cloned() else {
            if !uid.is_null() {
                return Err((
                    409,
                    format!("uid mismatch: no existing object was found, expected {uid}"),
                ));
            }
            if !version.is_null() && self.wants_versions_to_exist {
                return Err(is_modified());
            }
            let mut own = Manager::new(manager, "Apply");
            own.fields = FieldSet::of(kind, applied);
            let mut object = applied.clone();
            // The version is one of an object that is there; where there is none, Kubernetes drops it.
            if let Some(metadata) = object["metadata"].as_object_mut() {
                metadata.shift_remove("resourceVersion");
            }
            fill_in(&mut object, None);
            return Ok(self.store_new(id, object, &[own]));
        };
        if !uid.is_null() && *uid != old["metadata"]["uid"] {
            return Err((409, format!("Precondition failed: UID in precondition: {uid}")));
        }
        if !version.is_null() && *version != old["metadata"]["resourceVersion"] {
            return Err(is_modified());
        }
        let (object, all) = applied_to(&old, applied, kind, manager, force)?;
        self.store(&id, &old, object, &all)
    }

    /// Deletes the object, if it is the one of this uid.
    pub fn delete(&mut self, id: &Id, uid: Option<&str>) -> Result<(), Refusal> {
        let object = self.get(id)?;
        if uid.is_some_and(|uid| object["metadata"]["uid"] != uid) {
            return Err((409, "Precondition failed: UID in precondition".to_owned()));
        }
        if let Some(object) = self.objects.remove(id) {
            self.changes.push(Change::Deleted(object));
        }
        Ok(())
    }

    fn next_version(&mut self) -> String {
        self.version += 1;
        self.version.to_string()
    }

    fn store_new(&mut self, id: Id, mut object: Value, all: &[Manager]) -> Value {
        give_addresses(&mut object, None);
        let version = self.next_version();
        object["metadata"]["namespace"] = json!(id.1);
        object["metadata"]["resourceVersion"] = json!(version);
        let metadata = object["metadata"].as_object_mut().unwrap();
        metadata
            .entry("uid")
            .or_insert_with(|| json!(format!("00000000-0000-4000-8000-{version:0>12}")));
        metadata
            .entry("creationTimestamp")
            .or_insert_with(|| json!("2026-11-30T00:00:00Z"));
        if has_generation(&id.0) {
            metadata.entry("generation").or_insert_with(|| json!(1));
        }
        managers::write(&mut object, all);
        self.changes.push(Change::Written(object.clone()));
        self.objects.insert(id, object.clone());
        object
    }

    fn store(&mut self, id: &Id, old: &Value, mut object: Value, all: &[Manager]) -> Result<Value, Refusal> {
        keep_metadata(&mut object, old);
        give_addresses(&mut object, Some(old));
        if matches!(id.0.as_str(), "daemonsets" | "deployments") {
            check_selector(&object, old)?;
        }
        let is_same = managers::read(old) == all && without_managers(old) == without_managers(&object);
        if is_same {
            return Ok(old.clone());
        }
        if has_generation(&id.0) && old["spec"] != object["spec"] {
            object["metadata"]["generation"] = json!(old["metadata"]["generation"].as_u64().unwrap_or(0) + 1);
        }
        object["metadata"]["resourceVersion"] = json!(self.next_version());
        managers::write(&mut object, all);
        self.changes.push(Change::Written(object.clone()));
        // What is being deleted goes with its last finalizer.
        let finalizers = object["metadata"]["finalizers"].as_array();
        if !object["metadata"]["deletionTimestamp"].is_null() && finalizers.is_none_or(Vec::is_empty) {
            self.delete(id, None)?;
        } else {
            self.objects.insert(id.clone(), object.clone());
        }
        Ok(object)
    }
}

/// The object and its managers after an apply.
fn applied_to(
    old: &Value,
    applied: &Value,
    kind: &str,
    name: &str,
    force: bool,
) -> Result<(Value, Vec<Manager>), Refusal> {
    let mut all = managers::read(old);
    let fields = FieldSet::of(kind, applied);
    for other in all.iter_mut().filter(|other| !other.is(name, "Apply")) {
        let differs =
            |path: &&Vec<String>| other.fields.contains(path) && !is_item(path) && at(old, path) != at(applied, path);
        let conflicts: Vec<Vec<String>> = fields.iter().filter(differs).cloned().collect();
        if let (Some(path), false) = (conflicts.first(), force) {
            let (who, path) = (&other.name, path.join("."));
            return Err((
                409,
                format!("Apply failed with 1 conflict: conflict with {who:?}: {path}"),
            ));
        }
        for path in &conflicts {
            other.fields.remove(path);
        }
    }
    let place = all.iter().position(|manager| manager.is(name, "Apply"));
    let place = place.unwrap_or_else(|| {
        all.push(Manager::new(name, "Apply"));
        all.len() - 1
    });
    let before = std::mem::replace(&mut all[place].fields, fields);
    let mut object = merge(kind, old, applied);
    for path in before.with_parents() {
        if !all.iter().any(|manager| manager.fields.touches(&path)) {
            remove_at(&mut object, &path);
        }
    }
    fill_in(&mut object, Some(old));
    Ok((object, all))
}

fn has_generation(plural: &str) -> bool {
    !matches!(plural, "configmaps" | "secrets" | "services" | "pods")
}

fn without_managers(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.shift_remove("managedFields");
        metadata.shift_remove("resourceVersion");
    }
    object
}

fn check_selector(object: &Value, old: &Value) -> Result<(), Refusal> {
    if object["spec"]["selector"] != old["spec"]["selector"] {
        return Err((422, "spec.selector: Invalid value: field is immutable".to_owned()));
    }
    let labels = &object["spec"]["template"]["metadata"]["labels"];
    let mut wanted = object["spec"]["selector"]["matchLabels"]
        .as_object()
        .into_iter()
        .flatten();
    match wanted.find(|(name, value)| labels[name.as_str()] != **value) {
        Some(_) => Err((
            422,
            "spec.template.metadata.labels: Invalid value: selector does not match template labels".to_owned(),
        )),
        None => Ok(()),
    }
}
