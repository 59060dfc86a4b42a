//! Building the programs from their Go modules, once for a user of this machine.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use sha2::{Digest, Sha256};

/// A Go module under `go/` that brings programs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Module {
    name: &'static str,
    /// The module whose version is built.
    requires: &'static str,
    /// The programs by their packages. What is built is named like the last part, but for etcd's.
    packages: &'static [(&'static str, &'static str)],
    /// Build tags that leave out what no test needs.
    tags: &'static str,
}

pub(crate) const KUBERNETES: Module = Module {
    name: "kubernetes",
    requires: "k8s.io/kubernetes",
    packages: &[
        ("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver"),
        (
            "kube-controller-manager",
            "k8s.io/kubernetes/cmd/kube-controller-manager",
        ),
        ("kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler"),
        ("kubectl", "k8s.io/kubernetes/cmd/kubectl"),
    ],
    tags: "",
};
pub(crate) const ETCD: Module = Module {
    name: "etcd",
    requires: "go.etcd.io/etcd/server/v3",
    packages: &[("etcd", "go.etcd.io/etcd/server/v3")],
    tags: "",
};
pub(crate) const KWOK: Module = Module {
    name: "kwok",
    requires: "sigs.k8s.io/kwok",
    packages: &[("kwok", "sigs.k8s.io/kwok/cmd/kwok")],
    tags: "",
};
pub(crate) const PROMETHEUS: Module = Module {
    name: "prometheus",
    requires: "github.com/prometheus/prometheus",
    packages: &[
        ("promtool", "github.com/prometheus/prometheus/cmd/promtool"),
        ("prometheus", "github.com/prometheus/prometheus/cmd/prometheus"),
    ],
    // Of the ways to find targets, files stay. The others bring the client libraries of every cloud.
    tags: "remove_all_sd",
};
pub(crate) const HELM: Module = Module {
    name: "helm",
    requires: "helm.sh/helm/v4",
    packages: &[("helm", "helm.sh/helm/v4/cmd/helm")],
    tags: "",
};
pub(crate) const CRANE: Module = Module {
    name: "crane",
    requires: "github.com/google/go-containerregistry",
    packages: &[("crane", "github.com/google/go-containerregistry/cmd/crane")],
    tags: "",
};
pub(crate) const COSIGN: Module = Module {
    name: "cosign",
    requires: "github.com/sigstore/cosign/v3",
    // A program of the module itself, in its tools.go.
    packages: &[("cosign", ".")],
    tags: "",
};
pub(crate) const ACTIONLINT: Module = Module {
    name: "actionlint",
    requires: "github.com/rhysd/actionlint",
    packages: &[("actionlint", "github.com/rhysd/actionlint/cmd/actionlint")],
    tags: "",
};

impl Module {
    /// The folder with its programs, built now where that was not done before. `say` gets a line before something that
    /// takes minutes.
    ///
    /// # Errors
    /// There is no Go, the modules cannot be fetched, or they do not build.
    pub(crate) fn build(&self, say: &mut dyn FnMut(&str)) -> Result<PathBuf> {
        let go = toolchain()?;
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("go").join(self.name);
        let version = self.version(&source)?;
        // Without a version kube-apiserver calls itself v0.0.0-master, and clients complain.
        let flags = format!("-s -w -X k8s.io/component-base/version.gitVersion={version}");
        let cache = cache()?;
        let mut settings = vec![go.as_str(), flags.as_str()];
        // Without tags as before there were any: what is built stays.
        settings.extend(Some(self.tags).filter(|tags| !tags.is_empty()));
        let done = cache.join(format!("{}-{version}-{}", self.name, key(&source, &settings)?));
        if done.is_dir() {
            return Ok(done);
        }
        fs::create_dir_all(&cache).with_context(|| format!("cannot make {}", cache.display()))?;
        let _lock = lock(&cache.join("lock"), say)?;
        if done.is_dir() {
            return Ok(done);
        }
        say(&format!(
            "building {} {version} with {go}, once; Kubernetes takes about 7 minutes on two cores",
            self.name
        ));
        let partial = cache.join(format!("partial-{}", self.name));
        // Left by a build that was interrupted; the lock says that none runs.
        let _ = fs::remove_dir_all(&partial);
        fs::create_dir(&partial).with_context(|| format!("cannot make {}", partial.display()))?;
        for (program, package) in self.packages {
            let status = Command::new("go")
                .args([
                    "build",
                    "-mod=readonly",
                    "-buildvcs=false",
                    "-trimpath",
                    "-tags",
                    self.tags,
                    "-ldflags",
                    &flags,
                    "-o",
                ])
                .args([&partial.join(program).into_os_string(), &(*package).into()])
                .env("GOWORK", "off")
                .current_dir(&source)
                .status()
                .context("cannot run go")?;
            ensure!(
                status.success(),
                "`go build {package}` in {} failed ({status})",
                source.display()
            );
        }
        fs::rename(&partial, &done).with_context(|| format!("cannot rename {}", partial.display()))?;
        Ok(done)
    }

    /// The version that go.mod asks for.
    fn version(&self, source: &Path) -> Result<String> {
        let path = source.join("go.mod");
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let line = text.lines().map(|line| line.trim().trim_start_matches("require "));
        let mut versions = line.filter_map(|line| line.strip_prefix(self.requires)?.strip_prefix(" v"));
        let version = versions
            .next()
            .with_context(|| format!("{}: no version of {}", path.display(), self.requires))?;
        Ok(format!("v{}", version.split_whitespace().next().unwrap_or_default()))
    }
}

/// Go's version and target, as `go1.26.8 linux amd64`.
///
/// # Errors
/// There is no Go.
pub(crate) fn toolchain() -> Result<String> {
    let output = Command::new("go").args(["env", "GOVERSION", "GOOS", "GOARCH"]).output();
    let output = output.context("no Go in PATH (1.26 or newer: https://go.dev/dl)")?;
    ensure!(
        output.status.success(),
        "`go env` fails: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Where built programs are kept: outside of `target`, since `cargo clean` shall not cost ten minutes.
///
/// # Errors
/// Neither `XDG_CACHE_HOME` nor `HOME` is set.
pub fn cache() -> Result<PathBuf> {
    let base = std::env::var_os("XDG_CACHE_HOME")
        .filter(|value| !value.is_empty())
        .map(PathBuf::from);
    let home = || std::env::home_dir().map(|home| home.join(".cache"));
    let base = base.or_else(home).context("neither HOME nor XDG_CACHE_HOME is set")?;
    Ok(base.join("lmcache-kubewarden").join("control-plane"))
}

/// What the programs depend on, in 16 hexadecimal digits.
fn key(source: &Path, settings: &[&str]) -> Result<String> {
    let mut hash = Sha256::new();
    for name in ["go.mod", "go.sum", "tools.go"] {
        let path = source.join(name);
        let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        hash.update(bytes.len().to_be_bytes());
        hash.update(bytes);
    }
    for setting in settings {
        hash.update(setting.len().to_be_bytes());
        hash.update(setting);
    }
    Ok(hash
        .finalize()
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect())
}

/// Waits until no other process builds. The lock goes with the file, also when this process is killed.
fn lock(path: &Path, say: &mut dyn FnMut(&str)) -> Result<File> {
    let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
    match file.try_lock() {
        Ok(()) => return Ok(file),
        Err(TryLockError::WouldBlock) => say("another process builds the control plane; waiting for it"),
        Err(TryLockError::Error(error)) => bail!("cannot lock {}: {error}", path.display()),
    }
    file.lock().with_context(|| format!("cannot lock {}", path.display()))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_module_names_its_version() -> Result<()> {
        for module in [KUBERNETES, ETCD, KWOK, HELM, PROMETHEUS, CRANE, COSIGN, ACTIONLINT] {
            let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("go").join(module.name);
            let version = module.version(&source)?;
            assert!(version.len() > 4 && version.matches('.').count() == 2, "{version}");
            let other = key(&source, &["go1", "flags"])?;
            assert_ne!(key(&source, &["go1f", "lags"])?, other);
            assert_eq!(key(&source, &["go1", "flags"])?, other);
        }
        Ok(())
    }
}
