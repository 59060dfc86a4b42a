//! Look-ups in the cluster, behind one trait with four answers.
//!
//! The host tells a policy only a text when a look-up fails. What "not found" looks like and what an outage looks like is
//! decided in one function, [`classify`], so that "there is no engine" is never mistaken for "nobody could tell".

mod ask_once;
mod host;

pub(crate) use ask_once::AskOnce;
pub use host::HostCluster;

use serde_json::Value;

/// The answer to one look-up.
#[derive(Debug, Clone, PartialEq)]
pub enum Lookup {
    /// The object, as stored.
    Found(Value),
    /// The kind is served and there is no object of that name.
    NotFound,
    /// The API server serves no such kind: its CRD is not installed.
    NotServed,
    /// Nobody could tell: no grant, no connection, a time-out, an answer that is no object. Holds the host's text.
    Unavailable(String),
}

/// What a policy may ask the cluster. At most three questions a Pod.
pub trait Cluster {
    /// Gets one object.
    fn get(&self, query: &Query<'_>) -> Lookup;
}

/// One question to the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Query<'a> {
    /// `v1` or `group/version`.
    pub api_version: &'a str,
    /// Kind, singular.
    pub kind: &'a str,
    /// Namespace; none for a kind that has none.
    pub namespace: Option<&'a str>,
    /// Name of the object.
    pub name: &'a str,
    /// May the host answer from its cache of a few seconds?
    ///
    /// Not for engines and connection ConfigMaps: a Pod that restarts right after a port change must see the new port.
    pub cached: bool,
    /// The one member, next to the metadata, that is needed of the object; a host that knows field masks leaves out
    /// the rest (an engine's status grows with the number of nodes). Keys with dots cannot be masked, so only whole
    /// members are named.
    pub member: Option<&'a str>,
}

/// What the text of a failed look-up means. The texts are those of Kubewarden's host, which has no typed errors.
pub fn classify(host_error: &str) -> Lookup {
    if host_error.contains("Cannot find ") && host_error.contains(" inside of namespace ") {
        Lookup::NotFound
    } else if host_error.contains("Cannot find resource ") {
        Lookup::NotServed
    } else if host_error.contains("error finding resource ") && is_http_404(host_error) {
        // The whole API group is unknown, so the discovery of its kinds ends in a 404.
        Lookup::NotServed
    } else {
        Lookup::Unavailable(host_error.to_owned())
    }
}

/// The spellings of an HTTP 404 in the API client's errors. A number alone says nothing: ports and addresses hold it too.
fn is_http_404(text: &str) -> bool {
    [
        "404 page not found",
        "404 Not Found",
        "code: 404",
        "reason: \"NotFound\"",
    ]
    .iter()
    .any(|spelling| text.contains(spelling))
}

/// The spellings of an HTTP 403, likewise.
fn is_http_403(text: &str) -> bool {
    ["403 Forbidden", "code: 403", "reason: \"Forbidden\"", " is forbidden"]
        .iter()
        .any(|spelling| text.contains(spelling))
}

/// What to do about an unavailable look-up, in a few words for a warning.
pub fn remedy(host_error: &str) -> &'static str {
    if host_error.contains("has not been granted access") {
        "the policy lacks a grant: declare it in contextAwareResources (and hostCapabilities) of the policy"
    } else if is_http_403(host_error) {
        "the PolicyServer's service account may not get it: extend its RBAC"
    } else {
        "see the log of the policy server"
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn the_hosts_not_found_text() {
        for namespace in ["Some(\"demo\")", "None"] {
            let text = format!(
                "Host error: Callback evaluation failure: Cannot find lmcache.lmcache.ai/v1alpha1/LMCacheEngine named 'kv' inside of namespace '{namespace}'"
            );
            assert_eq!(classify(&text), Lookup::NotFound);
        }
    }

    #[test]
    fn the_hosts_texts_for_a_kind_that_is_not_served() {
        for text in [
            "Callback evaluation failure: Cannot find resource lmcache.lmcache.ai/v1alpha1/CacheBlendEngine",
            "Callback evaluation failure: error finding resource lmcache.lmcache.ai/v1alpha1 / LMCacheEngine: ApiError: 404 page not found",
        ] {
            assert_eq!(classify(text), Lookup::NotServed, "{text}");
        }
    }

    #[test]
    fn everything_else_is_unavailable_and_keeps_its_text() {
        for text in [
            "",
            "Policy has not been granted access to Kubernetes v1/ConfigMap resources. The violation has been reported.",
            "Callback evaluation failure: kube::Client was not initialized properly",
            "Callback evaluation failure: error finding resource a/v1 / B: connection refused",
            "Callback evaluation failure: error finding resource a/v1 / B: dns error: host not found",
            "Callback evaluation failure: error finding resource a/v1 / B: 10.96.0.1:40443: Connection refused",
            "Callback evaluation failure: ApiError: configmaps \"x\" is forbidden: 403",
        ] {
            assert_eq!(classify(text), Lookup::Unavailable(text.to_owned()));
        }
    }

    #[test]
    fn a_missing_grant_is_named_as_such() {
        assert!(remedy("Policy has not been granted access to Kubernetes v1/Namespace resources.").contains("grant"));
        assert!(remedy("ApiError: engines \"kv\" is forbidden: User cannot get").contains("RBAC"));
        for outage in ["timed out", "tcp connect error: 10.96.0.1:40312 connection refused"] {
            assert!(remedy(outage).contains("log of the policy server"), "{outage}");
        }
    }
}
