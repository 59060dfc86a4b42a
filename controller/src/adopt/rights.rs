//! What `adopt --check` reads, and so the rights that it takes: a ClusterRole for a person, apart from the controller's.

use crate::rbac::{Grant, LEASE};

use super::operators::GO_LEASE;

/// The name of the role.
pub const ROLE: &str = "lmcache-adopt-check";

/// Everything that is read. Nothing is written, nothing is watched, and Secrets are not read.
pub const RIGHTS: &[Grant] = &[
    Grant::everywhere(
        "lmcache.lmcache.ai",
        &["lmcacheengines", "cacheblendengines", "lmcachecoordinators"],
        &[],
        &["list"],
        "What there is to take over.",
    ),
    Grant::everywhere(
        "apiextensions.k8s.io",
        &["customresourcedefinitions"],
        &[
            "lmcacheengines.lmcache.lmcache.ai",
            "cacheblendengines.lmcache.lmcache.ai",
            "lmcachecoordinators.lmcache.lmcache.ai",
        ],
        &["get"],
        "Whose the CRDs are, and what would delete them.",
    ),
    Grant::everywhere(
        "admissionregistration.k8s.io",
        &["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
        &[],
        &["list"],
        "The Go operator's webhooks, and those of our policies.",
    ),
    Grant::everywhere(
        "policies.kubewarden.io",
        &["clusteradmissionpolicies"],
        &[],
        &["list"],
        "The settings of our policies, where they are installed.",
    ),
    Grant::everywhere(
        "apps",
        &["deployments", "daemonsets", "statefulsets"],
        &[],
        &["list"],
        "The Go operator, lmcache-controller, the servers, and workloads whose Pods ask for wiring.",
    ),
    Grant::everywhere(
        "batch",
        &["jobs", "cronjobs"],
        &[],
        &["list"],
        "Workloads whose Pods ask for wiring.",
    ),
    Grant::everywhere(
        "leaderworkerset.x-k8s.io",
        &["leaderworkersets"],
        &[],
        &["list"],
        "Likewise, where the kind is installed.",
    ),
    Grant::everywhere(
        "",
        &["pods"],
        &[],
        &["list"],
        "Pods with one of the two opt-in labels: how the Go operator's webhooks wired them, and who asks. Pods of the Go \
         operator: they write until they are gone. All are looked through only where the policies go by the annotation alone.",
    ),
    Grant::everywhere(
        "",
        &["configmaps", "services"],
        &[],
        &["get", "list"],
        "Those with the operator's label are listed. Of others those are looked up that have the name of a child, or of a \
         connection that a template names.",
    ),
    Grant::everywhere(
        "monitoring.coreos.com",
        &["servicemonitors"],
        &[],
        &["list"],
        "ServiceMonitors of engines and coordinators, where the kind is installed.",
    ),
    Grant::everywhere(
        "",
        &["namespaces"],
        &[],
        &["get"],
        "The Pod Security level of namespaces whose Pods ask for wiring.",
    ),
    Grant::everywhere(
        "coordination.k8s.io",
        &["leases"],
        &[GO_LEASE, LEASE],
        &["get"],
        "Whether the leader of the Go operator, or of lmcache-controller, is alive.",
    ),
];
