//! Objects of two kinds with one name.
//!
//! An LMCacheEngine, a CacheBlendEngine and an LMCacheCoordinator of one name in one namespace would share the names and
//! selectors of their children. Two that are created at the same moment do not see each other here; the controller
//! arbitrates those.

use crate::cluster::{Cluster, Lookup, Query, remedy};
use lmcache_api::{API_VERSION, FaultKind, FieldError, Kind};
use serde_json::Value;

/// What was found about other objects of the same name.
#[derive(Debug, Default)]
pub(super) struct Clash {
    /// The other object, as a fault of this one.
    pub fault: Option<FieldError>,
    /// Where nobody could tell.
    pub warnings: Vec<String>,
}

/// Looks for objects of the other two kinds. A look-up that fails never refuses anything.
pub(super) fn find(kind: Kind, object: &Value, namespace: Option<&str>, cluster: &dyn Cluster) -> Clash {
    let metadata = |key: &str| {
        object
            .get("metadata")
            .and_then(|metadata| metadata.get(key))
            .and_then(Value::as_str)
    };
    let mut clash = Clash::default();
    // A name that the server is still to generate cannot be looked up.
    let Some(name) = metadata("name").filter(|name| !name.is_empty()) else {
        return clash;
    };
    let namespace = namespace
        .or_else(|| metadata("namespace"))
        .filter(|namespace| !namespace.is_empty())
        .unwrap_or("default");
    for other in Kind::ALL.into_iter().filter(|other| *other != kind) {
        let query = Query {
            api_version: API_VERSION,
            kind: other.as_str(),
            namespace: Some(namespace),
            name,
            cached: false,
            // That it exists is all we need to know.
            member: Some("kind"),
        };
        match cluster.get(&query) {
            Lookup::Found(_) => {
                clash.fault = Some(FieldError {
                    path: "metadata.name".to_owned(),
                    kind: FaultKind::Duplicate,
                    detail: format!(
                        "\"{name}\": {} {namespace}/{name} exists and would share its children's names; choose another name",
                        other.as_str()
                    ),
                });
                return clash;
            }
            Lookup::NotFound | Lookup::NotServed => {}
            Lookup::Unavailable(text) => clash.warnings.push(format!(
                "could not look up {} {name}, which would share its children's names; {}",
                other.as_str(),
                remedy(&text)
            )),
        }
    }
    clash
}
