//! Pods of servers.

use serde_json::Value;

use super::child::controller;
use super::json::{items, number, some_text, text};
use super::{Cached, Controller, Facts};

/// Name of the container that serves.
const SERVERS: [&str; 2] = ["lmcache", "coordinator"];

/// A Pod with the operator's labels.
pub type ServerPod = Cached<ServerPodFacts>;

/// What is kept of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerPodFacts {
    /// The label `app.kubernetes.io/name`: `lmcache` or `lmcache-coordinator`.
    pub app: String,
    /// The label `app.kubernetes.io/instance`: name of the engine or coordinator.
    pub instance: String,
    /// The DaemonSet (engine) or ReplicaSet (coordinator) that made it.
    pub controller: Option<Controller>,
    /// Its node; `None` while it waits for one.
    pub node: Option<String>,
    /// Address of the node.
    pub host_ip: String,
    /// Whether its condition `Ready` is true.
    pub is_ready: bool,
    /// Whether its deletion was asked for, or it ended.
    pub is_ending: bool,
    /// Why a container does not start, or starts again and again: `CrashLoopBackOff`, `ImagePullBackOff`,
    /// `CreateContainerConfigError`, ...; for a Pod that ended in failure its reason (`Evicted`, ...).
    pub failing: Option<String>,
    /// When the process that serves was started, RFC 3339; before that, when the Pod was made.
    pub started: String,
    /// `restartCount` of the container that serves.
    pub restarts: i64,
}

impl Facts for ServerPodFacts {
    type Type = ();

    fn resource((): &()) -> (&'static str, &'static str, &'static str, &'static str) {
        ("", "v1", "Pod", "pods")
    }

    fn read(object: Value) -> Self {
        let phase = text(&object, "/status/phase");
        let mut serving = items(&object, "/status/containerStatuses");
        let serving = serving.find(|status| SERVERS.contains(&text(status, "/name")));
        let started = serving.and_then(|status| some_text(status, "/state/running/startedAt"));
        ServerPodFacts {
            app: text(&object, "/metadata/labels/app.kubernetes.io~1name").to_owned(),
            instance: text(&object, "/metadata/labels/app.kubernetes.io~1instance").to_owned(),
            controller: controller(&object),
            node: some_text(&object, "/spec/nodeName"),
            host_ip: text(&object, "/status/hostIP").to_owned(),
            is_ready: is_ready(&object),
            is_ending: some_text(&object, "/metadata/deletionTimestamp").is_some()
                || matches!(phase, "Failed" | "Succeeded"),
            failing: failing(&object, phase),
            started: started.unwrap_or_else(|| text(&object, "/metadata/creationTimestamp").to_owned()),
            restarts: serving
                .map(|status| number(status, "/restartCount"))
                .unwrap_or_default(),
        }
    }
}

fn is_ready(pod: &Value) -> bool {
    let mut conditions = items(pod, "/status/conditions");
    conditions.any(|condition| text(condition, "/type") == "Ready" && text(condition, "/status") == "True")
}

fn failing(pod: &Value, phase: &str) -> Option<String> {
    if phase == "Failed" {
        return some_text(pod, "/status/reason").or_else(|| Some("Failed".to_owned()));
    }
    let statuses = ["/status/initContainerStatuses", "/status/containerStatuses"];
    let waiting = statuses
        .into_iter()
        .flat_map(|statuses| items(pod, statuses))
        .filter_map(|status| some_text(status, "/state/waiting/reason"));
    // What every Pod goes through is no failure.
    let mut failing = waiting.filter(|reason| !matches!(reason.as_str(), "ContainerCreating" | "PodInitializing"));
    failing.next()
}
