//! The calls a policy can make, parsed. The shape is the one of recorded `kwctl` sessions, where each request is a YAML
//! document tagged with the name of the variant.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A parsed host call. Two calls are the same when all arguments are; an absent option equals null.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(
    missing_docs,
    reason = "the fields are named in Kubewarden's host capabilities reference"
)]
pub enum HostRequest {
    /// `kubernetes/get_resource`
    KubernetesGetResource {
        api_version: String,
        kind: String,
        name: String,
        #[serde(default)]
        namespace: Option<String>,
        disable_cache: bool,
        #[serde(default)]
        field_masks: Option<BTreeSet<String>>,
    },
    /// `kubernetes/list_resources_by_namespace`
    KubernetesListResourceNamespace {
        api_version: String,
        kind: String,
        namespace: String,
        #[serde(default)]
        label_selector: Option<String>,
        #[serde(default)]
        field_selector: Option<String>,
        #[serde(default)]
        field_masks: Option<BTreeSet<String>>,
        #[serde(default, skip_serializing_if = "is_false")]
        disable_cache: bool,
    },
    /// `kubernetes/list_resources_all`
    KubernetesListResourceAll {
        api_version: String,
        kind: String,
        #[serde(default)]
        label_selector: Option<String>,
        #[serde(default)]
        field_selector: Option<String>,
        #[serde(default)]
        field_masks: Option<BTreeSet<String>>,
        #[serde(default, skip_serializing_if = "is_false")]
        disable_cache: bool,
    },
    /// `kubernetes/can_i`
    KubernetesCanI {
        /// Called `subject_access_review` on the wire and `request` in a session.
        #[serde(alias = "subject_access_review")]
        request: SubjectAccessReview,
        disable_cache: bool,
    },
    /// `oci/v1/manifest_digest`
    OciManifestDigest { image: String },
    /// `oci/v1/oci_manifest`
    OciManifest { image: String },
    /// `oci/v1/oci_manifest_config`
    OciManifestAndConfig { image: String },
    /// `net/v1/dns_lookup_host`
    DNSLookupHost { host: String },
}

/// The question of a `can_i` call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubjectAccessReview {
    /// Groups of the user.
    #[serde(default)]
    pub groups: Option<Vec<String>>,
    /// What the user wants to do.
    pub resource_attributes: ResourceAttributes,
    /// Name of the user.
    pub user: String,
}

/// What a `can_i` call asks about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the fields are those of a Kubernetes SubjectAccessReview")]
pub struct ResourceAttributes {
    #[serde(default)]
    pub group: Option<String>,
    #[serde(default)]
    pub name: Option<String>,
    #[serde(default)]
    pub namespace: Option<String>,
    pub resource: String,
    #[serde(default)]
    pub subresource: Option<String>,
    pub verb: String,
    #[serde(default)]
    pub version: Option<String>,
}

fn is_false(value: &bool) -> bool {
    !value
}

impl HostRequest {
    /// Parses the payload of a call.
    ///
    /// # Errors
    /// The text for the guest: unknown namespace or operation, or what is wrong with the payload.
    pub fn from_wire(namespace: &str, operation: &str, payload: &[u8]) -> Result<Self, String> {
        let (variant, argument) = match (namespace, operation) {
            ("kubernetes", "get_resource") => ("KubernetesGetResource", None),
            ("kubernetes", "list_resources_by_namespace") => ("KubernetesListResourceNamespace", None),
            ("kubernetes", "list_resources_all") => ("KubernetesListResourceAll", None),
            ("kubernetes", "can_i") => ("KubernetesCanI", None),
            ("oci", "v1/manifest_digest") => ("OciManifestDigest", Some("image")),
            ("oci", "v1/oci_manifest") => ("OciManifest", Some("image")),
            ("oci", "v1/oci_manifest_config") => ("OciManifestAndConfig", Some("image")),
            ("net", "v1/dns_lookup_host") => ("DNSLookupHost", Some("host")),
            ("oci", "v1/verify" | "v2/verify") | ("crypto", "v1/is_certificate_trusted") => {
                return Err(format!(
                    "policy-host does not answer {namespace}/{operation}; use kwctl"
                ));
            }
            ("kubernetes" | "oci" | "net" | "crypto", _) => return Err(format!("unknown operation: {operation}")),
            _ => return Err(format!("unknown namespace: {namespace}")),
        };
        let value: Value = serde_json::from_slice(payload).map_err(|e| e.to_string())?;
        let value = match argument {
            Some(argument) => json!({ argument: value }),
            None => value,
        };
        serde_json::from_value(json!({ variant: value })).map_err(|e| e.to_string())
    }

    /// The (apiVersion, kind) that a get or list reads; other calls read no resource.
    pub fn resource(&self) -> Option<(&str, &str)> {
        match self {
            Self::KubernetesGetResource { api_version, kind, .. }
            | Self::KubernetesListResourceNamespace { api_version, kind, .. }
            | Self::KubernetesListResourceAll { api_version, kind, .. } => Some((api_version, kind)),
            _ => None,
        }
    }

    /// Whether this is one of the `kubernetes/` calls.
    pub fn is_kubernetes(&self) -> bool {
        self.resource().is_some() || matches!(self, Self::KubernetesCanI { .. })
    }
}

impl std::fmt::Display for HostRequest {
    /// A short form for logs and test failures: `get v1/ConfigMap team-a/demo`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::KubernetesGetResource {
                api_version,
                kind,
                name,
                namespace: Some(namespace),
                ..
            } => write!(f, "get {api_version}/{kind} {namespace}/{name}"),
            Self::KubernetesGetResource {
                api_version,
                kind,
                name,
                ..
            } => write!(f, "get {api_version}/{kind} {name}"),
            Self::KubernetesListResourceNamespace {
                api_version,
                kind,
                namespace,
                ..
            } => write!(f, "list {api_version}/{kind} in {namespace}"),
            Self::KubernetesListResourceAll { api_version, kind, .. } => write!(f, "list {api_version}/{kind}"),
            Self::KubernetesCanI { request, .. } => write!(
                f,
                "can {} {} {}",
                request.user, request.resource_attributes.verb, request.resource_attributes.resource
            ),
            other => write!(f, "{other:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wire_and_session_give_the_same_request() {
        let wire = r#"{"subject_access_review":{"user":"u","groups":null,"resource_attributes":{"verb":"get","resource":"pods"}},"disable_cache":true}"#;
        let session = "!KubernetesCanI\nrequest:\n  user: u\n  resource_attributes: {verb: get, resource: pods}\ndisable_cache: true\n";
        assert_eq!(
            HostRequest::from_wire("kubernetes", "can_i", wire.as_bytes()).unwrap(),
            yaml_serde::from_str(session).unwrap()
        );
        assert_eq!(
            HostRequest::from_wire("net", "v1/dns_lookup_host", b"\"a.b\"").unwrap(),
            yaml_serde::from_str("!DNSLookupHost\nhost: a.b\n").unwrap()
        );
    }

    #[test]
    fn disable_cache_is_required_on_get() {
        let wire = br#"{"api_version":"v1","kind":"Pod","name":"a"}"#;
        let error = HostRequest::from_wire("kubernetes", "get_resource", wire).unwrap_err();
        assert!(error.contains("missing field `disable_cache`"), "{error}");
    }
}
