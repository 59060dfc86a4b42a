//! `rbac`: what the controller may do, and roles for the people who work with its custom resources. `deploy/rbac` holds
//! what it prints.

mod call;
mod grants;
mod users;
mod yaml;

#[cfg(test)]
mod tests;

use anyhow::Result;
use lmcache_api::names::{check_label, check_subdomain};
use serde_json::{Value, json};

use crate::adopt::{RIGHTS, ROLE};

pub use call::{Call, allows, permits};
pub use grants::{GRANTS, Grant, LEASE, Scope};

use yaml::{Document, Rule};

/// What the Deployment, its account, its roles and its Lease are called.
pub const CONTROLLER: &str = "lmcache-controller";
/// The namespace of the manifests in `deploy`.
pub const NAMESPACE: &str = "lmcache-system";

/// Options of the command.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print the roles for people instead: admin, editor and viewer of each kind.
    #[arg(long, conflicts_with_all = ["namespace", "service_account"])]
    users: bool,
    /// Print the role for a person who runs `adopt --check` instead.
    #[arg(long, conflicts_with_all = ["users", "namespace", "service_account"])]
    adopt: bool,
    /// Namespace that the controller runs in.
    #[arg(long, value_name = "NAME", default_value = NAMESPACE, value_parser = namespace)]
    namespace: String,
    /// Service account that the controller runs as.
    #[arg(long, value_name = "NAME", default_value = CONTROLLER, value_parser = service_account)]
    service_account: String,
}

fn namespace(name: &str) -> Result<String, String> {
    check_label(name).map(|()| name.to_owned())
}

fn service_account(name: &str) -> Result<String, String> {
    check_subdomain(name).map(|()| name.to_owned())
}

/// The roles and bindings as YAML documents.
///
/// # Errors
/// Where an object cannot be written as YAML, which only a fault in this module could bring about.
pub fn run(args: &Args) -> Result<String> {
    if args.users {
        return yaml::write("lmcache-controller rbac --users", &users::documents());
    }
    if args.adopt {
        return yaml::write("lmcache-controller rbac --adopt", &[adopt()]);
    }
    yaml::write("lmcache-controller rbac", &controller(args))
}

fn controller(args: &Args) -> Vec<Document> {
    let subjects = json!([{"kind": "ServiceAccount", "name": args.service_account, "namespace": args.namespace}]);
    let binding = |kind: &str, role: &str, metadata: Value| Document {
        about: String::new(),
        object: json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": kind,
            "metadata": metadata,
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": role, "name": CONTROLLER},
            "subjects": subjects,
        }),
        rules: Vec::new(),
    };
    let in_namespace = json!({"name": CONTROLLER, "namespace": args.namespace, "labels": labels()});
    let everywhere = json!({"name": CONTROLLER, "labels": labels()});
    vec![
        Document {
            about: "What the controller does in all namespaces. Each rule says what it is for; nothing else is called."
                .to_owned(),
            object: role("ClusterRole", &everywhere),
            rules: rules(GRANTS, Scope::Cluster),
        },
        binding("ClusterRoleBinding", "ClusterRole", everywhere),
        Document {
            about: "Leader election, in the controller's own namespace.".to_owned(),
            object: role("Role", &in_namespace),
            rules: rules(GRANTS, Scope::OwnNamespace),
        },
        binding("RoleBinding", "Role", in_namespace),
    ]
}

/// The role of [`crate::adopt`]. Who gets it is for whoever applies it to say.
fn adopt() -> Document {
    Document {
        about: "What `lmcache-controller adopt --check` reads, for the person who runs it. Nothing is written, and no Secret \
                is read. The controller does not have these rights, and does not need them."
            .to_owned(),
        object: role("ClusterRole", &json!({"name": ROLE, "labels": labels()})),
        rules: rules(RIGHTS, Scope::Cluster),
    }
}

fn rules(grants: &[Grant], scope: Scope) -> Vec<Rule> {
    let grants = grants.iter().filter(|grant| grant.scope == scope);
    grants
        .map(|grant| Rule {
            why: grant.why.to_owned(),
            rule: rule(grant.group, grant.resources, grant.names, grant.verbs),
        })
        .collect()
}

/// A rule as RBAC writes it.
fn rule(group: &str, resources: &[&str], names: &[&str], verbs: &[&str]) -> Vec<(&'static str, Vec<String>)> {
    let lists = [
        ("apiGroups", &[group][..]),
        ("resources", resources),
        ("resourceNames", names),
        ("verbs", verbs),
    ];
    lists
        .into_iter()
        .filter(|(_, words)| !words.is_empty())
        .map(|(key, words)| (key, words.iter().map(ToString::to_string).collect()))
        .collect()
}

fn role(kind: &str, metadata: &Value) -> Value {
    json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": metadata})
}

/// Labels of every object that is printed here. The name tells them from the roles of the policies.
fn labels() -> Value {
    json!({
        "app.kubernetes.io/name": CONTROLLER,
        "app.kubernetes.io/part-of": "lmcache-kubewarden",
    })
}
