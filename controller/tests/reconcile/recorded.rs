//! Objects as the Go operator left them in a real API server.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::Value;

/// A custom resource with everything around it.
#[derive(Clone, Debug, Deserialize)]
pub struct Recorded {
    pub custom: Value,
    /// With `managedFields` and `status`.
    pub children: Vec<Value>,
    /// Secrets and coordinators that it names.
    pub others: Vec<Value>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/go-operator/july/stored")
}

/// The recording of this name.
pub fn recorded(name: &str) -> Recorded {
    RECORDINGS[name].clone()
}

/// To read them takes longer than most tests.
static RECORDINGS: LazyLock<BTreeMap<String, Recorded>> = LazyLock::new(|| {
    let read = |name: String| {
        let text = std::fs::read_to_string(folder().join(format!("{name}.yaml"))).unwrap();
        let recorded = yaml_serde::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        (name, recorded)
    };
    names().into_iter().map(read).collect()
});

/// The names of all recordings.
pub fn names() -> Vec<String> {
    let files = std::fs::read_dir(folder()).unwrap();
    let mut names: Vec<String> = files
        .map(|file| file.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    names.sort();
    assert!(names.len() > 10);
    names
}
