//! `lmcache server`.

use lmcache_api::{EngineSpec, EvictionPolicy, HashAlgorithm, IpcMode, Kind, PrefetchPolicy, StorePolicy};

use super::{Argument, spelling};
use crate::adapter;
use crate::number::{shortest, with_decimals};
use crate::table::SERVER;

/// Bytes to which the server aligns what it allocates, unless told otherwise.
pub(crate) const DEFAULT_ALIGN_BYTES: i32 = 4096;
/// The same for the CacheBlend server.
pub(crate) const CACHEBLEND_ALIGN_BYTES: i32 = 16_777_216;

/// The arguments of an engine's servers for the release at `position`, without `extraArgs`. `coordinator_url` is there if
/// the engine registers with one.
pub(crate) fn server(
    spec: &dyn EngineSpec,
    position: usize,
    ipc_mode: IpcMode,
    coordinator_url: Option<&str>,
) -> Vec<Argument> {
    let server = spec.server();
    let size = spec.l1().and_then(|l1| l1.size_gb).unwrap_or_default();
    let chunk_size = server.and_then(|server| server.chunk_size).unwrap_or(256);
    let workers = server.and_then(|server| server.max_workers).unwrap_or(1);
    let hash = server.and_then(|server| server.hash_algorithm);
    let eviction = spec.eviction();
    let policy = eviction
        .and_then(|eviction| eviction.policy)
        .unwrap_or(EvictionPolicy::Lru);
    let watermark = eviction.and_then(|eviction| eviction.trigger_watermark).unwrap_or(0.8);
    let ratio = eviction.and_then(|eviction| eviction.eviction_ratio).unwrap_or(0.2);
    let mut arguments = vec![
        // The default is localhost, where no client would reach it.
        Argument::new("--host", "0.0.0.0", "spec.server"),
        Argument::new("--port", spec.server_port(), "spec.server.port"),
        // The default became 127.0.0.1 in 0.5.6, where nothing would scrape it. Every release knows the flag.
        Argument::new("--http-host", "0.0.0.0", "spec.server"),
        Argument::new("--http-port", spec.http_port(), "spec.server.httpPort"),
        Argument::new("--l1-size-gb", with_decimals(size, 1), "spec.l1.sizeGB"),
        Argument::new("--chunk-size", chunk_size, "spec.server.chunkSize"),
        Argument::new("--max-workers", workers, "spec.server.maxWorkers"),
        Argument::new(
            "--hash-algorithm",
            hash.unwrap_or(HashAlgorithm::Blake3).as_str(),
            "spec.server.hashAlgorithm",
        ),
        Argument::new("--eviction-policy", policy.as_str(), "spec.eviction.policy"),
        Argument::new(
            "--eviction-trigger-watermark",
            with_decimals(watermark, 2),
            "spec.eviction.triggerWatermark",
        ),
        Argument::new(
            "--eviction-ratio",
            with_decimals(ratio, 2),
            "spec.eviction.evictionRatio",
        ),
    ];
    arguments.push(metrics(spec, position));
    second_tier(spec, &mut arguments);
    if let Some(url) = coordinator_url {
        coordination(spec, position, url, &mut arguments);
    }
    if ipc_mode == IpcMode::Isolated {
        // Without `isolatedIPC`, `hostIPC: false` asks for it, or the installation does.
        let path = match (spec.isolated_ipc(), spec.host_ipc()) {
            (None, Some(false)) => "spec.hostIPC",
            _ => "spec.isolatedIPC",
        };
        arguments.push(Argument::switch("--isolated-ipc", path));
    }
    if spec.kind() == Kind::CacheBlendEngine {
        arguments.push(Argument::new("--engine-type", "blend", "spec"));
        arguments.push(Argument::new("--l1-align-bytes", CACHEBLEND_ALIGN_BYTES, "spec"));
    }
    arguments
}

fn metrics(spec: &dyn EngineSpec, position: usize) -> Argument {
    if !spec.exports_metrics() {
        let flag = spelling(&SERVER, position, ["--disable-metrics", "--disable-prometheus"]);
        return Argument::switch(flag, "spec.prometheus.enabled");
    }
    Argument::new("--prometheus-port", spec.prometheus_port(), "spec.prometheus.port")
}

fn second_tier(spec: &dyn EngineSpec, arguments: &mut Vec<Argument>) {
    let Some(l2) = spec.l2_backend() else { return };
    if let Some(config) = adapter::config(l2) {
        let text = lmcache_api::go_json::to_string(&config);
        arguments.push(Argument::new("--l2-adapter", text, "spec.l2Backend"));
    }
    let store = l2.store_policy.unwrap_or(StorePolicy::Default);
    let prefetch = l2.prefetch_policy.unwrap_or(PrefetchPolicy::Default);
    let in_flight = l2.prefetch_max_in_flight.unwrap_or(8);
    arguments.extend([
        Argument::new("--l2-store-policy", store.as_str(), "spec.l2Backend.storePolicy").unless_default("default"),
        Argument::new(
            "--l2-prefetch-policy",
            prefetch.as_str(),
            "spec.l2Backend.prefetchPolicy",
        )
        .unless_default("default"),
        Argument::new(
            "--l2-prefetch-max-in-flight",
            in_flight,
            "spec.l2Backend.prefetchMaxInFlight",
        )
        .unless_default("8"),
    ]);
}

/// Event reporting changed its name in 0.5.3.
fn coordination(spec: &dyn EngineSpec, position: usize, url: &str, arguments: &mut Vec<Argument>) {
    const PATH: &str = "spec.coordinator";
    let connection = spec.coordinator();
    let ip = connection.and_then(|connection| connection.advertise_ip.as_deref());
    let heartbeat = connection
        .and_then(|connection| connection.heartbeat_interval)
        .unwrap_or(5.0);
    let reports = connection.and_then(|connection| connection.l2_event_reporting) == Some(true);
    let flush = connection
        .and_then(|connection| connection.l2_event_flush_interval)
        .unwrap_or(1.0);
    arguments.push(Argument::new("--coordinator-url", url, PATH));
    if let Some(ip) = ip.filter(|ip| !ip.is_empty()) {
        arguments.push(Argument::new("--coordinator-advertise-ip", ip, PATH));
    }
    arguments.push(Argument::new(
        "--coordinator-heartbeat-interval",
        shortest(heartbeat),
        PATH,
    ));
    if reports {
        let names = ["--coordinator-event-reporting", "--coordinator-l2-event-reporting"];
        arguments.push(Argument::switch(spelling(&SERVER, position, names), PATH));
    }
    let names = [
        "--coordinator-event-flush-interval",
        "--coordinator-l2-event-flush-interval",
    ];
    arguments.push(Argument::new(spelling(&SERVER, position, names), shortest(flush), PATH));
}
