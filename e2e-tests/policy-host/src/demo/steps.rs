//! `demo.yaml`.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use serde::Deserialize;
use serde_json::Value;

use crate::AdmissionResponse;
use crate::document;
use crate::host::{ClusterBehaviour, ClusterDir};

/// The format of `demo.yaml`, for `--help`.
pub const FORMAT: &str = "\
Format of DIR/demo.yaml (paths are relative to DIR):

title: What the demonstration shows        # optional
steps:
  - title: A Pod that opted in is wired    # required
    about: One or two sentences.           # optional
    policy: ../policies/pod.wasm           # required; with --policy-dir only its file name counts
    request: pod.yaml                      # required; AdmissionRequest, AdmissionReview or manifest
    cluster: cluster.yaml                  # optional; a file or a folder of manifests
    host: host.yaml                        # optional; notServed, failing, garbled
    settings: settings.yaml                # optional; a path or a map
    expect: mutated                        # optional; admitted, mutated or refused";

/// A demonstration.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Demo {
    /// Heading of the report.
    #[serde(default)]
    pub title: Option<String>,
    /// What happens, in order.
    pub steps: Vec<Step>,
}

/// One request to one policy.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Heading of the step.
    pub title: String,
    /// What to look at.
    #[serde(default)]
    pub about: Option<String>,
    /// The wasm file.
    pub policy: PathBuf,
    /// The request, or a manifest.
    pub request: PathBuf,
    /// The objects in the cluster.
    #[serde(default)]
    pub cluster: Option<PathBuf>,
    /// How the host misbehaves.
    #[serde(default)]
    pub host: Option<PathBuf>,
    /// A path, or the settings themselves.
    #[serde(default)]
    pub settings: Value,
    /// The verdict the demonstration is about.
    #[serde(default)]
    pub expect: Option<Expect>,
}

/// A verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Expect {
    /// Allowed as it is.
    Admitted,
    /// Allowed with changes.
    Mutated,
    /// Not allowed.
    Refused,
}

impl Expect {
    /// The verdict of a response.
    pub fn of(response: &AdmissionResponse) -> Self {
        match (&response.patch, response.allowed) {
            (_, false) => Self::Refused,
            (Some(_), true) => Self::Mutated,
            (None, true) => Self::Admitted,
        }
    }

    /// The word of the report.
    pub fn word(self) -> &'static str {
        match self {
            Self::Admitted => "ADMITTED",
            Self::Mutated => "MUTATED",
            Self::Refused => "REFUSED",
        }
    }
}

impl Demo {
    /// Reads `demo.yaml` of a folder.
    ///
    /// # Errors
    /// Names the file and what is wrong with it.
    pub fn load(dir: &Path) -> Result<Self> {
        let path = dir.join("demo.yaml");
        let demo: Self =
            serde_json::from_value(document::read_one(&path)?).map_err(|e| anyhow!("{}: {e}", path.display()))?;
        if demo.steps.is_empty() {
            bail!("{}: `steps` is empty", path.display());
        }
        Ok(demo)
    }
}

impl Step {
    /// The cluster of the step.
    ///
    /// # Errors
    /// Names the file and what is wrong with it.
    pub fn cluster(&self, dir: &Path) -> Result<ClusterDir> {
        let cluster = match &self.cluster {
            Some(path) => ClusterDir::load(dir.join(path))?,
            None => ClusterDir::default(),
        };
        Ok(match &self.host {
            Some(path) => cluster.with_behaviour(ClusterBehaviour::from_file(dir.join(path))?),
            None => cluster,
        })
    }

    /// The settings of the step.
    ///
    /// # Errors
    /// Names the file and what is wrong with it.
    pub fn settings(&self, dir: &Path) -> Result<Value> {
        match &self.settings {
            Value::String(path) => {
                let path = dir.join(path);
                let text = document::read_text(&path)?;
                document::parse_settings(&text).map_err(|e| anyhow!("{}: {e}", path.display()))
            }
            Value::Null => Ok(serde_json::json!({})),
            settings @ Value::Object(_) => Ok(settings.clone()),
            found => bail!("settings must be a path or a map, found {}", document::kind_of(found)),
        }
    }
}
