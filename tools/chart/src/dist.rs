//! The manifests of `deploy/` in single files, for `kubectl apply -f`: comments and all, with other images where asked for.

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
        USERS,
        "controller/service.yaml",
        "controller/deployment.yaml",
    ],
];
const USERS: &str = "rbac/users.yaml";
/// At the head of the file that holds the CRDs.
const NOT_TO_DELETE: &str = "\
# Never `kubectl delete -f` this file: with the kinds in it, the API server would delete every engine, and with those their
# servers. docs/install.md, \"Remove\", has what takes the controller away and leaves them.
";
const CRDS: &[&str] = &[
    "crds/lmcacheengines.yaml",
    "crds/cacheblendengines.yaml",
    "crds/lmcachecoordinators.yaml",
];

/// CRDs, namespace, rights and the controller, with another image where one is given.
///
/// # Errors
/// A file cannot be read, or the image is no reference.
pub fn install(deploy: &Path, image: Option<&str>) -> Result<String> {
    let all = joined(deploy, &INSTALL.concat(), |text| with_image(text, image))?;
    Ok(format!("{NOT_TO_DELETE}{all}"))
}

/// The same without what engines need without a controller, which are the CRDs and the roles for people: what can be deleted
/// and leaves every engine, and everybody's rights on them.
///
/// # Errors
/// See [`install`].
pub fn controller(deploy: &Path, image: Option<&str>) -> Result<String> {
    let mut files = INSTALL.concat();
    files.retain(|file| !CRDS.contains(file) && *file != USERS);
    joined(deploy, &files, |text| with_image(text, image))
}

/// The policies that one `kubectl apply -f deploy/policies` installs, and their rights; with their modules in another
/// registry where one is given.
///
/// # Errors
/// A file cannot be read, or the registry is none.
pub fn policies(deploy: &Path, registry: Option<&str>) -> Result<String> {
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
    joined(deploy, &files, |text| with_registry(text, registry))
}

fn with_registry(mut text: String, registry: Option<&str>) -> Result<String> {
    let Some(registry) = registry else {
        return Ok(text);
    };
    let is_place = is_reference(registry) && !registry.contains("://");
    ensure!(
        is_place,
        "the registry must be a place such as registry.example.com/policies, found '{registry}'"
    );
    for document in documents(&text)? {
        if let Some(address) = document.pointer("/spec/module").and_then(Value::as_str) {
            let (_, name) = address
                .rsplit_once('/')
                .with_context(|| format!("{address}: expected registry/name:tag"))?;
            let moved = format!("module: registry://{}/{name}\n", registry.trim_end_matches('/'));
            text = text.replace(&format!("module: {address}\n"), &moved);
        }
    }
    Ok(text)
}

fn is_reference(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())
}

fn with_image(text: String, image: Option<&str>) -> Result<String> {
    let Some(image) = image else {
        return Ok(text);
    };
    ensure!(
        is_reference(image),
        "the image must be a reference such as registry.example.com/lmcache-controller:v1, found '{image}'"
    );
    for document in documents(&text)? {
        if document.get("kind").and_then(Value::as_str) != Some("Deployment") {
            continue;
        }
        let found = document
            .pointer("/spec/template/spec/containers/0/image")
            .and_then(Value::as_str);
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
