//! Every metric by name, type, meaning and labels. They are registered from here, and documentation is held to it.

use std::fmt;

/// A metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// The name, of counters with `_total`; histograms have the usual `_bucket`, `_sum` and `_count`.
    pub name: &'static str,
    /// Its type.
    pub kind: Type,
    /// One sentence without a full stop: what it counts, and the unit where the name has none.
    pub help: &'static str,
    /// Names of its labels, in order.
    pub labels: &'static [&'static str],
}

/// The type of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// Only grows.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Counts by size.
    Histogram,
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Type::Counter => "counter",
            Type::Gauge => "gauge",
            Type::Histogram => "histogram",
        })
    }
}

impl Metric {
    /// The name without the suffix that the encoder adds.
    pub(super) fn family(&self) -> &'static str {
        self.name.strip_suffix("_total").unwrap_or(self.name)
    }
}

const fn metric(name: &'static str, kind: Type, labels: &'static [&'static str], help: &'static str) -> Metric {
    Metric {
        name,
        kind,
        help,
        labels,
    }
}

pub(super) const RECONCILES: Metric = metric(
    "lmcache_controller_reconciles_total",
    Type::Counter,
    &["kind", "result"],
    "Reconciled custom resources: settled (nothing to do), written, invalid (faults in the specification) or failed (tried \
     again)",
);
pub(super) const ERRORS: Metric = metric(
    "lmcache_controller_reconcile_errors_total",
    Type::Counter,
    &["kind", "step", "reason"],
    "Steps of reconciles that failed",
);
pub(super) const DURATION: Metric = metric(
    "lmcache_controller_reconcile_duration_seconds",
    Type::Histogram,
    &["kind"],
    "Time that reconciles took",
);
pub(super) const WRITTEN: Metric = metric(
    "lmcache_controller_objects_written_total",
    Type::Counter,
    &["kind", "operation"],
    "Objects that were written: create, apply, takeover (of fields), delete, status or event",
);
pub(super) const REQUESTS: Metric = metric(
    "lmcache_controller_api_requests_total",
    Type::Counter,
    &["verb", "resource", "code"],
    "Requests to the Kubernetes API by verb and resource as in RBAC and status code, which is error where no answer came",
);
pub(super) const QUEUE: Metric = metric(
    "lmcache_controller_queue_depth",
    Type::Gauge,
    &["kind"],
    "Custom resources that wait to be reconciled",
);
pub(super) const CLIENTS: Metric = metric(
    "lmcache_controller_clients",
    Type::Gauge,
    &["namespace", "engine_kind", "engine", "state"],
    "Pods that opted in to an engine: wired or skipped, and of those that are wired drifted (wiring out of date) and \
     uncovered (no ready server on the node)",
);
pub(super) const SKIPPED: Metric = metric(
    "lmcache_controller_clients_skipped",
    Type::Gauge,
    &["namespace", "engine_kind", "engine", "reason"],
    "Pods that opted in to an engine and were not wired, by the reason on the Pod",
);
pub(super) const CONDITION: Metric = metric(
    "lmcache_controller_condition",
    Type::Gauge,
    &["namespace", "kind", "name", "type", "status", "reason"],
    "Conditions of custom resources as the controller found them last: always 1; the labels say what was found",
);
pub(super) const DESIRED: Metric = metric(
    "lmcache_controller_instances_desired",
    Type::Gauge,
    &["namespace", "kind", "name"],
    "Servers of an engine, or replicas of a coordinator, that should run",
);
pub(super) const READY: Metric = metric(
    "lmcache_controller_instances_ready",
    Type::Gauge,
    &["namespace", "kind", "name"],
    "Servers of an engine, or replicas of a coordinator, that are ready",
);
pub(super) const LEADER: Metric = metric(
    "lmcache_controller_leader",
    Type::Gauge,
    &[],
    "Whether this process is the one that works",
);
pub(super) const BUILD: Metric = metric(
    "lmcache_controller_build_info",
    Type::Gauge,
    &["version"],
    "Always 1; the label says what runs",
);
pub(super) const CPU: Metric = metric(
    "process_cpu_seconds_total",
    Type::Counter,
    &[],
    "Processor time of the process, user and system",
);
pub(super) const MEMORY: Metric = metric(
    "process_resident_memory_bytes",
    Type::Gauge,
    &[],
    "Memory of the process that is in RAM",
);
pub(super) const START: Metric = metric(
    "process_start_time_seconds",
    Type::Gauge,
    &[],
    "When the process started, in seconds since 1970",
);

/// Every metric of the process. Its processor time and memory are there on Linux only.
pub const METRICS: &[Metric] = &[
    RECONCILES, ERRORS, DURATION, WRITTEN, REQUESTS, QUEUE, CONDITION, DESIRED, READY, CLIENTS, SKIPPED, LEADER, BUILD,
    CPU, MEMORY, START,
];
