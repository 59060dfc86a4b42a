//! What `metadata.yml` must look like.

use std::fmt;

use serde_json::{Map, Value};

use super::is_semver;
use crate::document::kind_of;
use crate::host::check_pattern;

/// A key of `metadata.yml` and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// For instance `rules[0].operations`.
    pub key: String,
    /// What was found and what was expected.
    pub text: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.text)
    }
}

const KEYS: [&str; 10] = [
    "protocolVersion",
    "rules",
    "annotations",
    "mutating",
    "backgroundAudit",
    "executionMode",
    "policyType",
    "contextAwareResources",
    "hostCapabilities",
    "minimumKubewardenVersion",
];
const OPERATIONS: [&str; 5] = ["CREATE", "UPDATE", "DELETE", "CONNECT", "*"];
const EXECUTION_MODES: [&str; 4] = ["kubewarden-wapc", "opa", "gatekeeper", "wasi"];
const POLICY_TYPES: [&str; 2] = ["kubernetes", "raw"];
const SEVERITIES: [&str; 5] = ["info", "low", "medium", "high", "critical"];

/// Every fault of a `metadata.yml`, in the order of the keys. `kwctl` ignores unknown keys; here they are faults, since a
/// misspelt key would silently mean its default (`contextAware`, which some old policies carry, is let pass).
pub fn check(metadata: &Value) -> Vec<Fault> {
    let mut faults = Faults(Vec::new());
    let Value::Object(metadata) = metadata else {
        faults.add("metadata", format!("must be a map, found {}", kind_of(metadata)));
        return faults.0;
    };
    for key in metadata.keys() {
        if !KEYS.contains(&key.as_str()) && key != "contextAware" {
            faults.add(key, format!("unknown key; known are {}", KEYS.join(", ")));
        }
    }
    if present(metadata, "protocolVersion").is_some() {
        faults.add("protocolVersion", "is written by `annotate`; remove it".to_owned());
    }
    rules(metadata, &mut faults);
    match metadata.get("mutating") {
        Some(Value::Bool(_)) => {}
        Some(found) => faults.add("mutating", format!("must be true or false, found {}", kind_of(found))),
        None => faults.add("mutating", "is required and has no default: true or false".to_owned()),
    }
    if let Some(found) = present(metadata, "backgroundAudit").filter(|found| !found.is_boolean()) {
        faults.add(
            "backgroundAudit",
            format!("must be true or false, found {}", kind_of(found)),
        );
    }
    choice(metadata, "executionMode", &EXECUTION_MODES, &mut faults);
    choice(metadata, "policyType", &POLICY_TYPES, &mut faults);
    context_aware(metadata, &mut faults);
    host_capabilities(metadata, &mut faults);
    if let Some(found) = present(metadata, "minimumKubewardenVersion") {
        semver("minimumKubewardenVersion", found, &mut faults);
    }
    annotations(metadata, &mut faults);
    faults.0
}

struct Faults(Vec<Fault>);

impl Faults {
    fn add(&mut self, key: &str, text: String) {
        self.0.push(Fault {
            key: key.to_owned(),
            text,
        });
    }

    /// The entries of a list that must be there, be a list and hold something.
    fn list<'a>(&mut self, key: &str, found: Option<&'a Value>) -> &'a [Value] {
        match found {
            None | Some(Value::Null) => self.add(key, "is required".to_owned()),
            Some(Value::Array(items)) if items.is_empty() => self.add(key, "must have at least one entry".to_owned()),
            Some(Value::Array(items)) => return items,
            Some(found) => self.add(key, format!("must be a list, found {}", kind_of(found))),
        }
        &[]
    }
}

fn present<'a>(map: &'a Map<String, Value>, key: &str) -> Option<&'a Value> {
    map.get(key).filter(|value| !value.is_null())
}

fn rules(metadata: &Map<String, Value>, faults: &mut Faults) {
    for (index, rule) in faults.list("rules", metadata.get("rules")).iter().enumerate() {
        let key = format!("rules[{index}]");
        let Value::Object(rule) = rule else {
            faults.add(&key, format!("must be a map, found {}", kind_of(rule)));
            continue;
        };
        for list in ["apiGroups", "apiVersions", "resources", "operations"] {
            let key = format!("{key}.{list}");
            let items = faults.list(&key, rule.get(list));
            for (index, item) in items.iter().enumerate() {
                let key = format!("{key}[{index}]");
                match item {
                    // The core group is the empty string.
                    Value::String(item) if item.is_empty() && list != "apiGroups" => {
                        faults.add(&key, "must not be empty".to_owned());
                    }
                    Value::String(item) if list == "operations" && !OPERATIONS.contains(&item.as_str()) => {
                        faults.add(
                            &key,
                            format!("unknown operation {item}; known are {}", OPERATIONS.join(", ")),
                        );
                    }
                    Value::String(_) => {}
                    item => faults.add(&key, format!("must be a string, found {}", kind_of(item))),
                }
            }
            if items.len() > 1 && items.iter().any(|item| item == "*") {
                faults.add(&key, "\"*\" must be the only entry".to_owned());
            }
        }
    }
}

fn choice(metadata: &Map<String, Value>, key: &str, choices: &[&str], faults: &mut Faults) {
    match present(metadata, key) {
        None => {}
        Some(Value::String(found)) if choices.contains(&found.as_str()) => {}
        Some(found) => faults.add(key, format!("must be one of {}, found {found}", choices.join(", "))),
    }
}

fn context_aware(metadata: &Map<String, Value>, faults: &mut Faults) {
    match present(metadata, "contextAwareResources") {
        None => {}
        Some(Value::Array(items)) => {
            for (index, item) in items.iter().enumerate() {
                for member in ["apiVersion", "kind"] {
                    if item.get(member).and_then(Value::as_str).is_none_or(str::is_empty) {
                        let key = format!("contextAwareResources[{index}].{member}");
                        faults.add(&key, "must be a non-empty string".to_owned());
                    }
                }
            }
        }
        Some(found) => faults.add(
            "contextAwareResources",
            format!("must be a list, found {}", kind_of(found)),
        ),
    }
}

fn host_capabilities(metadata: &Map<String, Value>, faults: &mut Faults) {
    match present(metadata, "hostCapabilities") {
        None => {}
        Some(Value::Array(items)) => {
            for (index, item) in items.iter().enumerate() {
                let key = format!("hostCapabilities[{index}]");
                match item {
                    Value::String(pattern) => {
                        if let Err(e) = check_pattern(pattern) {
                            faults.add(&key, e.to_string());
                        }
                    }
                    item => faults.add(&key, format!("must be a string, found {}", kind_of(item))),
                }
            }
        }
        Some(found) => faults.add("hostCapabilities", format!("must be a list, found {}", kind_of(found))),
    }
}

fn annotations(metadata: &Map<String, Value>, faults: &mut Faults) {
    match present(metadata, "annotations") {
        None => {}
        Some(Value::Object(annotations)) => {
            for (name, value) in annotations {
                let key = format!("annotations[\"{name}\"]");
                match value {
                    Value::String(text) if name == "io.kubewarden.policy.severity" => {
                        if !SEVERITIES.contains(&text.as_str()) {
                            faults.add(
                                &key,
                                format!("must be one of {}, found \"{text}\"", SEVERITIES.join(", ")),
                            );
                        }
                    }
                    Value::String(_) if name == "io.kubewarden.policy.version" => semver(&key, value, faults),
                    Value::String(_) => {}
                    found => faults.add(&key, format!("must be a string, found {}; quote it", kind_of(found))),
                }
            }
        }
        Some(found) => faults.add("annotations", format!("must be a map, found {}", kind_of(found))),
    }
}

fn semver(key: &str, found: &Value, faults: &mut Faults) {
    if !found.as_str().is_some_and(is_semver) {
        faults.add(
            key,
            format!("must be a semantic version such as \"1.2.3\", found {found}"),
        );
    }
}
