//! The ClusterAdmissionPolicies of `deploy/policies`, as data.

#![allow(dead_code, reason = "each test uses a part of it")]

use policy_host::Policy;
use policy_host::check::module_name;
use policy_host::document::read_all;
use policy_tests::{POLICIES, load, root};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Compiling takes a while, so each module is loaded once.
pub static MODULES: LazyLock<BTreeMap<&str, Policy>> =
    LazyLock::new(|| POLICIES.into_iter().map(|name| (name, load(name).unwrap())).collect());

/// One ClusterAdmissionPolicy.
#[derive(Debug)]
pub struct Manifest {
    /// Its file, below `deploy/policies`.
    pub file: String,
    /// `metadata.name`.
    pub name: String,
    /// The policy whose module it names.
    pub policy: String,
    /// The whole object.
    pub object: Value,
}

impl Manifest {
    /// A member of `spec`.
    pub fn spec(&self, key: &str) -> &Value {
        &self.object["spec"][key]
    }

    /// Folder of the file, empty for `deploy/policies` itself.
    pub fn folder(&self) -> &str {
        self.file.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    /// `file#name`, for messages.
    pub fn place(&self) -> String {
        format!("{}#{}", self.file, self.name)
    }
}

/// Every document in the YAML files of `deploy/policies` and the folders below, with its file.
pub fn documents() -> Vec<(String, Value)> {
    let folder = root().join("deploy/policies");
    let mut files = Vec::new();
    collect(&folder, &mut files);
    files.sort();
    files
        .iter()
        .flat_map(|path| {
            let name = path.strip_prefix(&folder).unwrap().to_string_lossy().into_owned();
            let documents = read_all(path).unwrap_or_else(|error| panic!("{name}: {error:#}"));
            documents.into_iter().map(move |document| (name.clone(), document))
        })
        .collect()
}

/// Every ClusterAdmissionPolicy.
pub fn manifests() -> Vec<Manifest> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    documents()
        .into_iter()
        .filter(|(_, document)| document["kind"] == "ClusterAdmissionPolicy")
        .map(|(file, object)| Manifest {
            policy: module_name(&text(&object["spec"]["module"]))
                .unwrap_or_default()
                .to_owned(),
            name: text(&object["metadata"]["name"]),
            file,
            object,
        })
        .collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "yaml") {
            files.push(path);
        }
    }
}

/// A list of texts, as a set.
pub fn texts(list: &Value) -> BTreeSet<String> {
    let texts = list.as_array().into_iter().flatten();
    texts.map(|text| text.as_str().unwrap().to_owned()).collect()
}
