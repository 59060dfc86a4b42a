//! The SBOM of a policy: what cargo-sbom writes about a package of the workspace, cut down to what is in the module.
//!
//! cargo-sbom follows every optional dependency, on every platform; a policy has few of them. What is compiled in is known
//! from `cargo tree`, so the rest goes, and a crate that the document lacks is an error.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

/// A crate's name and version.
pub type Crate = (String, String);

/// The module that the document is about.
#[derive(Clone, Debug)]
pub struct Module {
    /// The name of the policy and its package.
    pub name: String,
    /// Its file is `<name>.wasm`; this is the SHA-256 hash of it, in hexadecimal digits.
    pub sha256: String,
    /// The repository, below which the document gets its name.
    pub repository: String,
}

/// What `cargo tree --prefix none --format {p}` lists.
///
/// # Errors
/// A line is no crate with a version.
pub fn crates(tree: &str) -> Result<BTreeSet<Crate>> {
    let mut crates = BTreeSet::new();
    for line in tree.lines().filter(|line| !line.trim().is_empty()) {
        let mut words = line.split_whitespace();
        let version = |word: &str| word.strip_prefix('v').map(str::to_owned);
        match (words.next(), words.next().and_then(version)) {
            (Some(name), Some(version)) => crates.insert((name.to_owned(), version)),
            _ => bail!("'{line}' is no line of `cargo tree`: expected a name and a version as 'serde v1.0.0'"),
        };
    }
    Ok(crates)
}

/// Cuts the document down to the crates in the module, and ties it to the module: the package of the policy has the file's
/// name and hash, and the document's name is made from the hash. `created` takes the place of the time of the run. In the
/// end, equal input gives equal bytes.
///
/// # Errors
/// The document is not SPDX 2.3 as cargo-sbom writes it, or lacks a crate.
pub fn cut(mut document: Value, crates: &BTreeSet<Crate>, module: &Module, created: Option<&str>) -> Result<Value> {
    ensure!(
        document.get("spdxVersion") == Some(&json!("SPDX-2.3")),
        "spdxVersion is {}, expected \"SPDX-2.3\"",
        document.get("spdxVersion").unwrap_or(&Value::Null)
    );
    let mut packages = list(&mut document, "packages")?;
    packages.retain(|package| named(package).is_some_and(|found| crates.contains(&found)));
    packages.sort_by_key(|package| text(package, "SPDXID"));
    let found: BTreeSet<Crate> = packages.iter().filter_map(named).collect();
    let missing: Vec<String> = crates
        .difference(&found)
        .map(|(name, version)| format!("{name} {version}"))
        .collect();
    ensure!(
        missing.is_empty(),
        "the document of cargo-sbom lacks {}: is Cargo.lock the same?",
        missing.join(", ")
    );
    let mut root = None;
    for package in &mut packages {
        complete(package, module);
        if text(package, "name").as_deref() == Some(&module.name) {
            root = text(package, "SPDXID");
        }
    }
    let root = root.with_context(|| format!("no package is named '{}'", module.name))?;

    let ids: BTreeSet<String> = packages.iter().filter_map(|package| text(package, "SPDXID")).collect();
    let mut relations = list(&mut document, "relationships")?;
    relations.retain(|relation| {
        ["spdxElementId", "relatedSpdxElement"]
            .iter()
            .all(|end| text(relation, end).is_some_and(|id| ids.contains(&id)))
    });
    relations.push(json!({
        "spdxElementId": "SPDXRef-DOCUMENT",
        "relatedSpdxElement": root,
        "relationshipType": "DESCRIBES",
    }));
    relations.sort_by_key(Value::to_string);

    let fields = document.as_object_mut().context("the document is no object")?;
    // The lock file, under the names of build targets.
    fields.remove("files");
    fields.insert("name".to_owned(), json!(module.name));
    fields.insert(
        "documentNamespace".to_owned(),
        json!(format!("{}/spdx/{}-{}", module.repository, module.name, module.sha256)),
    );
    fields.insert("packages".to_owned(), Value::Array(packages));
    fields.insert("relationships".to_owned(), Value::Array(relations));
    if let (Some(created), Some(info)) = (created, fields.get_mut("creationInfo").and_then(Value::as_object_mut)) {
        info.insert("created".to_owned(), json!(created));
    }
    Ok(document)
}

/// What cargo-sbom leaves open or writes in Cargo's own words.
fn complete(package: &mut Value, module: &Module) {
    let (name, version) = named(package).unwrap_or_default();
    let Some(fields) = package.as_object_mut() else { return };
    // No hashes of single files are given; without this word there would have to be some.
    fields.insert("filesAnalyzed".to_owned(), json!(false));
    fields.insert("copyrightText".to_owned(), json!("NOASSERTION"));
    let place = if fields.get("externalRefs").is_some() {
        format!("https://crates.io/api/v1/crates/{name}/{version}/download")
    } else {
        format!("git+{}", module.repository)
    };
    fields.insert("downloadLocation".to_owned(), json!(place));
    if name == module.name {
        fields.insert("packageFileName".to_owned(), json!(format!("{name}.wasm")));
        fields.insert(
            "checksums".to_owned(),
            json!([{"algorithm": "SHA256", "checksumValue": module.sha256}]),
        );
    }
}

fn list(document: &mut Value, key: &str) -> Result<Vec<Value>> {
    match document.get_mut(key).map(Value::take) {
        Some(Value::Array(list)) => Ok(list),
        _ => bail!("the document has no list '{key}'"),
    }
}

fn named(package: &Value) -> Option<Crate> {
    Some((text(package, "name")?, text(package, "versionInfo")?))
}

fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key).and_then(Value::as_str).map(str::to_owned)
}

#[cfg(test)]
mod tests;
