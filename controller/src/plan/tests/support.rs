//! Inputs made of files.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use lmcache_api::IpcMode;
use serde_json::{Value, json};

use super::super::lists;
use crate::live::{Cached, Child, ChildKind, Custom, SecretSource};
use crate::plan::{
    ChildName, Desired, Inputs, Judgement, Monitors, Owner, Settings, Sought, Step, Wanted, desire, judge, step,
};

pub fn settings() -> Settings {
    Settings {
        ipc_default: IpcMode::HostIPC,
        cluster_domain: "cluster.local".to_owned(),
    }
}

/// A custom resource and what the Go operator made of it.
#[derive(Clone, Debug)]
pub struct Stored {
    pub custom: Value,
    pub children: Vec<Value>,
    pub others: Vec<Value>,
}

/// Every recording, by name.
pub fn recordings() -> BTreeMap<String, Stored> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../fixtures/go-operator/july/stored");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files
        .map(|path| {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            let mut file: Value = yaml_serde::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
            let mut list = |key: &str| file[key].take().as_array().unwrap().clone();
            let (children, others) = (list("children"), list("others"));
            let custom = file["custom"].take();
            let stored = Stored {
                custom,
                children,
                others,
            };
            (name, stored)
        })
        .collect()
}

pub fn recording(name: &str) -> Stored {
    recordings().remove(name).unwrap()
}

/// A stored minimal engine without children.
pub fn engine(spec: Value) -> Stored {
    let custom = json!({
        "apiVersion": "lmcache.lmcache.ai/v1alpha1",
        "kind": "LMCacheEngine",
        "metadata": {
            "name": "kv", "namespace": "team-a", "uid": "uid-kv", "resourceVersion": "10", "generation": 1,
            "creationTimestamp": "2026-11-01T00:00:00Z",
        },
        "spec": spec,
    });
    Stored {
        custom,
        children: Vec::new(),
        others: Vec::new(),
    }
}

impl Stored {
    pub fn with(mut self, pointer: &str, value: Value) -> Self {
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        let parent = self.custom.pointer_mut(parent).unwrap().as_object_mut().unwrap();
        match value {
            Value::Null => drop(parent.remove(key)),
            value => drop(parent.insert(key.to_owned(), value)),
        }
        self
    }

    pub fn child(&mut self, kind: &str) -> &mut Value {
        let mut children = self.children.iter_mut();
        children.find(|child| child["kind"] == kind).unwrap()
    }

    pub fn inputs(&self) -> Inputs {
        let custom: Custom = Cached::read(self.custom.clone());
        let found = |kind: &str| self.others.iter().find(|object| object["kind"] == kind).cloned();
        let login = match (&custom.facts.login, found("Secret")) {
            (None, _) => Sought::NotNamed,
            (Some(_), None) => Sought::Missing,
            (Some(_), Some(secret)) => Sought::Found(Arc::new(SecretSource::read(secret))),
        };
        let children = self.children.iter().map(|child| {
            let name = child["metadata"]["name"].as_str().unwrap();
            let name = ChildName::new(ChildKind::of(child).unwrap(), name);
            (name, Arc::new(Child::read(child.clone())))
        });
        Inputs {
            coordinator: found("LMCacheCoordinator").map(|object| Arc::new(Cached::read(object))),
            custom: Arc::new(custom),
            rivals: Vec::new(),
            children: children.collect(),
            login,
            master_key: Sought::NotNamed,
            servers: Vec::new(),
            clients: Vec::new(),
            monitors: Monitors::Served,
        }
    }

    pub fn desired(&self) -> Desired {
        let inputs = self.inputs();
        match judge(&inputs, &settings()) {
            Judgement::Valid(subject) => desire(&subject, &inputs, &settings()),
            other => panic!("{other:?}"),
        }
    }

    /// The wanted body of a kind.
    pub fn wanted(&self, kind: ChildKind) -> Value {
        let wanted = self.desired().wanted;
        let wanted = wanted.into_iter().find(|wanted| wanted.name.kind == kind);
        wanted.unwrap_or_else(|| panic!("no {}", kind.as_str())).body
    }
}

/// What is to be done about a child.
pub fn on(wanted: &Wanted, live: Option<&Child>, inputs: &Inputs) -> Step {
    let key = inputs.custom.key().unwrap();
    let owner = Owner {
        key: &key,
        uid: inputs.custom.uid(),
    };
    step(wanted, live, &owner)
}

/// `fieldsV1` of an apply, as Kubernetes writes it.
pub fn fields_of(body: &Value) -> Value {
    let mut fields = fields("", body);
    let fields_of_object = fields.as_object_mut().unwrap();
    for name in ["f:apiVersion", "f:kind"] {
        fields_of_object.remove(name);
    }
    for name in ["f:name", "f:namespace"] {
        fields_of_object["f:metadata"].as_object_mut().unwrap().remove(name);
    }
    fields
}

fn fields(field: &str, value: &Value) -> Value {
    let is_atomic = matches!(
        field,
        "selector" | "nodeSelector" | "fieldRef" | "secretKeyRef" | "configMapKeyRef"
    );
    let keys = lists::keys(field);
    match value {
        Value::Object(members) if !is_atomic => {
            let members = members.iter();
            members
                .map(|(name, member)| (format!("f:{name}"), fields(name, member)))
                .collect()
        }
        Value::Array(items) if !keys.is_empty() => {
            let items = items.iter().map(|item| {
                let key = lists::key_of(keys, item).unwrap();
                let mut below = fields("", item);
                below.as_object_mut().unwrap().insert(".".to_owned(), json!({}));
                (format!("k:{}", Value::Object(key)), below)
            });
            items.collect()
        }
        _ => json!({}),
    }
}
