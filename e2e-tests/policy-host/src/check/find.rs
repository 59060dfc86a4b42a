//! The manifests below a folder.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use serde_json::Value;

use super::GROUP;
use crate::document;

/// The file itself, or the `.yaml`, `.yml` and `.json` files below a folder, sorted. Templates of Helm charts are no manifests
/// yet, and left out. Links to folders are not followed, so that a circle of them ends.
pub(crate) fn files(path: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    if path.is_file() {
        found.push(path.to_owned());
    } else {
        collect(path, &mut found)?;
    }
    found.sort();
    Ok(found)
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    let failed = |e: std::io::Error| anyhow!("cannot read {}: {e}", folder.display());
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let path = entry.path();
        let manifest = path
            .extension()
            .is_some_and(|extension| extension == "yaml" || extension == "yml" || extension == "json");
        if entry.file_type().map_err(failed)?.is_dir() {
            let is_template = path.ends_with("templates") && folder.join("Chart.yaml").is_file();
            if !is_template {
                collect(&path, found)?;
            }
        } else if manifest && path.is_file() {
            found.push(path);
        }
    }
    Ok(())
}

/// The objects of a file, those of lists one by one; or why they cannot be read, where the file is about policies.
/// Charts and the like hold files that are no YAML yet.
pub(crate) fn manifests(file: &Path) -> Result<Result<Vec<Value>, String>> {
    let bytes = std::fs::read(file).map_err(|e| anyhow!("cannot read {}: {e}", file.display()))?;
    let text = String::from_utf8_lossy(&bytes);
    Ok(match document::parse_all(&text) {
        Ok(documents) => Ok(documents.into_iter().flat_map(items).collect()),
        Err(_) if !text.contains(GROUP) => Ok(Vec::new()),
        Err(error) => Err(format!("is no YAML: {error:#}")),
    })
}

fn items(mut object: Value) -> Vec<Value> {
    let is_list = object
        .get("kind")
        .and_then(Value::as_str)
        .is_some_and(|kind| kind.ends_with("List"));
    match object.get_mut("items").map(Value::take) {
        Some(Value::Array(items)) if is_list => items,
        _ => vec![object],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_of_a_chart_are_no_manifests() {
        let deploy = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy");
        let found = files(&deploy).unwrap();
        let has = |part: &str| found.iter().any(|file| file.ends_with(part));
        assert!(has("chart/files/policies/lmcache-guard.yaml") && has("policies/lmcache-guard.yaml"));
        assert!(!has("chart/templates/checks.yaml"), "{found:?}");
    }
}
