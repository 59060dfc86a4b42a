//! The annotations of a policy, and those of its OCI manifest.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use wasmparser::{Parser, Payload};

/// The custom section in which an annotated module carries its metadata, as JSON.
const SECTION: &str = "io.kubewarden.metadata";

/// Where the source of a policy is, as Kubewarden has it and as registries read it.
const POLICY_SOURCE: &str = "io.kubewarden.policy.source";
const IMAGE_SOURCE: &str = "org.opencontainers.image.source";

/// The part of the metadata that is read.
#[derive(Deserialize)]
struct Metadata {
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

/// The annotations of an annotated module.
///
/// # Errors
/// The bytes are no module, or it carries no metadata that can be read.
pub(crate) fn policy_annotations(wasm: &[u8]) -> Result<BTreeMap<String, String>> {
    ensure!(
        Parser::is_core_wasm(wasm),
        "not a WebAssembly module: it does not start with \\0asm and version 1"
    );
    for payload in Parser::new(0).parse_all(wasm) {
        if let Payload::CustomSection(section) = payload.context("a broken WebAssembly module")?
            && section.name() == SECTION
        {
            let metadata: serde_json::Result<Metadata> = serde_json::from_slice(section.data());
            return Ok(metadata
                .with_context(|| format!("the custom section {SECTION} cannot be read"))?
                .annotations);
        }
    }
    bail!("carries no Kubewarden metadata: annotate it first")
}

/// What `kwctl push` writes on the manifest: every annotation of one line, and the policy's source under the name that
/// registries know, unless the policy has that one itself. There is no time among them, so equal modules have equal
/// manifests.
pub fn manifest_annotations(policy: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut annotations: BTreeMap<String, String> = policy
        .iter()
        .filter(|(_, value)| value.lines().count() <= 1)
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    if let Some(source) = annotations.get(POLICY_SOURCE).cloned() {
        annotations.entry(IMAGE_SOURCE.to_owned()).or_insert(source);
    }
    annotations
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        let pairs = pairs.iter();
        pairs
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn one_line_stays_and_several_go() {
        let policy = of(&[
            ("io.kubewarden.policy.title", "demo"),
            ("io.kubewarden.policy.usage", "# Demo\n\nText.\n"),
            ("empty", ""),
            ("closed", "one line with its end\n"),
        ]);
        assert_eq!(
            manifest_annotations(&policy),
            of(&[
                ("closed", "one line with its end\n"),
                ("empty", ""),
                ("io.kubewarden.policy.title", "demo"),
            ])
        );
    }

    #[test]
    fn the_source_is_there_for_registries_too() {
        let policy = of(&[(POLICY_SOURCE, "https://example.com/a")]);
        assert_eq!(
            manifest_annotations(&policy).get(IMAGE_SOURCE).map(String::as_str),
            Some("https://example.com/a")
        );
        let own = of(&[
            (POLICY_SOURCE, "https://example.com/a"),
            (IMAGE_SOURCE, "https://example.com/b"),
        ]);
        assert_eq!(manifest_annotations(&own), own);
        let lines = of(&[(POLICY_SOURCE, "two\nlines")]);
        assert_eq!(manifest_annotations(&lines), BTreeMap::new());
    }
}
