//! The settings by which engines and Pods are judged: those of the installed policies, else the defaults.

use lmcache_api::IpcMode;
use policy_kit::pod::{POD_INJECTION, Settings as PodSettings};
use serde::Serialize;
use serde_json::{Map, Value};

use super::finding::{Finding, codes};
use super::snapshot::{Snapshot, text};
use crate::plan::Settings;

/// The policies that wire Pods, LMCache's first.
const POLICIES: [&str; 4] = [
    "lmcache-pod-injection",
    "lmcache-connection-injection",
    "cacheblend-pod-injection",
    "cacheblend-injection",
];

/// What the command was told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The IPC mode of engines that say nothing about it.
    pub ipc_default: Option<IpcMode>,
    /// The DNS suffix of the cluster's Services.
    pub cluster_domain: Option<String>,
}

/// The settings that were used, and where they are from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Used {
    /// `defaults`, or the names of the ClusterAdmissionPolicies.
    pub source: String,
    /// The IPC mode of engines that say nothing about it.
    pub ipc_default: String,
    /// The DNS suffix of the cluster's Services.
    pub cluster_domain: String,
}

/// Settings of the policies, of the controller, and what to say about them.
pub(super) struct Chosen {
    pub pods: PodSettings,
    pub controller: Settings,
    pub used: Used,
    pub findings: Vec<Finding>,
}

pub(super) fn choose(snapshot: &Snapshot, options: &Options) -> Chosen {
    let (json, names) = installed(snapshot);
    let mut findings = Vec::new();
    let mut pods = (POD_INJECTION.settings)(&Value::Object(json).to_string()).unwrap_or_else(|error| {
        findings.push(Finding::note(
            codes::SETTINGS_UNREADABLE,
            format!("settings of {}: {error}", names.join(", ")),
            "Pods were judged by the defaults",
        ));
        PodSettings::default()
    });
    if let Some(mode) = options.ipc_default {
        pods.ipc_default = mode;
    }
    if let Some(domain) = &options.cluster_domain {
        pods.cluster_domain.clone_from(domain);
    }
    let used = Used {
        source: if names.is_empty() {
            "defaults".to_owned()
        } else {
            format!("ClusterAdmissionPolicy {}", names.join(", "))
        },
        ipc_default: pods.ipc_default.to_string(),
        cluster_domain: pods.cluster_domain.clone(),
    };
    let controller = Settings {
        ipc_default: pods.ipc_default,
        cluster_domain: pods.cluster_domain.clone(),
    };
    Chosen {
        pods,
        controller,
        used,
        findings,
    }
}

/// The settings of the installed policies in one, and their names. Each policy does a part; all parts are looked at here.
fn installed(snapshot: &Snapshot) -> (Map<String, Value>, Vec<String>) {
    let (mut settings, mut names) = (Map::new(), Vec::new());
    for name in POLICIES {
        let Some(policy) = snapshot.get("ClusterAdmissionPolicy", "", name) else {
            continue;
        };
        names.push(text(policy, "/metadata/name").to_owned());
        let own = policy.pointer("/spec/settings").and_then(Value::as_object);
        for (key, value) in own.into_iter().flatten() {
            settings.entry(key.clone()).or_insert_with(|| value.clone());
        }
    }
    settings.remove("steps");
    (settings, names)
}
