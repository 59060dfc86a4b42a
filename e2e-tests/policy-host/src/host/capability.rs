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

/// What differs between the capabilities that a policy declares and those whose names its module holds, one sentence each.
///
/// As in kwctl this is a hint: a name in the data says that the policy may make the call, not that it does. Operations of
/// which another one's name is the beginning count only where they stand alone.
pub fn undeclared_and_unused(wasm: &[u8], declared: &[String]) -> Vec<String> {
    let mut hints = Vec::new();
    if declared.iter().any(|pattern| pattern == "*") {
        hints.push("hostCapabilities: '*' allows everything: list what the policy calls".to_owned());
        return hints;
    }
    let patterns = CapabilityPatterns(declared.to_vec());
    for capability in TREE {
        let (_, operation) = capability.split_once('/').unwrap_or(("", capability));
        let used = holds(wasm, operation);
        let exact = declared.iter().any(|pattern| pattern == capability);
        if used && !patterns.allow(capability) {
            hints.push(format!(
                "hostCapabilities: the module seems to use '{capability}', which is not declared"
            ));
        } else if exact && !used {
            hints.push(format!(
                "hostCapabilities: '{capability}' is declared, but the module does not seem to use it"
            ));
        }
    }
    hints
}

/// Whether the module holds the name of an operation that is not the beginning of a longer one's.
fn holds(wasm: &[u8], operation: &str) -> bool {
    let longer = TREE.iter().filter_map(|capability| {
        let (_, other) = capability.split_once('/')?;
        other.strip_prefix(operation).filter(|rest| !rest.is_empty())
    });
    let rests: Vec<&str> = longer.collect();
    let mut windows = wasm.windows(operation.len()).enumerate();
    windows.any(|(start, window)| {
        let behind = wasm.get(start + operation.len()..).unwrap_or_default();
        window == operation.as_bytes() && !rests.iter().any(|rest| behind.starts_with(rest.as_bytes()))
    })
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
    #[case::declared(b"xget_resourcey", &["kubernetes/get_resource"], &[])]
    #[case::by_pattern(b"get_resource", &["kubernetes/*"], &[])]
    #[case::undeclared(b"get_resource", &[], &["seems to use 'kubernetes/get_resource'"])]
    #[case::unused(b"", &["kubernetes/can_i"], &["'kubernetes/can_i' is declared"])]
    #[case::longer_name(b"v1/oci_manifest_config", &["oci/v1/oci_manifest_config"], &[])]
    #[case::both_names(b"v1/oci_manifest v1/oci_manifest_config", &["oci/*"], &[])]
    #[case::everything(b"get_resource", &["*"], &["allows everything"])]
    fn hints(#[case] wasm: &[u8], #[case] declared: &[&str], #[case] expected: &[&str]) {
        let declared: Vec<String> = declared.iter().map(|&pattern| pattern.to_owned()).collect();
        let found = undeclared_and_unused(wasm, &declared);
        assert_eq!(found.len(), expected.len(), "{found:?}");
        assert!(
            found.iter().zip(expected).all(|(hint, text)| hint.contains(text)),
            "{found:?}"
        );
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
