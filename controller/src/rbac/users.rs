//! Roles for people. They are aggregated to Kubernetes' own `admin`, `edit` and `view`: who may edit Deployments of a
//! namespace may edit its engines, without another binding.

use lmcache_api::{GROUP, Kind};
use serde_json::json;

use super::yaml::{Document, Rule};
use super::{labels, role, rule};

/// What a person may do with a kind.
struct Level {
    /// Ending of the role's name.
    name: &'static str,
    /// The built-in role that gets it.
    aggregated_to: &'static str,
    verbs: &'static [&'static str],
    about: &'static str,
}

/// Each holds what the one below it holds, so that each can also be bound on its own.
const LEVELS: [Level; 3] = [
    Level {
        name: "admin",
        aggregated_to: "admin",
        verbs: &[
            "get",
            "list",
            "watch",
            "create",
            "update",
            "patch",
            "delete",
            "deletecollection",
        ],
        about: "what the editor may, and deletion of all in a namespace at once. Part of the role admin.",
    },
    Level {
        name: "editor",
        aggregated_to: "edit",
        verbs: &["get", "list", "watch", "create", "update", "patch", "delete"],
        about: "everything but the status. What an engine's Pods may is up to the namespace, as with a DaemonSet, which \
                the role edit can create anyway. Part of the role edit.",
    },
    Level {
        name: "viewer",
        aggregated_to: "view",
        verbs: &["get", "list", "watch"],
        about: "reads, as Kubewarden's audit scanner does. Part of the role view.",
    },
];

/// A role of each level for each kind.
pub(super) fn documents() -> Vec<Document> {
    let mut documents = Vec::new();
    for kind in Kind::ALL {
        for level in &LEVELS {
            documents.push(document(kind, level));
        }
    }
    documents
}

fn document(kind: Kind, level: &Level) -> Document {
    let plural = kind.plural();
    let mut labels = labels();
    if let Some(labels) = labels.as_object_mut() {
        let label = format!("rbac.authorization.k8s.io/aggregate-to-{}", level.aggregated_to);
        labels.insert(label, json!("true"));
    }
    let name = format!("{}-{}", kind.as_str().to_lowercase(), level.name);
    let status = format!("{plural}/status");
    Document {
        about: format!("{kind}, {}: {}", level.name, level.about),
        object: role("ClusterRole", &json!({"name": name, "labels": labels})),
        rules: vec![
            Rule {
                why: String::new(),
                rule: rule(GROUP, &[plural], &[], level.verbs),
            },
            Rule {
                why: "Only read: it is the controller's to write.".to_owned(),
                rule: rule(GROUP, &[&status], &[], &["get"]),
            },
        ],
    }
}
