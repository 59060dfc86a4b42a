//! The manifests of `deploy/` in single files, for `kubectl apply -f`: comments and all, with other images where asked for.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::{documents, read};

/// Everything but the policies, in the order in which the API server can take it.
const INSTALL: [&[&str]; 3] = [
    &["controller/namespace.yaml"],
    CRDS,
    &[
        "controller/service-account.yaml",
        "rbac/controller.yaml",
        "rbac/users.yaml",
        "controller/service.yaml",
        "controller/deployment.yaml",
    ],
];
const CRDS: &[&str] = &["crds/lmcacheengines.yaml", "crds/cacheblendengines.yaml", "crds/lmcachecoordinators.yaml"];

/// CRDs, namespace, rights and the controller, with another image where one is given.
///
/// # Errors
/// A file cannot be read, or the image is no reference.
pub fn install(deploy: &Path, image: Option<&str>) -> Result<String> {
    joined(deploy, &INSTALL.concat(), |text| with_image(text, image))
}

/// The same without the CRDs: what can be deleted without deleting every engine.
///
/// # Errors
/// See [`install`].
pub fn controller(deploy: &Path, image: Option<&str>) -> Result<String> {
    let mut files = INSTALL.concat();
    files.retain(|file| !CRDS.contains(file));
    joined(deploy, &files, |text| with_image(text, image))
}

/// Where the modules of the policies are.
#[derive(Clone, Debug, Default)]
pub struct Modules {
    /// The registry and the path in it, in the place of the one in the manifests.
    pub registry: Option<String>,
    /// The tag of all.
    pub tag: Option<String>,
    /// Digests by the name of the module, which win over the tag.
    pub digests: BTreeMap<String, String>,
}

/// The policies that one `kubectl apply -f deploy/policies` installs, and their rights.
///
/// # Errors
/// A file cannot be read, or a digest is of no module, or no digest.
pub fn policies(deploy: &Path, modules: &Modules) -> Result<String> {
    let folder = deploy.join("policies");
    let mut files = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".yaml") {
            files.push(format!("policies/{name}"));
        }
    }
    // The rights first: a policy that may not read is no use.
    files.sort_by_key(|file| (!file.ends_with("/rbac.yaml"), file.clone()));
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let mut named = Vec::new();
    let text = joined(deploy, &files, |text| modules.put_into(text, &mut named))?;
    for (name, digest) in &modules.digests {
        ensure!(named.contains(name), "no policy has the module {name}; there are {}", named.join(", "));
        let hex = digest.strip_prefix("sha256:").unwrap_or_default();
        let is_digest = hex.len() == 64 && hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        ensure!(is_digest, "the digest of {name} must be sha256: and 64 hexadecimal digits, found {digest}");
    }
    Ok(text)
}

impl Modules {
    /// Replaces the addresses of the modules in a manifest; adds their names to `named`.
    fn put_into(&self, mut text: String, named: &mut Vec<String>) -> Result<String> {
        for document in documents(&text)? {
            let Some(address) = document.pointer("/spec/module").and_then(Value::as_str) else {
                continue;
            };
            let parts = address.rsplit_once('/').and_then(|(registry, rest)| {
                let (name, tag) = rest.split_once(':')?;
                Some((registry, name, tag))
            });
            let (registry, name, tag) = parts.with_context(|| format!("{address}: expected registry/name:tag"))?;
            let registry = self.registry.as_ref().map_or_else(|| registry.to_owned(), |own| format!("registry://{own}"));
            let version = match self.digests.get(name) {
                Some(digest) => format!("@{digest}"),
                None => format!(":{}", self.tag.as_deref().unwrap_or(tag)),
            };
            text = text.replace(&format!("module: {address}\n"), &format!("module: {registry}/{name}{version}\n"));
            if !named.iter().any(|known| known == name) {
                named.push(name.to_owned());
            }
        }
        Ok(text)
    }
}

fn with_image(text: String, image: Option<&str>) -> Result<String> {
    let Some(image) = image else {
        return Ok(text);
    };
    let is_reference = !image.is_empty() && image.bytes().all(|byte| byte.is_ascii_graphic());
    ensure!(is_reference, "the image must be a reference such as registry.example.com/lmcache-controller:v1, found '{image}'");
    for document in documents(&text)? {
        if document.get("kind").and_then(Value::as_str) != Some("Deployment") {
            continue;
        }
        let found = document.pointer("/spec/template/spec/containers/0/image").and_then(Value::as_str);
        let line = format!("image: {}\n", found.context("the Deployment names no image")?);
        if text.matches(&line).count() != 1 {
            bail!("the Deployment's image is not in one line `{}`", line.trim());
        }
        return Ok(text.replace(&line, &format!("image: {image}\n")));
    }
    Ok(text)
}

fn joined(deploy: &Path, files: &[&str], mut change: impl FnMut(String) -> Result<String>) -> Result<String> {
    let mut all = String::from("# Made from the manifests in deploy/.\n");
    for (number, file) in files.iter().enumerate() {
        if number > 0 {
            all.push_str("---\n");
        }
        let text = change(read(&deploy.join(file))?).with_context(|| format!("deploy/{file}"))?;
        all.push_str(&text);
        if !all.ends_with('\n') {
            all.push('\n');
        }
    }
    Ok(all)
}
