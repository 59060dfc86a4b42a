//! The programs of this repository that run against a control plane.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::cluster::repository;

/// A binary of the workspace: the one that the environment variable names, else built beside the running test.
///
/// # Errors
/// The variable names no file, or the package does not build.
pub(crate) fn find(package: &str, variable: &str) -> Result<PathBuf> {
    if let Some(path) = std::env::var_os(variable).filter(|value| !value.is_empty()) {
        let path = PathBuf::from(path);
        let found = path.canonicalize();
        return found.with_context(|| format!("{variable}: {}", path.display()));
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let (target, profile) = build_folders()?;
    let status = Command::new(cargo)
        .args(["build", "--locked", "--quiet", "-p", package, "--target-dir"])
        .arg(target)
        .current_dir(repository())
        .status()
        .context("cannot run cargo")?;
    ensure!(status.success(), "{package} does not build");
    Ok(profile.join(package))
}

/// The folder with the compiled and annotated policies: the one that `POLICIES_DIR` names, else that of `make build`.
///
/// # Errors
/// It is not there.
pub(crate) fn policies() -> Result<PathBuf> {
    let folder = match std::env::var_os("POLICIES_DIR").filter(|value| !value.is_empty()) {
        Some(folder) => PathBuf::from(folder),
        None => build_folders()?.0.join("policies"),
    };
    let found = folder.canonicalize();
    found.with_context(|| format!("no policies in {}; `make build` makes them", folder.display()))
}

/// Cargo's target folder and that of the debug profile in it.
fn build_folders() -> Result<(PathBuf, PathBuf)> {
    // target/debug/deps/test-0123: the programs are one folder up, the target folder two.
    let own = std::env::current_exe().context("cannot find the running program")?;
    let profile = own
        .ancestors()
        .find(|folder| folder.ends_with("debug"))
        .context("not built by cargo in debug mode")?;
    let target = profile.parent().context("target has no parent")?;
    Ok((target.to_owned(), profile.to_owned()))
}
