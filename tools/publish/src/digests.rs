//! The digests of all policies, as a file of Helm values that manifests are pinned from, too.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use serde::Deserialize;

use crate::artifact::Artifact;

/// `policies: {digests: {<name>: sha256:...}}`, as the chart has it. A policy has one digest in every registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digests {
    /// The version that they are of, without a v; `None` where the file does not say.
    version: Option<String>,
    of: BTreeMap<String, String>,
}

/// The part of the values that is read.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Values {
    digests_of: Option<String>,
    policies: Policies,
}

#[derive(Deserialize)]
struct Policies {
    digests: BTreeMap<String, String>,
}

impl Digests {
    /// Those of some artifacts.
    pub fn of(artifacts: &[Artifact]) -> Digests {
        let pair = |artifact: &Artifact| (artifact.name.clone(), artifact.digest().to_owned());
        Digests {
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            of: artifacts.iter().map(pair).collect(),
        }
    }

    /// Reads the file. Other values may be in it.
    ///
    /// # Errors
    /// It has another shape, or something that is no SHA-256 digest.
    pub fn parse(text: &str) -> Result<Digests> {
        let values: Values = yaml_serde::from_str(text)?;
        let digests = values.policies.digests;
        for (name, digest) in &digests {
            ensure!(
                is_sha256(digest),
                "policies.digests.{name} is '{digest}', expected sha256: and 64 hexadecimal digits"
            );
        }
        Ok(Digests {
            version: values.digests_of.filter(|version| !version.is_empty()),
            of: digests,
        })
    }

    /// The digest of a policy.
    pub fn get(&self, policy: &str) -> Option<&str> {
        self.of.get(policy).map(String::as_str)
    }

    /// The version that they are of, where a tag names another one; a tag that is no version may mean any.
    pub fn contradict(&self, tag: &str) -> Option<&str> {
        let version = self.version.as_deref()?;
        let named = tag.strip_prefix('v').unwrap_or(tag);
        let is_version = named.split('.').count() >= 3 && named.starts_with(|first: char| first.is_ascii_digit());
        (is_version && named != version).then_some(version)
    }

    /// Writes the file.
    pub fn to_yaml(&self) -> String {
        let mut text = "# The digests of the policies: values of the chart, and what `make pin` reads.\n".to_owned();
        // The chart's own version has no v either.
        if let Some(version) = &self.version {
            text.push_str(&format!("digestsOf: {version}\n"));
        }
        text.push_str("policies:\n  digests:\n");
        for (name, digest) in &self.of {
            text.push_str(&format!("    {name}: {digest}\n"));
        }
        text
    }
}

fn is_sha256(digest: &str) -> bool {
    let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let hash = digest.strip_prefix("sha256:");
    hash.is_some_and(|hash| hash.len() == 64 && hash.bytes().all(hex))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let digest = format!("sha256:{}", "0a".repeat(32));
        let digests = ["pod-injection", "injection-guard"].map(|name| (name.to_owned(), digest.clone()));
        let digests = Digests {
            version: Some("0.1.0-rc.1".to_owned()),
            of: digests.into(),
        };
        let text = digests.to_yaml();
        assert_eq!(Digests::parse(&text).unwrap(), digests);
        assert_eq!(Digests::parse(&format!("{text}controller: {{}}\n")).unwrap(), digests);
        assert_eq!(digests.get("pod-injection"), Some(digest.as_str()));
        assert_eq!(digests.get("pod"), None);
        for part in [
            "\ndigestsOf: 0.1.0-rc.1\n",
            "\npolicies:\n  digests:\n    injection-guard: sha256:0a",
        ] {
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for (text, expected) in [
            ("policies: {digests: {a: v1}}", "policies.digests.a is 'v1'"),
            ("policies: {a: v1}", "digests"),
            ("images: {}", "policies"),
        ] {
            let error = format!("{:#}", Digests::parse(text).unwrap_err());
            assert!(error.contains(expected), "{error}");
        }
    }
}
