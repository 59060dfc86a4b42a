//! Engines of both kinds.

use lmcache_api::Kind;
use lmcache_server::table::ADAPTERS;
use serde_json::{Value, json};

use super::random::Random;
use super::{Fields, numbers, texts};
use crate::adapters;

pub(super) fn spec(random: &mut Random, kind: Kind) -> Value {
    let blends = kind == Kind::CacheBlendEngine;
    let server = server(random, blends);
    let l2 = random.percent(55).then(|| l2_backend(random));
    let writes_through = l2.as_ref().is_none_or(|l2| l2["storePolicy"] != "skip_l1");
    let eviction = eviction(random, writes_through);
    let prometheus = prometheus(random);
    let coordinator = random.percent(35).then(|| coordinator(random));
    let size = size(random, blends);

    let mut spec = Fields::new(random);
    spec.set("l1", json!({"sizeGB": size}));
    for (share, name, value) in [
        (70, "server", Some(server)),
        (60, "eviction", Some(eviction)),
        (50, "prometheus", Some(prometheus)),
        (100, "l2Backend", l2),
        (100, "coordinator", coordinator),
    ] {
        if let Some(value) = value {
            spec.maybe(share, name, &[value]);
        }
    }
    if !writes_through && !spec.fields.contains_key("eviction") {
        // The partner of `skip_l1`: nothing stays, so nothing has to be evicted.
        spec.set("eviction", json!({"policy": "noop"}));
    }
    spec.maybe(15, "gpuVendor", &texts(&["nvidia", "amd"]));
    spec.maybe(20, "hostIPC", &[json!(true), json!(false)]);
    if blends {
        let payload = json!({"repository": "registry.example.com/llm/cacheblend-payload", "tag": "v0.5.6"});
        spec.set("injection", json!({"payloadImage": payload}));
    } else {
        spec.maybe(25, "isolatedIPC", &[json!(true), json!(false)]);
    }
    spec.maybe(30, "logLevel", &texts(&["DEBUG", "INFO", "WARNING", "ERROR"]));
    spec.maybe(15, "env", &[json!([{"name": "PYTHONHASHSEED", "value": "0"}])]);
    spec.maybe(30, "extraArgs", &extra_args());
    spec.done()
}

fn size(random: &mut Random, blends: bool) -> Value {
    // A CacheBlend server allocates 16 MiB at a time.
    let sizes = [0.5, 1.0, 20.0, 60.0, 60.25, 100.125, 1536.0, 0.04, 0.001];
    let usable = if blends { sizes.len() - 1 } else { sizes.len() };
    let sizes = numbers(&sizes);
    random.pick(&sizes.iter().take(usable).collect::<Vec<_>>()).clone()
}

fn server(random: &mut Random, blends: bool) -> Value {
    let mut server = Fields::new(random);
    server.maybe(50, "port", &numbers(&[1024.0, 5555.0, 6555.0, 65535.0]));
    server.maybe(50, "httpPort", &numbers(&[8080.0, 8081.0, 1025.0]));
    if !blends {
        server.maybe(50, "chunkSize", &numbers(&[16.0, 256.0, 512.0]));
    }
    server.maybe(50, "maxWorkers", &numbers(&[1.0, 8.0]));
    server.maybe(50, "hashAlgorithm", &texts(&["builtin", "sha256_cbor", "blake3"]));
    server.done()
}

fn eviction(random: &mut Random, writes_through: bool) -> Value {
    let mut eviction = Fields::new(random);
    let policies = if writes_through {
        vec!["LRU"]
    } else {
        vec!["LRU", "noop"]
    };
    eviction.maybe(50, "policy", &texts(&policies));
    eviction.maybe(60, "triggerWatermark", &numbers(&[0.001, 0.8, 0.125, 1.0]));
    eviction.maybe(60, "evictionRatio", &numbers(&[0.001, 0.2, 0.333, 1.0]));
    eviction.done()
}

fn prometheus(random: &mut Random) -> Value {
    let mut prometheus = Fields::new(random);
    prometheus.maybe(60, "enabled", &[json!(true), json!(false)]);
    prometheus.maybe(50, "port", &numbers(&[9090.0, 9191.0]));
    prometheus.done()
}

fn coordinator(random: &mut Random) -> Value {
    let mut coordinator = Fields::new(random);
    if coordinator.random.percent(50) {
        coordinator.set("ref", json!({"name": "fleet"}));
    } else {
        coordinator.set("url", json!("http://fleet.elsewhere.svc:9300"));
    }
    coordinator.maybe(40, "advertiseIP", &texts(&["10.0.0.7", ""]));
    coordinator.maybe(50, "heartbeatInterval", &numbers(&[0.05, 5.0, 120.0]));
    coordinator.maybe(60, "l2EventReporting", &[json!(true), json!(false)]);
    coordinator.maybe(50, "l2EventFlushInterval", &numbers(&[0.01, 1.0, 2.5]));
    coordinator.done()
}

fn l2_backend(random: &mut Random) -> Value {
    let mut l2 = Fields::new(random);
    if l2.random.percent(50) {
        let resp = resp(l2.random);
        l2.set("resp", resp);
    } else {
        let raw = raw(l2.random);
        l2.set("raw", raw);
    }
    l2.maybe(50, "storePolicy", &texts(&["default", "skip_l1"]));
    l2.maybe(50, "prefetchPolicy", &texts(&["default", "retain"]));
    l2.maybe(50, "prefetchMaxInFlight", &numbers(&[1.0, 8.0, 64.0]));
    let has_serde = l2
        .fields
        .get("raw")
        .is_some_and(|raw| raw["config"].get("serde").is_some());
    if !has_serde && l2.random.percent(20) {
        let mut aesgcm = Fields::new(l2.random);
        aesgcm.set("masterKeySecretRef", json!({"name": "kv-master-key"}));
        aesgcm.maybe(50, "aesBits", &numbers(&[128.0, 256.0]));
        aesgcm.maybe(50, "keyProvider", &texts(&["hkdf"]));
        let aesgcm = aesgcm.done();
        l2.set("serde", json!({"aesgcm": aesgcm}));
    }
    l2.done()
}

fn resp(random: &mut Random) -> Value {
    let mut resp = Fields::new(random);
    resp.set("host", json!("redis.storage.svc"));
    resp.set("port", json!(6379));
    resp.maybe(50, "numWorkers", &numbers(&[1.0, 8.0, 32.0]));
    resp.maybe(50, "maxCapacityGB", &numbers(&[0.0, 0.5, 500.0]));
    resp.maybe(40, "authSecretRef", &[json!({"name": "redis-auth"})]);
    resp.done()
}

fn raw(random: &mut Random) -> Value {
    // The common ones more often than the exotic ones.
    let mut names: Vec<&str> = ADAPTERS.iter().map(|adapter| adapter.name).collect();
    names.extend(["fs", "fs", "fs", "resp", "s3", "mooncake_store"]);
    let name = random.pick(&names);
    let mut config = adapters::config(name).unwrap_or_default();
    if let Some(config) = config.as_object_mut() {
        // The one type that refuses a limit of its own.
        if name != "sagemaker-hyperpod" && random.percent(20) {
            let policies = texts(&["LRU", "noop", "IsolatedLRU", "ARC"]);
            let policy = random.pick(&policies.iter().collect::<Vec<_>>());
            config.insert(
                "eviction".to_owned(),
                json!({"eviction_policy": policy, "trigger_watermark": 0.9}),
            );
        }
        if random.percent(15) {
            let types = texts(&["fp8", "turboquant"]);
            let serde = random.pick(&types.iter().collect::<Vec<_>>());
            config.insert("serde".to_owned(), json!({"type": serde}));
        }
    }
    json!({"type": name, "config": config})
}

/// What a user may add: known to all releases, to some, to none; and what releases refuse although they know it.
pub(super) fn extra_args() -> Vec<Value> {
    vec![
        json!(["--l1-init-size-gb", "12"]),
        json!(["--l1-init-size-gb", "0.5"]),
        json!(["--no-l1-use-lazy"]),
        json!(["--no-l1-use-lazy", "--shm-name", "one"]),
        json!(["--instance-id=node-a"]),
        json!(["--supported-transfer-mode", "auto"]),
        json!(["--supported-transfer-mode", "gpu"]),
        json!(["--max-gpu-workers", "2", "--max-cpu-workers=4"]),
        json!(["--metrics-sample-rate", "0.5"]),
        json!(["--metrics-sample-rate", "2"]),
        json!(["--kv-event-log-size", "-1"]),
        json!(["--l1-read-ttl", "60"]),
        json!(["--l1-read-ttl-seconds"]),
        json!([
            "--l2-adapter",
            r#"{"type": "mock", "max_size_gb": 1, "mock_bandwidth_gb": 1}"#
        ]),
        json!(["--l2-adapter", r#"{"type": "fs", "base_path": "/kv"}"#]),
        json!(["--l2-adapter", r#"{"type": "fs"}"#]),
        json!(["--enable-tracing"]),
        json!(["--enable-tracing", "--otlp-endpoint", "http://collector:4317"]),
        json!(["--verbose"]),
        json!(["word"]),
        json!(["--disable-observability"]),
        json!(["--worker-reap-timeout-seconds", "10"]),
        json!(["--extra-logging-interval", "0"]),
        json!(["--runtime-plugin-config", "{"]),
        json!(["--enable", "transfer_query"]),
        json!(["--enable", "bogus"]),
        json!(["--host", "127.0.0.1"]),
        json!(["--quiet", "--output", "/tmp/metrics.json"]),
    ]
}
