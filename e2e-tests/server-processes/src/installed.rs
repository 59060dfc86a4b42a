//! The released servers on this host: one Python environment with the newest release and all its dependencies, and the
//! packages of older releases that run in it by `PYTHONPATH`.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use lmcache_api::Release;
use lmcache_server::table;

/// Free space that is asked for before the environment is made, in bytes: it takes about 6 GB, and as much again passes
/// through while packages are unpacked.
const ROOM: u64 = 12_000_000_000;

/// Interpreters for which the releases have packages, the one that they were tried with first.
const INTERPRETERS: [&str; 5] = ["python3.11", "python3.12", "python3.10", "python3.13", "python3"];

/// What releases import beyond what they declare: `openai` every subcommand up to 0.5.5, `python-multipart` the HTTP
/// route that runs scripts. The images have both.
const UNDECLARED: [&str; 2] = ["openai", "python-multipart"];

/// Stands in for the two CUDA calls that releases up to 0.4.5 make at start.
const NO_GPU: &str = include_str!("no_gpu.py");
const LAST_THAT_NEEDS_A_DRIVER: Release = Release {
    major: 0,
    minor: 4,
    patch: 5,
};

/// Releases that can be started.
#[derive(Debug)]
pub struct Installed {
    root: PathBuf,
    whole: Release,
}

/// What came of [`install`].
#[derive(Debug)]
pub enum Outcome {
    /// Everything is there.
    Ready(Installed),
    /// This host lacks something; what, in a few words.
    Lacking(String),
}

/// Makes what is not there yet under `${XDG_CACHE_HOME:-~/.cache}/lmcache-kubewarden`. `say` is told what takes time.
///
/// # Errors
/// pip fails, or the folder cannot be written.
pub fn install(releases: &[Release], say: &mut dyn FnMut(&str)) -> Result<Outcome> {
    let whole = table::newest();
    let root = cache()?.join(format!("server-{whole}"));
    let installed = Installed { root, whole };
    let complete = installed.root.join("complete");
    if !complete.exists() {
        let Some(interpreter) = INTERPRETERS.into_iter().find(|program| fits(program)) else {
            return Ok(Outcome::Lacking(
                "Python 3.10 to 3.13 with venv is not installed".to_owned(),
            ));
        };
        let free = free_space(&installed.root)?;
        if free < ROOM {
            let (free, room) = (free / 1_000_000_000, ROOM / 1_000_000_000);
            let root = installed.root.display();
            return Ok(Outcome::Lacking(format!(
                "{free} GB are free at {root}, {room} are needed once"
            )));
        }
        // Two runs at a time would install into each other's folder.
        let _lock = installed.lock()?;
        if !complete.exists() {
            say(&format!(
                "installing lmcache {whole} and what it needs from PyPI into {} (once; about 6 GB, 5 minutes)",
                installed.root.display()
            ));
            installed.make_environment(interpreter)?;
            File::create(&complete)?;
        }
    }
    let _lock = installed.lock()?;
    fs::create_dir_all(installed.stub())?;
    fs::write(installed.stub().join("sitecustomize.py"), NO_GPU)?;
    for release in releases {
        if *release != whole && !installed.package(*release).exists() {
            say(&format!("installing lmcache {release} beside it"));
            installed.add(*release)?;
        }
    }
    Ok(Outcome::Ready(installed))
}

impl Installed {
    /// The folder of it all.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The release's own `lmcache`.
    pub fn program(&self, release: Release) -> PathBuf {
        if release == self.whole {
            self.root.join("venv/bin/lmcache")
        } else {
            self.package(release).join("bin/lmcache")
        }
    }

    /// `PYTHONPATH` for the release; `None` where it needs none.
    pub fn python_path(&self, release: Release) -> Option<String> {
        let stub = needs_stub(release).then(|| self.stub());
        let package = (release != self.whole).then(|| self.package(release));
        let folders: Vec<String> = stub
            .into_iter()
            .chain(package)
            .map(|path| path.display().to_string())
            .collect();
        (!folders.is_empty()).then(|| folders.join(":"))
    }

    fn stub(&self) -> PathBuf {
        self.root.join("no-gpu")
    }

    fn package(&self, release: Release) -> PathBuf {
        self.root.join(format!("lmcache-{release}"))
    }

    /// Held until dropped.
    fn lock(&self) -> Result<File> {
        fs::create_dir_all(&self.root).with_context(|| format!("cannot make {}", self.root.display()))?;
        let lock = File::create(self.root.join("lock"))?;
        lock.lock().context("cannot lock the folder of the servers")?;
        Ok(lock)
    }

    fn make_environment(&self, interpreter: &str) -> Result<()> {
        let venv = self.root.join("venv");
        let mut command = Command::new(interpreter);
        command.args(["-m", "venv", "--clear"]).arg(&venv);
        self.run(&mut command)?;
        let mut command = self.pip();
        command.arg(format!("lmcache=={}", self.whole)).args(UNDECLARED);
        self.run(&mut command)
    }

    fn add(&self, release: Release) -> Result<()> {
        let partial = self.root.join(format!("lmcache-{release}.partial"));
        if partial.exists() {
            fs::remove_dir_all(&partial)?;
        }
        let mut command = self.pip();
        command
            .args(["--no-deps", "--target"])
            .arg(&partial)
            .arg(format!("lmcache=={release}"));
        self.run(&mut command)?;
        fs::rename(&partial, self.package(release))?;
        Ok(())
    }

    fn pip(&self) -> Command {
        let mut command = Command::new(self.root.join("venv/bin/python"));
        // Its cache would keep another 3 GB.
        command.args([
            "-m",
            "pip",
            "install",
            "--disable-pip-version-check",
            "--no-cache-dir",
            "--progress-bar",
            "off",
        ]);
        command
    }

    fn run(&self, command: &mut Command) -> Result<()> {
        let path = self.root.join("install.log");
        let mut log = File::options().create(true).append(true).open(&path)?;
        writeln!(log, "{command:?}")?;
        let status = command
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .status();
        let status = status.with_context(|| format!("cannot start {command:?}"))?;
        ensure!(status.success(), "{command:?}: {status}, see {}", path.display());
        Ok(())
    }
}

/// Whether the release starts only with the stub, on a host without an NVIDIA driver.
pub fn needs_stub(release: Release) -> bool {
    release <= LAST_THAT_NEEDS_A_DRIVER
}

fn cache() -> Result<PathBuf> {
    let folder = |name| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    match (folder("XDG_CACHE_HOME"), folder("HOME")) {
        (Some(cache), _) => Ok(cache.join("lmcache-kubewarden")),
        (None, Some(home)) => Ok(home.join(".cache/lmcache-kubewarden")),
        (None, None) => bail!("neither XDG_CACHE_HOME nor HOME names a folder"),
    }
}

/// Whether it is an interpreter of a version that the releases have packages for, with what `venv` needs (Debian
/// packages `ensurepip` separately).
fn fits(program: &str) -> bool {
    let script = "import sys, venv, ensurepip; sys.exit(not (3, 10) <= sys.version_info < (3, 14))";
    let mut command = Command::new(program);
    command
        .args(["-c", script])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Bytes that are free where the folder is or would be made.
fn free_space(folder: &Path) -> Result<u64> {
    let existing = folder
        .ancestors()
        .find(|path| path.exists())
        .context("no such file system")?;
    let space =
        rustix::fs::statvfs(existing).with_context(|| format!("cannot see the space at {}", existing.display()))?;
    Ok(space.f_bavail.saturating_mul(space.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_releases_run_by_python_path_and_the_oldest_with_the_stub() {
        let release = |minor, patch| Release { major: 0, minor, patch };
        let installed = Installed {
            root: "/cache".into(),
            whole: release(5, 6),
        };
        let path = |release| installed.python_path(release);
        assert_eq!(path(release(5, 6)), None);
        assert_eq!(path(release(5, 3)).as_deref(), Some("/cache/lmcache-0.5.3"));
        assert_eq!(
            path(release(4, 5)).as_deref(),
            Some("/cache/no-gpu:/cache/lmcache-0.4.5")
        );
        assert_eq!(installed.program(release(5, 6)), Path::new("/cache/venv/bin/lmcache"));
        assert_eq!(
            installed.program(release(4, 7)),
            Path::new("/cache/lmcache-0.4.7/bin/lmcache")
        );
    }

    #[test]
    fn sees_free_space_where_a_folder_would_be_made() {
        let missing = std::env::temp_dir().join("not-there/at/all");
        assert_eq!(
            free_space(&missing).unwrap() / 1_000_000,
            free_space(&std::env::temp_dir()).unwrap() / 1_000_000
        );
    }

    #[test]
    fn a_program_that_is_no_python_does_not_fit() {
        assert!(!fits("true-but-not-there"));
        assert!(!fits("false"));
    }
}
