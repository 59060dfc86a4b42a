//! Names, namespaces, labels and selectors of children.
//!
//! They are the Go operator's, its `managed-by` too: a DaemonSet's selector cannot be changed, and Pods, Services and
//! NetworkPolicies of users select by these labels.

use lmcache_api::ObjectMeta;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const NAME: &str = "app.kubernetes.io/name";
const INSTANCE: &str = "app.kubernetes.io/instance";
/// By which the controller finds what it made.
pub(super) const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
const COMPONENT: &str = "app.kubernetes.io/component";

/// Labels as they are written.
pub(super) type Labels = BTreeMap<String, String>;

/// The custom resource that children belong to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owner<'a> {
    /// Its name, and that of most of its children.
    pub name: &'a str,
    /// The namespace of both.
    pub namespace: &'a str,
    app: &'static str,
    component: &'static str,
}

impl<'a> Owner<'a> {
    /// An engine of either kind.
    pub fn engine(metadata: &'a ObjectMeta) -> Self {
        Self::new(metadata, "lmcache", "cache-engine")
    }

    /// A coordinator.
    pub fn coordinator(metadata: &'a ObjectMeta) -> Self {
        Self::new(metadata, "lmcache-coordinator", "coordinator")
    }

    fn new(metadata: &'a ObjectMeta, app: &'static str, component: &'static str) -> Self {
        Owner {
            name: metadata.name.as_deref().unwrap_or_default(),
            namespace: metadata.namespace.as_deref().unwrap_or_default(),
            app,
            component,
        }
    }

    /// By what its Pods are selected.
    pub fn selector(&self) -> Labels {
        [
            (INSTANCE, self.name),
            (MANAGED_BY, "lmcache-operator"),
            (NAME, self.app),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into()
    }

    /// The labels of every child.
    pub fn labels(&self) -> Labels {
        let mut labels = self.selector();
        labels.insert(COMPONENT.to_owned(), self.component.to_owned());
        labels
    }

    /// The labels of its Pods: the user's win, but for the keys of the selector, without which no Pod would be found.
    pub fn pod_labels(&self, user: Option<&Labels>) -> Labels {
        let mut labels = self.labels();
        labels.extend(user.cloned().unwrap_or_default());
        labels.extend(self.selector());
        labels
    }

    /// The metadata of a child: `""` is the child of the same name, `-metrics` the one called `<name>-metrics`.
    pub fn metadata(&self, suffix: &str) -> Value {
        json!({
            "name": format!("{}{suffix}", self.name),
            "namespace": self.namespace,
            "labels": self.labels(),
        })
    }
}
