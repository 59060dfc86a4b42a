//! The compiled policies that manifests name.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::Policy;

/// A folder of annotated modules, `<name>.wasm`; each is compiled once, when a manifest first names it.
pub struct Modules {
    folder: PathBuf,
    allow_unknown: bool,
    compiled: RefCell<BTreeMap<String, Result<Policy, String>>>,
}

/// What became of the search for a module.
pub(super) enum Found {
    Policy(Box<Policy>),
    /// It is not in the folder, and that is let pass.
    Unknown(String),
    Fault(String),
}

impl Modules {
    /// The modules of a folder. With `allow_unknown`, manifests may name modules that are not in it.
    pub fn new(folder: impl Into<PathBuf>, allow_unknown: bool) -> Self {
        Self {
            folder: folder.into(),
            allow_unknown,
            compiled: RefCell::default(),
        }
    }

    pub(super) fn find(&self, module: &str) -> Found {
        let Some(name) = module_name(module) else {
            return Found::Fault(format!("'{module}' does not name a module"));
        };
        let path = self.folder.join(format!("{name}.wasm"));
        if !path.is_file() {
            let text = format!("{name}.wasm is not in {}", self.folder.display());
            return if self.allow_unknown {
                Found::Unknown(text)
            } else {
                Found::Fault(format!("{text}; --allow-unknown-modules lets it pass"))
            };
        }
        let mut compiled = self.compiled.borrow_mut();
        let policy = compiled
            .entry(name.to_owned())
            .or_insert_with(|| Policy::from_file(&path).map_err(|e| format!("{e:#}")));
        match policy {
            Ok(policy) => Found::Policy(Box::new(policy.clone())),
            Err(text) => Found::Fault(text.clone()),
        }
    }
}

/// The name of a module by its address: the last segment of the path without tag, digest and `.wasm`.
pub fn module_name(address: &str) -> Option<&str> {
    let address = address.trim();
    // A digest holds no slash, so the last segment can be cut first; a port of the registry is before it.
    let segment = address.rsplit_once('/').map_or(address, |(_, segment)| segment);
    let name = segment.split(['@', ':']).next()?;
    let name = name.strip_suffix(".wasm").unwrap_or(name);
    (!name.is_empty() && name != "." && name != ".." && !name.contains('\\')).then_some(name)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("registry://ghcr.io/acme/policies/pod-injection:v0.1.0", Some("pod-injection"))]
    #[case("registry.example:5000/pod-injection", Some("pod-injection"))]
    #[case("ghcr.io/acme/pod-injection@sha256:0123", Some("pod-injection"))]
    #[case("ghcr.io/acme/pod-injection:v1@sha256:0123", Some("pod-injection"))]
    #[case("file:///policies/pod-injection.wasm", Some("pod-injection"))]
    #[case(" pod-injection ", Some("pod-injection"))]
    #[case("registry://ghcr.io/acme/:v1", None)]
    #[case("registry://ghcr.io/acme/..", None)]
    #[case("", None)]
    fn names_of_modules(#[case] address: &str, #[case] expected: Option<&str>) {
        assert_eq!(module_name(address), expected);
    }
}
