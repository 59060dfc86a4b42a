//! The Python interpreter and the unpacked releases.

use std::path::{Path, PathBuf};
use std::process::Command;

use lmcache_api::Release;

/// Where the Python programs of this crate are.
pub fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("python")
}

/// An interpreter that can run the released code.
pub struct Python {
    path: PathBuf,
    /// As it calls itself: `3.12.4`. The details of `argparse` depend on it.
    pub version: String,
}

impl Python {
    /// `$PYTHON`, else `python3`; the error is one line.
    pub fn find() -> Result<Self, String> {
        let path = std::env::var_os("PYTHON").map_or_else(|| PathBuf::from("python3"), PathBuf::from);
        // The released code needs 3.10.
        const PROGRAM: &str =
            "import sys; print('.'.join(map(str, sys.version_info[:3]))); sys.exit(sys.version_info < (3, 10))";
        let done = Command::new(&path).args(["-I", "-c", PROGRAM]).output();
        let done = done.map_err(|error| format!("no Python: {}: {error}", path.display()))?;
        let version = String::from_utf8_lossy(&done.stdout).trim().to_owned();
        match done.status.success() {
            true => Ok(Python { path, version }),
            false => Err(format!(
                "{} {version} is too old: LMCache needs Python 3.10",
                path.display()
            )),
        }
    }

    /// The program.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folders of the unpacked releases, in their order; what is not in the cache is fetched. The error is one line.
    pub fn unpack(&self, releases: &[Release]) -> Result<Vec<PathBuf>, String> {
        let cache = cache_folder()?;
        let done = Command::new(&self.path)
            .arg(scripts().join("wheels.py"))
            .arg(&cache)
            .args(releases.iter().map(ToString::to_string))
            .output()
            .map_err(|error| error.to_string())?;
        if !done.status.success() {
            let text = String::from_utf8_lossy(&done.stderr);
            return Err(text
                .trim()
                .lines()
                .last()
                .unwrap_or("fetching the wheels failed")
                .to_owned());
        }
        Ok(releases.iter().map(|release| cache.join(release.to_string())).collect())
    }
}

/// `$XDG_CACHE_HOME/lmcache-kubewarden/wheels`.
fn cache_folder() -> Result<PathBuf, String> {
    let given = std::env::var_os("XDG_CACHE_HOME")
        .filter(|path| !path.is_empty())
        .map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let base = given.or_else(home).ok_or("neither XDG_CACHE_HOME nor HOME is set")?;
    Ok(base.join("lmcache-kubewarden/wheels"))
}
