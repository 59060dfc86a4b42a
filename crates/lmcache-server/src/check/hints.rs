//! What starts, but not as it was meant; and what the server checks itself after its flags were read.

use lmcache_api::{EngineSpec, Kind, LMCacheCoordinatorSpec, PrometheusSpec, Release};
use serde_json::Value;

use super::extra_args::{has, number_of, path};
use crate::argparse::Reading;
use crate::line::Argument;
use crate::release::Running;
use crate::table::{COORDINATOR_METRICS, ENV_SHOWN, SHM_SEGMENT, r};

/// Hints about an engine's fields.
pub(super) fn engine(spec: &dyn EngineSpec, running: &Running, found: &mut Vec<String>) {
    let resp = spec.l2_backend().and_then(|l2| l2.resp.as_ref());
    if resp.is_some_and(|resp| resp.auth_secret_ref.is_some()) && ENV_SHOWN.holds(running.position) {
        found.push(
            "spec.l2Backend.resp.authSecretRef: the server's HTTP port shows its environment, LMCACHE_RESP_PASSWORD in \
             clear, to anyone at /env; keep others off spec.server.httpPort with a NetworkPolicy"
                .to_owned(),
        );
    }
    let secrets = spec
        .env()
        .iter()
        .filter(|variable| variable.pointer("/valueFrom/secretKeyRef").is_some());
    for variable in secrets.filter(|_| ENV_SHOWN.holds(running.position)) {
        let name = variable.get("name").and_then(Value::as_str).unwrap_or_default();
        found.push(format!(
            "spec.env {name} comes from a Secret, and the server's HTTP port shows it to anyone at /env; keep others off \
             spec.server.httpPort with a NetworkPolicy"
        ));
    }
    if resp.is_some_and(|resp| resp.max_capacity_gb.is_some_and(|capacity| capacity > 0.0)) {
        found.push(
            "spec.l2Backend.resp.maxCapacityGB bounds nothing: the server only counts by it, and evicts only with a member \
             eviction, which l2Backend.raw with type resp can carry; let Redis evict (maxmemory)"
                .to_owned(),
        );
    }
    read_only_root(spec, found);
}

/// The server compiles and caches code when it starts, and says "unrecognized arguments" where it cannot.
fn read_only_root(spec: &dyn EngineSpec, found: &mut Vec<String>) {
    let context = spec.container_security_context();
    if context.and_then(|context| context.get("readOnlyRootFilesystem")) != Some(&Value::Bool(true)) {
        return;
    }
    let is_writable = |path: &str| {
        spec.volume_mounts().iter().any(|mount| {
            let top = mount.get("mountPath").and_then(Value::as_str).unwrap_or_default();
            let top = top.strip_suffix('/').unwrap_or(top);
            let below = path
                .strip_prefix(top)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
            below && !top.is_empty() && mount.get("readOnly") != Some(&Value::Bool(true))
        })
    };
    // A variable whose value stands elsewhere is believed.
    let names_writable = |name: &str| {
        let mut variables = spec.env().iter().rev();
        let variable = variables.find(|variable| variable.get("name").is_some_and(|found| found == name));
        variable.map(|variable| match variable.get("value").and_then(Value::as_str) {
            Some(path) => is_writable(path),
            None => variable.get("valueFrom").is_some(),
        })
    };
    let temporary = names_writable("TMPDIR").unwrap_or_else(|| is_writable("/tmp"));
    if !temporary || names_writable("NUMBA_CACHE_DIR") != Some(true) {
        found.push(
            "spec.containerSecurityContext.readOnlyRootFilesystem keeps the server from starting unless NUMBA_CACHE_DIR \
             names a writable mount and /tmp (or TMPDIR) is one too; add a volume and set both"
                .to_owned(),
        );
    }
}

/// Whether a ServiceMonitor is asked for.
fn scraped(prometheus: Option<&PrometheusSpec>) -> bool {
    let monitor = prometheus.and_then(|prometheus| prometheus.service_monitor.as_ref());
    monitor.and_then(|monitor| monitor.enabled) == Some(true)
}

/// Hints about a coordinator's fields.
pub(super) fn coordinator(spec: &LMCacheCoordinatorSpec, running: &Running, found: &mut Vec<String>) {
    if scraped(spec.prometheus.as_ref()) && !COORDINATOR_METRICS.holds(running.position) {
        found.push(format!(
            "spec.prometheus.serviceMonitor: the coordinator of LMCache {} serves no metrics; the first release that does is {}",
            running.assumed(),
            COORDINATOR_METRICS.since()
        ));
    }
    if let Some(host) = spec.host.as_deref().filter(|host| is_loopback(host)) {
        found.push(format!(
            "spec.host {host} is reached from inside the Pod only: no engine, probe or Prometheus gets there"
        ));
    }
}

/// A flag that the server refuses without another one.
const REQUIRES: [(&str, &str, Release); 2] = [
    ("--enable-tracing", "--otlp-endpoint", r(0, 4, 3)),
    ("--p2p-advertise-url", "--coordinator-url", r(0, 5, 0)),
];

/// Flags that the server refuses together.
const EXCLUDES: [(&str, &str, Release); 10] = [
    ("--enable-extra-logging", "--disable-observability", r(0, 5, 2)),
    ("--coordinator-event-reporting", "--disable-observability", r(0, 5, 3)),
    (
        "--coordinator-l2-event-reporting",
        "--disable-observability",
        r(0, 5, 3),
    ),
    ("--p2p-advertise-url", "--gds-l1-path", r(0, 5, 0)),
    ("--p2p-advertise-url", "--l1-devdax-path", r(0, 5, 0)),
    ("--gds-l1-path", "--l1-devdax-path", r(0, 5, 0)),
    ("--gds-l1-path", "--l2-adapter", r(0, 5, 6)),
    ("--gds-l1-path", "--l1-manager", r(0, 5, 6)),
    ("--l1-manager", "--l1-size-gb", r(0, 5, 6)),
    ("--l1-use-hugepages", "--shm-name", r(0, 5, 6)),
];

/// What a number must be.
#[derive(Clone, Copy)]
enum Range {
    Positive,
    NotNegative,
    AtLeastOne,
    Share,
    /// 0, or at least 30.
    Off30,
}

impl Range {
    fn holds(self, number: f64) -> bool {
        match self {
            Range::Positive => number > 0.0,
            Range::NotNegative => number >= 0.0,
            Range::AtLeastOne => number >= 1.0,
            Range::Share => number > 0.0 && number <= 1.0,
            Range::Off30 => number == 0.0 || number >= 30.0,
        }
    }

    const fn text(self) -> &'static str {
        match self {
            Range::Positive => "must be greater than 0",
            Range::NotNegative => "must be 0 or more",
            Range::AtLeastOne => "must be at least 1",
            Range::Share => "must be greater than 0 and at most 1",
            Range::Off30 => "must be 0 or at least 30",
        }
    }
}

/// Numbers that the server checks after its flags were read.
const SERVER_RANGES: [(&str, Range); 9] = [
    ("--extra-logging-interval", Range::Positive),
    ("--gc-monitor-min-pause-ms", Range::NotNegative),
    ("--coordinator-blend-timeout", Range::Positive),
    ("--coordinator-blend-match-concurrency", Range::AtLeastOne),
    ("--coordinator-kafka-delivery-timeout", Range::Positive),
    ("--grpc-server-workers", Range::AtLeastOne),
    ("--kv-event-log-size", Range::NotNegative),
    ("--metrics-sample-rate", Range::Share),
    ("--worker-reap-timeout-seconds", Range::Off30),
];

/// The same for the coordinator.
const COORDINATOR_RANGES: [(&str, Range); 2] = [
    ("--timeout-keep-alive", Range::Positive),
    ("--checkpoint-interval", Range::NotNegative),
];

/// Hints about what `extraArgs` do, beside the rendered line.
pub(super) fn extra_args(
    kind: Kind,
    running: &Running,
    arguments: &[Argument],
    reading: &Reading<'_>,
    found: &mut Vec<String>,
) {
    let coordinator = kind == Kind::LMCacheCoordinator;
    let is_object = |text: &str| serde_json::from_str::<Value>(text).is_ok_and(|value| value.is_object());
    for flag in ["--extra-config", "--server-module"] {
        if let Some(used) = reading.last(flag).filter(|used| !used.value().is_some_and(is_object)) {
            found.push(format!(
                "{} {flag} takes a JSON object: it does not start otherwise",
                path(used.index)
            ));
        }
    }
    if let Some(used) = reading.last("--runtime-plugin-config")
        && used
            .value()
            .is_some_and(|value| serde_json::from_str::<Value>(value).is_err())
    {
        found.push(format!(
            "{} {} takes JSON: it does not start otherwise",
            path(used.index),
            used.flag.name
        ));
    }
    for (flag, servers) in [
        ("--event-transport", "--kafka-bootstrap-servers"),
        ("--coordinator-event-transport", "--coordinator-kafka-bootstrap-servers"),
    ] {
        let kafka = reading.last(flag).filter(|used| used.value() == Some("kafka"));
        if let Some(used) = kafka
            && !has(reading, servers)
        {
            found.push(format!(
                "{} {flag} kafka needs {servers}: it does not start otherwise",
                path(used.index)
            ));
        }
    }
    let ranges = if coordinator {
        COORDINATOR_RANGES.as_slice()
    } else {
        SERVER_RANGES.as_slice()
    };
    for (flag, range) in ranges {
        if let Some((index, number)) = number_of(reading, flag)
            && !number.is_some_and(|number| range.holds(number))
        {
            found.push(format!(
                "{} {flag} {}: it does not start otherwise",
                path(index),
                range.text()
            ));
        }
    }
    if coordinator {
        return;
    }
    let release = running.assumed();
    let on = |name: &str| reading.last(name).is_some_and(|used| !used.negated);
    let anywhere = |name: &str| on(name) || arguments.iter().any(|argument| argument.flag == name);
    for (flag, other, since) in REQUIRES {
        if on(flag) && release >= since && !anywhere(other) {
            found.push(format!(
                "spec.extraArgs: the server does not start with {flag} unless {other} is there too"
            ));
        }
    }
    for (flag, other, since) in EXCLUDES {
        if (on(flag) || on(other)) && anywhere(flag) && anywhere(other) && release >= since {
            found.push(format!(
                "spec.extraArgs: LMCache {release} does not start with {flag} and {other} together"
            ));
        }
    }
    // The only name that a release knows there; others stop it.
    if let Some(used) = reading.last("--enable")
        && let Some((index, name)) = used.values.iter().find(|(_, name)| *name != "transfer_query")
    {
        found.push(format!(
            "{} {name} is nothing that --enable switches on: LMCache {release} knows transfer_query",
            path(*index)
        ));
    }
    let mode = reading
        .last("--supported-transfer-mode")
        .or(reading.last("--transfer-mode"));
    if kind == Kind::CacheBlendEngine
        && let Some(used) = mode
        && let Some(mode @ ("engine_driven" | "non_gpu")) = used.value()
    {
        found.push(format!(
            "{} {mode} leaves the memory to the client: a server that blends does not start with it",
            path(used.index)
        ));
    }
    for flag in ["--host", "--http-host"] {
        if let Some(used) = reading.last(flag)
            && used.value().is_some_and(is_loopback)
        {
            found.push(format!(
                "{} {flag} {} is reached from inside the Pod only: no client, probe or Prometheus gets there",
                path(used.index),
                used.value().unwrap_or_default()
            ));
        }
    }
    let eager = reading.last("--l1-use-lazy").is_some_and(|used| used.negated);
    if eager && SHM_SEGMENT.holds(running.position) && !has(reading, "--shm-name") {
        found.push(format!(
            "spec.extraArgs: LMCache {release} keeps a first tier that is not lazy in /dev/shm/lmcache_l1_pool_1, which \
             two servers of a node take from each other; add --shm-name"
        ));
    }
}

fn is_loopback(host: &str) -> bool {
    host == "localhost" || host == "::1" || host.starts_with("127.")
}
