//! Sets of fields, and `fieldsV1`.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::schema::{Place, Shape, key_of};

/// A step towards a field, as `fieldsV1` writes it: `f:name`, `k:{"name":"x"}` or `v:"x"`.
pub type Path = Vec<String>;

/// Fields of an object. An item of a list with keys, and a map, can be a member beside what is in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSet(BTreeSet<Path>);

impl FieldSet {
    /// What an applied object says.
    pub fn of(kind: &str, object: &Value) -> Self {
        let mut set = FieldSet::default();
        set.add(&mut Vec::new(), Place::root(kind), object);
        set
    }

    /// Likewise for what stands at a path.
    pub fn of_part(place: Place<'_>, path: &[String], value: &Value) -> Self {
        let mut set = FieldSet::default();
        if !is_system(path) {
            set.add(&mut path.to_vec(), place, value);
        }
        set
    }

    fn add(&mut self, path: &mut Path, place: Place<'_>, value: &Value) {
        match (place.shape(value), value) {
            (Shape::Members, Value::Object(members)) if !members.is_empty() => {
                for (name, member) in members {
                    path.push(format!("f:{name}"));
                    if !is_system(path) {
                        self.add(path, place.member(name), member);
                    }
                    path.pop();
                }
            }
            (Shape::Items(keys), Value::Array(items)) if !items.is_empty() => {
                for item in items {
                    path.push(step(keys, item));
                    self.0.insert(path.clone());
                    self.add(path, place.item(), item);
                    path.pop();
                }
            }
            _ => drop(self.0.insert(path.clone())),
        }
    }

    /// Reads `fieldsV1`.
    pub fn read(fields: &Value) -> Self {
        let mut set = FieldSet::default();
        set.read_below(&mut Vec::new(), fields);
        set
    }

    fn read_below(&mut self, path: &mut Path, fields: &Value) {
        for (step, below) in fields.as_object().into_iter().flatten() {
            if step == "." {
                self.0.insert(path.clone());
                continue;
            }
            path.push(step.clone());
            if below == &json!({}) {
                self.0.insert(path.clone());
            }
            self.read_below(path, below);
            path.pop();
        }
    }

    /// Writes `fieldsV1`.
    pub fn write(&self) -> Value {
        let mut root = json!({});
        // Sorted, so that what is around a field comes first.
        for path in &self.0 {
            let mut node = &mut root;
            for step in path {
                let members = node.as_object_mut().unwrap();
                node = members.entry(step.clone()).or_insert_with(|| json!({}));
            }
        }
        for path in &self.0 {
            let mut node = &mut root;
            for step in path {
                node = &mut node[step.as_str()];
            }
            if node != &json!({}) {
                let below = std::mem::take(node.as_object_mut().unwrap());
                let marked: Map<String, Value> = [(".".to_owned(), json!({}))].into_iter().chain(below).collect();
                *node = Value::Object(marked);
            }
        }
        root
    }

    pub fn iter(&self) -> impl Iterator<Item = &Path> {
        self.0.iter()
    }

    pub fn contains(&self, path: &Path) -> bool {
        self.0.contains(path)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the field, or anything in it, is a member.
    pub fn touches(&self, path: &[String]) -> bool {
        self.0
            .range(path.to_vec()..)
            .next()
            .is_some_and(|next| next.starts_with(path))
    }

    pub fn insert(&mut self, path: Path) {
        self.0.insert(path);
    }

    /// Removes the field and everything in it.
    pub fn remove_below(&mut self, path: &[String]) {
        self.0.retain(|own| !own.starts_with(path));
    }

    pub fn remove(&mut self, path: &Path) {
        self.0.remove(path);
    }

    /// Every member with all that is around it, outermost first.
    pub fn with_parents(&self) -> BTreeSet<Path> {
        let parents = |path: &Path| (1..=path.len()).map(|end| path[..end].to_vec()).collect::<Vec<_>>();
        self.0.iter().flat_map(parents).collect()
    }
}

/// What no field manager owns.
fn is_system(path: &[String]) -> bool {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    match path.as_slice() {
        ["f:apiVersion" | "f:kind" | "f:status"] => true,
        ["f:metadata", name] => matches!(
            *name,
            "f:name"
                | "f:namespace"
                | "f:uid"
                | "f:resourceVersion"
                | "f:generation"
                | "f:creationTimestamp"
                | "f:deletionTimestamp"
                | "f:managedFields"
        ),
        _ => false,
    }
}

/// The step to an item.
pub fn step(keys: &[&str], item: &Value) -> String {
    let mut key: Vec<_> = key_of(keys, item).into_iter().collect();
    key.sort_by(|one, other| one.0.cmp(&other.0));
    format!("k:{}", Value::Object(key.into_iter().collect()))
}

/// The value at a path.
pub fn at<'a>(object: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter().try_fold(object, |value, step| match step.split_at(2) {
        ("f:", name) => value.get(name),
        ("k:", key) => value.as_array()?.iter().find(|item| has_key(item, key)),
        _ => None,
    })
}

/// Takes the value at a path away.
pub fn remove_at(object: &mut Value, path: &[String]) {
    let [around @ .., last] = path else { return };
    let mut value = object;
    for step in around {
        let next = match step.split_at(2) {
            ("f:", name) => value.get_mut(name),
            ("k:", key) => value
                .as_array_mut()
                .and_then(|items| items.iter_mut().find(|item| has_key(item, key))),
            _ => None,
        };
        let Some(next) = next else { return };
        value = next;
    }
    match (last.split_at(2), value) {
        (("f:", name), Value::Object(members)) => drop(members.shift_remove(name)),
        (("k:", key), Value::Array(items)) => items.retain(|item| !has_key(item, key)),
        _ => {}
    }
}

fn has_key(item: &Value, key: &str) -> bool {
    let key: Map<String, Value> = serde_json::from_str(key).unwrap();
    let names: Vec<&str> = key.keys().map(String::as_str).collect();
    key_of(&names, item) == key
}
