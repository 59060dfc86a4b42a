//! The inputs that mutations start from: every fixture that a policy could meet.

use super::input::{Input, request_for};
use super::role::Role;
use crate::root;
use policy_host::fixture;
use serde_json::{Map, Value, json};

/// The policies whose fixtures are creations of Pods, in the names of their folders.
const POD_POLICIES: [&str; 5] = [
    "connection-injection",
    "payload-staging",
    "cacheblend-injection",
    "pod-injection",
    "injection-guard",
];

/// The inputs for a policy: its own fixtures and those of policies that see the same objects, own ones first. Settings of
/// other policies are left out; those that both know come by mutation.
///
/// # Errors
/// A fixture cannot be read, or there is none.
pub fn of(policy: &str, role: Role) -> Result<Vec<Input>, String> {
    let mut inputs = cases(policy)?;
    for other in POD_POLICIES.iter().filter(|other| **other != policy) {
        let others = match role {
            Role::Mutator(_) | Role::Guard => cases(other)?,
            Role::Preflight => cases(other)?
                .iter()
                .enumerate()
                .filter_map(|(n, input)| workload(n, input))
                .collect(),
            Role::Engines | Role::Unknown => Vec::new(),
        };
        inputs.extend(others.into_iter().map(|input| Input {
            settings: json!({}),
            ..input
        }));
    }
    if inputs.is_empty() {
        return Err(format!("{policy}: there is no fixture to start from"));
    }
    Ok(inputs)
}

/// The fixtures of one policy; none where it has no folder.
pub fn cases(policy: &str) -> Result<Vec<Input>, String> {
    let folder = root().join("fixtures").join(policy);
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let cases = fixture::load_all(folder).map_err(|error| error.to_string())?;
    Ok(cases.iter().map(Input::of).collect())
}

/// A workload whose Pods are those of the input; the kinds take turns.
pub fn workload(number: usize, input: &Input) -> Option<Input> {
    let pod = input.object()?;
    let mut template = Map::new();
    for member in ["metadata", "spec"] {
        if let Some(value) = pod.get(member) {
            template.insert(member.to_owned(), value.clone());
        }
    }
    let pair = |api_version: &str, kind: &str, spec: Value| json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "chat"}, "spec": spec});
    let object = match number % 7 {
        0 => pair("apps/v1", "StatefulSet", json!({"template": template})),
        1 => pair("apps/v1", "DaemonSet", json!({"template": template})),
        2 => pair("batch/v1", "Job", json!({"template": template})),
        3 => pair(
            "batch/v1",
            "CronJob",
            json!({"jobTemplate": {"spec": {"template": template}}}),
        ),
        4 => pair(
            "leaderworkerset.x-k8s.io/v1",
            "LeaderWorkerSet",
            json!({"leaderWorkerTemplate": {"leaderTemplate": template, "workerTemplate": template, "size": 2}}),
        ),
        _ => pair("apps/v1", "Deployment", json!({"template": template})),
    };
    Some(Input {
        request: request_for(object, &input.request)?,
        ..input.clone()
    })
}
