//! The objects that engines and coordinators become.
//!
//! Pure functions from a custom resource and its [`Site`] to JSON objects, one file for each kind of object. They hold what
//! is asked for and nothing that the API server fills in, so that the same input always gives the same bytes and a
//! server-side apply claims no field that is somebody else's. Owner references are added by whoever applies them. Names,
//! labels, selectors and ports are the Go operator's; what differs is listed in `docs/differences.md`.
//!
//! Faults are not looked for: an object that [`lmcache_server::validate`] refuses is built as it stands, and never panics.

mod config_map;
mod container;
mod daemon_set;
mod deployment;
mod engine;
mod env;
mod fields;
mod labels;
mod resources;
mod resp_secret;
mod service;
mod service_monitor;
mod wait;

use lmcache_api::{AnyObject, IpcMode, LMCacheCoordinatorSpec, Object};
use lmcache_server::CoordinatorOffers;
use serde_json::Value;

pub use config_map::IPC_MODE_ANNOTATION;
pub use resp_secret::{ALLOW_COPY_ANNOTATION, SecretFault, may_copy, resp_secret};

use engine::Engine;
use labels::Owner;

/// What a custom resource cannot say by itself.
#[derive(Clone, Copy, Debug)]
pub struct Site<'a> {
    /// The IPC mode of engines that say nothing about it.
    pub ipc_default: IpcMode,
    /// The IPC mode of servers that run on as somebody else made them, whatever the engine says: what leads clients to them
    /// has to agree.
    pub kept_ipc: Option<IpcMode>,
    /// The DNS suffix of the cluster's Services; an empty one counts as `cluster.local`.
    pub cluster_domain: &'a str,
    /// URL of the coordinator that the engine refers to by `spec.coordinator.ref`, see [`coordinator_url`]; `None` where
    /// it is not known. Of no effect where the engine gives a URL of its own or names no coordinator.
    pub coordinator_url: Option<&'a str>,
}

/// The objects of a custom resource of any kind; those of an [`engine`] or of a [`coordinator`].
///
/// `object` has its defaults applied ([`AnyObject::set_defaults`]).
pub fn objects(object: &AnyObject, site: &Site<'_>) -> Vec<Value> {
    match object {
        AnyObject::LMCacheEngine(_) | AnyObject::CacheBlendEngine(_) => engine(object, site),
        AnyObject::LMCacheCoordinator(object) => coordinator(object),
    }
}

/// The objects of an engine of either kind, in this order: DaemonSet, look-up Service, metrics Service, connection
/// ConfigMap, ServiceMonitor. The metrics Service is there unless metrics are switched off, the ServiceMonitor where it
/// is asked for and there are metrics to scrape. Empty if `object` is no engine.
///
/// Only the DaemonSet depends on the coordinator: the others can be applied while that is missing. The copy of the Redis
/// login is made by [`resp_secret`], which needs its source.
pub fn engine(object: &AnyObject, site: &Site<'_>) -> Vec<Value> {
    let Some(engine) = Engine::of(object, site) else {
        return Vec::new();
    };
    let owner = engine.owner;
    let metrics = engine.offers.metrics;
    let prometheus = engine.server.prometheus.as_ref();
    let built = [
        Some(daemon_set::build(&engine)),
        Some(service::lookup(&engine)),
        metrics.map(|metrics| service::metrics(owner, metrics)),
        Some(config_map::build(&engine, site.cluster_domain)),
        metrics.and_then(|metrics| service_monitor::build(owner, prometheus, metrics)),
    ];
    built.into_iter().flatten().map(fields::without_nulls).collect()
}

/// The objects of a coordinator, in this order: Deployment, Service, metrics Service, ServiceMonitor. The last two are
/// there where the ServiceMonitor is asked for and the release has metrics (0.5.4 and later).
pub fn coordinator(object: &Object<LMCacheCoordinatorSpec>) -> Vec<Value> {
    let owner = Owner::coordinator(&object.metadata);
    let spec = &object.spec;
    let offers = CoordinatorOffers::of(spec);
    let monitor = offers
        .metrics
        .and_then(|metrics| service_monitor::build(owner, spec.prometheus.as_ref(), metrics));
    let metrics = offers.metrics.filter(|_| monitor.is_some());
    let built = [
        Some(deployment::build(owner, object, &offers)),
        Some(service::coordinator(owner, offers.http_port)),
        metrics.map(|metrics| service::metrics(owner, metrics)),
        monitor,
    ];
    built.into_iter().flatten().map(fields::without_nulls).collect()
}

/// The URL under which engines of its namespace reach a coordinator: `http://<name>.<namespace>.svc:<port>`, port 9300 if
/// it names none.
pub fn coordinator_url(name: &str, namespace: &str, spec: &LMCacheCoordinatorSpec) -> String {
    let port = CoordinatorOffers::of(spec).http_port;
    format!("http://{name}.{namespace}.svc:{port}")
}
