//! The custom resource that installs a policy, made from its metadata.

use anyhow::{Result, bail};
use serde_json::{Map, Value, json};

use super::Metadata;

/// The kind of manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyKind {
    /// Cluster-wide; the only kind that may read from the cluster.
    ClusterAdmissionPolicy,
    /// For one namespace.
    AdmissionPolicy,
}

/// What the metadata does not know.
#[derive(Clone, Debug)]
pub struct ManifestOptions {
    /// The kind of manifest.
    pub kind: PolicyKind,
    /// Where policy-server finds the module.
    pub module: String,
    /// Settings of the policy, a map.
    pub settings: Value,
    /// Name of the object; the title annotation when absent.
    pub title: Option<String>,
    /// Grants the policy what its metadata lists as `contextAwareResources`.
    pub allow_context_aware: bool,
}

/// The manifest as YAML.
///
/// # Errors
/// When the name is no RFC 1123 label, or an AdmissionPolicy shall read from the cluster.
pub fn manifest(metadata: &Metadata, options: &ManifestOptions) -> Result<String> {
    let name = match &options.title {
        Some(title) => title.as_str(),
        None => metadata.annotation("io.kubewarden.policy.title").unwrap_or_default(),
    };
    if !is_rfc1123_label(name) {
        bail!("'{name}' cannot name the policy: use --title with lower-case letters, digits and '-', at most 63");
    }
    let cluster_wide = options.kind == PolicyKind::ClusterAdmissionPolicy;
    if !cluster_wide && options.allow_context_aware {
        bail!("an AdmissionPolicy cannot read from the cluster: scaffold a ClusterAdmissionPolicy");
    }
    let annotations: Map<String, Value> = ["io.kubewarden.policy.category", "io.kubewarden.policy.severity"]
        .into_iter()
        .filter_map(|key| Some((key.to_owned(), Value::from(metadata.annotation(key)?))))
        .collect();
    let mut spec = Map::new();
    spec.insert("module".to_owned(), json!(options.module));
    spec.insert("settings".to_owned(), options.settings.clone());
    spec.insert("rules".to_owned(), serde_json::to_value(&metadata.rules)?);
    spec.insert("mutating".to_owned(), json!(metadata.mutating));
    if !metadata.background_audit {
        spec.insert("backgroundAudit".to_owned(), json!(false));
    }
    if cluster_wide {
        let resources = if options.allow_context_aware {
            metadata.context_aware_resources.as_slice()
        } else {
            &[]
        };
        spec.insert("contextAwareResources".to_owned(), serde_json::to_value(resources)?);
    }
    let mut object_metadata = Map::new();
    if !annotations.is_empty() {
        object_metadata.insert("annotations".to_owned(), Value::Object(annotations));
    }
    object_metadata.insert("name".to_owned(), json!(name));
    Ok(yaml_serde::to_string(&json!({
        "apiVersion": "policies.kubewarden.io/v1",
        "kind": if cluster_wide { "ClusterAdmissionPolicy" } else { "AdmissionPolicy" },
        "metadata": object_metadata,
        "spec": spec,
    }))?)
}

fn is_rfc1123_label(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 63
        && name
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        && !name.starts_with('-')
        && !name.ends_with('-')
}
