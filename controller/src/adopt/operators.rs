//! What reconciles engines today.

use jiff::Timestamp;
use lmcache_api::image_parts;
use serde::Serialize;
use serde_json::Value;

use super::finding::{Finding, codes};
use super::installer::{Installer, named};
use super::snapshot::{Snapshot, items, label, number, place, text};
use crate::rbac::{CONTROLLER, LEASE};

/// The Lease of the Go operator's leader.
pub const GO_LEASE: &str = "f517be84.lmcache.ai";
/// Last part of the repository of the Go operator's image.
const GO_IMAGE: &str = "lmcache-operator";
/// The label that kubebuilder gives every operator's Deployment.
const KUBEBUILDER: (&str, &str) = ("control-plane", "controller-manager");
/// A leader renews every 2 s, and clocks are not quite equal.
const FRESH_SECONDS: i64 = 30;

/// A Deployment that reconciles engines, or would if it had replicas.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Operator {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The image of its first container.
    pub image: String,
    /// The version that the image's tag names; absent where it names none.
    pub version: Option<String>,
    /// How many replicas are asked for.
    pub replicas: i64,
    /// How many Pods are there, those that end included.
    pub pods: i64,
    /// How many of them are ready.
    pub ready: i64,
    /// Who leads; absent where there is no Lease.
    pub leader: Option<Leader>,
    /// What installed it.
    pub installed_by: Vec<Installer>,
}

/// The holder of a Lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Leader {
    /// Who holds it; empty where nobody does.
    pub holder: String,
    /// When it was renewed, RFC 3339.
    pub renewed: String,
    /// Whether that is so short ago that the holder must be alive.
    pub is_fresh: bool,
}

impl Operator {
    fn read(deployment: &Value, snapshot: &Snapshot, lease: &str) -> Operator {
        let namespace = text(deployment, "/metadata/namespace");
        let image = images(deployment).next().unwrap_or_default().to_owned();
        let lease = snapshot.get("Lease", namespace, lease);
        Operator {
            name: text(deployment, "/metadata/name").to_owned(),
            version: image_parts(&image).1.map(str::to_owned),
            image,
            replicas: number(deployment, "/spec/replicas").unwrap_or(1),
            pods: number(deployment, "/status/replicas").unwrap_or_default(),
            ready: number(deployment, "/status/readyReplicas").unwrap_or_default(),
            leader: lease.map(|lease| Leader::read(lease, snapshot.taken)),
            installed_by: Installer::of(deployment),
            namespace: namespace.to_owned(),
        }
    }

    /// Whether it reconciles, or may: a Pod that ends still writes.
    pub fn runs(&self) -> bool {
        self.replicas > 0 || self.pods > 0 || self.leader.as_ref().is_some_and(|leader| leader.is_fresh)
    }

    /// `namespace/name`.
    pub fn place(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }
}

impl Leader {
    fn read(lease: &Value, now: Timestamp) -> Leader {
        let (holder, renewed) = (text(lease, "/spec/holderIdentity"), text(lease, "/spec/renewTime"));
        let age = renewed.parse::<Timestamp>().ok();
        let age = age.map(|renewed| now.duration_since(renewed).as_secs());
        Leader {
            is_fresh: !holder.is_empty() && age.is_some_and(|age| age.abs() < FRESH_SECONDS),
            holder: holder.to_owned(),
            renewed: renewed.to_owned(),
        }
    }
}

fn images(deployment: &Value) -> impl Iterator<Item = &str> {
    items(deployment, "/spec/template/spec/containers").map(|container| text(container, "/image"))
}

fn has_image(deployment: &Value, name: &str) -> bool {
    images(deployment).any(|image| image_parts(image).0.rsplit('/').next() == Some(name))
}

/// Whether a Deployment is the Go operator's: by its image, else by kubebuilder's label and a name that says so. Another
/// operator made with kubebuilder has the label as well.
pub(super) fn is_go_operator(deployment: &Value) -> bool {
    let is_kubebuilders = label(deployment, KUBEBUILDER.0) == KUBEBUILDER.1;
    let says_so = |text: &str| text.contains("lmcache");
    has_image(deployment, GO_IMAGE)
        || is_kubebuilders
            && !is_controller(deployment)
            && (says_so(&place(deployment)) || images(deployment).any(says_so))
}

/// Whether a Deployment is this project's controller.
pub(super) fn is_controller(deployment: &Value) -> bool {
    has_image(deployment, CONTROLLER) || label(deployment, "app.kubernetes.io/name") == CONTROLLER
}

/// The Go operator's Deployments.
pub(super) fn go_operators(snapshot: &Snapshot) -> Vec<Operator> {
    let deployments = snapshot.of("Deployment").filter(|object| is_go_operator(object));
    deployments
        .map(|deployment| Operator::read(deployment, snapshot, GO_LEASE))
        .collect()
}

/// This project's controllers.
pub(super) fn controllers(snapshot: &Snapshot) -> Vec<Operator> {
    let deployments = snapshot.of("Deployment").filter(|object| is_controller(object));
    deployments
        .map(|deployment| Operator::read(deployment, snapshot, LEASE))
        .collect()
}

/// Leaders of a Go operator that has no Deployment which is recognised: the Lease, and who holds it.
pub(super) fn unseen(snapshot: &Snapshot, go: &[Operator]) -> Vec<(String, Leader)> {
    let leases = snapshot.of("Lease").filter(|lease| {
        let namespace = text(lease, "/metadata/namespace");
        text(lease, "/metadata/name") == GO_LEASE && !go.iter().any(|operator| operator.namespace == namespace)
    });
    let leaders = leases.map(|lease| (place(lease), Leader::read(lease, snapshot.taken)));
    leaders.filter(|(_, leader)| leader.is_fresh).collect()
}

/// What is to be done about them.
pub(super) fn findings(go: &[Operator], unseen: &[(String, Leader)], ours: &[Operator]) -> Vec<Finding> {
    let running = |operators: &[Operator]| -> Vec<String> {
        let running = operators.iter().filter(|operator| operator.runs());
        running.map(Operator::place).collect()
    };
    let (go_runs, ours_runs) = (running(go), running(ours));
    let mut findings = Vec::new();
    if let (Some(first), Some(ours)) = (go_runs.first(), ours_runs.first()) {
        findings.push(Finding::first(
            codes::TWO_CONTROLLERS,
            format!(
                "the Go operator ({first}) and lmcache-controller ({ours}) both run: they undo each other's writes"
            ),
            format!("stop the one that is to go, the Go operator: {}", stop(first)),
        ));
    } else if let Some(first) = go_runs.first() {
        findings.push(Finding::first(
            codes::GO_OPERATOR_RUNS,
            format!("the Go operator runs: Deployment {}", go_runs.join(", ")),
            format!(
                "stop it before lmcache-controller starts, and after its webhooks are deleted: {}",
                stop(first)
            ),
        ));
    }
    for (lease, leader) in unseen {
        findings.push(Finding::first(
            if ours_runs.is_empty() {
                codes::GO_OPERATOR_RUNS
            } else {
                codes::TWO_CONTROLLERS
            },
            format!(
                "a Go operator runs that no Deployment was recognised of: its Lease {lease} was renewed at {} by {:?}",
                leader.renewed, leader.holder
            ),
            "find it by that name, which begins with the name of its Pod, and stop it before lmcache-controller starts",
        ));
    }
    for operator in go {
        let reconciling: Vec<Installer> = operator
            .installed_by
            .iter()
            .filter(|by| by.reconciles())
            .cloned()
            .collect();
        if operator.runs() && !reconciling.is_empty() {
            findings.push(Finding::note(
                codes::BROUGHT_BACK,
                format!("Deployment {} belongs to {}", operator.place(), named(&reconciling)),
                "take it out of there, or set its replicas to 0 there: it would be scaled up again",
            ));
        }
        let alive = operator.leader.as_ref().filter(|leader| leader.is_fresh);
        if let Some(leader) = alive.filter(|_| operator.replicas == 0 && operator.pods == 0) {
            findings.push(Finding::note(
                codes::GO_OPERATOR_RUNS,
                format!(
                    "Deployment {} has no Pods, but its Lease {GO_LEASE} was renewed at {} by {:?}",
                    operator.place(),
                    leader.renewed,
                    leader.holder
                ),
                "it has just been stopped, or another one runs outside of that Deployment: look again in a minute",
            ));
        }
    }
    findings
}

fn stop(place: &str) -> String {
    let (namespace, name) = place.split_once('/').unwrap_or(("", place));
    format!("kubectl -n {namespace} scale deployment {name} --replicas=0")
}
