//! The kinds that tests deal with, and where they are served.

use anyhow::{Context, Result};
use kube::core::ApiResource;

/// Group, version, kind, plural, and whether objects are in namespaces.
const KINDS: &[(&str, &str, &str, &str, bool)] = &[
    (
        "lmcache.lmcache.ai",
        "v1alpha1",
        "LMCacheEngine",
        "lmcacheengines",
        true,
    ),
    (
        "lmcache.lmcache.ai",
        "v1alpha1",
        "CacheBlendEngine",
        "cacheblendengines",
        true,
    ),
    (
        "lmcache.lmcache.ai",
        "v1alpha1",
        "LMCacheCoordinator",
        "lmcachecoordinators",
        true,
    ),
    ("", "v1", "ConfigMap", "configmaps", true),
    ("", "v1", "Namespace", "namespaces", false),
    ("", "v1", "Node", "nodes", false),
    ("", "v1", "Pod", "pods", true),
    ("", "v1", "Secret", "secrets", true),
    ("", "v1", "Service", "services", true),
    ("", "v1", "ServiceAccount", "serviceaccounts", true),
    ("apps", "v1", "DaemonSet", "daemonsets", true),
    ("apps", "v1", "Deployment", "deployments", true),
    ("apps", "v1", "ReplicaSet", "replicasets", true),
    ("apps", "v1", "StatefulSet", "statefulsets", true),
    ("batch", "v1", "Job", "jobs", true),
    ("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices", true),
    ("coordination.k8s.io", "v1", "Lease", "leases", true),
    ("events.k8s.io", "v1", "Event", "events", true),
    ("node.k8s.io", "v1", "RuntimeClass", "runtimeclasses", false),
    ("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", false),
    ("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", false),
    (
        "rbac.authorization.k8s.io",
        "v1",
        "ClusterRoleBinding",
        "clusterrolebindings",
        false,
    ),
    ("rbac.authorization.k8s.io", "v1", "Role", "roles", true),
    ("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings", true),
    ("monitoring.coreos.com", "v1", "ServiceMonitor", "servicemonitors", true),
    (
        "apiextensions.k8s.io",
        "v1",
        "CustomResourceDefinition",
        "customresourcedefinitions",
        false,
    ),
    (
        "admissionregistration.k8s.io",
        "v1",
        "MutatingWebhookConfiguration",
        "mutatingwebhookconfigurations",
        false,
    ),
    (
        "admissionregistration.k8s.io",
        "v1",
        "ValidatingWebhookConfiguration",
        "validatingwebhookconfigurations",
        false,
    ),
];

/// Where a kind is served, and whether its objects are in namespaces.
///
/// # Errors
/// The kind is not listed here.
pub(crate) fn resource(kind: &str) -> Result<(ApiResource, bool)> {
    let found = KINDS.iter().find(|(_, _, name, _, _)| *name == kind);
    let (group, version, kind, plural, namespaced) =
        found.with_context(|| format!("the tests do not know the kind {kind}"))?;
    let gvk = kube::core::GroupVersionKind::gvk(group, version, kind);
    Ok((ApiResource::from_gvk_with_plural(&gvk, plural), *namespaced))
}
