//! Checks manifests that install policies against the modules they name: are the settings valid for the very guest, and
//! does the manifest grant what the policy needs?

pub(crate) mod find;
mod member;
mod modules;

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use serde_json::Value;

pub use modules::{Modules, module_name};

use crate::document::kind_of;
use member::Member;

/// The API group of the manifests.
pub(crate) const GROUP: &str = "policies.kubewarden.io";

/// What was found out about one manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The file, as it was found below the folder.
    pub file: PathBuf,
    /// Kind and name of the manifest; nothing when the file cannot be read.
    pub manifest: String,
    /// What keeps the policy from doing its work, each with the path of the field.
    pub faults: Vec<String>,
    /// What is probably not meant.
    pub warnings: Vec<String>,
}

impl fmt::Display for Verdict {
    /// One line for the manifest, then one for each fault and warning.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.file.display())?;
        if !self.manifest.is_empty() {
            write!(f, "{}: ", self.manifest)?;
        }
        match (self.faults.len(), self.warnings.len()) {
            (0, 0) => write!(f, "ok")?,
            (0, warnings) => write!(f, "ok, {}", counted(warnings, "warning"))?,
            (faults, _) => write!(f, "{}", counted(faults, "fault"))?,
        }
        for fault in &self.faults {
            write!(f, "\n  {fault}")?;
        }
        for warning in &self.warnings {
            write!(f, "\n  warning: {warning}")?;
        }
        Ok(())
    }
}

/// `1 fault`, `2 faults`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// The kinds of manifests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Kind {
    /// Cluster-wide kinds alone may let their policies read from the cluster.
    cluster_wide: bool,
    /// Groups have members and never mutate.
    group: bool,
}

impl Kind {
    fn of(manifest: &Value) -> Option<(&str, Self)> {
        let text = |member: &str| manifest.get(member).and_then(Value::as_str);
        let (group, _) = text("apiVersion")?.split_once('/')?;
        let name = text("kind")?;
        let (cluster_wide, group_kind) = match name {
            "ClusterAdmissionPolicy" => (true, false),
            "AdmissionPolicy" => (false, false),
            "ClusterAdmissionPolicyGroup" => (true, true),
            "AdmissionPolicyGroup" => (false, true),
            _ => return None,
        };
        let kind = Self {
            cluster_wide,
            group: group_kind,
        };
        (group == GROUP).then_some((name, kind))
    }
}

/// Checks every manifest in a file, or in the `.yaml`, `.yml` and `.json` files of a folder and below it, in the order of
/// their paths. Other objects are passed over, as are files that are no YAML unless they name the API group.
///
/// # Errors
/// A folder or file cannot be read, or there is no manifest: a check of nothing would pass.
pub fn check_manifests(path: &Path, modules: &Modules) -> Result<Vec<Verdict>> {
    let mut verdicts = Vec::new();
    for file in find::files(path)? {
        match find::manifests(&file)? {
            Ok(manifests) => {
                verdicts.extend(
                    manifests
                        .iter()
                        .filter_map(|manifest| check_one(&file, manifest, modules)),
                );
            }
            Err(fault) => verdicts.push(Verdict {
                file,
                manifest: String::new(),
                faults: vec![fault],
                warnings: Vec::new(),
            }),
        }
    }
    if verdicts.is_empty() {
        bail!("{}: holds no manifest of a policy ({GROUP})", path.display());
    }
    Ok(verdicts)
}

fn check_one(file: &Path, manifest: &Value, modules: &Modules) -> Option<Verdict> {
    let (kind_name, kind) = Kind::of(manifest)?;
    let text = |pointer: &str| manifest.pointer(pointer).and_then(Value::as_str);
    let shown = match (text("/metadata/namespace"), text("/metadata/name")) {
        (Some(namespace), Some(name)) => format!("{kind_name} {namespace}/{name}"),
        (None, Some(name)) => format!("{kind_name} {name}"),
        (_, None) => format!("{kind_name} without a name"),
    };
    let mut findings = Findings::default();
    match manifest.get("spec") {
        Some(Value::Object(spec)) if kind.group => group(spec, kind, modules, &mut findings),
        Some(Value::Object(spec)) => {
            let member = Member {
                path: "spec",
                fields: spec,
                kind,
            };
            member.check(modules, &mut findings);
        }
        Some(found) => findings.fault("spec", format!("must be a map, found {}", kind_of(found))),
        None => findings.fault("spec", "is missing"),
    }
    Some(Verdict {
        file: file.to_owned(),
        manifest: shown,
        faults: findings.faults,
        warnings: findings.warnings,
    })
}

fn group(spec: &serde_json::Map<String, Value>, kind: Kind, modules: &Modules, findings: &mut Findings) {
    match spec.get("policies") {
        Some(Value::Object(policies)) if !policies.is_empty() => {
            for (name, policy) in policies {
                let path = format!("spec.policies.{name}");
                match policy {
                    Value::Object(fields) => {
                        let member = Member {
                            path: &path,
                            fields,
                            kind,
                        };
                        member.check(modules, findings);
                    }
                    found => findings.fault(&path, format!("must be a map, found {}", kind_of(found))),
                }
            }
        }
        Some(Value::Object(_)) | None => findings.fault("spec.policies", "must have at least one policy"),
        Some(found) => findings.fault("spec.policies", format!("must be a map, found {}", kind_of(found))),
    }
}

/// Collects what is wrong, each with the path of the field.
#[derive(Debug, Default)]
struct Findings {
    faults: Vec<String>,
    warnings: Vec<String>,
}

impl Findings {
    fn fault(&mut self, path: &str, text: impl fmt::Display) {
        self.faults.push(format!("{path}: {text}"));
    }

    fn warning(&mut self, path: &str, text: impl fmt::Display) {
        self.warnings.push(format!("{path}: {text}"));
    }
}
