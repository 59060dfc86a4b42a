//! Rules of what goes into Pods and beside them.

use serde_json::Value;

use super::Faults;
use crate::fault::quote;
use crate::{FaultKind, FieldError, L2BackendSpec, PrometheusSpec};

/// Name of the server container.
const SERVER_CONTAINER: &str = "lmcache";
/// Name of the volume that holds the master key of an encrypted second tier.
const MASTER_KEY_VOLUME: &str = "l2-master-key";

/// An init container cannot share the server's name; the API server would refuse the DaemonSet, over and over.
pub(super) fn check_init_containers(containers: Option<&[Value]>, faults: &mut Faults) {
    taken(
        "spec.initContainers",
        containers,
        SERVER_CONTAINER,
        "is the name of the server container",
        faults,
    );
}

/// With encryption, a volume of ours joins the user's.
pub(super) fn check_volumes(volumes: Option<&[Value]>, l2: Option<&L2BackendSpec>, faults: &mut Faults) {
    let encrypted = l2
        .and_then(|l2| l2.serde.as_ref())
        .is_some_and(|serde| serde.aesgcm.is_some());
    if encrypted {
        taken(
            "spec.volumes",
            volumes,
            MASTER_KEY_VOLUME,
            "is the name of the master key's volume",
            faults,
        );
    }
}

fn taken(path: &str, items: Option<&[Value]>, name: &str, whose: &str, faults: &mut Faults) {
    for (index, item) in items.unwrap_or_default().iter().enumerate() {
        if item.get("name").and_then(Value::as_str) == Some(name) {
            let detail = format!("{}: {whose}; choose another", quote(name));
            faults.push(FieldError::new(
                format!("{path}[{index}].name"),
                FaultKind::Duplicate,
                detail,
            ));
        }
    }
}

/// The Prometheus operator would refuse the ServiceMonitor, over and over.
pub(super) fn check_interval(prometheus: Option<&PrometheusSpec>, faults: &mut Faults) {
    let monitor = prometheus.and_then(|prometheus| prometheus.service_monitor.as_ref());
    if let Some(interval) = monitor.and_then(|monitor| monitor.interval.as_deref())
        && !interval.is_empty() // counts as unset
        && !is_prometheus_duration(interval)
    {
        let path = "spec.prometheus.serviceMonitor.interval";
        faults.push(FieldError::invalid(
            path,
            quote(interval),
            "must be a Prometheus duration such as 30s, 1m30s or 1h",
        ));
    }
}

/// Whole numbers with units from the largest to the smallest, each at most once; or `0`.
fn is_prometheus_duration(text: &str) -> bool {
    if text == "0" {
        return true;
    }
    let mut units = ["y", "w", "d", "h", "m", "s", "ms"].into_iter();
    let mut rest = text;
    while !rest.is_empty() {
        let after = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let end = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
        let Some((unit, next)) = after.split_at_checked(end) else {
            return false;
        };
        // `any` leaves the iterator behind the unit that it found, so the next one must be smaller.
        if after.len() == rest.len() || !units.any(|known| known == unit) {
            return false;
        }
        rest = next;
    }
    true
}
