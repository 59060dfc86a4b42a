//! Custom resources and the containers that they become.

use anyhow::{Context, Result, bail};
use lmcache_api::{AnyObject, FieldError, IpcMode, Kind, Release, decode};
use lmcache_server::{CoordinatorOffers, Offers, Place, Running, process, table};
use serde_json::{Value, json};

use crate::container::Container;

/// A custom resource as the policy judges it and its Pods run it.
#[derive(Clone, Debug)]
pub struct Rendered {
    /// Its name.
    pub name: String,
    /// The release that is rendered for.
    pub release: Release,
    /// Why the policy refuses it; empty when it does not.
    pub faults: Vec<FieldError>,
    /// What the policy says about it.
    pub warnings: Vec<String>,
    /// The container of the server.
    pub container: Container,
    /// What it should offer.
    pub offers: Promise,
}

/// What a started process should offer.
#[derive(Clone, Debug)]
pub enum Promise {
    /// Of `lmcache server`.
    Server(Offers),
    /// Of `lmcache coordinator`.
    Coordinator(CoordinatorOffers),
}

/// Judges and renders a custom resource. An engine that has a coordinator gets this URL for it.
///
/// # Errors
/// It is of another kind.
pub fn render(object: &Value, coordinator_url: Option<&str>) -> Result<Rendered> {
    let kind = kind(object).with_context(|| format!("no kind of ours: {}", object["kind"]))?;
    let place = Place {
        ipc_default: IpcMode::HostIPC,
        coordinator_url,
    };
    let mut decoded = decode(kind, object).object;
    decoded.set_defaults();
    let process = process(&decoded, &place);
    let offers = match (&decoded, decoded.engine()) {
        (AnyObject::LMCacheCoordinator(coordinator), _) => {
            Promise::Coordinator(CoordinatorOffers::of(&coordinator.spec))
        }
        (_, Some(spec)) => Promise::Server(Offers::of_engine(spec)),
        (_, None) => bail!("an object of kind {kind} that is neither engine nor coordinator"),
    };
    Ok(Rendered {
        name: decoded.metadata().name.clone().unwrap_or_default(),
        release: table::at(Running::of(&decoded).position),
        faults: lmcache_server::validate(kind, object, place.ipc_default),
        warnings: lmcache_server::warnings(kind, object, place.ipc_default),
        container: Container {
            command: process.command.map(str::to_owned).into(),
            args: process.args,
            env: process.env,
        },
        offers,
    })
}

/// The kind, if it is one of ours.
pub fn kind(object: &Value) -> Option<Kind> {
    object.get("kind")?.as_str()?.parse().ok()
}

/// An LMCacheEngine of a release; `spec` is added to what it must have.
pub fn engine(release: Release, spec: Value) -> Value {
    let base = json!({"l1": {"sizeGB": 60}, "server": {"release": release.to_string()}});
    object(Kind::LMCacheEngine, base, spec)
}

/// An LMCacheCoordinator of a release.
pub fn coordinator(release: Release, spec: Value) -> Value {
    object(Kind::LMCacheCoordinator, json!({"release": release.to_string()}), spec)
}

/// An object of a kind.
pub fn object(kind: Kind, mut spec: Value, more: Value) -> Value {
    merge(&mut spec, more);
    json!({
        "apiVersion": lmcache_api::API_VERSION,
        "kind": kind.as_str(),
        "metadata": {"name": "kv", "namespace": "team-a"},
        "spec": spec,
    })
}

/// Members of objects are merged, everything else is replaced.
fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (name, value) in from {
                merge(into.entry(name).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from,
    }
}
