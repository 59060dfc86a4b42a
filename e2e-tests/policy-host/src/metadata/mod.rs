//! Policy metadata: `metadata.yml`, the custom section of an annotated module, and what is generated from them.

mod artifacthub;
mod check;
mod inspect;
mod manifest;
mod section;
mod version;

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use serde::{Deserialize, Serialize};

pub use artifacthub::{artifacthub_package, check_timestamp, timestamp_now};
pub use check::{Fault, check};
pub use inspect::{describe, sizes};
pub use manifest::{ManifestOptions, PolicyKind, manifest};
pub use section::{custom_section, remove_custom_section, replace_custom_section};
pub use version::is_semver;

use crate::document;

/// Name of the custom section that carries the metadata, as JSON.
pub const SECTION: &str = "io.kubewarden.metadata";

/// What a policy says about itself. The order of the fields is the order in the custom section.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    /// `v1`; written by `annotate`, never by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol_version: Option<String>,
    /// Requests the policy is meant for.
    pub rules: Vec<Rule>,
    /// Title, version, description and so on.
    #[serde(default)]
    pub annotations: BTreeMap<String, String>,
    /// Whether the policy changes objects.
    pub mutating: bool,
    /// Whether the audit scanner may run it.
    #[serde(default = "yes")]
    pub background_audit: bool,
    /// `kubewarden-wapc` for policies that this host can run.
    #[serde(default = "wapc")]
    pub execution_mode: String,
    /// `kubernetes` or `raw`.
    #[serde(default = "kubernetes")]
    pub policy_type: String,
    /// Kinds the policy reads.
    #[serde(default)]
    pub context_aware_resources: Vec<ContextAwareResource>,
    /// Host capabilities the policy calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_capabilities: Option<Vec<String>>,
    /// Oldest Kubewarden that can run the policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimum_kubewarden_version: Option<String>,
}

/// One rule of a Kubernetes webhook configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rule {
    /// `""` is the core group.
    pub api_groups: Vec<String>,
    /// For instance `v1`.
    pub api_versions: Vec<String>,
    /// Plural names, with subresources as `pods/status`.
    pub resources: Vec<String>,
    /// `CREATE`, `UPDATE`, `DELETE`, `CONNECT` or `*`.
    pub operations: Vec<String>,
}

/// A kind that the policy gets or lists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextAwareResource {
    /// For instance `v1` or `apps/v1`.
    pub api_version: String,
    /// For instance `Namespace`.
    pub kind: String,
}

fn yes() -> bool {
    true
}

fn wapc() -> String {
    "kubewarden-wapc".to_owned()
}

fn kubernetes() -> String {
    "kubernetes".to_owned()
}

impl Metadata {
    /// Reads and checks a `metadata.yml`.
    ///
    /// # Errors
    /// One line that names the file and every faulty key.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let value = document::read_one(path)?;
        let faults = check(&value);
        if !faults.is_empty() {
            let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
            bail!("{}: {}", path.display(), faults.join("; "));
        }
        serde_json::from_value(value).map_err(|e| anyhow!("{}: {e}", path.display()))
    }

    /// The metadata of a module; none when it is not annotated.
    ///
    /// # Errors
    /// When the bytes are no wasm module or the section is not JSON of this shape.
    pub fn from_wasm(wasm: &[u8]) -> Result<Option<Self>> {
        custom_section(wasm, SECTION)?
            .map(|json| {
                serde_json::from_slice(json).with_context(|| format!("custom section {SECTION} cannot be read"))
            })
            .transpose()
    }

    /// An annotation that is set and not blank.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations
            .get(key)
            .map(|value| value.trim())
            .filter(|value| !value.is_empty())
    }

    /// The (apiVersion, kind) pairs the policy reads.
    pub fn context_aware_pairs(&self) -> impl Iterator<Item = (String, String)> + '_ {
        self.context_aware_resources
            .iter()
            .map(|resource| (resource.api_version.clone(), resource.kind.clone()))
    }

    /// The annotation keys whose absence keeps a package from being published.
    fn required_annotation(&self, key: &str) -> Result<&str> {
        self.annotation(key)
            .ok_or_else(|| anyhow!("annotations[\"{key}\"] is required for this"))
    }
}
