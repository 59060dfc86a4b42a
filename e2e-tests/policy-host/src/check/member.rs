//! One policy of a manifest: the whole `spec`, or a member of a group.

use serde_json::{Map, Value};

use super::modules::{Found, Modules};
use super::{Findings, Kind};
use crate::document::kind_of;
use crate::metadata::{ContextAwareResource, Metadata};
use crate::{EvaluationContext, Policy};

/// The fields of a policy and where they stand.
pub(super) struct Member<'a> {
    pub(super) path: &'a str,
    pub(super) fields: &'a Map<String, Value>,
    pub(super) kind: Kind,
}

impl Member<'_> {
    pub(super) fn check(&self, modules: &Modules, findings: &mut Findings) {
        let path = self.below("module");
        let policy = match self.field("module") {
            Some(Value::String(module)) => match modules.find(module) {
                Found::Policy(policy) => Some(*policy),
                Found::Unknown(text) => {
                    findings.warning(&path, format!("{text}: not checked"));
                    None
                }
                Found::Fault(text) => {
                    findings.fault(&path, text);
                    None
                }
            },
            Some(found) => {
                findings.fault(&path, format!("must be a string, found {}", kind_of(found)));
                None
            }
            None => {
                findings.fault(&path, "is missing");
                None
            }
        };
        let settings = self.settings(findings);
        let Some(policy) = policy else {
            self.granted(findings);
            return;
        };
        let Some(metadata) = policy.metadata() else {
            findings.fault(&path, "the module carries no Kubewarden metadata; annotate it first");
            return;
        };
        if metadata.execution_mode != "kubewarden-wapc" {
            let mode = &metadata.execution_mode;
            findings.fault(&path, format!("modules of execution mode '{mode}' do not run here"));
            return;
        }
        if let Some(settings) = settings {
            self.ask_the_guest(&policy, &settings, findings);
        }
        self.mutation(metadata, findings);
        self.reading(metadata, findings);
    }

    fn field(&self, name: &str) -> Option<&Value> {
        self.fields.get(name).filter(|value| !value.is_null())
    }

    fn below(&self, name: &str) -> String {
        format!("{}.{name}", self.path)
    }

    /// The settings as policy-server hands them over; nothing where they are no map.
    fn settings(&self, findings: &mut Findings) -> Option<Value> {
        match self.field("settings") {
            None => Some(Value::Object(Map::new())),
            Some(settings @ Value::Object(_)) => Some(settings.clone()),
            Some(found) => {
                let text = format!("must be a map, found {}", kind_of(found));
                findings.fault(&self.below("settings"), text);
                None
            }
        }
    }

    /// Settings are valid when the guest says so, and it says so without a cluster.
    fn ask_the_guest(&self, policy: &Policy, settings: &Value, findings: &mut Findings) {
        let verdict = policy.validate_settings(settings, &EvaluationContext::without_cluster());
        if verdict.valid {
            return;
        }
        let message = verdict.message.unwrap_or_default();
        let complaints: Vec<&str> = message.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let text = if complaints.is_empty() {
            "the policy refuses them without a reason".to_owned()
        } else {
            complaints.join("; ")
        };
        findings.fault(&self.below("settings"), text);
    }

    fn mutation(&self, metadata: &Metadata, findings: &mut Findings) {
        if self.kind.group {
            if metadata.mutating {
                findings.fault(
                    &self.below("module"),
                    "the policy changes objects, which no policy of a group may",
                );
            }
            return;
        }
        let path = self.below("mutating");
        match (self.field("mutating"), metadata.mutating) {
            (Some(Value::Bool(true)), true) | (Some(Value::Bool(false)), false) => {}
            (Some(Value::Bool(true)), false) => {
                findings.warning(&path, "the policy changes nothing; false makes it a validating webhook");
            }
            (Some(Value::Bool(false)), true) => {
                findings.fault(
                    &path,
                    "must be true: Kubewarden refuses every object that the policy changes",
                );
            }
            (Some(found), _) => findings.fault(&path, format!("must be true or false, found {}", kind_of(found))),
            (None, needed) => findings.fault(&path, format!("is missing; the policy needs {needed}")),
        }
        let path = self.below("mode");
        match self.field("mode") {
            Some(Value::String(mode)) if mode == "monitor" && metadata.mutating => {
                findings.warning(&path, "in mode monitor the changes of the policy are dropped");
            }
            None => {}
            Some(Value::String(mode)) if ["protect", "monitor"].contains(&mode.as_str()) => {}
            Some(found) => findings.fault(&path, format!("must be protect or monitor, found {found}")),
        }
    }

    fn reading(&self, metadata: &Metadata, findings: &mut Findings) {
        let path = self.below("contextAwareResources");
        let granted = self.granted(findings);
        let shown = |resources: &[&ContextAwareResource]| {
            let shown: Vec<String> = resources
                .iter()
                .map(|resource| format!("{} {}", resource.api_version, resource.kind))
                .collect();
            shown.join(", ")
        };
        let needed = &metadata.context_aware_resources;
        let missing: Vec<&ContextAwareResource> = needed.iter().filter(|one| !granted.contains(one)).collect();
        if !self.kind.cluster_wide && !needed.is_empty() {
            let needed: Vec<&ContextAwareResource> = needed.iter().collect();
            let text = format!(
                "the policy reads {}, which only cluster-wide kinds can grant",
                shown(&needed)
            );
            findings.fault(&self.below("module"), text);
        } else if !missing.is_empty() {
            findings.fault(&path, format!("lacks what the policy reads: {}", shown(&missing)));
        }
        let surplus: Vec<&ContextAwareResource> = granted.iter().filter(|one| !needed.contains(one)).collect();
        if !surplus.is_empty() {
            findings.warning(
                &path,
                format!("grants what the policy does not read: {}", shown(&surplus)),
            );
        }
    }

    /// The resources of `contextAwareResources`. Entries of another shape are faults, as is the field where there is none.
    fn granted(&self, findings: &mut Findings) -> Vec<ContextAwareResource> {
        let path = self.below("contextAwareResources");
        let entries = match self.field("contextAwareResources") {
            None => return Vec::new(),
            Some(_) if !self.kind.cluster_wide => {
                findings.fault(&path, "only cluster-wide kinds have this field");
                return Vec::new();
            }
            Some(Value::Array(entries)) => entries,
            Some(found) => {
                findings.fault(&path, format!("must be a list, found {}", kind_of(found)));
                return Vec::new();
            }
        };
        let mut resources = Vec::new();
        for (index, entry) in entries.iter().enumerate() {
            match serde_json::from_value(entry.clone()) {
                Ok(resource) => resources.push(resource),
                Err(e) => findings.fault(&format!("{path}[{index}]"), e),
            }
        }
        resources
    }
}
