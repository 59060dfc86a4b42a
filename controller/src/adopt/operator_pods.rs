//! Pods of the Go operator. They write until they are gone, whatever their Deployment says: its status counts no Pod that
//! ends, and without leader election no Lease tells of one.

use std::collections::BTreeSet;

use serde_json::Value;

use super::operators::{is_controller, is_go_operator};
use super::snapshot::{Snapshot, items, label, place, text};

/// The label that kubebuilder gives every operator's Deployment, and its Pods.
pub(super) const KUBEBUILDER: (&str, &str) = ("control-plane", "controller-manager");

/// A Pod of a Go operator that no recognised Deployment makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stray {
    /// Its namespace.
    pub namespace: String,
    /// `namespace/name`.
    pub place: String,
    /// Whether it answers, and nobody ends it.
    pub is_ready: bool,
}

/// The label selector by which the Pods of a Deployment are listed; empty where those that have kubebuilder's label are
/// listed anyway.
pub(super) fn selector(deployment: &Value) -> String {
    let places = ["/spec/selector/matchLabels", "/spec/template/metadata/labels"];
    let mut labels = places
        .into_iter()
        .filter_map(|place| deployment.pointer(place).and_then(Value::as_object));
    let Some(labels) = labels.find(|labels| !labels.is_empty()) else {
        return String::new();
    };
    let pairs: BTreeSet<(&str, &str)> = labels
        .iter()
        .filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)))
        .collect();
    if pairs.contains(&KUBEBUILDER) {
        return String::new();
    }
    let pairs: Vec<String> = pairs.into_iter().map(|(key, value)| format!("{key}={value}")).collect();
    pairs.join(",")
}

/// The Pods that a Deployment made and that have not ended.
pub(super) fn of<'a>(snapshot: &'a Snapshot, deployment: &Value) -> Vec<&'a Value> {
    let (namespace, name) = (
        text(deployment, "/metadata/namespace"),
        text(deployment, "/metadata/name"),
    );
    let own = snapshot
        .of("Pod")
        .filter(|pod| text(pod, "/metadata/namespace") == namespace && is_made_by(pod, name));
    own.filter(|pod| lives(pod)).collect()
}

/// Pods of a Go operator beside those of its recognised Deployments.
pub(super) fn strays(snapshot: &Snapshot) -> Vec<Stray> {
    let deployments: Vec<&Value> = snapshot
        .of("Deployment")
        .filter(|object| is_go_operator(object) || is_controller(object))
        .collect();
    let is_known = |pod: &Value| {
        deployments.iter().any(|deployment| {
            text(deployment, "/metadata/namespace") == text(pod, "/metadata/namespace")
                && is_made_by(pod, text(deployment, "/metadata/name"))
        })
    };
    let strays = snapshot
        .of("Pod")
        .filter(|pod| is_go_operator(pod) && lives(pod) && !is_known(pod));
    let stray = |pod: &Value| Stray {
        namespace: text(pod, "/metadata/namespace").to_owned(),
        place: place(pod),
        is_ready: is_ready(pod),
    };
    strays.map(stray).collect()
}

/// Whether a Pod is being ended.
pub(super) fn ends(pod: &Value) -> bool {
    !text(pod, "/metadata/deletionTimestamp").is_empty()
}

/// Whether a Pod is there: it runs or will, or ends and still runs.
fn lives(pod: &Value) -> bool {
    !matches!(text(pod, "/status/phase"), "Failed" | "Succeeded")
}

fn is_ready(pod: &Value) -> bool {
    let mut conditions = items(pod, "/status/conditions");
    let is = |condition: &Value| text(condition, "/type") == "Ready" && text(condition, "/status") == "True";
    !ends(pod) && conditions.any(is)
}

/// Whether a Deployment made a Pod: a ReplicaSet is called after it and the hash that its Pods carry as a label.
pub(super) fn is_made_by(pod: &Value, deployment: &str) -> bool {
    let mut owners = items(pod, "/metadata/ownerReferences");
    let owner = owners.find(|owner| owner.get("controller") == Some(&Value::Bool(true)));
    let hash = label(pod, "pod-template-hash");
    let end = format!("-{hash}");
    owner.is_some_and(|owner| {
        text(owner, "/kind") == "ReplicaSet"
            && !hash.is_empty()
            && text(owner, "/name").strip_suffix(end.as_str()) == Some(deployment)
    })
}
