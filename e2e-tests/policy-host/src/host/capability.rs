//! Which host capabilities a policy may use.

use anyhow::{Result, bail};

/// Every capability of Kubewarden's host, `<namespace>/<operation>`.
const TREE: [&str; 11] = [
    "crypto/v1/is_certificate_trusted",
    "kubernetes/can_i",
    "kubernetes/get_resource",
    "kubernetes/list_resources_all",
    "kubernetes/list_resources_by_namespace",
    "net/v1/dns_lookup_host",
    "oci/v1/manifest_digest",
    "oci/v1/oci_manifest",
    "oci/v1/oci_manifest_config",
    "oci/v1/verify",
    "oci/v2/verify",
];

/// A checked list of patterns: `*`, `<ns>/*`, `<ns>/<version>/*` or an exact path. An empty list allows nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapabilityPatterns(Vec<String>);

impl CapabilityPatterns {
    /// Allows everything, what `kwctl run` does by default.
    pub fn all() -> Self {
        Self(vec!["*".to_owned()])
    }

    /// Allows nothing but log records.
    pub fn none() -> Self {
        Self(Vec::new())
    }

    /// # Errors
    /// Names the pattern that is no path of the capability tree.
    pub fn new(patterns: impl IntoIterator<Item = impl Into<String>>) -> Result<Self> {
        let patterns: Vec<String> = patterns.into_iter().map(Into::into).collect();
        for pattern in &patterns {
            check_pattern(pattern)?;
        }
        Ok(Self(patterns))
    }

    /// Whether a call `<namespace>/<operation>` is allowed.
    pub fn allow(&self, capability: &str) -> bool {
        self.0.iter().any(|pattern| match pattern.strip_suffix('*') {
            Some(prefix) => capability.starts_with(prefix),
            None => pattern == capability,
        })
    }
}

/// Checks one pattern against the tree of host capabilities.
///
/// # Errors
/// Says why the pattern matches nothing, and what would.
pub fn check_pattern(pattern: &str) -> Result<()> {
    if pattern == "*" || TREE.contains(&pattern) {
        return Ok(());
    }
    if let Some(prefix) = pattern.strip_suffix("/*") {
        let known = TREE
            .iter()
            .any(|path| path.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('/')));
        if known && !prefix.contains('*') {
            return Ok(());
        }
    } else if pattern.contains('*') {
        bail!("host capability '{pattern}': the wildcard must be the whole last segment, as in 'kubernetes/*'");
    } else if TREE
        .iter()
        .any(|path| path.strip_prefix(pattern).is_some_and(|rest| rest.starts_with('/')))
    {
        bail!("host capability '{pattern}' is incomplete: write '{pattern}/*' or a path below it");
    }
    bail!("unknown host capability '{pattern}'; known are {}", TREE.join(", "))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("*", true)]
    #[case("kubernetes/*", true)]
    #[case("oci/*", false)]
    #[case("kubernetes/get_resource", true)]
    #[case("kubernetes/can_i", false)]
    fn matches_get_resource(#[case] pattern: &str, #[case] expected: bool) {
        let patterns = CapabilityPatterns::new([pattern]).unwrap();
        assert_eq!(patterns.allow("kubernetes/get_resource"), expected);
    }

    #[test]
    fn a_version_wildcard_matches_only_its_version() {
        let patterns = CapabilityPatterns::new(["oci/v1/*"]).unwrap();
        assert!(patterns.allow("oci/v1/verify") && !patterns.allow("oci/v2/verify"));
        assert!(!CapabilityPatterns::none().allow("oci/v1/verify"));
    }

    #[rstest]
    #[case("kubernetes", "incomplete")]
    #[case("oci/v1", "incomplete")]
    #[case("kubernetes/get*", "whole last segment")]
    #[case("*/get_resource", "whole last segment")]
    #[case("*/*", "unknown")]
    #[case("kubernetes/watch", "unknown")]
    #[case("kubernetes/get_resource/*", "unknown")]
    #[case("", "unknown")]
    fn refuses_patterns_outside_the_tree(#[case] pattern: &str, #[case] expected: &str) {
        let error = CapabilityPatterns::new([pattern]).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
