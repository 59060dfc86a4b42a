//! What LMCache's Go operator renders from a custom resource, exactly, in each of its states.
//!
//! A live Pod template that is just what the Go operator renders for the current spec is left alone when this controller takes
//! over, so that nothing restarts; [`same_template`] tells, as long as no field is [`unread`]. Nothing of this is ever applied.
//!
//! It is a renderer of its own on purpose: ours may change, this one may not. Its order is the operator's: what the API server
//! stores by the CRD of that state (fields that it does not know are pruned), the operator's own defaults and validation, then
//! the children.

mod args;
mod config_map;
mod daemon_set;
mod deployment;
mod fields;
mod go;
mod kubernetes;
mod live;
mod monitor;
mod pod;
mod resource;
mod schema;
mod secret;
mod services;
mod state;
mod unread;
mod validate;

use lmcache_api::{FaultKind, FieldError, Kind};
use serde_json::Value;

use self::resource::Resource;
pub use live::{LiveTemplate, same_template};
pub use state::State;

/// Why a custom resource does not become workloads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Errors {
    /// What the CRD's schema refuses, sorted by path: such an object is never stored.
    pub admission: Vec<FieldError>,
    /// What the operator's own validation says, in its order. With faults of admission: what it would say, unless a value has
    /// a type that it could not even read.
    pub spec: Vec<FieldError>,
    /// What is missing in the cluster. The children that come before it are rendered nevertheless.
    pub reconcile: Option<Missing>,
}

impl Errors {
    /// Whether every child is rendered.
    pub fn is_empty(&self) -> bool {
        !self.is_invalid() && self.reconcile.is_none()
    }

    /// Whether the object itself is at fault; no child is rendered then.
    pub fn is_invalid(&self) -> bool {
        !self.admission.is_empty() || !self.spec.is_empty()
    }
}

/// What stops a pass of the Go operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The Secret with the login of the Redis server, or its password. Nothing is rendered.
    RespSource,
    /// The referenced coordinator. The copy of the Secret alone is rendered.
    Coordinator,
}

/// The children that the Go operator sends for `object`, in its order: Secret, DaemonSet, lookup Service, metrics Service,
/// ConfigMap, ServiceMonitor; of a coordinator Deployment, Service, metrics Service, ServiceMonitor. Without owner references.
///
/// `object` is a custom resource of any kind of the group, as a user writes it or as it is stored. `coordinator_url` is where
/// the coordinator of `spec.coordinator.ref` is ([`coordinator_url`]), `None` if there is none; it is not read where
/// `spec.coordinator.url` says it. `resp_source` is the Secret that `l2Backend.resp.authSecretRef` names, `None` if there is none.
///
/// An object that [`errors`] finds invalid has no children; what is missing in the cluster ends the list early.
pub fn children(
    state: State,
    object: &Value,
    coordinator_url: Option<&str>,
    resp_source: Option<&Value>,
) -> Vec<Value> {
    let Some(mut resource) = valid(state, object) else {
        return Vec::new();
    };
    match resource.kind {
        Kind::LMCacheCoordinator => coordinator_children(&resource),
        Kind::LMCacheEngine | Kind::CacheBlendEngine => engine_children(&mut resource, coordinator_url, resp_source),
    }
}

/// The DaemonSet or Deployment alone, as it is in [`children`] once no Secret is missing: what [`same_template`] compares. `None`
/// where the object is invalid or its coordinator missing.
pub fn workload(state: State, object: &Value, coordinator_url: Option<&str>) -> Option<Value> {
    let mut resource = valid(state, object)?;
    if resource.kind == Kind::LMCacheCoordinator {
        return Some(deployment::deployment(&resource));
    }
    resource.coordinator_url = connect(&resource, coordinator_url)?;
    Some(daemon_set::daemon_set(&resource))
}

/// What [`workload`] makes of `object` in these states, in their order, which may be either. Neighbours that render the same and
/// compare it alike count once, as the first of them: to compare is more work than to render.
pub fn renderings<'a>(
    states: impl IntoIterator<Item = State, IntoIter: 'a>,
    object: &'a Value,
    coordinator_url: Option<&'a str>,
) -> impl Iterator<Item = (State, Value)> + 'a {
    let mut last: Option<(State, Value)> = None;
    states.into_iter().filter_map(move |state| {
        let rendered = workload(state, object, coordinator_url)?;
        let is_known = |(other, known): &(State, Value)| live::compare_alike(*other, state) && *known == rendered;
        if last.as_ref().is_some_and(is_known) {
            return None;
        }
        last = Some((state, rendered.clone()));
        Some((state, rendered))
    })
}

/// Why `object` does not become workloads, or not all of them. The arguments are those of [`children`].
pub fn errors(state: State, object: &Value, coordinator_url: Option<&str>, resp_source: Option<&Value>) -> Errors {
    let (resource, admission) = match read(state, object) {
        Ok(read) => read,
        Err(fault) => {
            return Errors {
                admission: vec![fault],
                ..Errors::default()
            };
        }
    };
    // What Go cannot read, its validation never sees.
    let spec = if resource.readable {
        validate::validate(&resource)
    } else {
        Vec::new()
    };
    let mut errors = Errors {
        admission,
        spec,
        reconcile: None,
    };
    if !errors.is_invalid() {
        errors.reconcile = missing(&resource, coordinator_url, resp_source);
    }
    errors
}

/// Where an LMCacheCoordinator is, as engines of the Go operator in every state are told. `None` for any other object.
pub fn coordinator_url(coordinator: &Value) -> Option<String> {
    let (coordinator, _) = read(State::Newest, coordinator).ok()?;
    let port = coordinator.coordinator_port();
    (coordinator.kind == Kind::LMCacheCoordinator)
        .then(|| format!("http://{}.{}.svc:{port}", coordinator.name, coordinator.namespace))
}

/// The name of the LMCacheCoordinator, in the engine's namespace, that an engine refers to; `None` where it names an address or
/// nothing.
pub fn coordinator_ref(state: State, object: &Value) -> Option<String> {
    let (engine, _) = read(state, object).ok()?;
    let name = engine.text("/coordinator/ref/name", "");
    (!name.is_empty() && engine.text("/coordinator/url", "").is_empty()).then(|| name.to_owned())
}

/// Namespace and name of the Secret that an engine's `l2Backend.resp.authSecretRef` names.
pub fn resp_source_ref(state: State, object: &Value) -> Option<(String, String)> {
    let (engine, _) = read(state, object).ok()?;
    let (namespace, name) = engine.resp_source()?;
    Some((namespace.to_owned(), name.to_owned()))
}

/// Paths of the fields that `object` sets and the Go operator of `state` never sees, because its CRD does not have them. What our
/// CRD fills in does not count. A later state never has more of them than an earlier one.
///
/// Whoever set one of them asked for something that [`children`] cannot show: a template that equals the legacy rendering is
/// then not what the spec asks for.
pub fn unread(state: State, object: &Value) -> Vec<String> {
    let kind = object.get("kind").and_then(Value::as_str).unwrap_or_default().parse();
    match (kind, object.get("spec")) {
        (Ok(kind), Some(spec)) => unread::paths(state, resource::shape(kind), spec),
        _ => Vec::new(),
    }
}

fn read(state: State, object: &Value) -> Result<(Resource, Vec<FieldError>), FieldError> {
    let kind = object.get("kind").and_then(Value::as_str).unwrap_or_default();
    match kind.parse() {
        Ok(kind) => Ok(Resource::read(state, kind, object)),
        Err(reason) => Err(FieldError::new("kind", FaultKind::NotSupported, reason)),
    }
}

/// The object, unless it is refused.
fn valid(state: State, object: &Value) -> Option<Resource> {
    let (resource, faults) = read(state, object).ok()?;
    (faults.is_empty() && validate::validate(&resource).is_empty()).then_some(resource)
}

fn missing(engine: &Resource, coordinator_url: Option<&str>, resp_source: Option<&Value>) -> Option<Missing> {
    let has_password = |source| secret::resp_secret(engine, source).is_some();
    if engine.resp_source().is_some() && !resp_source.is_some_and(has_password) {
        return Some(Missing::RespSource);
    }
    (connect(engine, coordinator_url).is_none()).then_some(Missing::Coordinator)
}

/// The coordinator's address, empty where the engine has none; `None` where the coordinator that it refers to is missing.
fn connect(engine: &Resource, coordinator_url: Option<&str>) -> Option<String> {
    let url = engine.text("/coordinator/url", "");
    if !url.is_empty() || engine.text("/coordinator/ref/name", "").is_empty() {
        return Some(url.to_owned());
    }
    coordinator_url.map(str::to_owned)
}

fn engine_children(engine: &mut Resource, coordinator_url: Option<&str>, resp_source: Option<&Value>) -> Vec<Value> {
    let mut children = Vec::new();
    if engine.resp_source().is_some() {
        let Some(secret) = resp_source.and_then(|source| secret::resp_secret(engine, source)) else {
            return children;
        };
        children.push(secret);
    }
    let Some(url) = connect(engine, coordinator_url) else {
        return children;
    };
    engine.coordinator_url = url;
    children.push(daemon_set::daemon_set(engine));
    children.push(services::lookup(engine));
    children.push(services::metrics(engine));
    children.extend(config_map::config_map(engine));
    if engine.has_service_monitor() {
        children.push(monitor::service_monitor(engine));
    }
    children
}

fn coordinator_children(coordinator: &Resource) -> Vec<Value> {
    let mut children = vec![deployment::deployment(coordinator), services::coordinator(coordinator)];
    if coordinator.has_service_monitor() {
        children.push(services::metrics(coordinator));
        children.push(monitor::service_monitor(coordinator));
    }
    children
}
