//! What reconciles engines today.

use jiff::Timestamp;
use lmcache_api::image_parts;
use serde::Serialize;
use serde_json::Value;

use super::installer::Installer;
use super::operator_pods::{self, KUBEBUILDER, Stray};
use super::snapshot::{Snapshot, items, label, number, place, text};
use crate::rbac::{CONTROLLER, LEASE};

/// The Lease of the Go operator's leader.
pub const GO_LEASE: &str = "f517be84.lmcache.ai";
/// Last part of the repository of the Go operator's image.
const GO_IMAGE: &str = "lmcache-operator";
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
    /// The names of those that end: they write until they are gone.
    pub ending: Vec<String>,
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
        let pods = operator_pods::of(snapshot, deployment);
        let counted = number(deployment, "/status/replicas").unwrap_or_default();
        let ending = pods.iter().filter(|pod| operator_pods::ends(pod));
        Operator {
            name: text(deployment, "/metadata/name").to_owned(),
            version: image_parts(&image).1.map(str::to_owned),
            image,
            replicas: number(deployment, "/spec/replicas").unwrap_or(1),
            pods: counted.max(i64::try_from(pods.len()).unwrap_or_default()),
            ending: ending.map(|pod| text(pod, "/metadata/name").to_owned()).collect(),
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

/// The images of a Deployment or of a Pod.
fn images(object: &Value) -> impl Iterator<Item = &str> {
    let places = ["/spec/template/spec/containers", "/spec/containers"];
    let containers = places.into_iter().flat_map(|place| items(object, place));
    containers.map(|container| text(container, "/image"))
}

fn has_image(object: &Value, name: &str) -> bool {
    images(object).any(|image| image_parts(image).0.rsplit('/').next() == Some(name))
}

/// Whether a Deployment or a Pod is the Go operator's: by its image, else by kubebuilder's label and a name that says so. Another
/// operator made with kubebuilder has the label as well.
pub(super) fn is_go_operator(object: &Value) -> bool {
    let is_kubebuilders = label(object, KUBEBUILDER.0) == KUBEBUILDER.1;
    let says_so = |text: &str| text.contains("lmcache");
    has_image(object, GO_IMAGE)
        || is_kubebuilders && !is_controller(object) && (says_so(&place(object)) || images(object).any(says_so))
}

/// Whether a Deployment or a Pod is this project's controller.
pub(super) fn is_controller(object: &Value) -> bool {
    has_image(object, CONTROLLER) || label(object, "app.kubernetes.io/name") == CONTROLLER
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

/// What there is of a Go operator whose Deployment is not recognised.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Unseen {
    /// Its Pods.
    pub pods: Vec<Stray>,
    /// Leaders of which no Pod is seen either.
    pub leaders: Vec<UnseenLeader>,
}

/// A Lease that is fresh, and who holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UnseenLeader {
    /// The Lease's namespace.
    pub namespace: String,
    /// The Lease.
    pub lease: String,
    /// Who leads.
    pub leader: Leader,
}

/// Looks for a Go operator beside the recognised Deployments.
pub(super) fn unseen(snapshot: &Snapshot, go: &[Operator]) -> Unseen {
    let pods = operator_pods::strays(snapshot);
    let leases = snapshot.of("Lease").filter(|lease| {
        let namespace = text(lease, "/metadata/namespace");
        text(lease, "/metadata/name") == GO_LEASE
            && !go.iter().any(|operator| operator.namespace == namespace)
            && !pods.iter().any(|pod| pod.namespace == namespace)
    });
    let leaders = leases.map(|lease| UnseenLeader {
        namespace: text(lease, "/metadata/namespace").to_owned(),
        lease: place(lease),
        leader: Leader::read(lease, snapshot.taken),
    });
    let leaders = leaders.filter(|unseen| unseen.leader.is_fresh).collect();
    Unseen { pods, leaders }
}
