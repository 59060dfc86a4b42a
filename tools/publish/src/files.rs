//! Reading and writing files, with errors that say which.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::artifact::Artifact;

/// The artifacts of all modules in a folder, by name.
pub(crate) fn artifacts(folder: &Path) -> Result<Vec<Artifact>> {
    let mut artifacts = Vec::new();
    for path in entries(folder)? {
        if path.extension().is_some_and(|extension| extension == "wasm") {
            let name = path.file_stem().and_then(|name| name.to_str());
            let name = name.with_context(|| format!("{}: not a name in UTF-8", path.display()))?;
            let artifact = Artifact::new(name, read(&path)?).with_context(|| path.display().to_string())?;
            artifacts.push(artifact);
        }
    }
    ensure!(
        !artifacts.is_empty(),
        "no policies (*.wasm) in {}: `make build` makes them",
        folder.display()
    );
    Ok(artifacts)
}

/// What is in a folder, in the order of the names.
pub(crate) fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let found = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let found: std::io::Result<Vec<PathBuf>> = found.map(|entry| Ok(entry?.path())).collect();
    let mut found = found.with_context(|| format!("cannot read {}", folder.display()))?;
    found.sort();
    Ok(found)
}

pub(crate) fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

pub(crate) fn read_text(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

/// Writes a file, and the folders above it.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}

/// Removes the layouts in a folder, and nothing else: those of before may be of policies that are none any more.
pub(crate) fn remove_layouts(folder: &Path) -> Result<()> {
    if !folder.exists() {
        return Ok(());
    }
    for path in entries(folder)? {
        if path.join("oci-layout").is_file() {
            fs::remove_dir_all(&path).with_context(|| format!("cannot remove {}", path.display()))?;
        }
    }
    Ok(())
}
