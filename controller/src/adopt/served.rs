//! The kinds that are looked at, and where they are served.

use lmcache_api::{GROUP, Kind, VERSION};
use serde_json::{Value, json};

/// A kind and where it is served.
#[derive(Clone, Copy)]
pub(super) struct Served {
    group: &'static str,
    version: &'static str,
    pub kind: &'static str,
    plural: &'static str,
}

const fn served(group: &'static str, version: &'static str, kind: &'static str, plural: &'static str) -> Served {
    Served {
        group,
        version,
        kind,
        plural,
    }
}

const REGISTRATION: &str = "admissionregistration.k8s.io";
pub(super) const CRD: Served = served(
    "apiextensions.k8s.io",
    "v1",
    "CustomResourceDefinition",
    "customresourcedefinitions",
);
pub(super) const MUTATING: Served = served(
    REGISTRATION,
    "v1",
    "MutatingWebhookConfiguration",
    "mutatingwebhookconfigurations",
);
pub(super) const VALIDATING: Served = served(
    REGISTRATION,
    "v1",
    "ValidatingWebhookConfiguration",
    "validatingwebhookconfigurations",
);
pub(super) const POLICY: Served = served(
    "policies.kubewarden.io",
    "v1",
    "ClusterAdmissionPolicy",
    "clusteradmissionpolicies",
);
pub(super) const MONITOR: Served = served("monitoring.coreos.com", "v1", "ServiceMonitor", "servicemonitors");
pub(super) const CONFIG_MAP: Served = served("", "v1", "ConfigMap", "configmaps");
pub(super) const SERVICE: Served = served("", "v1", "Service", "services");
pub(super) const POD: Served = served("", "v1", "Pod", "pods");
pub(super) const NAMESPACES: Served = served("", "v1", "Namespace", "namespaces");
pub(super) const LEASES: Served = served("coordination.k8s.io", "v1", "Lease", "leases");
/// In the order of [`workloads::KINDS`].
pub(super) const WORKLOADS: [Served; 6] = [
    served("apps", "v1", "Deployment", "deployments"),
    served("apps", "v1", "StatefulSet", "statefulsets"),
    served("apps", "v1", "DaemonSet", "daemonsets"),
    served("batch", "v1", "Job", "jobs"),
    served("batch", "v1", "CronJob", "cronjobs"),
    served("leaderworkerset.x-k8s.io", "v1", "LeaderWorkerSet", "leaderworkersets"),
];

pub(super) const fn custom(kind: Kind) -> Served {
    served(GROUP, VERSION, kind.as_str(), kind.plural())
}

impl Served {
    /// Where it is asked for: a list without a name, of all namespaces without one.
    pub fn path(&self, namespace: &str, name: &str) -> String {
        let root = if self.group.is_empty() {
            format!("/api/{}", self.version)
        } else {
            format!("/apis/{}/{}", self.group, self.version)
        };
        let namespace = if namespace.is_empty() {
            String::new()
        } else {
            format!("/namespaces/{namespace}")
        };
        let name = if name.is_empty() {
            String::new()
        } else {
            format!("/{name}")
        };
        format!("{root}{namespace}/{}{name}", self.plural)
    }

    /// A right, as it is told to people.
    pub fn right(&self, verb: &str) -> String {
        let dot = if self.group.is_empty() { "" } else { "." };
        format!("{verb} {}{dot}{}", self.plural, self.group)
    }
}

/// Lists leave out the kind of their members.
pub(super) fn kinded(served: Served, mut object: Value) -> Value {
    if let Some(members) = object.as_object_mut() {
        let api_version = served.path("", "");
        let api_version = api_version.trim_start_matches("/apis/").trim_start_matches("/api/");
        let api_version = api_version.rsplit_once('/').map_or(api_version, |(version, _)| version);
        members.insert("kind".to_owned(), json!(served.kind));
        members.insert("apiVersion".to_owned(), json!(api_version));
    }
    object
}
