//! The manifests that the chart holds copies of: Helm reads nothing outside of the chart's folder.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::read;

/// Folders of `deploy` that are copied with what is below them.
const FOLDERS: [&str; 4] = ["controller", "crds", "policies", "rbac"];
/// Files that are copied where they are there.
const FILES: [&str; 2] = ["monitoring/dashboard.json", "monitoring/prometheus-rule.yaml"];
/// For kubectl alone: Helm makes the namespace itself.
const LEFT_OUT: [&str; 2] = ["kustomization.yaml", "namespace.yaml"];
/// Where the copies are, below the root of the repository.
const COPIES: &str = "deploy/chart/files";

/// The copies by their path below the root.
pub(crate) fn files(deploy: &Path) -> Result<BTreeMap<PathBuf, String>> {
    let mut paths: Vec<PathBuf> = FILES.iter().map(|file| deploy.join(file)).collect();
    paths.retain(|path| path.is_file());
    for folder in FOLDERS {
        collect(&deploy.join(folder), &mut paths)?;
    }
    let mut files = BTreeMap::new();
    for path in paths {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let is_manifest = name.ends_with(".yaml") || name.ends_with(".json");
        if is_manifest && !LEFT_OUT.contains(&name) {
            let below = path.strip_prefix(deploy)?;
            files.insert(Path::new(COPIES).join(below), read(&path)?);
        }
    }
    Ok(files)
}

/// The copies that there are now, likewise.
pub(crate) fn present(root: &Path) -> Result<Vec<PathBuf>> {
    let copies = root.join(COPIES);
    let mut paths = Vec::new();
    if copies.is_dir() {
        collect(&copies, &mut paths)?;
    }
    paths.sort();
    let below = |path: &PathBuf| path.strip_prefix(root).map(Path::to_owned);
    Ok(paths.iter().map(below).collect::<Result<_, _>>()?)
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    let failed = || format!("cannot read {}", folder.display());
    for entry in fs::read_dir(folder).with_context(failed)? {
        let path = entry.with_context(failed)?.path();
        if path.is_dir() {
            collect(&path, found)?;
        } else {
            found.push(path);
        }
    }
    Ok(())
}
