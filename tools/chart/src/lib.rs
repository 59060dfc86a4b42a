//! The two other shapes of the manifests in `deploy/`: the Helm chart, which holds copies of them that its templates change
//! ([`generated`]), and single files to apply ([`dist`]).

mod copies;
pub mod dist;
mod values;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::Value;

pub use values::{Row, rows};

/// Folder of the chart, below the root of the repository.
pub const CHART: &str = "deploy/chart";

/// Everything that is written and not edited: paths below the root, and texts.
///
/// # Errors
/// A file cannot be read, or the values lack a description.
pub fn generated(root: &Path) -> Result<BTreeMap<PathBuf, String>> {
    let deploy = root.join("deploy");
    let chart = root.join(CHART);
    let mut files = copies::files(&deploy)?;
    let readme = values::readme(&read(&chart.join("README.md"))?, &read(&chart.join("values.yaml"))?)?;
    files.insert(Path::new(CHART).join("README.md"), readme);
    files.insert(PathBuf::from("dist/install.yaml"), dist::install(&deploy, None)?);
    files.insert(PathBuf::from("dist/policies.yaml"), dist::policies(&deploy, None)?);
    Ok(files)
}

/// Writes all of it, and removes copies of what is no longer there.
///
/// # Errors
/// See [`generated`]; or a file cannot be written.
pub fn generate(root: &Path) -> Result<()> {
    for path in stale(root)? {
        let path = root.join(path);
        fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
    }
    for (path, text) in generated(root)? {
        let path = root.join(path);
        let folder = path.parent().unwrap_or(root);
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// Copies in the chart that should not be there.
///
/// # Errors
/// See [`generated`].
pub fn stale(root: &Path) -> Result<Vec<PathBuf>> {
    let files = generated(root)?;
    let mut present = copies::present(root)?;
    present.retain(|path| !files.contains_key(path));
    Ok(present)
}

/// The root of the repository.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The objects in a text of YAML documents.
///
/// # Errors
/// It is no YAML.
pub fn documents(text: &str) -> Result<Vec<Value>> {
    let documents: Result<Vec<Value>, _> = yaml_serde::Deserializer::from_str(text)
        .map(Value::deserialize)
        .collect();
    Ok(documents?.into_iter().filter(|document| !document.is_null()).collect())
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}
