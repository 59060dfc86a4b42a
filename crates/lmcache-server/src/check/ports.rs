//! Two listeners of one Pod cannot share a port.

use lmcache_api::{EngineSpec, FieldError};

use crate::release::Running;
use crate::table::PROMETHEUS_PORT;

/// The ports of an engine's servers. Nothing listens on the Prometheus port when metrics are off, nor from 0.4.5 on.
/// (NIXL's side channel listens in another Pod, the model server's.)
pub(super) fn check(spec: &dyn EngineSpec, running: &Running, faults: &mut Vec<FieldError>) {
    let server = spec.server();
    let prometheus = spec.prometheus();
    let listens = spec.exports_metrics() && PROMETHEUS_PORT.holds(running.position);
    let ports = [
        (
            true,
            "spec.server.port",
            spec.server_port(),
            server.and_then(|server| server.port),
        ),
        (
            true,
            "spec.server.httpPort",
            spec.http_port(),
            server.and_then(|server| server.http_port),
        ),
        (
            listens,
            "spec.prometheus.port",
            spec.prometheus_port(),
            prometheus.and_then(|prometheus| prometheus.port),
        ),
    ];
    let mut earlier: Vec<(&str, i32, &str)> = Vec::new();
    for (_, path, number, field) in ports.into_iter().filter(|port| port.0) {
        let origin = if field.is_some() { "" } else { " (the default)" };
        if let Some((other, _, other_origin)) = earlier.iter().find(|other| other.1 == number) {
            let expected = format!("is the port of {other}{other_origin} too: {path}{origin} needs one of its own");
            faults.push(FieldError::invalid(path, number, expected));
        }
        earlier.push((path, number, origin));
    }
}
