//! ClusterAdmissionPolicy manifests.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::check::{GROUP, find, module_name};
use crate::document::kind_of;
use crate::metadata::ContextAwareResource;

/// What the CRD allows for both time-outs, in seconds.
const TIMEOUTS: std::ops::RangeInclusive<u32> = 2..=30;

/// A ClusterAdmissionPolicy.
#[derive(Clone, Debug)]
pub struct Manifest {
    /// The file it was read from.
    pub file: PathBuf,
    /// `metadata.name`.
    pub name: String,
    /// What it asks for.
    pub spec: Spec,
}

/// `spec` of a ClusterAdmissionPolicy, with the defaults of its CRD. What goes into the webhook configuration as it is stays
/// JSON.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Spec {
    /// The PolicyServer that would run it. All of them are this server here.
    #[serde(default)]
    pub policy_server: Option<String>,
    /// Whether the answer counts.
    #[serde(default)]
    pub mode: Mode,
    /// Address of the module.
    pub module: String,
    /// Handed to the policy.
    #[serde(default = "no_settings")]
    pub settings: Value,
    /// Which requests it gets.
    pub rules: Vec<Value>,
    /// `Fail` or `Ignore`; unset is the API server's default, `Fail`.
    #[serde(default)]
    pub failure_policy: Option<String>,
    /// Whether it may change objects.
    pub mutating: bool,
    /// Whether the audit scanner may run it. Only the scanner looks at this; the server answers in any case.
    #[serde(default = "yes")]
    pub background_audit: bool,
    /// `Exact` or `Equivalent`.
    #[serde(default)]
    pub match_policy: Option<String>,
    /// CEL expressions that the API server evaluates.
    #[serde(default)]
    pub match_conditions: Option<Value>,
    /// Labels of namespaces.
    #[serde(default)]
    pub namespace_selector: Option<Map<String, Value>>,
    /// Labels of objects.
    #[serde(default)]
    pub object_selector: Option<Value>,
    /// `None` unless set.
    #[serde(default)]
    pub side_effects: Option<String>,
    /// How long the API server waits for the answer, in seconds.
    #[serde(default = "ten")]
    pub timeout_seconds: u32,
    /// How long the evaluation may take, in seconds; unset is the server's default.
    #[serde(default)]
    pub timeout_eval_seconds: Option<u32>,
    /// Replaces the message of a refusal, which becomes its cause.
    #[serde(default)]
    pub message: Option<String>,
    /// The kinds it may read.
    #[serde(default)]
    pub context_aware_resources: Vec<ContextAwareResource>,
    /// Whether it judges Kubewarden's own namespace too.
    #[serde(default)]
    pub allow_inside_admission_controller_namespace: bool,
}

/// Whether the answer of a policy counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// It counts.
    #[default]
    Protect,
    /// Everything is let pass unchanged; the answer is only logged.
    Monitor,
}

fn no_settings() -> Value {
    Value::Object(Map::new())
}

fn yes() -> bool {
    true
}

fn ten() -> u32 {
    10
}

/// Reads the ClusterAdmissionPolicies of files and folders: all `.yaml`, `.yml` and `.json` files of a folder, and those
/// below it when `recursive`. Other objects in them are passed over, like `kubectl apply` with one kind in mind.
///
/// # Errors
/// Names the file and what is wrong with it; also for the other kinds of policies, which would otherwise silently not be
/// there, for two policies of one name, and when there is no policy at all.
pub fn read_manifests(paths: &[PathBuf], recursive: bool) -> Result<Vec<Manifest>> {
    let mut manifests: Vec<Manifest> = Vec::new();
    for path in paths {
        for file in find::files(path)? {
            if !recursive && path.is_dir() && file.parent() != Some(path) {
                continue;
            }
            for object in find::manifests(&file)?.map_err(|fault| anyhow!("{}: {fault}", file.display()))? {
                let Some(manifest) = manifest(&file, object)? else {
                    continue;
                };
                if let Some(other) = manifests.iter().find(|other| other.name == manifest.name) {
                    bail!(
                        "ClusterAdmissionPolicy {} is in {} and in {}; name only one of the files",
                        manifest.name,
                        other.file.display(),
                        file.display()
                    );
                }
                manifests.push(manifest);
            }
        }
    }
    if manifests.is_empty() {
        let paths: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        bail!("no ClusterAdmissionPolicy ({GROUP}) in {}", paths.join(", "));
    }
    Ok(manifests)
}

fn manifest(file: &Path, mut object: Value) -> Result<Option<Manifest>> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
    let group = text("/apiVersion").and_then(|version| version.split_once('/'));
    let kind = text("/kind").unwrap_or_default().to_owned();
    if group.is_none_or(|(group, _)| group != GROUP) || kind == "PolicyServer" {
        return Ok(None);
    }
    let Some(name) = text("/metadata/name").map(str::to_owned) else {
        bail!("{}: the {kind} has no `metadata.name`", file.display());
    };
    let shown = || format!("{}: {kind} {name}", file.display());
    if kind != "ClusterAdmissionPolicy" {
        bail!("{}: only ClusterAdmissionPolicies are served here", shown());
    }
    let spec = object
        .get_mut("spec")
        .map(Value::take)
        .ok_or_else(|| anyhow!("{}: `spec` is missing", shown()))?;
    let mut spec: Spec = serde_json::from_value(spec).with_context(|| format!("{}: spec", shown()))?;
    match spec.settings {
        Value::Object(_) => {}
        Value::Null => spec.settings = no_settings(),
        found => bail!("{}: spec.settings must be a map, found {}", shown(), kind_of(&found)),
    }
    if spec.rules.is_empty() {
        bail!("{}: spec.rules must not be empty", shown());
    }
    if module_name(&spec.module).is_none() {
        bail!("{}: spec.module: '{}' does not name a module", shown(), spec.module);
    }
    let evaluation = spec.timeout_eval_seconds;
    for (field, seconds) in [
        ("timeoutSeconds", Some(spec.timeout_seconds)),
        ("timeoutEvalSeconds", evaluation),
    ] {
        if let Some(seconds) = seconds.filter(|seconds| !TIMEOUTS.contains(seconds)) {
            bail!("{}: spec.{field} must be from 2 to 30, found {seconds}", shown());
        }
    }
    if let Some(evaluation) = evaluation.filter(|evaluation| *evaluation > spec.timeout_seconds) {
        bail!(
            "{}: spec.timeoutEvalSeconds is {evaluation}, more than the {} of spec.timeoutSeconds",
            shown(),
            spec.timeout_seconds
        );
    }
    Ok(Some(Manifest {
        file: file.to_owned(),
        name,
        spec,
    }))
}
