//! Reads what was recorded from the Go operator under `fixtures/go-operator`.

#![allow(dead_code)] // each test binary uses its own part

use policy_kit::cluster::{Cluster, Lookup, Query};
use serde_json::Value;
use std::path::{Path, PathBuf};

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub fn documents(path: &Path) -> Vec<Value> {
    if !path.exists() {
        return Vec::new();
    }
    let text = read(path);
    let documents = yaml_serde::Deserializer::from_str(&text);
    let values = documents.map(|document| {
        <Value as serde::Deserialize>::deserialize(document)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    });
    values.filter(|value| !value.is_null()).collect()
}

pub fn document(path: &Path) -> Value {
    documents(path)
        .into_iter()
        .next()
        .unwrap_or_else(|| panic!("{} is empty", path.display()))
}

pub fn entries(folder: &str) -> Vec<PathBuf> {
    let folder = root().join("fixtures/go-operator").join(folder);
    let mut paths: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "no cases in {}", folder.display());
    paths
}

/// The cluster of a recording: its objects, and the kinds of which every read fails.
#[derive(Default)]
pub struct Recorded {
    pub objects: Vec<Value>,
    pub failing: Vec<String>,
}

impl Cluster for Recorded {
    fn get(&self, query: &Query<'_>) -> Lookup {
        if self.failing.iter().any(|kind| kind == query.kind) {
            return Lookup::Unavailable("read fails".to_owned());
        }
        let found = self.objects.iter().find(|object| {
            object["kind"] == query.kind
                && object["metadata"]["name"] == query.name
                && (query.namespace.is_none() || object["metadata"]["namespace"].as_str() == query.namespace)
        });
        found.map_or(Lookup::NotFound, |object| Lookup::Found(object.clone()))
    }
}
