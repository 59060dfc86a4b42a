//! Workloads that ask for wiring: what their Pods are now, and what they will be after the next rollout.

use policy_kit::keys::{CACHEBLEND, LMCACHE, PREFIX, SystemKeys};
use policy_kit::pod::{Outcome, Settings};
use policy_kit::workload::{Outlook, outlooks};
use serde::Serialize;
use serde_json::Value;

use super::asking;
use super::finding::{Finding, codes};
use super::operator_pods::is_made_by;
use super::snapshot::{Snapshot, annotation, items, label, text};
use super::wiring;

/// The kinds that make Pods: group and kind.
pub(super) const KINDS: [(&str, &str); 6] = [
    ("apps", "Deployment"),
    ("apps", "StatefulSet"),
    ("apps", "DaemonSet"),
    ("batch", "Job"),
    ("batch", "CronJob"),
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"),
];

/// What becomes of the Pods of one template of a workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Workload {
    /// Its kind.
    pub kind: String,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Where the template stands.
    pub template: &'static str,
    /// Whether the workload has another one, so that each makes a part of its Pods.
    pub is_part: bool,
    /// The engines that it names, `namespace/name`.
    pub engines: Vec<String>,
    /// How many Pods of it are there, those that end left aside.
    pub pods: usize,
    /// Whether the newest of them is wired now; absent where there is none.
    pub wired_now: Option<bool>,
    /// Whether Pods are wired by our policies.
    pub wired_then: bool,
    /// Why not, or for which part not: skip reasons.
    pub reasons: Vec<&'static str>,
    /// What is otherwise in a new Pod than in the newest one that runs.
    pub differences: Vec<String>,
    /// What is said to whoever applies it.
    pub warnings: Vec<String>,
}

impl Workload {
    /// `kind namespace/name`, and which template where there are two.
    pub fn title(&self) -> String {
        let title = format!("{} {}/{}", self.kind, self.namespace, self.name);
        match self.template.rsplit('.').next() {
            Some(template) if self.is_part => format!("{title} ({template})"),
            _ => title,
        }
    }

    /// Whether the next rollout changes its Pods.
    pub fn changes(&self) -> bool {
        !self.differences.is_empty()
    }
}

/// Looks at every workload with a template that asks for wiring, sorted by namespace and name.
pub(super) fn workloads(snapshot: &Snapshot, settings: &Settings) -> Vec<Workload> {
    let mut found = Vec::new();
    for (group, kind) in KINDS {
        for object in snapshot.of(kind).filter(|object| is_looked_at(object)) {
            let namespace = text(object, "/metadata/namespace");
            let looked_at = outlooks(group, kind, object, namespace, settings, snapshot);
            let is_part = looked_at.len() > 1;
            let asking = looked_at
                .into_iter()
                .filter(|outlook| !outlook.decisions.is_empty() || !outlook.warnings.is_empty());
            found.extend(asking.map(|outlook| workload(snapshot, kind, object, &outlook, is_part)));
        }
    }
    let place = |of: &Workload| (of.namespace.clone(), of.name.clone(), of.kind.clone(), of.template);
    found.sort_by_key(place);
    found
}

/// What another workload makes changes with that.
fn is_looked_at(object: &Value) -> bool {
    let makers = ["CronJob", "LeaderWorkerSet", "Pod"];
    let mut owners = items(object, "/metadata/ownerReferences");
    let is_made = owners.any(|owner| makers.contains(&text(owner, "/kind")));
    !is_made && asking::makes_pods(object)
}

fn workload(snapshot: &Snapshot, kind: &str, object: &Value, outlook: &Outlook, is_part: bool) -> Workload {
    let (namespace, name) = (text(object, "/metadata/namespace"), text(object, "/metadata/name"));
    let part = is_part.then_some(outlook.path);
    let pods = pods(snapshot, kind, namespace, name, part);
    let newest = pods.iter().max_by_key(|pod| text(pod, "/metadata/creationTimestamp"));
    let is_wired = |keys: &SystemKeys, pod: &Value| annotation(pod, keys.injected) == "true";
    let mut reasons = Vec::new();
    let mut engines = Vec::new();
    let mut wired_then = false;
    for judged in &outlook.decisions {
        let reason = match &judged.outcome {
            Outcome::Skipped(reason) | Outcome::Refused { reason, .. } => Some(reason),
            Outcome::Wired(reason) => {
                wired_then = true;
                reason.as_ref()
            }
            Outcome::NotOptedIn | Outcome::NotNeeded => None,
        };
        reasons.extend(reason.map(|reason| reason.as_str()));
        if !judged.engine.is_empty() && !engines.contains(&judged.engine) {
            engines.push(judged.engine.clone());
        }
    }
    let differences = newest.map(|pod| wiring::differences(pod, &outlook.pod));
    Workload {
        kind: kind.to_owned(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        template: outlook.path,
        is_part,
        engines,
        pods: pods.len(),
        wired_now: newest.map(|pod| is_wired(&LMCACHE, pod) || is_wired(&CACHEBLEND, pod)),
        wired_then,
        reasons,
        differences: differences.unwrap_or_default(),
        warnings: outlook.warnings.clone(),
    }
}

/// The Pods of a workload that are there to stay; of a part of them, where several templates make them.
fn pods<'a>(snapshot: &'a Snapshot, kind: &str, namespace: &str, name: &str, part: Option<&str>) -> Vec<&'a Value> {
    let all = snapshot
        .of("Pod")
        .filter(|pod| text(pod, "/metadata/namespace") == namespace && asking::runs(pod));
    all.filter(|pod| is_of(snapshot, pod, kind, name, part)).collect()
}

fn is_of(snapshot: &Snapshot, pod: &Value, kind: &str, name: &str, part: Option<&str>) -> bool {
    let mut owners = items(pod, "/metadata/ownerReferences");
    let Some(owner) = owners.find(|owner| owner.get("controller") == Some(&Value::Bool(true))) else {
        return false;
    };
    let (owner_kind, owner_name) = (text(owner, "/kind"), text(owner, "/name"));
    match kind {
        "Deployment" => is_made_by(pod, name),
        "CronJob" => {
            let job = snapshot.get("Job", text(pod, "/metadata/namespace"), owner_name);
            let mut makers = job.into_iter().flat_map(|job| items(job, "/metadata/ownerReferences"));
            owner_kind == "Job" && makers.any(|maker| text(maker, "/kind") == kind && text(maker, "/name") == name)
        }
        "LeaderWorkerSet" => {
            let is_leader = label(pod, "leaderworkerset.sigs.k8s.io/worker-index") == "0";
            // Without a template of its own, the leader is made from the worker's.
            let is_of_part = part.is_none_or(|part| is_leader == part.ends_with("leaderTemplate"));
            label(pod, "leaderworkerset.sigs.k8s.io/name") == name && is_of_part
        }
        _ => owner_kind == kind && owner_name == name,
    }
}

/// The Pod templates of a workload of any kind.
pub(super) fn templates(object: &Value) -> impl Iterator<Item = &Value> {
    let places = [
        "/spec/template",
        "/spec/jobTemplate/spec/template",
        "/spec/leaderWorkerTemplate/leaderTemplate",
        "/spec/leaderWorkerTemplate/workerTemplate",
    ];
    places.into_iter().filter_map(|place| object.pointer(place))
}

/// Whether anything about an object is of LMCache.
pub(super) fn mentions(object: &Value) -> bool {
    let metadata = |object: &Value| {
        let metadata = ["labels", "annotations"].map(|member| object.pointer(&format!("/metadata/{member}")).cloned());
        let entries = metadata.into_iter().flatten();
        entries
            .filter_map(|entries| entries.as_object().cloned())
            .any(|entries| entries.keys().any(|key| key.starts_with(PREFIX)))
    };
    metadata(object) || templates(object).any(metadata)
}

/// What is to be said about them in short.
pub(super) fn findings(workloads: &[Workload]) -> Vec<Finding> {
    let changing: Vec<String> = workloads
        .iter()
        .filter(|of| of.changes())
        .map(Workload::title)
        .collect();
    if changing.is_empty() {
        return Vec::new();
    }
    let found = format!(
        "{} of {} workloads change at their next rollout: {}",
        changing.len(),
        workloads.len(),
        changing.join(", ")
    );
    vec![Finding::change(
        codes::WORKLOADS_CHANGE,
        found,
        "see below in what; Pods that run stay as they are until then",
    )]
}
