//! The one list of what the controller may do. The roles are printed from it, and tests hold every call that the
//! controller makes to it (see [`super::allows`]).

/// Name of the Lease that the leader holds.
pub const LEASE: &str = super::CONTROLLER;

/// Where a grant holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// In every namespace (ClusterRole).
    Cluster,
    /// In the namespace of the controller (Role).
    OwnNamespace,
}

/// A rule of a role.
#[derive(Clone, Copy, Debug)]
pub struct Grant {
    /// Where it holds.
    pub scope: Scope,
    /// API group, empty for the core group.
    pub group: &'static str,
    /// Plural names, with `/` and a subresource where the rule is about that.
    pub resources: &'static [&'static str],
    /// Names of the objects; empty for all.
    pub names: &'static [&'static str],
    /// Verbs.
    pub verbs: &'static [&'static str],
    /// What it is for; becomes the comment above the rule.
    pub why: &'static str,
}

impl Grant {
    /// In every namespace, and outside of them. No names: all objects.
    pub const fn everywhere(
        group: &'static str,
        resources: &'static [&'static str],
        names: &'static [&'static str],
        verbs: &'static [&'static str],
        why: &'static str,
    ) -> Grant {
        Grant {
            scope: Scope::Cluster,
            group,
            resources,
            names,
            verbs,
            why,
        }
    }
}

/// A watch begins with a list; nothing is read one by one.
const WATCH: &[&str] = &["list", "watch"];
/// Server-side apply is a `patch`, and a `create` as well where the object is not there yet.
const READ_AND_APPLY: &[&str] = &["get", "list", "watch", "create", "patch"];
const READ_APPLY_AND_DELETE: &[&str] = &["get", "list", "watch", "create", "patch", "delete"];

const fn everywhere(
    group: &'static str,
    resources: &'static [&'static str],
    verbs: &'static [&'static str],
    why: &'static str,
) -> Grant {
    Grant::everywhere(group, resources, &[], verbs, why)
}

const fn lease(names: &'static [&'static str], verbs: &'static [&'static str], why: &'static str) -> Grant {
    Grant {
        scope: Scope::OwnNamespace,
        group: "coordination.k8s.io",
        resources: &["leases"],
        names,
        verbs,
        why,
    }
}

const OURS: &str = "lmcache.lmcache.ai";

/// Everything that the controller may do.
///
/// What it needs no rule for: children are deleted by Kubernetes' garbage collector when their engine is; that
/// ServiceMonitors are not installed shows when they are listed. Nodes and Namespaces are not read.
pub const GRANTS: &[Grant] = &[
    everywhere(
        OURS,
        &["lmcacheengines", "cacheblendengines", "lmcachecoordinators"],
        WATCH,
        "What there is to run. A coordinator is also looked up where an engine refers to it.",
    ),
    everywhere(
        OURS,
        &[
            "lmcacheengines/status",
            "cacheblendengines/status",
            "lmcachecoordinators/status",
        ],
        &["patch"],
        "The status, and nothing else of the objects.",
    ),
    everywhere(
        OURS,
        &["lmcacheengines"],
        &["patch"],
        "Takes away the finalizer lmcache.ai/cleanup, which early versions of the Go operator set on LMCacheEngines and \
         which would hold up their deletion for ever. Specifications are not changed, and no finalizer is added.",
    ),
    everywhere(
        OURS,
        &[
            "lmcacheengines/finalizers",
            "cacheblendengines/finalizers",
            "lmcachecoordinators/finalizers",
        ],
        &["update"],
        "Children refer to their owner with blockOwnerDeletion. Where the admission plugin \
         OwnerReferencesPermissionEnforcement is on (OpenShift), setting that takes this right. There is no call for it.",
    ),
    everywhere(
        "apps",
        &["daemonsets"],
        READ_AND_APPLY,
        "The servers of an engine. Where the name is taken, whose object it is gets looked up: those of others are left \
         alone. Kubernetes deletes them with the engine.",
    ),
    everywhere(
        "apps",
        &["deployments"],
        READ_AND_APPLY,
        "The Pods of a coordinator; likewise.",
    ),
    everywhere(
        "",
        &["configmaps"],
        READ_AND_APPLY,
        "The connection of an engine, <engine>-connection; likewise. Watched are those with the label \
         app.kubernetes.io/managed-by: lmcache-operator.",
    ),
    everywhere(
        "",
        &["services"],
        READ_APPLY_AND_DELETE,
        "Services of engines and coordinators; likewise. A metrics Service is deleted when metrics are switched off.",
    ),
    everywhere(
        "",
        &["secrets"],
        READ_APPLY_AND_DELETE,
        "The login of a Redis tier, and the key of an encrypted one. Read are the Secrets that engines name: in the \
         engine's own namespace, or in another one if the Secret's annotation lmcache.ai/allow-copy-to permits it. \
         Written and deleted are our copies, <engine>-resp-auth. RBAC can say neither, so the rule is wider than that.",
    ),
    everywhere(
        "monitoring.coreos.com",
        &["servicemonitors"],
        READ_APPLY_AND_DELETE,
        "ServiceMonitors of engines and coordinators that ask for one; deleted when they no longer do. Not used where \
         the kind is not installed.",
    ),
    everywhere(
        "",
        &["pods"],
        &["list", "watch"],
        "Pods of the servers and Pods that opted in, by label: the status says where servers are ready, and which Pods \
         are wired. They are not changed.",
    ),
    everywhere(
        "events.k8s.io",
        &["events"],
        &["create"],
        "Events on the custom resources, and on Pods that were not wired or have to be recreated.",
    ),
    lease(
        &[],
        &["create"],
        "Makes the Lease. Who creates an object cannot be limited to a name.",
    ),
    lease(
        &[LEASE],
        &["get", "update"],
        "Takes, renews and releases it. Every change is an update, which carries the version that was read: so two \
         replicas never both succeed.",
    ),
];
