//! Requests to the API server as its authorization sees them. Tests ask [`allows`] for every request that the
//! controller makes.

use super::{GRANTS, Grant, Scope};

/// What a request does, in the words of RBAC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete` or `deletecollection`.
    pub verb: &'static str,
    /// API group, empty for the core group.
    pub group: String,
    /// Plural name, with `/` and the subresource where the request is about one.
    pub resource: String,
    /// Namespace, where the request names one.
    pub namespace: Option<String>,
    /// Name of the object, where the request names one.
    pub name: Option<String>,
}

impl Call {
    /// Reads a request's method and its target (path and query). `None` where it is about no objects (discovery,
    /// version), which takes no rule, or where the method is none of Kubernetes'.
    pub fn read(method: &str, target: &str) -> Option<Self> {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut words = path.split('/').filter(|word| !word.is_empty());
        let group = match words.next()? {
            "api" => "",
            "apis" => words.next()?,
            _ => return None,
        };
        let _version = words.next()?;
        let rest: Vec<&str> = words.collect();
        let (namespace, rest) = match rest.as_slice() {
            // `namespaces/<name>/status` is about the Namespace itself.
            ["namespaces", namespace, rest @ ..] if !matches!(rest, [] | ["status" | "finalize", ..]) => {
                (Some((*namespace).to_owned()), rest)
            }
            rest => (None, rest),
        };
        let (resource, name) = match rest {
            [] => return None,
            [resource] => ((*resource).to_owned(), None),
            [resource, name] => ((*resource).to_owned(), Some((*name).to_owned())),
            [resource, name, subresource, ..] => (format!("{resource}/{subresource}"), Some((*name).to_owned())),
        };
        let watches = query
            .split('&')
            .any(|pair| matches!(pair, "watch" | "watch=true" | "watch=1"));
        let verb = match (method, &name) {
            ("GET", Some(_)) => "get",
            ("GET", None) if watches => "watch",
            ("GET", None) => "list",
            ("POST", _) => "create",
            ("PUT", _) => "update",
            ("PATCH", _) => "patch",
            ("DELETE", Some(_)) => "delete",
            ("DELETE", None) => "deletecollection",
            _ => return None,
        };
        Some(Call {
            verb,
            group: group.to_owned(),
            resource,
            namespace,
            name,
        })
    }
}

/// Whether the controller's roles allow a call, when it runs in `own_namespace`.
pub fn allows(call: &Call, own_namespace: &str) -> bool {
    permits(GRANTS, call, own_namespace)
}

/// Whether a list of grants allows a call.
pub fn permits(grants: &[Grant], call: &Call, own_namespace: &str) -> bool {
    grants.iter().any(|grant| covers(grant, call, own_namespace))
}

fn covers(grant: &Grant, call: &Call, own_namespace: &str) -> bool {
    let here = grant.scope == Scope::Cluster || call.namespace.as_deref() == Some(own_namespace);
    let named = grant.names.is_empty() || call.name.as_deref().is_some_and(|name| grant.names.contains(&name));
    here && named
        && grant.group == call.group
        && grant.resources.contains(&call.resource.as_str())
        && grant.verbs.contains(&call.verb)
}
